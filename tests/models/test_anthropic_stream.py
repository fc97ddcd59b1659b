"""From Anthropic's events to chunks: spec core 12.3."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.models import Assembler, StreamGrammar
from broodline.actors.models.anthropic.stream import AnthropicStream
from broodline.messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from broodline.messages.content import OpaqueBlock, Reasoning, Text, ToolCall
from broodline.messages.errors import ModelError

Event = dict[str, Any]
STOP: Event = {"type": "message_stop"}


def start(**usage: Any) -> Event:
    return {"type": "message_start", "message": {"usage": usage}}


def opens(index: int, kind: str, **facts: Any) -> Event:
    block = {"type": kind, **facts}
    return {"type": "content_block_start", "index": index, "content_block": block}


def adds(index: int, kind: str, **facts: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **facts}}


def closes(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def ends(reason: str | None, details: Any = None, **usage: Any) -> Event:
    delta = {"stop_reason": reason, "stop_details": details}
    return {"type": "message_delta", "delta": delta, "usage": usage}


def text(index: int, *pieces: str) -> list[Event]:
    deltas = [adds(index, "text_delta", text=piece) for piece in pieces]
    return [opens(index, "text", text=""), *deltas, closes(index)]


def call(index: int, *pieces: str, name: str = "add", call_id: str = "c1") -> list[Event]:
    deltas = [adds(index, "input_json_delta", partial_json=piece) for piece in pieces]
    return [opens(index, "tool_use", id=call_id, name=name, input={}), *deltas, closes(index)]


def fed(*events: Event, names: dict[str, str] | None = None) -> list[Chunk]:
    """All chunks, sure to obey the grammar and to assemble."""
    stream, grammar, assembler = AnthropicStream(names), StreamGrammar(), Assembler()
    chunks: list[Chunk] = []
    for event in events:
        for chunk in stream.feed(event):
            grammar.check(chunk)
            assembler.feed(chunk)
            chunks.append(chunk)
    assembler.message_content()
    return chunks


def content(chunks: Iterable[Chunk]) -> tuple[Any, ...]:
    assembler = Assembler()
    for chunk in chunks:
        assembler.feed(chunk)
    return assembler.message_content()


def finish(chunks: list[Chunk]) -> Finish:
    last = chunks[-1]
    assert isinstance(last, Finish)
    return last


def test_text_streams_as_it_comes() -> None:
    """core 12.3: a text block is a start, its deltas, an end; the usage and the finish follow."""
    chunks = fed(
        start(input_tokens=3, output_tokens=1),
        *text(0, "Hel", "", "lo"),
        ends("end_turn", output_tokens=2),
        STOP,
    )
    assert [type(chunk).__name__ for chunk in chunks] == [
        "BlockStart",
        "TextDelta",
        "TextDelta",
        "BlockEnd",
        "UsageChunk",
        "Finish",
    ]
    assert content(chunks) == (Text("Hello"),)
    assert finish(chunks) == Finish("stop")


def test_counts_are_disjoint() -> None:
    """core 12.3: one usage; the latest count holds, and thinking is taken out of the output."""
    chunks = fed(
        start(input_tokens=9, output_tokens=1, cache_read_input_tokens=5),
        *text(0, "x"),
        ends(
            "end_turn",
            input_tokens=10,
            output_tokens=50,
            cache_creation_input_tokens=7,
            output_tokens_details={"thinking_tokens": 30},
        ),
        STOP,
    )
    used = [chunk.usage for chunk in chunks if isinstance(chunk, UsageChunk)]
    assert used == [Usage(10, 20, 5, 7, 30)]


def test_no_counts_are_no_usage() -> None:
    """core 12.3: counts that nobody sent, or that are none, are not made up."""
    odd: Event = {"type": "message_start", "message": {"usage": {"input_tokens": -1, "x": True}}}
    chunks = fed(odd, *text(0, "x"), ends("end_turn", output_tokens="many"), STOP)
    assert not any(isinstance(chunk, UsageChunk) for chunk in chunks)


def test_a_call() -> None:
    """core 12.3: a tool_use block is named in its first delta and ends with its whole arguments."""
    chunks = fed(*call(0, '{"a"', ": 1}"), ends("tool_use"), STOP)
    assert chunks[:2] == [BlockStart(0, "tool-call"), ToolCallDelta(0, "c1", "", "add")]
    assert content(chunks) == (ToolCall("c1", "add", '{"a": 1}'),)
    assert finish(chunks).kind == "tool-calls"


@pytest.mark.parametrize(
    ("events", "arguments"),
    [
        (call(0), "{}"),
        (call(0, "", " "), "{}"),
        (call(0, "{no json"), "{no json"),
        ([opens(0, "tool_use", id="c1", name="add", input={"a": 1}), closes(0)], '{"a":1}'),
        ([opens(0, "tool_use", id="c1", name="add"), closes(0)], "{}"),
    ],
)
def test_arguments_of_a_call(events: list[Event], arguments: str) -> None:
    """core 12.3: no input is {}; what is no JSON is passed on; a start may hold it all."""
    assert content(fed(*events, ends("tool_use"), STOP)) == (ToolCall("c1", "add", arguments),)


def test_a_name_that_was_sent_as_another() -> None:
    """core 12.2: a call by the name that was sent is a call of the tool that has it."""
    chunks = fed(*call(0, name="a_b"), ends("tool_use"), STOP, names={"a_b": "a.b"})
    assert content(chunks) == (ToolCall("c1", "a.b", "{}"),)
    assert chunks[1] == ToolCallDelta(0, "c1", "", "a.b")


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_call_that_the_ceiling_cut_stays_open(reason: str) -> None:
    """core 12.4: the call that the ceiling met is not closed, though the server closes it."""
    chunks = fed(*text(0, "x"), *call(1, "{}"), *call(2, '{"pa'), ends(reason), STOP)
    closed = [chunk.index for chunk in chunks if isinstance(chunk, BlockEnd)]
    assert closed == [0, 1]
    assert finish(chunks).kind == "max-tokens"
    assert content(chunks) == (Text("x"),)


def test_a_block_left_open_at_the_ceiling() -> None:
    """core 12.3: a ceiling may come in the middle of a block."""
    chunks = fed(opens(0, "text"), adds(0, "text_delta", text="x"), ends("max_tokens"), STOP)
    assert content(chunks) == (Text("x"),)


def test_thinking_leaves_its_signature() -> None:
    """DESIGN 3: the signatures of all thinking blocks, in order, are the finish's replay state."""
    chunks = fed(
        opens(0, "thinking", thinking="", signature=""),
        adds(0, "thinking_delta", thinking="hm"),
        adds(0, "signature_delta", signature="s"),
        adds(0, "signature_delta", signature="1"),
        closes(0),
        opens(1, "redacted_thinking", data="xyz"),
        closes(1),
        opens(2, "thinking", thinking="so", signature="s2"),
        closes(2),
        opens(3, "thinking"),
        closes(3),
        *text(4, "yes"),
        ends("end_turn"),
        STOP,
    )
    assert content(chunks) == (
        Reasoning("hm"),
        OpaqueBlock({"type": "redacted_thinking", "data": "xyz"}),
        Reasoning("so"),
        Reasoning(""),
        Text("yes"),
    )
    assert finish(chunks).replay_state == {"format": "anthropic", "signatures": ["s1", "s2", None]}


