"""Lines of a log: what they hold, what is refused, and where the error points."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broodline.messages.chunk import Finish, TextDelta, Usage
from broodline.messages.codec import encode_event
from broodline.messages.content import OpaqueBlock, Text, ToolResult
from broodline.messages.errors import (
    ConfigurationError,
    SessionCorruptError,
    SessionFormatUnsupportedError,
)
from broodline.messages.event import Event
from broodline.messages.event_text import (
    decode_header_line,
    decode_lines,
    encode_header_line,
    encode_line,
    encode_projected,
)
from broodline.messages.header import SessionHeader
from broodline.messages.lossless import FrozenDict, freeze
from broodline.messages.message import AssistantMessage, ToolMessage, UserMessage
from broodline.messages.payload import (
    AssistantReplied,
    CallConfig,
    ChunkReceived,
    HeaderLogged,
    InboxSpliced,
    OpaquePayload,
    Payload,
    RequestHeader,
    ToolAnswered,
    ToolCalled,
    ToolSchema,
    TurnStart,
    UnrecordedTools,
    UserMessageLogged,
)

TURN = '{"type":"turn/start","seq":0,"time":5,"data":{"turn":1}}'
NEXT = '{"type":"step/start","seq":1,"time":5,"data":{"turn":1,"step":1}}'
HEADER = '{"type":"session","version":0,"id":"s","createdAt":1,"delegationDepth":0}'


def line_of(data: Payload, **more: Any) -> str:
    return encode_line(Event(0, 5, data, **more))


def test_the_whole_envelope() -> None:
    """core 15.1: a line has type, seq, time and data; what is shown also sources and operation."""
    assert line_of(TurnStart(1)) == TURN
    prompt = UserMessageLogged(UserMessage("u", (Text("hi"),)))
    assert line_of(prompt, surface_op="append") == (
        '{"type":"user/message","seq":0,"time":5,"data":{"content":[{"type":"text","text":"hi"}],'
        '"source":{"kind":"user"},"role":"user","id":"u"},"surfaceOp":"append"}'
    )


def test_a_batch() -> None:
    """core 1.2: lines are events that count on from the first number; text and bytes alike."""
    events = decode_lines([TURN, NEXT.encode()])
    assert [event.seq for event in events] == [0, 1]
    assert decode_lines([NEXT], 1) == events[1:]
    assert decode_lines([]) == []


@pytest.mark.parametrize("lines", [[TURN, TURN], [TURN, NEXT.replace('"seq":1', '"seq":2')]])
def test_a_gap(lines: list[str]) -> None:
    """core #83: a number that is not the next one is damage, and its place is told."""
    with pytest.raises(SessionCorruptError, match="where 1 belongs") as caught:
        decode_lines(lines)
    assert caught.value.details["index"] == 1


BROKEN = {
    "cut": NEXT[:-1],
    "empty": "",
    "blank": "  ",
    "two": NEXT + NEXT,
    "array": "[]",
    "word": "nul",
    "nan": NEXT.replace('"time":5', '"time":NaN'),
    "infinite": NEXT.replace('"time":5', '"time":Infinity'),
    "key twice": NEXT.replace('"time":5', '"time":5,"time":5'),
    "inner key twice": NEXT.replace('"turn":1', '"turn":1,"turn":1'),
    "bool": NEXT.replace('"turn":1', '"turn":true'),
    "float": NEXT.replace('"turn":1', '"turn":1.0'),
    "exponent": NEXT.replace('"turn":1', '"turn":1e0'),
    "negative": NEXT.replace('"time":5', '"time":-5'),
    "large": NEXT.replace('"time":5', '"time":9007199254740992'),
    "very large": NEXT.replace('"time":5', f'"time":{"9" * 5000}'),
    "leading zero": NEXT.replace('"time":5', '"time":05'),
    "text": NEXT.replace('"time":5', '"time":"5"'),
    "null": NEXT.replace('"time":5', '"time":null'),
    "extra key": NEXT.replace('"time":5', '"time":5,"more":1'),
    "extra in data": NEXT.replace('"turn":1', '"turn":1,"more":1'),
    "ignorable false": NEXT[:-1] + ',"ignorable":false}',
    "operation": NEXT[:-1] + ',"surfaceOp":"prepend"}',
    "sources": NEXT[:-1] + ',"sourceEventSeqs":[1.0]}',
    "large source": NEXT[:-1] + ',"sourceEventSeqs":[9007199254740992]}',
    "no time": NEXT.replace('"time":5,', ""),
    "byte order mark": "\ufeff" + NEXT,
}


