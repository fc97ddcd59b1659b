"""The quick reader and writer of lines do what the strict ones do, to the character.

What is strict is spelled out here: JSON without duplicate keys and foreign constants, the codec,
and the number that comes next.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from broodline.actors.recording import read_log
from broodline.messages import chunk as c
from broodline.messages import payload as p
from broodline.messages.codec import decode_event, encode_event
from broodline.messages.content import OpaqueBlock, Reasoning, Text, ToolCall, ToolResult
from broodline.messages.errors import BroodlineError, SessionCorruptError
from broodline.messages.event import Event, Replace
from broodline.messages.event_text import decode_lines, encode_line, encode_projected
from broodline.messages.line_reader import LineReader
from broodline.messages.line_writer import write_line
from broodline.messages.lossless import FrozenDict, freeze
from broodline.messages.message import AssistantMessage, ToolMessage, UserMessage
from broodline.messages.vocabulary import SURFACE_NAMES

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "recordings"
PATHS = sorted(RECORDINGS.glob("*/*/session*.jsonl"))


def pairs_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("twice")
    return dict(pairs)


def no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def strict(line: str, seq: int) -> Event:
    """The event of a line, read the long way."""
    try:
        row = json.loads(line, object_pairs_hook=pairs_once, parse_constant=no_constant)
    except ValueError:
        raise SessionCorruptError("no JSON") from None
    event = decode_event(row)
    if event.seq != seq:
        raise SessionCorruptError("seq")
    return event


def outcome(read: Callable[[], Event]) -> Any:
    """What a reader comes to: an event, the types of its parts too, or the class of an error."""
    try:
        event = read()
    except BroodlineError as error:
        return type(error)
    return event, repr(event), hash_of(event)


def hash_of(event: Event) -> str:
    """Tells apart what is equal and yet different, such as 1 and true."""
    return json.dumps(encode_event(event))


def same(line: str, seq: int) -> None:
    """Both readers come to the same."""
    expected = outcome(lambda: strict(line, seq))
    assert outcome(lambda: decode_lines([line], seq)[0]) == expected
    quick = LineReader().read(line, seq)
    if quick is not None:
        assert (quick, repr(quick), hash_of(quick)) == expected


text = st.text(max_size=8) | st.sampled_from(["", 'a"b\\', "\n\t\0\x1f", "\x7f\u2028", "é😀"])
name = st.text(min_size=1, max_size=6) | st.sampled_from(["call_0", "a b", "}", '"', "{}", "[,]"])
natural = st.integers(0, 20) | st.integers(0, 2**53 - 1)
ordinal = st.integers(1, 20) | st.integers(1, 2**53 - 1)
leaf: Any = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x != 0.0)
    | text
)
json_value: Any = st.recursive(
    leaf,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
opaque_block = st.builds(
    lambda more, kind: OpaqueBlock({**more, "type": kind}),
    st.dictionaries(name, json_value, max_size=2),
    st.sampled_from(["image", "audio"]),
)
plain_block: Any = (
    st.builds(Text, text) | st.builds(Reasoning, text) | st.builds(ToolCall, text, text, text)
)
block: Any = st.recursive(
    plain_block | opaque_block,
    lambda inner: st.builds(
        ToolResult, text, st.lists(inner, max_size=2).map(tuple), st.booleans()
    ),
    max_leaves=3,
)
content = st.lists(block, max_size=3).map(tuple)


def sourced(kind: Any, **more: Any) -> Any:
    other = st.dictionaries(text, json_value, max_size=2)
    fixed = st.fixed_dictionaries({"kind": kind, **more})
    return st.builds(lambda a, b: freeze({**a, **b}, "s"), other, fixed) | fixed.map(FrozenDict)


user = st.builds(
    UserMessage, name, content, sourced(st.just("user")) | st.just(FrozenDict({"kind": "user"}))
)
assistant = st.builds(
    AssistantMessage, name, content, sourced(st.just("model"), provider=name, model=name)
)


@st.composite
def tool_message(draw: Any) -> ToolMessage:
    call_id = draw(name)
    block = ToolResult(call_id, draw(content), draw(st.booleans()))
    return ToolMessage(
        draw(name), (block,), draw(sourced(st.just("tool"), callId=st.just(call_id)))
    )


count = st.none() | natural
usage = st.builds(c.Usage, natural, natural, count, count, count)
failure = st.builds(
    c.ModelFailure, text, name, st.none() | natural, st.none() | natural, st.none() | text
)
chunk: Any = st.one_of(
    st.builds(c.BlockStart, natural, name),
    st.builds(c.TextDelta, natural, text),
    st.builds(c.ReasoningDelta, natural, text),
    st.builds(c.ToolCallDelta, natural, text, text, st.none() | text),
    st.builds(c.BlockEnd, natural, block),
    st.builds(c.UsageChunk, usage),
    st.builds(
        c.Finish,
        st.sampled_from(["stop", "tool-calls", "max-tokens", "aborted", "error"]),
        st.none() | failure,
        json_value,
    ),
)
cause = st.builds(p.AbortCause, st.sampled_from(["user", "hook"]), st.none() | text)
ending = st.builds(
    p.TurnEndReason,
    st.sampled_from(["completed", "error", "aborted"]),
    st.none() | failure,
    st.none() | cause,
)
tool = st.builds(
    p.ToolSchema,
    name,
    text,
    st.dictionaries(text, json_value, max_size=2).map(lambda value: freeze(value, "p")),
)
header = st.builds(
    p.RequestHeader,
    st.builds(
        p.CallConfig,
        name,
        name,
        st.none() | name,
        st.none() | st.just(0.5),
        count.map(lambda n: n or None),
    ),
    st.none() | text,
    st.none() | st.lists(tool, max_size=2).map(tuple),
)
step = (ordinal, ordinal)
payload: Any = st.one_of(
    st.builds(p.TurnStart, ordinal),
    st.builds(p.TurnEnd, ordinal, ending),
    st.builds(p.StepStart, *step),
    st.builds(p.StepEnd, *step),
    st.builds(p.UserMessageLogged, user),
    st.builds(p.ChunkReceived, *step, chunk),
    st.builds(p.ChunkReceived, *step, chunk),
    st.builds(p.AssistantReplied, *step, assistant, st.none() | usage, st.none() | st.booleans()),
    st.builds(p.ToolCalled, *step, name, text, text),
    st.builds(
        p.ToolAnswered,
        *step,
        tool_message(),
        st.none() | st.builds(p.ErrorInfo, text, text),
        json_value.map(lambda value: freeze(value, "meta")),
    ),
    st.builds(p.HeaderLogged, header, st.sampled_from(["initial", "resume", "change"])),
    st.just(p.EndSeed()),
    st.builds(
        p.InboxSpliced,
        st.sampled_from(["next-turn", "next-step"]),
        natural,
        natural,
        st.lists(user, max_size=2).map(tuple),
        st.sampled_from([None, "canceled"]),
    ),
    st.builds(p.RetryStarted, name, *step, natural),
    st.builds(p.DeliveryRefused, natural, name, name),
    st.builds(p.OptionsChosen, st.none() | name),
    st.builds(
        p.OpaquePayload, st.sampled_from(["session/title", "subagent/descriptor"]), json_value
    ),
)
event: Any = st.builds(
    Event,
    natural,
    natural,
    payload,
    st.none() | st.just("append") | st.builds(Replace, natural, natural),
    st.none() | st.lists(natural, max_size=3).map(tuple),
    st.booleans(),
)


@settings(max_examples=400)
@given(event)
def test_what_is_written(given_event: Event) -> None:
    """core 15.1: a line is what the codec makes, as compact JSON, and is read back as the event."""
    line = encode_line(given_event)
    row = encode_event(given_event)
    assert line == json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    assert write_line(given_event) in (None, line)
    same(line, given_event.seq)
    assert decode_lines([line.encode()], given_event.seq) == decode_lines([line], given_event.seq)
    same(line, given_event.seq + 1)


FRAGMENTS = [
    "0", "-0", "-0.0", "1.0", "1e3", "01", "1_0", "+1", "true", "null", "NaN", "-Infinity", "{}",
    "[]", '""', " ", "\t", "\n", "\ufeff", "\0", ",", ":", '"', "\\", "\\u0041", "\\ud800",
    "\ud800", "}", "{", "]", "9007199254740991", "9007199254740992", "1" * 400, '"seq":0,',
    '"text":"",',
    '"type":"text-delta",', '"turn":1,', ',"ignorable":true', ',"more":1', '{"kind":"user"}', "é",
    "\u0661", '"index":1,', '"id":"x",', '"role":"user",',
]  # fmt: skip


@st.composite
def damaged(draw: Any) -> tuple[str, int]:
    """A line with a part of it gone, doubled, or in the place of another."""
    drawn = draw(event)
    line = encode_line(drawn)
    for _ in range(draw(st.integers(1, 2))):
        start = draw(st.integers(0, len(line)))
        end = draw(st.integers(start, min(len(line), start + draw(st.sampled_from([0, 1, 4, 20])))))
        kind = draw(st.sampled_from(["insert", "number", "text", "double", "cut"]))
        if kind == "double":
            line = line[:end] + line[start:end] + line[end:]
        elif kind == "number":
            digits = [at for at, sign in enumerate(line) if sign.isdigit()] or [0]
            at = draw(st.sampled_from(digits))
            line = line[:at] + draw(st.sampled_from(FRAGMENTS)) + line[at + 1 :]
        elif kind == "text":
            quotes = [at for at, sign in enumerate(line) if sign in '":,{}'] or [0]
            at = draw(st.sampled_from(quotes))
            line = line[: at + 1] + draw(st.sampled_from(FRAGMENTS)) + line[at + 1 :]
        else:
            piece = "" if kind == "cut" else draw(st.sampled_from(FRAGMENTS))
            line = line[:start] + piece + line[end:]
    return line, drawn.seq


def with_a_key_twice(line: str) -> list[str]:
    """The line, at each of its keys with this key once more, before it."""
    made: list[str] = []
    row = json.loads(line)
    stack: list[Any] = [row]
    while stack:
        value = stack.pop()
        for key in list(value) if isinstance(value, dict) else []:
            mark = f'"{key}":'
            at = line.find(mark)
            while at >= 0:
                made.append(f"{line[:at]}{mark}1,{line[at:]}")
                at = line.find(mark, at + 1)
            stack.append(value[key])
        stack += value if isinstance(value, list) else []
    return made


@settings(max_examples=1500)
@given(damaged())
@example(('{"type":"turn/start","seq":0,"time":1_0,"data":{"turn":1}}', 0))
@example(('{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}}', 0))
@example(('{"type":"turn/start","seq":0,"time":1,"data":{"turn":1},"ignorable":true}', 0))
@example(('{"type":"turn/start","seq":0,"time":1,"data":{"turn":9007199254740993}}', 0))
@example(("", 0))
def test_what_is_read_of_damaged_lines(given_line: tuple[str, int]) -> None:
    """core 5.7: the quick reader takes and refuses exactly what the strict one does."""
    same(*given_line)


def type_of(sample: Any) -> str:
    return Event(0, 0, sample).type


def shown(sample: Any) -> Event:
    """An event of a payload; one that a model sees is on the surface and cites others."""
    if type_of(sample) in SURFACE_NAMES:
        return Event(3, 4, sample, "append", (1, 2))
    return Event(3, 4, sample)


SAMPLES = [
    p.TurnStart(1),
    p.ChunkReceived(1, 1, c.TextDelta(0, "x")),
    p.ChunkReceived(1, 1, c.ToolCallDelta(0, "a", "x", "n")),
    p.ChunkReceived(1, 1, c.BlockEnd(0, ToolCall("a", "n", "{}"))),
    p.ChunkReceived(1, 1, c.UsageChunk(c.Usage(1, 2, 3, 4, 5))),
    p.ChunkReceived(1, 1, c.Finish("stop")),
    p.UserMessageLogged(UserMessage("u", (Text("x"), Reasoning("y")))),
    p.AssistantReplied(
        1,
        2,
        AssistantMessage(
            "m", (Text("x"),), FrozenDict({"kind": "model", "provider": "p", "model": "m"})
        ),
        c.Usage(1, 2),
        True,
    ),
    p.ToolCalled(1, 1, "a", "n", "{}"),
    p.ToolAnswered(
        1,
        1,
        ToolMessage(
            "t", (ToolResult("a", (Text("x"),)),), FrozenDict({"kind": "tool", "callId": "a"})
        ),
        p.ErrorInfo("E", "C"),
        freeze({"a": [1]}, "meta"),
    ),
    p.InboxSpliced("next-turn", 0, 1),
    p.InboxSpliced("next-step", 0, 0, (UserMessage("u", (Text("x"),)),)),
    p.TurnEnd(1, p.TurnEndReason("completed")),
    p.EndSeed(),
    p.OpaquePayload("session/title", {"a": {"b": 1}}),
]


@pytest.mark.parametrize("sample", SAMPLES, ids=type_of)
def test_a_key_twice(sample: Any) -> None:
    """core 5.7: two values for a key are damage, wherever they stand."""
    line = encode_line(shown(sample))
    assert LineReader().read(line, 3) is not None
    doubled = with_a_key_twice(line)
    assert len(doubled) >= 4
    for broken in doubled:
        with pytest.raises(SessionCorruptError):
            decode_lines([broken], 3)


PROMPT, REPLY, ANSWER = SAMPLES[6], SAMPLES[7], SAMPLES[9]

EDITS: list[tuple[Any, str, str]] = [
    *((sample, '"turn":1', '"turn":0') for sample in (*SAMPLES[:6], *SAMPLES[7:10], SAMPLES[12])),
    *((sample, '"step":1', '"step":0') for sample in (*SAMPLES[1:6], *SAMPLES[8:10])),
    (SAMPLES[1], '"text":"x"', r'"text":"\ud800"'),
    (SAMPLES[3], '"arguments":"{}"', r'"arguments":"\udfff"'),
    (PROMPT, '"text":"x"', r'"text":"\ud800"'),
    (PROMPT, '"role":"user"', '"role":"assistant"'),
    (PROMPT, '"id":"u"', '"id":""'),
    (PROMPT, '{"kind":"user"}', "{}"),
    (PROMPT, '{"kind":"user"}', '{"kind":""}'),
    (PROMPT, '{"kind":"user"}', '{"kind":1}'),
    (PROMPT, '{"kind":"user"}', '{"kind":"user","n":-0.0}'),
    (PROMPT, '{"kind":"user"}', '{"kind":"user","kind":"user"}'),
    (PROMPT, '"type":"text"', '"type":""'),
    (REPLY, '"role":"assistant"', '"role":"user"'),
    (REPLY, '"kind":"model"', '"kind":"user"'),
    (REPLY, ',"provider":"p"', ""),
    (REPLY, '"model":"m"', '"model":""'),
    (REPLY, '"inputTokens":1', '"inputTokens":-1'),
    (REPLY, '"interrupted":true', '"interrupted":null'),
    (ANSWER, '"role":"user"', '"role":"assistant"'),
    (ANSWER, '"callId":"a"', '"callId":"b"'),
    (ANSWER, '"toolCallId":"a"', '"toolCallId":"b"'),
    (ANSWER, '"kind":"tool"', '"kind":"user"'),
    (ANSWER, '"isError":false', '"isError":0'),
    (ANSWER, '"code":"C"', '"code":1'),
    (ANSWER, '{"a":[1]}', '{"a":[9007199254740992]}'),
    (ANSWER, '{"a":[1]}', r'{"a":["\ud800"]}'),
    (ANSWER, '{"a":[1]}', '{"a":[-0.0]}'),
    (ANSWER, '{"a":[1]}', '{"a":[NaN]}'),
    (ANSWER, '{"a":[1]}', '{"a":[1],"a":[1]}'),
    (SAMPLES[5], '"kind":"stop"', '"kind":"stopped"'),
    (SAMPLES[10], '"start":0', '"start":00'),
    (SAMPLES[11], '"target":"next-step"', '"target":"next"'),
    (SAMPLES[12], '"kind":"completed"', '"kind":""'),
    (SAMPLES[13], '"data":{}', '"data":{"a":1}'),
    (SAMPLES[14], '{"b":1}', '{"b":-0.0}'),
]


@pytest.mark.parametrize(("sample", "part", "other"), EDITS)
def test_what_does_not_fit(sample: Any, part: str, other: str) -> None:
    """core #27, 5.7: a line with one thing in it that no event has is damage."""
    line = encode_line(shown(sample))
    assert line.count(part) >= 1
    with pytest.raises(SessionCorruptError):
        decode_lines([line.replace(part, other)], 3)
    second = encode_line(shown(sample)).replace('"seq":3', '"seq":4').replace(part, other)
    with pytest.raises(SessionCorruptError) as caught:
        decode_lines([line, second], 3)  # what the first one taught does not help it
    assert caught.value.details["index"] == 1


