"""Events as lines, written without a detour over JSON objects.

A live log is written event by event, and nearly all of them are of few types. What comes out
is, character by character, what the encoders of the codec make; a type without a writer here
is left to them.

Source: spec core 15.1; DESIGN 7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import payload as p
from .chunk import (
    BlockEnd,
    BlockStart,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from .chunk_codec import encode_chunk
from .content import Block, Reasoning, Text, ToolCall, ToolResult
from .deep_json import write_text as _text
from .event import Event
from .json_text import write_json
from .message import USER_SOURCE, AssistantMessage, ToolMessage, UserMessage
from .payload_codec import ENCODERS


def write_line(event: Event) -> str | None:
    """The line of an event; None for one whose type is left to the codec.

    Raises:
        ValueError: If a number in it is none that JSON has.
        TypeError: If a value in it is of the wrong type.
        AttributeError: Likewise.
    """
    data = event.data
    writer = _WRITERS.get(type(data))
    if writer is None:
        return None
    line = f'{{"type":"{data.TYPE}","seq":{event.seq:d},"time":{event.time:d},"data":{writer(data)}'  # type: ignore[union-attr]  # an opaque one has no writer
    if event.surface_op is None and event.source_event_seqs is None and not event.ignorable:
        return line + "}"
    if event.ignorable:
        line += ',"ignorable":true'
    if event.source_event_seqs is not None:
        line += f',"sourceEventSeqs":[{",".join(map(int.__repr__, event.source_event_seqs))}]'
    if event.surface_op == "append":
        return line + ',"surfaceOp":"append"}'
    if event.surface_op is None:
        return line + "}"
    return None


def _turn_start(data: p.TurnStart) -> str:
    return f'{{"turn":{data.turn:d}}}'


def _step_edge(data: p.StepStart | p.StepEnd) -> str:
    return f'{{"turn":{data.turn:d},"step":{data.step:d}}}'


def _chunk(data: p.ChunkReceived) -> str:
    chunk = data.chunk
    return f'{{"turn":{data.turn:d},"step":{data.step:d},"chunk":{_CHUNKS[type(chunk)](chunk)}}}'


def _call_delta(chunk: ToolCallDelta) -> str:
    named = "" if chunk.name is None else f',"name":{_text(chunk.name)}'
    return (
        f'{{"type":"tool-call-delta","index":{chunk.index:d},"id":{_text(chunk.id)}{named},'
        f'"argumentsDelta":{_text(chunk.arguments_delta)}}}'
    )


def _usage(usage: Usage) -> str:
    counts = (
        ("cacheReadTokens", usage.cache_read_tokens),
        ("cacheWriteTokens", usage.cache_write_tokens),
        ("reasoningTokens", usage.reasoning_tokens),
    )
    told = "".join([f',"{key}":{count:d}' for key, count in counts if count is not None])
    return f'{{"inputTokens":{usage.input_tokens:d},"outputTokens":{usage.output_tokens:d}{told}}}'


def _block(block: Block) -> str:
    if isinstance(block, Text):
        return f'{{"type":"text","text":{_text(block.text)}}}'
    if isinstance(block, Reasoning):
        return f'{{"type":"reasoning","text":{_text(block.text)}}}'
    if isinstance(block, ToolCall):
        return (
            f'{{"type":"tool-call","id":{_text(block.id)},"name":{_text(block.name)},'
            f'"arguments":{_text(block.arguments)}}}'
        )
    if isinstance(block, ToolResult):
        content = ",".join([_block(inner) for inner in block.content])
        return (
            f'{{"type":"tool-result","toolCallId":{_text(block.tool_call_id)},'
            f'"content":[{content}],"isError":{"true" if block.is_error else "false"}}}'
        )
    return write_json(block.data)


def _message(message: UserMessage | AssistantMessage | ToolMessage) -> str:
    content = ",".join([_block(block) for block in message.content])
    source = message.source
    role = "assistant" if type(message) is AssistantMessage else "user"
    return (
        f'{{"content":[{content}],"source":{_USER if source is USER_SOURCE else _object(source)},'
        f'"role":"{role}","id":{_text(message.id)}}}'
    )


_USER = '{"kind":"user"}'


def _object(values: Mapping[str, Any]) -> str:
    """A small object, most likely of texts."""
    parts = [
        f"{_text(key)}:{_text(value) if type(value) is str else write_json(value)}"
        for key, value in values.items()
    ]
    return f"{{{','.join(parts)}}}"


def _prompt(data: p.UserMessageLogged) -> str:
    return _message(data.message)


def _reply(data: p.AssistantReplied) -> str:
    usage = "" if data.usage is None else f',"usage":{_usage(data.usage)}'
    kept = ""
    if data.interrupted is not None:
        kept = f',"interrupted":{"true" if data.interrupted else "false"}'
    return (
        f'{{"turn":{data.turn:d},"step":{data.step:d},"message":{_message(data.message)}'
        f"{usage}{kept}}}"
    )


def _call(data: p.ToolCalled) -> str:
    return (
        f'{{"turn":{data.turn:d},"step":{data.step:d},"callId":{_text(data.call_id)},'
        f'"name":{_text(data.name)},"arguments":{_text(data.arguments)}}}'
    )


def _result(data: p.ToolAnswered) -> str:
    error = ""
    if data.error is not None:
        error = f',"error":{{"name":{_text(data.error.name)},"code":{_text(data.error.code)}}}'
    meta = "" if data.meta is None else f',"meta":{write_json(data.meta)}'
    return (
        f'{{"turn":{data.turn:d},"step":{data.step:d},"message":{_message(data.message)}'
        f"{error}{meta}}}"
    )


def _turn_end(data: p.TurnEnd) -> str:
    reason = data.reason
    if reason.error is None and reason.reason is None:
        return f'{{"turn":{data.turn:d},"reason":{{"kind":{_text(reason.kind)}}}}}'
    return write_json(ENCODERS[p.TurnEnd](data))


def _splice(data: p.InboxSpliced) -> str:
    removed = f',"removedCount":{data.removed_count:d}' if data.removed_count else ""
    inserted = ",".join([_message(message) for message in data.inserted])
    outcome = "" if data.outcome is None else f',"outcome":{_text(data.outcome)}'
    return (
        f'{{"target":{_text(data.target)},"start":{data.start:d}{removed},'
        f'"inserted":[{inserted}]{outcome}}}'
    )


def _finish(chunk: Finish) -> str:
    if chunk.failure is None and chunk.replay_state is None:
        return f'{{"type":"finish","reason":{{"kind":{_text(chunk.kind)}}}}}'
    return write_json(encode_chunk(chunk))


_CHUNKS: Mapping[type, Callable[[Any], str]] = {
    TextDelta: lambda c: f'{{"type":"text-delta","index":{c.index:d},"text":{_text(c.text)}}}',
    ReasoningDelta: lambda c: (
        f'{{"type":"reasoning-delta","index":{c.index:d},"text":{_text(c.text)}}}'
    ),
    ToolCallDelta: _call_delta,
    BlockStart: lambda c: (
        f'{{"type":"block-start","index":{c.index:d},"blockType":{_text(c.block_type)}}}'
    ),
    BlockEnd: lambda c: f'{{"type":"block-end","index":{c.index:d},"block":{_block(c.block)}}}',
    UsageChunk: lambda c: f'{{"type":"usage","usage":{_usage(c.usage)}}}',
    Finish: _finish,
}

_WRITERS: Mapping[type, Callable[[Any], str]] = {
    p.TurnStart: _turn_start,
    p.TurnEnd: _turn_end,
    p.StepStart: _step_edge,
    p.StepEnd: _step_edge,
    p.UserMessageLogged: _prompt,
    p.ChunkReceived: _chunk,
    p.AssistantReplied: _reply,
    p.ToolCalled: _call,
    p.ToolAnswered: _result,
    p.EndSeed: lambda _: "{}",
    p.InboxSpliced: _splice,
}