@pytest.mark.parametrize("name", BROKEN)
def test_damage(name: str) -> None:
    """core 5.7: what is no event, or would not come back the same, is damage with its place."""
    for line in (BROKEN[name], BROKEN[name].encode()):
        with pytest.raises(SessionCorruptError) as caught:
            decode_lines([TURN, line])
        assert caught.value.details["index"] == 1


def test_bytes_that_are_no_text() -> None:
    """core 5.7: a line that is not UTF-8 is damage with its place."""
    with pytest.raises(SessionCorruptError, match="utf-8") as caught:
        decode_lines([TURN.encode(), NEXT.encode().replace(b"start", b"st\xffrt")])
    assert caught.value.details["index"] == 1


DELTA = '{"type":"assistant/chunk","seq":0,"time":5,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"%s"}}}'  # noqa: E501 - one line of a log


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"\n\u0000\"\\\/", '\n\0"\\/'),
        (r"\ud83d\ude00", "\U0001f600"),
        ("é\u2028\x7f", "é\u2028\x7f"),
        ("", ""),
    ],
)
def test_texts(written: str, text: str) -> None:
    """core 1.3: every text comes back, however it was written."""
    (event,) = decode_lines([DELTA % written])
    assert event.data == ChunkReceived(1, 1, TextDelta(0, text))
    assert decode_lines([encode_line(event)]) == [event]


@pytest.mark.parametrize("written", [r"\ud800", "\ud800", r"\x41", "\n", "\0", r"\u12", '"', "\\"])
def test_texts_that_are_none(written: str) -> None:
    """core 1.3: half a pair, a bare control character and an unknown escape are damage."""
    with pytest.raises(SessionCorruptError):
        decode_lines([DELTA % written])


def test_an_unknown_type() -> None:
    """core #94: a type that nobody knows refuses the log, with its place."""
    weather = '{"type":"weather/report","seq":1,"time":5,"data":{"rain":[1]}}'
    with pytest.raises(SessionFormatUnsupportedError, match="weather/report") as caught:
        decode_lines([TURN, weather])
    assert caught.value.details == {"type": "weather/report", "index": 1}
    _, kept = decode_lines([TURN, weather[:-1] + ',"ignorable":true}'])
    assert kept.data == OpaquePayload("weather/report", {"rain": [1]})
    assert kept.ignorable


def test_a_descriptor_of_another_version() -> None:
    """DESIGN 5: a descriptor that is not ours is kept as it stands."""
    data = {"version": 2, "mode": "one-shot", "provider": "spawn"}
    line = json.dumps({"type": "subagent/descriptor", "seq": 0, "time": 5, "data": data})
    (event,) = decode_lines([line])
    assert event.data == OpaquePayload("subagent/descriptor", data)


def test_a_prompt_is_one_object() -> None:
    """core 1.2: a prompt that was queued and then logged is read as one shared message."""
    message = UserMessage("u", (Text("hi"),))
    queued, logged = InboxSpliced("next-turn", 0, 0, (message,)), UserMessageLogged(message)
    lines = [encode_line(Event(0, 5, queued)), encode_line(Event(1, 5, logged, "append"))]
    first, second = decode_lines(lines)
    assert first.data == queued
    assert second.data == logged
    assert isinstance(first.data, InboxSpliced)
    assert isinstance(second.data, UserMessageLogged)
    assert first.data.inserted[0] is second.data.message


DEPTH = 5_000


def deep(levels: int = DEPTH) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return freeze(value, "value")


def deep_text(levels: int = DEPTH) -> str:
    sides = [("[", "]") if level % 2 else ('{"a":', "}") for level in range(levels)]
    opening = "".join(one for one, _ in reversed(sides))
    return f"{opening}1{''.join(other for _, other in sides)}"


