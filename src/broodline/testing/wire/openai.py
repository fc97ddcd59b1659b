"""The format of OpenAI's Chat Completions, as servers write it.

Source: https://platform.openai.com/docs/api-reference/chat (objects ``chat.completion``
and ``chat.completion.chunk``); ``reasoning_content`` as compatible servers send it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...messages.chunk import Usage
from .form import mapping
from .frame import FormatName, Frame, Stage, compact, split
from .script import Answer, Call, End

_CREATED = 1_700_000_000
_FINISHES: Mapping[End, str] = {
    "stop": "stop",
    "calls": "tool_calls",
    "ceiling": "length",
    "filter": "content_filter",
    "refusal": "stop",
}
_KINDS: Mapping[int, tuple[str, str | None, str]] = {
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    403: ("permission_error", None, "You are not allowed to do this."),
    404: ("invalid_request_error", "not_found", "This was not found."),
    405: ("invalid_request_error", "method_not_supported", "Only POST is served here."),
    408: ("timeout", None, "The request timed out."),
    413: ("invalid_request_error", None, "The request is too large."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    503: ("server_error", None, "The engine is currently overloaded, please try again later."),
    504: ("timeout", None, "The request timed out."),
}
_TOO_LONG = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in "
    "131072 tokens. Please reduce the length of the messages."
)
_NAMED: Mapping[str, tuple[str, str]] = {
    "context_length_exceeded": ("invalid_request_error", _TOO_LONG),
    "insufficient_quota": (
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
}


class OpenAIFormat:
    """Source: see the module."""

    name: FormatName = "openai"
    id_header = "x-request-id"

    def frames(self, answer: Answer, body: Mapping[str, Any], number: int) -> list[Frame]:
        """Chunks, the usage only when it was asked for, ``[DONE]``."""
        options = mapping(body.get("stream_options")) or {}
        counted = options.get("include_usage") is True
        head = _head(body, number) | {"service_tier": "default", "system_fingerprint": None}
        tail: dict[str, Any] = {"usage": None} if counted else {}
        frames = [
            _frame(stage, head | {"choices": [_choice(delta, finish)]} | tail)
            for stage, delta, finish in _deltas(answer, number)
        ]
        if counted and answer.usage is not None:
            frames.append(_frame("usage", head | {"choices": [], "usage": _usage(answer.usage)}))
        return [*frames, Frame("done", b"data: [DONE]\n\n")]

    def whole(self, answer: Answer, body: Mapping[str, Any], number: int) -> dict[str, Any]:
        """A ``chat.completion``."""
        refused = answer.end == "refusal"
        text = "".join(answer.text)
        message: dict[str, Any] = {
            "role": "assistant",
            "content": text if answer.text and not refused else None,
            "refusal": text if refused else None,
        }
        if answer.reasoning:
            message["reasoning_content"] = "".join(answer.reasoning)
        if answer.calls:
            message["tool_calls"] = [
                _opening(one, number, at) | {"function": _function(one.name, one.arguments)}
                for at, one in enumerate(answer.calls)
            ]
        finish = answer.finish or _FINISHES[answer.end]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        whole = _head(body, number) | {"object": "chat.completion", "choices": [choice]}
        if answer.usage is not None:
            whole["usage"] = _usage(answer.usage)
        return whole | {"service_tier": "default", "system_fingerprint": None}

    def error(self, code: int, kind: str | None, text: str | None, number: int) -> dict[str, Any]:
        """``{"error": {...}}``; a kind that is given is the type and the code."""
        default = "server_error" if code >= 500 else "invalid_request_error"
        usual = _KINDS.get(code, (default, None, "The server had an error."))
        if kind is None:
            found = usual
        else:
            named = _NAMED.get(kind, (kind, usual[2]))
            found = (named[0], kind, named[1])
        return {"error": _error(found[0], found[1], text or found[2])}

    def status_of(self, code: int, kind: str | None) -> int:
        """The code as it is."""
        return code

    def error_frame(self, kind: str, text: str, number: int) -> bytes:
        """A frame whose JSON is an error."""
        return f"data: {compact({'error': _error(kind, kind, text)})}\n\n".encode()

    def bad_frame(self, content: bytes) -> bytes:
        """Any bytes as data."""
        return b"data: " + content + b"\n\n"

    def ping(self) -> bytes:
        """A comment, as proxies send it."""
        return b": keep-alive\n\n"


OPENAI = OpenAIFormat()


def _head(body: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": _CREATED,
        "model": body.get("model"),
    }


def _choice(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _deltas(answer: Answer, number: int) -> Iterator[tuple[Stage, dict[str, Any], str | None]]:
    first = None if answer.calls and not answer.text else ""
    yield "start", {"role": "assistant", "content": first, "refusal": None}, None
    for piece in answer.reasoning:
        yield "reasoning", {"reasoning_content": piece}, None
    field = "refusal" if answer.end == "refusal" else "content"
    for piece in answer.text:
        yield "text", {field: piece}, None
    for index, one in enumerate(answer.calls):
        opening = {"index": index} | _opening(one, number, index)
        opening["function"] = _function(one.name, "")
        yield "edge", {"tool_calls": [opening]}, None
        for piece in split(one.arguments):
            part = {"index": index, "function": {"arguments": piece}}
            yield "tool", {"tool_calls": [part]}, None
    yield "finish", {}, answer.finish or _FINISHES[answer.end]


def _opening(one: Call, number: int, index: int) -> dict[str, Any]:
    return {"id": one.id or f"call_{number}_{index}", "type": "function"}


def _function(name: str, arguments: str) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _usage(usage: Usage) -> dict[str, Any]:
    """OpenAI counts cached tokens in the prompt, and reasoning in the completion."""
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    prompt = usage.input_tokens + (read or 0) + (written or 0)
    completion = usage.output_tokens + (usage.reasoning_tokens or 0)
    found: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    cached = {"cached_tokens": read, "cache_write_tokens": written}
    details = {name: count for name, count in cached.items() if count is not None}
    if details:
        found["prompt_tokens_details"] = details
    if usage.reasoning_tokens is not None:
        found["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return found


def _error(kind: str, code: str | None, text: str) -> dict[str, Any]:
    return {"message": text, "type": kind, "param": None, "code": code}


def _frame(stage: Stage, value: dict[str, Any]) -> Frame:
    return Frame(stage, f"data: {compact(value)}\n\n".encode())