@pytest.mark.parametrize("sample", SAMPLES, ids=type_of)
def test_another_number(sample: Any) -> None:
    """core #83: of whatever type, a line has the number that comes next."""
    line = encode_line(shown(sample))
    for first in (2, 4):
        with pytest.raises(SessionCorruptError, match=f"where {first} belongs"):
            decode_lines([line], first)


def test_what_is_read_is_frozen() -> None:
    """core 1.2: nothing in an event that was read can be changed."""
    for sample in SAMPLES:
        (read,) = decode_lines([encode_line(shown(sample))], 3)
        data: Any = read.data
        parts: list[Any] = [
            getattr(data, "meta", None),
            getattr(getattr(data, "message", None), "source", {}),
        ]
        parts.append(getattr(data, "data", None))
        for part in parts:
            assert not part or type(part) is FrozenDict
        with pytest.raises((AttributeError, TypeError)):
            data.turn = 2


@pytest.mark.parametrize("sample", SAMPLES, ids=type_of)
def test_every_cut(sample: Any) -> None:
    """core 5.7: a line that is cut off anywhere is damaged, and so is one with more behind it."""
    line = encode_line(shown(sample))
    for length in range(len(line)):
        with pytest.raises(SessionCorruptError):
            decode_lines([line[:length]], 3)
    for more in ("}", "]", ",", "x", "\0", line):
        with pytest.raises(SessionCorruptError):
            decode_lines([line + more], 3)