def test_depth() -> None:
    """core 1.3: values that nest five thousand levels deep are written and read, wherever."""
    block = OpaqueBlock({"type": "image", "x": deep()})
    result = ToolMessage(
        "t", (ToolResult("a", (block,)),), FrozenDict({"kind": "tool", "callId": "a"})
    )
    tool = ToolSchema("n", "", FrozenDict({"x": deep()}))
    user = UserMessage("u", (), FrozenDict({"kind": "user", "x": deep()}))
    payloads: list[Payload] = [
        OpaquePayload("session/title", deep()),
        UserMessageLogged(UserMessage("u", (block,))),
        UserMessageLogged(user),
        ToolAnswered(1, 1, result, meta=deep()),
        HeaderLogged(RequestHeader(CallConfig("p", "m"), tools=(tool,)), "initial"),
        ChunkReceived(1, 1, Finish("stop", replay_state=deep())),
    ]
    for payload in payloads:
        line = line_of(payload)
        assert deep_text() in line
        (event,) = decode_lines([line])
        assert encode_line(event) == line
        with pytest.raises(SessionCorruptError):
            decode_lines([line.replace('{"a":1}', '{"a":1,"a":1}')])
        with pytest.raises(SessionCorruptError):
            decode_lines([line.replace('{"a":1}', '{"a":NaN}')])


def test_deep_damage() -> None:
    """core 5.7: a line of brackets is damage, however many."""
    for line in ("[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000):
        with pytest.raises(SessionCorruptError):
            decode_lines([line])


def test_no_number_far_down() -> None:
    """core 1.3: a number that JSON does not have is not written, however deep the event is."""
    block = OpaqueBlock({"type": "image", "x": deep()})
    source = FrozenDict({"kind": "model", "provider": "p", "model": "m"})
    usage = Usage(float("nan"))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="event 0"):
        line_of(AssistantReplied(1, 1, AssistantMessage("m", (block,), source), usage))


def test_a_prompt_like_the_last() -> None:
    """core 1.2: a prompt that only begins like the one before it is one of its own."""
    one, other = UserMessage("u", (Text("hi"),)), UserMessage("u2", (Text("hi"),))
    payloads = [UserMessageLogged(message) for message in (one, other, one)]
    lines = [encode_line(Event(seq, 5, data)) for seq, data in enumerate(payloads)]
    assert [event.data for event in decode_lines(lines)] == payloads


def nested_results(levels: int) -> ToolResult:
    result = ToolResult("a", (Text("x"),))
    for _ in range(levels):
        result = ToolResult("a", (result,))
    return result


UNWRITABLE: dict[str, Payload] = {
    "lone surrogate": ChunkReceived(1, 1, TextDelta(0, "\ud800")),
    "lone surrogate in a name": ToolCalled(1, 1, "a", "\udfff", "{}"),
    "not text": ToolCalled(1, 1, "a", "n", b"{}"),  # type: ignore[arg-type]
    "object": OpaquePayload("session/title", None),
    "infinite": HeaderLogged(
        RequestHeader(CallConfig("p", "m", temperature=float("inf"))), "initial"
    ),
    "number that is none": ChunkReceived(1, 1, TextDelta(float("nan"), "x")),  # type: ignore[arg-type]
    "a chunk of nobody": ChunkReceived(1, 1, None),  # type: ignore[arg-type]
    "results in results": UserMessageLogged(UserMessage("u", (nested_results(DEPTH),))),
}
object.__setattr__(UNWRITABLE["object"], "data", {"a": object()})


@pytest.mark.parametrize("name", UNWRITABLE)
@pytest.mark.parametrize("write", [encode_line, encode_projected])
def test_what_can_never_be_written(name: str, write: Any) -> None:
    """core 1.3: an event that JSON or UTF-8 cannot hold is refused by number and type."""
    payload = UNWRITABLE[name]
    with pytest.raises(ConfigurationError, match=rf"event 7 of the type {payload_type(payload)}"):
        write(Event(7, 5, payload))


def payload_type(payload: Payload) -> str:
    return Event(0, 0, payload).type


def test_numbers_are_written_as_such() -> None:
    """core #9: a bool that got where a number belongs is written as the number it is."""
    (event,) = decode_lines([line_of(TurnStart(True))])
    assert repr(event.data) == "TurnStart(turn=1)"


PROJECTED = '{"type":"turn/start","data":{"turn":1}}'


