"""From the history of a session to the alternating turns of Anthropic's Messages API.

Pure. What the API demands and a history need not have: the first turn is the
user's, the turns alternate, and the turn behind a ``tool_use`` begins with the
result of every call. Source: spec core 12.2; Anthropic's Messages API.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from ....messages.content import OpaqueBlock, Reasoning, Text, ToolCall, ToolResult
from ....messages.errors import ModelError
from ....messages.message import AssistantMessage, Message
from .call import fresh_id, input_of, sent_name

REPLAY_FORMAT = "anthropic"
THINKING = frozenset({"thinking", "redacted_thinking"})

_INPUT_TYPES = frozenset({"image", "document", "search_result"})
_RESULT_TYPES = _INPUT_TYPES | {"tool_reference"}
_OPENING = "(The beginning of this conversation is not shown.)"
_GO_ON = "Continue."
_NO_RESULT = "No result of this call was recorded; it may or may not have run."
_SILENT_ERROR = "The tool failed without saying why."

Part = dict[str, Any]


def turns_of(messages: Iterable[Message], provider: str, model: str) -> list[Part]:
    """The turns to send.

    Texts of blanks alone and messages without content are left out. Thinking goes
    back only to the model that it came from, and only with its signature. Blocks of
    an assistant that another provider made are left out too; what a user or a tool
    said and the API cannot take is an error, for leaving it out would lose it.

    Args:
        messages: The history, oldest first.
        provider: Who is asked; thinking of others is left out.
        model: As `provider`.

    Raises:
        ModelError: ``UNSUPPORTED_CONTENT`` naming the block; ``INVALID_REQUEST`` when
            nothing is left to send.
    """
    history = _History(provider, model)
    for message in messages:
        if isinstance(message, AssistantMessage):
            history.answer(message)
        else:
            history.hear(message)
    return history.finish()


class _History:
    """The turns so far; the last one of the user is still open."""

    __slots__ = ("_asker", "_ids", "_owed", "_results", "_said", "_turns")

    def __init__(self, provider: str, model: str) -> None:
        self._asker = (provider, model)
        self._turns: list[Part] = []
        self._ids: dict[str, int] = {}
        # Calls without a result: the id in the history, and the one that was sent.
        self._owed: list[tuple[str, str]] = []
        self._results: list[Part] = []
        self._said: list[Part] = []

    def answer(self, message: AssistantMessage) -> None:
        asked: list[tuple[str, str]] = []
        parts = self._answer_parts(message, asked)
        if not parts:
            return
        self._close_user_turn()
        if self._turns and self._turns[-1]["role"] == "assistant":
            self._turns[-1]["content"] += parts
        else:
            self._turns.append({"role": "assistant", "content": parts})
        self._owed = asked

    def hear(self, message: Message) -> None:
        for block in message.content:
            if isinstance(block, Text):
                self._said += _text(block.text)
            elif isinstance(block, ToolResult):
                self._hear_result(block, message.id)
            elif isinstance(block, OpaqueBlock):
                self._said.append(_opaque(block, _INPUT_TYPES, message.id))
            elif isinstance(block, ToolCall):
                raise _unsupported("tool-call", message.id)

    def finish(self) -> list[Part]:
        self._close_user_turn()
        if not self._turns:
            raise ModelError(
                "the request has no content to send: every message of its history is empty; "
                "give the agent a prompt with text",
                "INVALID_REQUEST",
            )
        if self._turns[0]["role"] != "user":
            self._turns.insert(0, {"role": "user", "content": _text(_OPENING)})
        if self._turns[-1]["role"] != "user":
            self._turns.append({"role": "user", "content": _text(_GO_ON)})
        return self._turns

    def _close_user_turn(self) -> None:
        for _, sent in self._owed:
            self._results.append(_result(sent, _text(_NO_RESULT), is_error=True))
        parts = self._results + self._said
        self._owed, self._results, self._said = [], [], []
        if parts:
            self._turns.append({"role": "user", "content": parts})

    def _answer_parts(self, message: AssistantMessage, asked: list[tuple[str, str]]) -> list[Part]:
        source = message.source
        same_provider = source.get("provider") == self._asker[0]
        same_model = same_provider and source.get("model") == self._asker[1]
        signatures = iter(_signatures(message) if same_model else ())
        parts: list[Part] = []
        for block in message.content:
            if isinstance(block, Text):
                parts += _text(block.text)
            elif isinstance(block, Reasoning):
                parts += _thinking(block, next(signatures, None))
            elif isinstance(block, ToolCall):
                parts.append(self._call(block))
                asked.append((block.id, parts[-1]["id"]))
            elif isinstance(block, ToolResult):
                raise _unsupported("tool-result", message.id)
            elif same_model or (same_provider and block.data["type"] not in THINKING):
                parts.append(dict(block.data))
        return parts

    def _call(self, call: ToolCall) -> Part:
        return {
            "type": "tool_use",
            "id": fresh_id(call.id, self._ids),
            "name": sent_name(call.name),
            "input": input_of(call.arguments),
        }

    def _hear_result(self, result: ToolResult, message_id: str) -> None:
        content, apart = _result_parts(result, message_id)
        place = next(
            (at for at, owed in enumerate(self._owed) if owed[0] == result.tool_call_id), None
        )
        if place is None:
            # Its call was compacted away, or its turn is closed: only its words are left.
            self._said += _text(f"Result of the earlier tool call {result.tool_call_id}:")
            self._said += content
        else:
            _, sent = self._owed.pop(place)
            self._results.append(_result(sent, content, is_error=result.is_error))
        self._said += apart


def _signatures(message: AssistantMessage) -> tuple[Any, ...]:
    """The signature of each thinking block in order; none when they do not fit the message."""
    state: Any = message.source.get("replayState")
    if not isinstance(state, dict) or cast(Part, state).get("format") != REPLAY_FORMAT:
        return ()
    signatures: Any = cast(Part, state).get("signatures")
    if not isinstance(signatures, list):
        return ()
    found: tuple[Any, ...] = (*cast(Iterable[Any], signatures),)
    thoughts = sum(isinstance(block, Reasoning) for block in message.content)
    return found if len(found) == thoughts else ()


def _thinking(block: Reasoning, signature: object) -> list[Part]:
    if not isinstance(signature, str) or not signature:
        return []
    return [{"type": "thinking", "thinking": block.text, "signature": signature}]


def _text(text: str) -> list[Part]:
    """No part for blanks alone: the API refuses such a block."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _result(call_id: str, content: list[Part], *, is_error: bool) -> Part:
    part: Part = {"type": "tool_result", "tool_use_id": call_id}
    if content:
        part["content"] = content
    if is_error:
        part["is_error"] = True
        part["content"] = content or _text(_SILENT_ERROR)
    return part


def _result_parts(result: ToolResult, message_id: str) -> tuple[list[Part], list[Part]]:
    """What stands in the result, and what must stand behind it: an error takes text alone."""
    content: list[Part] = []
    apart: list[Part] = []
    for block in result.content:
        if isinstance(block, Text):
            content += _text(block.text)
        elif isinstance(block, OpaqueBlock):
            part = _opaque(block, _RESULT_TYPES, message_id)
            (apart if result.is_error else content).append(part)
        elif isinstance(block, ToolCall | ToolResult):
            kind = "tool-call" if isinstance(block, ToolCall) else "tool-result"
            raise _unsupported(kind, message_id)
    return content, apart


def _opaque(block: OpaqueBlock, taken: frozenset[str], message_id: str) -> Part:
    kind = str(block.data["type"])
    if kind not in taken or (kind in _INPUT_TYPES and not block.data.get("source")):
        raise _unsupported(kind, message_id)
    return dict(block.data)


def _unsupported(kind: str, message_id: str) -> ModelError:
    return ModelError(
        f"message {message_id} holds a block of type {kind!r} that Anthropic's API cannot be sent "
        "there; images and documents need the API's own form, with a source; put what it says "
        "into text",
        "UNSUPPORTED_CONTENT",
    )
