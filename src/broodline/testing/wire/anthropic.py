"""The format of Anthropic's Messages, as the server writes it.

Source: https://docs.anthropic.com/en/api/messages and …/messages-streaming.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...messages.chunk import Usage
from .form import mapping
from .frame import FormatName, Frame, Stage, compact, split
from .script import Answer, Call, End

_STOPS: Mapping[End, str] = {
    "stop": "end_turn",
    "calls": "tool_use",
    "ceiling": "max_tokens",
    "filter": "refusal",
    "refusal": "refusal",
}
_KINDS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "The request is not valid."),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your credit balance is too low to access the Anthropic API."),
    403: ("permission_error", "Your key has no permission for this."),
    404: ("not_found_error", "Not found"),
    405: ("invalid_request_error", "Method Not Allowed"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your rate limit."),
    504: ("timeout_error", "The request timed out."),
    529: ("overloaded_error", "Overloaded"),
}
_NAMED: Mapping[str, tuple[int, str, str]] = {
    "context_length_exceeded": (
        400,
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ),
    "insufficient_quota": (
        402,
        "billing_error",
        "Your credit balance is too low to access the Anthropic API.",
    ),
}


class AnthropicFormat:
    """Source: see the module."""

    name: FormatName = "anthropic"
    id_header = "request-id"

    def frames(self, answer: Answer, body: Mapping[str, Any], number: int) -> list[Frame]:
        """``message_start``, the blocks with a ping at the first, the end."""
        started = _message(body, number, [], None, _usage(answer.usage, 1))
        frames = [_frame("start", "message_start", message=started)]
        for index, block in enumerate(_blocks(answer, number)):
            frames += block.frames(index)
            if not index:
                frames.insert(2, Frame("edge", self.ping()))
        stop = {"stop_reason": _stop(answer), "stop_sequence": None, **_details(answer)}
        usage = _usage(answer.usage)
        return [
            *frames,
            _frame("finish", "message_delta", delta=stop, usage=usage),
            _frame("done", "message_stop"),
        ]

    def whole(self, answer: Answer, body: Mapping[str, Any], number: int) -> dict[str, Any]:
        """A ``message``."""
        content = [block.whole() for block in _blocks(answer, number)]
        return _message(body, number, content, _stop(answer), _usage(answer.usage)) | _details(
            answer
        )

    def error(self, code: int, kind: str | None, text: str | None, number: int) -> dict[str, Any]:
        """``{"type": "error", "error": {...}}``."""
        usual = _KINDS.get(code, ("api_error", "Internal server error"))
        named = _NAMED.get(kind or "", (code, kind or usual[0], usual[1]))
        error = {"type": named[1], "message": text or named[2]}
        return {"type": "error", "error": error, "request_id": f"req_{number}"}

    def status_of(self, code: int, kind: str | None) -> int:
        """A missing quota has a status of its own here."""
        named = _NAMED.get(kind or "")
        return code if named is None else named[0]

    def error_frame(self, kind: str, text: str, number: int) -> bytes:
        """An event named ``error``."""
        error = {"type": kind, "message": text}
        return _frame("done", "error", error=error, request_id=f"req_{number}").data

    def bad_frame(self, content: bytes) -> bytes:
        """Any bytes as data of a delta."""
        return b"event: content_block_delta\ndata: " + content + b"\n\n"

    def ping(self) -> bytes:
        """An event named ``ping``."""
        return _frame("edge", "ping").data


ANTHROPIC = AnthropicFormat()


class _Block:
    """A content block: how it opens, its deltas, and what it is as a whole."""

    def __init__(
        self,
        opening: dict[str, Any],
        deltas: list[tuple[Stage, dict[str, Any]]],
        filled: dict[str, Any],
    ) -> None:
        self._opening = opening
        self._deltas = deltas
        self._filled = filled

    def frames(self, index: int) -> Iterator[Frame]:
        yield _frame("edge", "content_block_start", index=index, content_block=self._opening)
        for stage, delta in self._deltas:
            yield _frame(stage, "content_block_delta", index=index, delta=delta)
        yield _frame("edge", "content_block_stop", index=index)

    def whole(self) -> dict[str, Any]:
        return self._opening | self._filled


def _blocks(answer: Answer, number: int) -> Iterator[_Block]:
    if answer.redacted is not None:
        yield _Block({"type": "redacted_thinking", "data": answer.redacted}, [], {})
    if answer.reasoning:
        yield _thinking(answer.reasoning, answer.signature)
    if answer.text:
        pieces: list[tuple[Stage, dict[str, Any]]] = [
            ("text", {"type": "text_delta", "text": piece}) for piece in answer.text
        ]
        yield _Block({"type": "text", "text": ""}, pieces, {"text": "".join(answer.text)})
    for index, one in enumerate(answer.calls):
        yield _tool_use(one, one.id or f"toolu_{number}_{index}")


def _thinking(pieces: tuple[str, ...], signature: str) -> _Block:
    deltas: list[tuple[Stage, dict[str, Any]]] = [
        ("reasoning", {"type": "thinking_delta", "thinking": piece}) for piece in pieces
    ]
    deltas.append(("edge", {"type": "signature_delta", "signature": signature}))
    filled = {"thinking": "".join(pieces), "signature": signature}
    return _Block({"type": "thinking", "thinking": "", "signature": ""}, deltas, filled)


def _tool_use(one: Call, id: str) -> _Block:
    """The server sends an empty piece first, and nothing else where there are no arguments."""
    pieces = ["", *split("" if one.arguments == "{}" else one.arguments)]
    deltas: list[tuple[Stage, dict[str, Any]]] = [
        ("tool", {"type": "input_json_delta", "partial_json": piece}) for piece in pieces
    ]
    opening: dict[str, Any] = {"type": "tool_use", "id": id, "name": one.name, "input": {}}
    return _Block(opening, deltas, {"input": _parsed(one.arguments)})


def _parsed(arguments: str) -> dict[str, Any]:
    """Outside a stream the format has room for an object only."""
    try:
        return mapping(json.loads(arguments)) or {}
    except ValueError:
        return {}


def _message(
    body: Mapping[str, Any],
    number: int,
    content: list[dict[str, Any]],
    stop: str | None,
    usage: dict[str, Any],
) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def _stop(answer: Answer) -> str:
    return answer.finish or _STOPS[answer.end]


def _details(answer: Answer) -> dict[str, Any]:
    if _stop(answer) != "refusal":
        return {}
    return {"stop_details": {"type": "refusal", "category": None, "explanation": None}}


def _usage(usage: Usage | None, output: int | None = None) -> dict[str, Any]:
    """Anthropic counts cached tokens apart, and reasoning in the output.

    Args:
        usage: None counts nothing.
        output: What is counted so far, at the start of a stream.
    """
    counts = usage or Usage()
    found: dict[str, Any] = {"input_tokens": counts.input_tokens}
    if counts.cache_write_tokens is not None:
        found["cache_creation_input_tokens"] = counts.cache_write_tokens
    if counts.cache_read_tokens is not None:
        found["cache_read_input_tokens"] = counts.cache_read_tokens
    total = counts.output_tokens + (counts.reasoning_tokens or 0)
    found["output_tokens"] = total if output is None else min(output, total)
    if output is None and counts.reasoning_tokens is not None:
        found["output_tokens_details"] = {"thinking_tokens": counts.reasoning_tokens}
    return found


def _frame(stage: Stage, event: str, **fields: Any) -> Frame:
    data = compact({"type": event, **fields})
    return Frame(stage, f"event: {event}\ndata: {data}\n\n".encode())