def test_no_thinking_needs_no_state() -> None:
    """DESIGN 3: an answer without a signature has no replay state."""
    assert finish(fed(*text(0, "x"), ends("end_turn"), STOP)).replay_state is None


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "pause_turn", "new_reason", None])
def test_reasons_that_are_a_stop(reason: str | None) -> None:
    """core 12.3: whatever a server calls a regular end is a stop."""
    assert finish(fed(*text(0, "x"), ends(reason), STOP)).kind == "stop"


def test_a_refusal_is_a_failure() -> None:
    """core 12.5: a refusal ends with REFUSAL and what the server says of it, its usage kept."""
    details = {"type": "refusal", "category": "bio", "explanation": "too risky"}
    chunks = fed(start(input_tokens=1), *text(0, "I"), ends("refusal", details), STOP)
    failure = finish(chunks).failure
    assert failure is not None
    assert failure.code == "REFUSAL"
    assert "bio: too risky" in failure.message
    assert isinstance(chunks[-2], UsageChunk)


@pytest.mark.parametrize("events", [[], text(0), text(0, ""), [opens(0, "thinking"), closes(0)]])
def test_an_answer_without_content_is_empty(events: list[Event]) -> None:
    """core 12.5: a regular end without any content is EMPTY_RESPONSE."""
    failure = finish(fed(start(), *events, ends("end_turn"), STOP)).failure
    assert failure is not None
    assert failure.code == "EMPTY_RESPONSE"


