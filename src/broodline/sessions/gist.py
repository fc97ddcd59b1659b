"""What an event says, in a few words on one line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from ..messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from ..messages.codec import encode_payload
from ..messages.content import Block, Reasoning, Text, ToolCall, ToolResult
from ..messages.event import Event, Replace
from ..messages.payload import (
    AssistantReplied,
    ChunkReceived,
    HeaderLogged,
    InboxSpliced,
    StepEnd,
    StepStart,
    ToolAnswered,
    ToolCalled,
    ToolSchema,
    TurnEnd,
    TurnStart,
    UnrecordedTools,
    UserMessageLogged,
)

LONGEST = 100
"""Characters of a gist; what is cut off stands in the log."""


def gist(event: Event) -> str:
    """The gist of an event; nothing in it can steer a terminal."""
    tell = _TELLERS.get(type(event.data))
    said = _rest(event.data) if tell is None else tell(event.data)
    operation = event.surface_op
    if isinstance(operation, Replace):
        said = f"in the place of {operation.start} to {operation.end}: {said}"
    return short(said)


def short(text: str, length: int = LONGEST) -> str:
    """The start of a text of any length, on one line, with an ellipsis where it is cut."""
    start = plain(text[: 2 * length])
    return start if len(start) <= length and len(text) <= 2 * length else f"{start[: length - 1]}…"


def plain(text: str) -> str:
    """A text on one line, with what does not print written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def usage_text(usage: Usage) -> str:
    """``1,234 tokens in (500 cached), 300 out (40 reasoning)``."""
    cached = f" ({usage.cache_read_tokens:,} cached)" if usage.cache_read_tokens else ""
    thought = f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""
    read = usage.input_tokens + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    written = usage.output_tokens + (usage.reasoning_tokens or 0)
    return f"{read:,} tokens in{cached}, {written:,} out{thought}"


def end_text(end: TurnEnd) -> str:
    """How a turn ended, and why."""
    reason = end.reason
    if reason.error is not None:
        return f"{reason.kind}: {reason.error.code}, {reason.error.message}"
    if reason.reason is not None:
        why = f", {reason.reason.reason}" if reason.reason.reason else ""
        return f"{reason.kind}: {reason.reason.kind}{why}"
    return reason.kind


def _turn(data: TurnStart) -> str:
    return f"turn {data.turn}"


def _turn_end(data: TurnEnd) -> str:
    return f"turn {data.turn}: {end_text(data)}"


def _step(data: StepStart | StepEnd) -> str:
    return f"step {data.turn}.{data.step}"


def _user(data: UserMessageLogged) -> str:
    source = data.message.source.get("kind")
    said = _content(data.message.content)
    return said if source == "user" else f"({source}) {said}"


def _reply(data: AssistantReplied) -> str:
    return ("(interrupted) " if data.interrupted else "") + _content(data.message.content)


def _call(data: ToolCalled) -> str:
    return f"{data.name}({data.arguments[: 2 * LONGEST]})  {data.call_id}"


def _result(data: ToolAnswered) -> str:
    said = _content(data.message.content)
    return f"{data.error.code}: {said}" if data.error is not None else said


def _header(data: HeaderLogged) -> str:
    header, config = data.header, data.header.config
    tools = _tools(header.tools)
    system = "" if header.system is None else ", a system text"
    return f"{data.reason}: {config.provider}:{config.model}{tools}{system}"


def _tools(tools: tuple[ToolSchema, ...] | None) -> str:
    if isinstance(tools, UnrecordedTools):
        return ", its tools not recorded"
    return f", tools {', '.join(tool.name for tool in tools)}" if tools else ", no tools"


def _spliced(data: InboxSpliced) -> str:
    parts: list[str] = []
    if data.removed_count:
        gone = "discarded" if data.outcome == "canceled" else "taken"
        parts.append(f"{data.removed_count} {gone} at {data.start}")
    parts += [f"+ {message.id} {_content(message.content)}" for message in data.inserted]
    return f"{data.target}: {'; '.join(parts) or 'nothing'}"


def _chunk(data: ChunkReceived) -> str:
    return f"{data.turn}.{data.step}  {_piece(data.chunk)}"


def _piece(chunk: Chunk) -> str:
    if isinstance(chunk, TextDelta | ReasoningDelta):
        return f"{'text' if isinstance(chunk, TextDelta) else 'reasoning'} {_quoted(chunk.text)}"
    if isinstance(chunk, ToolCallDelta):
        name = f" {chunk.name}" if chunk.name else ""
        return f"call {chunk.id}{name} {_quoted(chunk.arguments_delta)}"
    if isinstance(chunk, BlockStart):
        return f"block {chunk.index} begins: {chunk.block_type}"
    if isinstance(chunk, BlockEnd):
        return f"block {chunk.index} ends: {_content((chunk.block,))}"
    if isinstance(chunk, UsageChunk):
        return f"usage: {usage_text(chunk.usage)}"
    return f"finish: {chunk.kind}" + ("" if chunk.failure is None else f" {chunk.failure.code}")


def _content(blocks: Iterable[Block]) -> str:
    return " ".join(map(_block, blocks)) or "(empty)"


def _block(block: Block) -> str:
    if isinstance(block, Text):
        return _quoted(block.text)
    if isinstance(block, Reasoning):
        return f"(reasoning) {_quoted(block.text)}"
    if isinstance(block, ToolCall):
        return f"{block.name}({block.arguments[: 2 * LONGEST]})"
    if isinstance(block, ToolResult):
        return ("(error) " if block.is_error else "") + _content(block.content)
    return f"({block.data.get('type')})"


def _quoted(text: str) -> str:
    return json.dumps(text[: 2 * LONGEST], ensure_ascii=False)


def _rest(data: Any) -> str:
    """Of what has no words of its own: its JSON."""
    try:
        return json.dumps(encode_payload(data), ensure_ascii=False)
    except (RecursionError, ValueError):
        return "(nested too deep to be shown)"


_TELLERS: dict[type, Callable[[Any], str]] = {
    TurnStart: _turn,
    TurnEnd: _turn_end,
    StepStart: _step,
    StepEnd: _step,
    UserMessageLogged: _user,
    AssistantReplied: _reply,
    ToolCalled: _call,
    ToolAnswered: _result,
    HeaderLogged: _header,
    InboxSpliced: _spliced,
    ChunkReceived: _chunk,
}