@pytest.mark.parametrize("sample", SAMPLES, ids=type_of)
def test_other_spellings(sample: Any) -> None:
    """core 15.1: spaces, escapes and the order of keys say nothing; the event is the same."""
    made = shown(sample)
    row = json.loads(encode_line(made))
    spellings = [
        json.dumps(row),
        json.dumps(row, indent=1),
        json.dumps(row, sort_keys=True),
        json.dumps(dict(reversed(row.items())), ensure_ascii=False),
        f" {json.dumps(row)}\r",
    ]
    for line in spellings:
        assert decode_lines([line, line.replace('"seq": 3', '"seq": 4')][:1], 3) == [made]


@pytest.mark.skipif(not PATHS, reason="no recordings beside this checkout")
@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(RECORDINGS)))
def test_recorded_events(path: Path) -> None:
    """core #286: every recorded event is written and read the same way by both, in both forms."""
    for recorded in read_log(path).events:
        row = encode_event(recorded)
        line = encode_projected(recorded)
        told = {key: value for key, value in row.items() if key not in ("seq", "time")}
        assert line == json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        assert decode_lines([line], recorded.seq, projected=True) == [recorded]
        if '"{{tools}}"' not in line:
            line = encode_line(recorded)
            assert line == json.dumps(row, ensure_ascii=False, separators=(",", ":"))
            same(line, recorded.seq)