def test_what_is_unknown_is_passed_over_or_kept() -> None:
    """core 12.3: unknown events and deltas add nothing; a whole block of another type is kept."""
    search: Event = {"type": "server_tool_use", "id": "x", "name": "web_search", "input": {"q": 1}}
    chunks = fed(
        {"type": "ping"},
        {"type": "news", "index": "?"},
        start(),
        opens(0, "server_tool_use", id="x", name="web_search", input={}),
        adds(0, "input_json_delta", partial_json='{"q": '),
        adds(0, "input_json_delta", partial_json="1}"),
        closes(0),
        opens(1, "growing", a=1),
        adds(1, "growing_delta", a=2),
        closes(1),
        opens(2, "reasoning"),
        closes(2),
        opens(4, "server_tool_use", input={}),
        adds(4, "input_json_delta", partial_json="{no"),
        closes(4),
        opens(3, "text"),
        adds(3, "citations_delta", citation={}),
        adds(3, "text_delta", text="x"),
        closes(3),
        closes(9),
        ends("end_turn"),
        STOP,
        *text(0, "late"),
    )
    assert content(chunks) == (OpaqueBlock(search), Text("x"))


@pytest.mark.parametrize(
    "events",
    [
        ["x"],
        [{}],
        [{"type": 1}],
        [{"type": "message_start", "message": None}],
        [opens(-1, "text")],
        [{"type": "content_block_start", "index": 0}],
        [opens(0, "")],
        [opens(0, "text"), opens(0, "text")],
        [*text(0, "x"), opens(0, "text")],
        [opens(0, "tool_use", name="add")],
        [opens(0, "tool_use", id="c1", name="")],
        [adds(0, "text_delta", text="x")],
        [opens(0, "text"), adds(0, "text_delta", text=None)],
        [opens(0, "text"), adds(0, "text_delta", text="\ud800")],
        [opens(0, "text"), adds(0, "thinking_delta", thinking="x")],
        [opens(0, "tool_use", id="c1", name="a"), adds(0, "text_delta", text="x")],
        [{"type": "content_block_delta", "index": 0, "delta": 5}],
        [{"type": "message_delta"}],
        [opens(0, "text"), adds(0, "text_delta", text="x"), ends("end_turn"), STOP],
        [opens(0, "blob", number=float("nan")), closes(0)],
    ],
)
def test_what_is_not_of_the_format(events: list[Any]) -> None:
    """core 12.5: an event that is not of the format is MALFORMED_RESPONSE."""
    with pytest.raises(ModelError) as caught:
        fed(*events)
    assert caught.value.code == "MALFORMED_RESPONSE"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("overloaded_error", "SERVER"),
        ("api_error", "SERVER"),
        ("rate_limit_error", "RATE_LIMIT"),
        ("authentication_error", "AUTH"),
        ("timeout_error", "TIMEOUT"),
        ("never_heard_of", "UNKNOWN"),
    ],
)
def test_an_error_as_an_event(kind: str, code: str) -> None:
    """core 12.5: an error inside the stream has the code of its type."""
    with pytest.raises(ModelError) as caught:
        fed(*text(0, "x"), {"type": "error", "error": {"type": kind, "message": "busy"}})
    assert caught.value.code == code
    assert caught.value.status is None


_index = st.integers(0, 2)
_kinds = st.sampled_from(["text", "thinking", "tool_use", "redacted_thinking", "odd", "tool-call"])
_words = st.sampled_from(["", "x", "{", "\ud800"])
_events = st.one_of(
    st.builds(
        lambda index, kind, word: opens(index, kind, id="c", name="n", data=word, text=word),
        _index,
        _kinds,
        _words,
    ),
    st.builds(
        lambda index, kind, word: adds(
            index, kind, text=word, thinking=word, signature=word, partial_json=word
        ),
        _index,
        st.sampled_from(
            ["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "odd_delta"]
        ),
        _words,
    ),
    st.builds(closes, _index),
    st.builds(
        lambda reason: ends(reason, output_tokens=1),
        st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", None]),
    ),
    st.just(start(input_tokens=1)),
    st.just(STOP),
    st.just({"type": "ping"}),
)


@given(st.lists(_events, max_size=24))
def test_whatever_is_streamed_obeys_the_grammar(events: list[Event]) -> None:
    """core 12.3 #262: any order of events gives chunks that obey the grammar, or MALFORMED."""
    stream, grammar, assembler = AnthropicStream(), StreamGrammar(), Assembler()
    refusal: ModelError | None = None
    for event in events:
        try:
            chunks = stream.feed(event)
        except ModelError as error:
            refusal = error
            break
        for chunk in chunks:
            grammar.check(chunk)
            assembler.feed(chunk)
    if refusal is not None:
        assert refusal.code == "MALFORMED_RESPONSE"
        return
    blocks = assembler.message_content()
    if not stream.finished:
        return
    grammar.end()
    ending = assembler.finish
    assert ending is not None
    if ending.replay_state is not None:
        thoughts = sum(isinstance(block, Reasoning) for block in blocks)
        assert len(ending.replay_state["signatures"]) == thoughts
