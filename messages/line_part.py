"""Parts of a line of a log, taken apart where they stand: texts, blocks, messages.

Every function takes a line and a position in it, and gives what stands there and where it
ends. Each reads JSON of one structure only, and leaves all other to the strict reader.
"""

from __future__ import annotations

import re
from typing import Any

from .content import Block, Reasoning, Text, ToolCall, ToolResult
from .deep_json import scan_string
from .draft import maker
from .json_text import STRICT
from .lossless import FrozenDict, freeze, is_text
from .message import USER_SOURCE, AssistantMessage, ToolMessage, UserMessage

NATURAL = "(?:0|[1-9][0-9]{0,14})"
"""An integer from 0 on that is sure to be a safe one."""
ORDINAL = "[1-9][0-9]{0,14}"
"""The number of a turn or a step, likewise."""
PLAIN = r"[ !#-\[\]-~]"
"""A character that stands in a JSON text as it is, of ASCII."""

_text = maker(Text)
_reasoning = maker(Reasoning)
_tool_call = maker(ToolCall)
_user_message = maker(UserMessage)
_assistant_message = maker(AssistantMessage)


class Unusual(ValueError):
    """What stands here is not of the one structure that is read; it may be sound all the same."""


def text_at(line: str, at: int) -> tuple[str, int]:
    """The text whose opening quote stands right before a position, and where it ends.

    Raises:
        ValueError: If it is no JSON text, or has a lone surrogate.
    """
    text, end = scan_string(line, at)
    if not text.isascii() and not is_text(text):
        raise Unusual
    return text, end


def behind(line: str, at: int, expected: str) -> int:
    """The position behind what must stand at another.

    Raises:
        Unusual: If anything else stands there.
    """
    if not line.startswith(expected, at):
        raise Unusual
    return at + len(expected)


def blocks_at(line: str, at: int) -> tuple[tuple[Block, ...], int]:
    """Content blocks; the position is that behind their opening bracket."""
    if line.startswith("]", at):
        return (), at + 1
    block, at = block_at(line, at)
    if line.startswith("]", at):
        return (block,), at + 1
    made = [block]
    while not line.startswith("]", at):
        block, at = block_at(line, behind(line, at, ","))
        made.append(block)
    return tuple(made), at + 1


def block_at(line: str, at: int) -> tuple[Block, int]:
    """One content block of a known type."""
    if line.startswith('{"type":"text","text":"', at):
        text, at = text_at(line, at + 23)
        return _text(text), behind(line, at, "}")
    if line.startswith('{"type":"reasoning","text":"', at):
        text, at = text_at(line, at + 28)
        return _reasoning(text), behind(line, at, "}")
    if line.startswith('{"type":"tool-call","id":"', at):
        call_id, at = text_at(line, at + 26)
        name, at = text_at(line, behind(line, at, ',"name":"'))
        arguments, at = text_at(line, behind(line, at, ',"arguments":"'))
        return _tool_call(call_id, name, arguments), behind(line, at, "}")
    call_id, at = text_at(line, behind(line, at, '{"type":"tool-result","toolCallId":"'))
    content, at = blocks_at(line, behind(line, at, ',"content":['))
    if line.startswith(',"isError":false}', at):
        return ToolResult(call_id, content, False), at + 17
    return ToolResult(call_id, content, True), behind(line, at, ',"isError":true}')


_MESSAGE_END = re.compile(
    rf',"source":(\{{[^{{}}]*\}}),"role":"(user|assistant)","id":"({PLAIN}+)"\}}'
).match
_CALL_SOURCE = re.compile(rf'\{{"kind":"tool","callId":"({PLAIN}+)"\}}').fullmatch


class MessageReader:
    """Reads messages, from behind their ``{"content":[`` on.

    Those of one log are of few sources; they share them afterwards. A prompt that was put
    into the inbox and then logged is one object, as in the log that was written.
    """

    __slots__ = ("_last", "_model", "_user")

    def __init__(self) -> None:
        self._last: tuple[str, UserMessage | None] = ("", None)
        self._user: dict[str, FrozenDict] = {'{"kind":"user"}': USER_SOURCE}
        self._model: dict[str, FrozenDict] = {}

    def user_at(self, line: str, at: int) -> tuple[UserMessage, int]:
        """An input message."""
        text, last = self._last
        if last is not None and line.startswith(text, at):
            return last, at + len(text)
        start = at
        content, at = blocks_at(line, at)
        source, role, message_id, at = _end_at(line, at)
        known = self._user.get(source)
        if known is None:
            known = self._user[source] = _source(source, "kind")
        if role != "user":
            raise Unusual
        message = _user_message(message_id, content, known)
        self._last = line[start:at], message
        return message, at

    def assistant_at(self, line: str, at: int) -> tuple[AssistantMessage, int]:
        """A model response."""
        content, at = blocks_at(line, at)
        source, role, message_id, at = _end_at(line, at)
        known = self._model.get(source)
        if known is None:
            known = _source(source, "kind", "provider", "model")
            if known["kind"] != "model":
                raise Unusual
            self._model[source] = known
        if role != "assistant":
            raise Unusual
        return _assistant_message(message_id, content, known), at

    def tool_at(self, line: str, at: int) -> tuple[ToolMessage, int]:
        """A tool result."""
        content, at = blocks_at(line, at)
        source, role, message_id, at = _end_at(line, at)
        found = _CALL_SOURCE(source)
        block = content[0] if len(content) == 1 else None
        if found is None or type(block) is not ToolResult or role != "user":
            raise Unusual
        if block.tool_call_id != found[1]:
            raise Unusual
        frozen = FrozenDict({"kind": "tool", "callId": block.tool_call_id})
        return ToolMessage(message_id, content, frozen), at


def _end_at(line: str, at: int) -> tuple[str, str, str, int]:
    """What stands behind the content: source, role, id; and where the message ends."""
    found = _MESSAGE_END(line, at)
    if found is None:
        raise Unusual
    source, role, message_id = found.groups()
    return source, role, message_id, found.end()


def _source(text: str, *named: str) -> FrozenDict:
    frozen: Any = freeze(STRICT.decode(text), "source")
    for key in named:
        value = frozen.get(key)
        if type(value) is not str or not value:
            raise Unusual
    source: FrozenDict = frozen
    return source
