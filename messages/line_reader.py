"""Lines as this build writes them, read without a detour over JSON objects.

A log is read as a whole when an agent is resumed, and nearly all of its lines are of few
shapes, with their keys in one order. Such a line is taken apart where it stands. Whatever
is out of the ordinary (other keys, another order, spaces, large numbers) is left to the
strict reader. So this one refuses nothing, and takes nothing that the strict one would
refuse or read as another event: every pattern is JSON of one structure.

Source: spec core 15.1; DESIGN 7.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from . import payload as p
from .chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from .deep_json import scan_string
from .draft import maker, twin
from .edge import PROMPT_CLAIMED, step_end, step_start, turn_completed, turn_start
from .event import Event, SurfaceOp
from .json_text import STRICT
from .line_part import (
    NATURAL,
    ORDINAL,
    PLAIN,
    MessageReader,
    Unusual,
    behind,
    block_at,
    text_at,
)
from .lossless import SAFE_INTEGER, freeze, is_text
from .vocabulary import KNOWN_TYPES, TYPED

_Found: TypeAlias = tuple[p.Payload, int]
_Options: TypeAlias = tuple[SurfaceOp | None, tuple[int, ...] | None, bool]
_Start: TypeAlias = tuple[int, int, type[Any], int, tuple[str, str | None] | None]
"""Turn, step, class and index of a delta; id and name of one of a call."""

_Event = twin(Event)
_ChunkReceived = twin(p.ChunkReceived)
_chunk_received = maker(p.ChunkReceived)
_Delta = twin(TextDelta)
_CallDelta = twin(ToolCallDelta)
_replied = maker(p.AssistantReplied)
_usage = maker(Usage)

# They have the same fields, so that one twin does for both.
assert TextDelta.__slots__ == ReasoningDelta.__slots__
_DELTAS: Mapping[str, type[Any]] = {
    "text-delta": TextDelta,
    "reasoning-delta": ReasoningDelta,
    "tool-call-delta": ToolCallDelta,
}

_STAMP = f'"seq":({NATURAL}),"time":({NATURAL}),"data":'
_STEP = rf'\{{"turn":({ORDINAL}),"step":({ORDINAL})'

_PROJECTED = re.compile(r'\{"type":"[a-z/-]+",(?="data":)').match
_HEAD = re.compile(rf'\{{"type":"([a-z/-]+)",{_STAMP}').match
_DELTA = re.compile(
    rf'\{{"type":"assistant/chunk",{_STAMP}'
    rf'(\{{"turn":{ORDINAL},"step":{ORDINAL},"chunk":\{{"type":"'
    rf'(?:(?:text|reasoning)-delta","index":{NATURAL},"text"'
    rf'|tool-call-delta","index":{NATURAL},"id":"{PLAIN}*"(?:,"name":"{PLAIN}*")?,"argumentsDelta")'
    r':)"'
).match
_TAIL = re.compile(
    r'(,"ignorable":true)?(?:,"sourceEventSeqs":(\[[0-9,]*\]))?(,"surfaceOp":"append")?\}'
).fullmatch
_OPTIONS: Mapping[str, _Options] = {
    "}": (None, None, False),
    ',"surfaceOp":"append"}': ("append", None, False),
}


def numbered(line: str, seq: int) -> str:
    """A line of the projected form as one of the other form; one with a number as ``""``."""
    head = _PROJECTED(line)
    if head is None:
        return ""
    return f'{head[0]}"seq":{seq},"time":0,{line[head.end() :]}'


class LineReader:
    """Reads the lines of one log, or of a part of it; it remembers what they share."""

    __slots__ = ("_messages", "_starts")

    def __init__(self) -> None:
        # By the JSON before a streamed text: what it says of turn, step and chunk.
        self._starts: dict[str, _Start] = {}
        self._messages = MessageReader()

    def read(self, line: str, seq: int) -> Any:
        """The event of a line, if it has this number; None for what the strict reader must see."""
        found = _DELTA(line)
        if found is None:
            return self._read(line, seq)
        number, time, before = found.groups()
        try:
            text, end = scan_string(line, found.end())
        except ValueError:
            return None
        if int(number) != seq or line[end:] != "}}}" or not (text.isascii() or is_text(text)):
            return None
        start = self._starts.get(before)
        if start is None:
            start = self._starts[before] = _start_of(before)
        turn, step, kind, place, call = start
        delta = _Delta(place, text) if call is None else _CallDelta(place, call[0], text, call[1])
        delta.__class__ = kind
        chunk = _ChunkReceived(turn, step, delta)
        chunk.__class__ = p.ChunkReceived
        event = _Event(seq, int(time), chunk, None, None, False)
        event.__class__ = Event
        return event

    def _read(self, line: str, seq: int) -> Any:
        head = _HEAD(line)
        if head is None:
            return None
        name, number, time = head.groups()
        if int(number) != seq:
            return None
        reader = _READERS.get(name)
        try:
            if reader is None:
                payload, end = _opaque_at(line, head.end(), name)
            else:
                payload, end = reader(self._messages, line, head.end())
            tail = line[end:]
            operation, sources, ignorable = _OPTIONS.get(tail) or _options(tail)
        except (ValueError, RecursionError):
            return None
        if reader is None and not ignorable and name not in KNOWN_TYPES:
            return None
        event = _Event(seq, int(time), payload, operation, sources, ignorable)
        event.__class__ = Event
        return event


def _options(tail: str) -> _Options:
    found = _TAIL(tail)
    if found is None:
        raise Unusual
    ignorable, listed, shown = found.groups()
    sources = None if listed is None else tuple(STRICT.raw_decode(listed)[0])
    if sources and max(sources) > SAFE_INTEGER:
        raise Unusual
    return "append" if shown else None, sources, ignorable is not None


def _start_of(before: str) -> _Start:
    data: dict[str, Any] = STRICT.decode(f'{before}""}}}}')
    chunk = data["chunk"]
    kind = _DELTAS[chunk["type"]]
    call = (chunk["id"], chunk.get("name")) if kind is ToolCallDelta else None
    return data["turn"], data["step"], kind, chunk["index"], call


def _opaque_at(line: str, at: int, name: str) -> _Found:
    if name in TYPED:
        raise Unusual
    data, at = STRICT.raw_decode(line, at)
    return p.OpaquePayload(name, data), at


_USAGE = (
    rf'\{{"inputTokens":({NATURAL}),"outputTokens":({NATURAL})(?:,"cacheReadTokens":({NATURAL}))?'
    rf'(?:,"cacheWriteTokens":({NATURAL}))?(?:,"reasoningTokens":({NATURAL}))?\}}'
)
_TURN = re.compile(rf'\{{"turn":({ORDINAL})\}}').match
_TURN_COMPLETED = re.compile(rf'\{{"turn":({ORDINAL}),"reason":\{{"kind":"completed"\}}\}}').match
_EDGE = re.compile(rf"{_STEP}\}}").match
_CHUNK = re.compile(rf'{_STEP},"chunk":\{{"type":"(block-start|block-end|usage|finish)"').match
_BLOCK_START = re.compile(rf',"index":({NATURAL}),"blockType":"({PLAIN}+)"').match
_BLOCK_END = re.compile(rf',"index":({NATURAL}),"block":').match
_USAGE_CHUNK = re.compile(rf',"usage":{_USAGE}').match
_FINISH = re.compile(r',"reason":\{"kind":"(stop|tool-calls|max-tokens|aborted|error)"\}').match
_MESSAGE = re.compile(rf'{_STEP},"message":\{{"content":\[').match
_REPLY_END = re.compile(rf'(?:,"usage":{_USAGE})?(?:,"interrupted":(true|false))?\}}').match
_CALL = re.compile(rf'{_STEP},"callId":"({PLAIN}+)","name":"({PLAIN}*)","arguments":"').match
_ERROR = re.compile(rf',"error":\{{"name":"({PLAIN}*)","code":"({PLAIN}*)"\}}').match
_CLAIM = '{"target":"next-turn","start":0,"removedCount":1,"inserted":[]}'
_INSERT = re.compile(
    rf'\{{"target":"(next-turn|next-step)","start":({NATURAL}),"inserted":\[\{{"content":\['
).match


def _sure(found: re.Match[str] | None) -> re.Match[str]:
    if found is None:
        raise Unusual
    return found


_UNTOLD = (None, None, None)


def _usage_of(read: str, written: str, *more: str | None) -> Usage:
    if more == _UNTOLD:
        return _usage(int(read), int(written), None, None, None)
    return _usage(int(read), int(written), *[count and int(count) for count in more])


def _turn_start_at(_messages: MessageReader, line: str, at: int) -> _Found:
    found = _TURN(line, at)
    if found is None:
        raise Unusual
    return turn_start(int(found[1])), found.end()


def _turn_end_at(_messages: MessageReader, line: str, at: int) -> _Found:
    found = _TURN_COMPLETED(line, at)
    if found is None:
        raise Unusual
    return turn_completed(int(found[1])), found.end()


def _step_start_at(_messages: MessageReader, line: str, at: int) -> _Found:
    found = _EDGE(line, at)
    if found is None:
        raise Unusual
    return step_start(int(found[1]), int(found[2])), found.end()


def _step_end_at(_messages: MessageReader, line: str, at: int) -> _Found:
    found = _EDGE(line, at)
    if found is None:
        raise Unusual
    return step_end(int(found[1]), int(found[2])), found.end()


def _prompt_at(messages: MessageReader, line: str, at: int) -> _Found:
    message, at = messages.user_at(line, behind(line, at, '{"content":['))
    return p.UserMessageLogged(message), at


def _chunk_at(_messages: MessageReader, line: str, at: int) -> _Found:
    head = _CHUNK(line, at)
    if head is None:
        raise Unusual
    turn, step, kind = head.groups()
    chunk, at = _CHUNKS[kind](line, head.end())
    return _chunk_received(int(turn), int(step), chunk), behind(line, at, "}}")


def _block_start_at(line: str, at: int) -> tuple[Chunk, int]:
    found = _sure(_BLOCK_START(line, at))
    return BlockStart(int(found[1]), found[2]), found.end()  # type: ignore[arg-type]  # any name is read


def _block_end_at(line: str, at: int) -> tuple[Chunk, int]:
    found = _sure(_BLOCK_END(line, at))
    block, at = block_at(line, found.end())
    return BlockEnd(int(found[1]), block), at


def _usage_at(line: str, at: int) -> tuple[Chunk, int]:
    found = _sure(_USAGE_CHUNK(line, at))
    return UsageChunk(_usage_of(*found.groups())), found.end()


def _finish_at(line: str, at: int) -> tuple[Chunk, int]:
    found = _sure(_FINISH(line, at))
    return Finish(found[1]), found.end()  # type: ignore[arg-type]  # sure by the pattern


_CHUNKS: Mapping[str, Callable[[str, int], tuple[Chunk, int]]] = {
    "block-start": _block_start_at,
    "block-end": _block_end_at,
    "usage": _usage_at,
    "finish": _finish_at,
}


def _reply_at(messages: MessageReader, line: str, at: int) -> _Found:
    head = _sure(_MESSAGE(line, at))
    message, at = messages.assistant_at(line, head.end())
    end = _sure(_REPLY_END(line, at))
    *counts, interrupted = end.groups()
    usage = None if counts[0] is None else _usage_of(*counts)
    kept = None if interrupted is None else interrupted == "true"
    return _replied(int(head[1]), int(head[2]), message, usage, kept), end.end()


def _call_at(_messages: MessageReader, line: str, at: int) -> _Found:
    head = _sure(_CALL(line, at))
    turn, step, call_id, name = head.groups()
    arguments, at = text_at(line, head.end())
    return p.ToolCalled(int(turn), int(step), call_id, name, arguments), behind(line, at, "}")


def _result_at(messages: MessageReader, line: str, at: int) -> _Found:
    head = _sure(_MESSAGE(line, at))
    message, at = messages.tool_at(line, head.end())
    error, meta = None, None
    found = _ERROR(line, at)
    if found is not None:
        error, at = p.ErrorInfo(found[1], found[2]), found.end()
    if line.startswith(',"meta":', at):
        value, at = STRICT.raw_decode(line, at + 8)
        meta = freeze(value, "meta")
    payload = p.ToolAnswered(int(head[1]), int(head[2]), message, error, meta)
    return payload, behind(line, at, "}")


def _end_seed_at(_messages: MessageReader, line: str, at: int) -> _Found:
    return p.EndSeed(), behind(line, at, "{}")


def _splice_at(messages: MessageReader, line: str, at: int) -> _Found:
    if line.startswith(_CLAIM, at):
        return PROMPT_CLAIMED, at + len(_CLAIM)
    head = _sure(_INSERT(line, at))
    target, start = head.groups()
    message, at = messages.user_at(line, head.end())
    payload = p.InboxSpliced(target, int(start), 0, (message,))  # type: ignore[arg-type]  # sure by the pattern
    return payload, behind(line, at, "]}")


_READERS: Mapping[str, Callable[[MessageReader, str, int], _Found]] = {
    "turn/start": _turn_start_at,
    "turn/end": _turn_end_at,
    "step/start": _step_start_at,
    "step/end": _step_end_at,
    "user/message": _prompt_at,
    "assistant/chunk": _chunk_at,
    "assistant/message": _reply_at,
    "tool/call": _call_at,
    "tool/result": _result_at,
    "session/end-seed": _end_seed_at,
    "agent/inbox/spliced": _splice_at,
}