def test_the_projected_form() -> None:
    """core 15.3: projected lines have neither number nor time; their place is their number."""
    events = decode_lines([PROJECTED, PROJECTED], 3, projected=True)
    assert [(event.seq, event.time) for event in events] == [(3, 0), (4, 0)]
    assert encode_projected(events[0]) == PROJECTED
    with pytest.raises(SessionCorruptError) as caught:
        decode_lines([PROJECTED])
    assert caught.value.details["index"] == 0
    with pytest.raises(SessionCorruptError) as caught:
        decode_lines([PROJECTED, "{}"], projected=True)
    assert caught.value.details["index"] == 1


TOOLS = (
    '{"type":"request/header","data":{"header":{"config":{"provider":"p","model":"m"},'
    '"system":"{{system}}","tools":"{{tools}}"},"reason":"initial"}}'
)


def test_the_placeholder_for_tools() -> None:
    """core 15.3: tools that nobody recorded are none to a reader, and come out as they stood."""
    (event,) = decode_lines([TOOLS], projected=True)
    assert isinstance(event.data, HeaderLogged)
    assert event.data.header.tools == ()
    assert isinstance(event.data.header.tools, UnrecordedTools)
    assert encode_projected(event) == TOOLS
    strict = TOOLS.replace('"data"', '"seq":0,"time":5,"data"')
    with pytest.raises(SessionCorruptError, match="tools"):
        decode_lines([strict])
    for other in ('"{{tool}}"', "{}", "1"):
        with pytest.raises(SessionCorruptError, match="tools"):
            decode_lines([TOOLS.replace('"{{tools}}"', other)], projected=True)


def test_a_header_line() -> None:
    """core 15.1: the first line is the header, with its delegationDepth."""
    header = SessionHeader("s", 1)
    assert encode_header_line(header) == HEADER
    read = decode_header_line(HEADER)
    assert (read.id, read.delegation_depth) == ("s", 0)
    assert decode_header_line(HEADER.encode()) == read
    child = SessionHeader("c", 2, "/srv", "s", 3, "subagent", 1, "preset")
    assert decode_header_line(encode_header_line(child)) == child


def test_a_projected_header_line() -> None:
    """core 15.3: a projected header may lack its depth, and have any text for a folder."""
    header = SessionHeader("{{sessionId}}", 0, cwd="{{cwd}}")
    line = encode_header_line(header, projected=True)
    assert "delegationDepth" not in line
    assert decode_header_line(line, projected=True) == header
    with pytest.raises(SessionCorruptError):
        decode_header_line(line)
    with pytest.raises(SessionCorruptError, match="absolute"):
        decode_header_line(line[:-1] + ',"delegationDepth":0}')


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "{",
        TURN,
        HEADER.replace(',"delegationDepth":0', ""),
        HEADER.replace('"version":0,', ""),
        HEADER.replace('"id":"s",', ""),
        HEADER.replace('"id":"s"', '"id":""'),
        HEADER.replace('"id":"s"', '"id":"s","id":"s"'),
        HEADER.replace('"createdAt":1', '"createdAt":1.5'),
        HEADER.replace('"version":0', '"version":"0"'),
        HEADER[:-1] + ',"more":1}',
        HEADER[:-1] + ',"cwd":null}',
        HEADER[:-1] + ',"cwd":"here"}',
        '{"type":"session","id":' + "[" * 5000 + "]" * 5000 + "}",
    ],
)
def test_a_damaged_header_line(line: str) -> None:
    """core #96: a header that lacks what a store writes, or is no header, is damage."""
    with pytest.raises(SessionCorruptError):
        decode_header_line(line)


@pytest.mark.parametrize(("version", "age"), [(1, "newer"), (-1, "older")])
def test_a_header_of_another_version(version: int, age: str) -> None:
    """core #18: a header of another version is unsupported, not damaged, whatever else it has."""
    line = HEADER.replace('"version":0', f'"version":{version},"more":1')
    with pytest.raises(SessionFormatUnsupportedError, match=age):
        decode_header_line(line)


def test_a_large_event() -> None:
    """The order: an event of 20 MB goes both ways."""
    event = Event(0, 5, ChunkReceived(1, 1, TextDelta(0, 'x"\n😀' * 3_000_000)))
    line = encode_line(event)
    assert len(line.encode()) > 20_000_000
    assert decode_lines([line]) == [event]
    assert json.loads(line) == encode_event(event)
