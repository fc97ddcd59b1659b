"""From the frames of a chat completion to chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.models import Assembler, StreamGrammar
from broodline.actors.models.openai.stream import ChatStream
from broodline.messages.chunk import BlockEnd, Chunk, Finish, ToolCallDelta, Usage
from broodline.messages.content import Block, Reasoning, Text, ToolCall
from broodline.messages.errors import ModelError

STOP: dict[str, Any] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def delta(finish: str | None = None, /, **parts: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": parts, "finish_reason": finish}]}


def piece(
    index: int | None = None,
    id: str | None = None,
    name: str | None = None,
    arguments: Any = None,
) -> dict[str, Any]:
    entry: dict[str, Any] = {} if index is None else {"index": index}
    if id is not None:
        entry["id"] = id
    function = {"name": name, "arguments": arguments}
    return entry | {"function": {key: one for key, one in function.items() if one is not None}}


def read(
    frames: Iterable[object], names: dict[str, str] | None = None
) -> tuple[list[Chunk], Assembler, ModelError | None]:
    """Take in a response as an agent would, grammar and all."""
    stream, grammar, assembler = ChatStream(names or {}), StreamGrammar(), Assembler()
    chunks: list[Chunk] = []

    def take(some: Iterable[Chunk]) -> None:
        for chunk in some:
            try:
                grammar.check(chunk)
                assembler.feed(chunk)
            except ModelError as error:
                raise AssertionError("our own stream is malformed") from error
            chunks.append(chunk)

    try:
        for frame in frames:
            take(stream.feed(frame))
        take(stream.end())
    except ModelError as error:
        return chunks, assembler, error
    grammar.end()
    return chunks, assembler, None


def content(*frames: object) -> tuple[Block, ...]:
    _, assembler, error = read(frames)
    assert error is None
    return assembler.message_content()


def code(*frames: object) -> str:
    _, _, error = read(frames)
    assert error is not None
    return error.code


def calls(*frames: object) -> list[tuple[str, str, str]]:
    blocks = content(*frames, delta("tool_calls"))
    return [(one.id, one.name, one.arguments) for one in blocks if isinstance(one, ToolCall)]


def test_text_is_one_block() -> None:
    """core 12.3: deltas of text become one block, started, closed, and a stop."""
    chunks, _, _ = read([delta(role="assistant", content=""), delta(content="He"), STOP])
    names = [type(chunk).__name__ for chunk in chunks]
    assert names == ["BlockStart", "TextDelta", "BlockEnd", "Finish"]
    assert chunks[2] == BlockEnd(0, Text("He"))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_a_block_of_its_own(field: str) -> None:
    """core 12.3: thoughts under either name become a reasoning block, closed before the text."""
    thoughts = [delta(**{field: part}) for part in ("h", "m")]
    chunks, assembler, _ = read([*thoughts, delta(content="Yes."), STOP])
    assert assembler.message_content() == (Reasoning("hm"), Text("Yes."))
    assert isinstance(chunks[3], BlockEnd)


def test_reasoning_under_both_names_counts_once() -> None:
    """core 12.3: a server that says its thoughts under an old and a new name said them once."""
    assert content(delta(reasoning="hm", reasoning_content="hm"), STOP) == (Reasoning("hm"),)


def test_the_name_of_the_reasoning_is_kept_with_calls() -> None:
    """core 12.3: a message with thoughts and calls says in which field the thoughts came."""
    ends = [
        read([delta(reasoning="hm"), delta("stop", **parts)])[1].finish
        for parts in ({"tool_calls": [piece(0, "c", "add", "{}")]}, {"content": "x"})
    ]
    assert [one and one.replay_state for one in ends] == [{"reasoningField": "reasoning"}, None]


def test_thoughts_and_text_may_alternate() -> None:
    """core 12.4: what comes back after another block begins a new one, in order."""
    frames = [delta(reasoning="a"), delta(content="b"), delta(reasoning="c"), delta(content="d")]
    assert content(*frames, STOP) == (Reasoning("a"), Text("b"), Reasoning("c"), Text("d"))


def test_parallel_calls_may_interleave() -> None:
    """core 12.3: pieces go by their index, also without an id in the later ones."""
    assert calls(
        delta(tool_calls=[piece(0, "a", "add", ""), piece(1, "b", "sub", "")]),
        delta(tool_calls=[piece(1, arguments='{"y"')]),
        delta(tool_calls=[piece(0, arguments='{"x"')]),
        delta(tool_calls=[piece(1, arguments=":1}"), piece(0, arguments=":2}")]),
    ) == [("a", "add", '{"x":2}'), ("b", "sub", '{"y":1}')]


WHOLE = ('{"x":1}', '{"x":2}')


@pytest.mark.parametrize(
    ("frames", "ids"),
    [
        ([[piece(0, "a", "add", WHOLE[0])], [piece(0, "b", "add", WHOLE[1])]], ["a", "b"]),
        ([[piece(None, "a", "add", WHOLE[0]), piece(None, "b", "add", WHOLE[1])]], ["a", "b"]),
        ([[piece(None, "a", "add", WHOLE[0])], [piece(None, "b", "add", WHOLE[1])]], ["a", "b"]),
        (
            [[piece(None, None, "add", WHOLE[0]), piece(None, None, "add", WHOLE[1])]],
            ["call-0", "call-1"],
        ),
        (
            [[piece(0, "", "add", WHOLE[0])], [piece(0, "", "add", WHOLE[1])]],
            ["call-0", "call-1"],
        ),
        (
            [[piece(0, "a", "add", WHOLE[0])], [piece(1, "a", "add", WHOLE[1])]],
            ["a", "call-1"],
        ),
    ],
    ids=["same-index", "no-index", "one-by-one", "nothing", "empty-id", "same-id"],
)
def test_whole_calls_are_told_apart(frames: list[Any], ids: list[str]) -> None:
    """core 12.4: two calls stay two, whatever a server leaves out or says twice."""
    found = calls(*(delta(tool_calls=entries) for entries in frames))
    assert found == [(id, "add", arguments) for id, arguments in zip(ids, WHOLE, strict=True)]


@pytest.mark.parametrize(
    "later",
    [piece(0), piece(0, "a"), piece(0, "a", "add"), piece(0, None, "add"), piece(None), piece()],
    ids=["index", "id", "name-and-id", "name", "nothing", "bare"],
)
def test_pieces_of_one_call_stay_together(later: dict[str, Any]) -> None:
    """core 12.3: later pieces may repeat the name and the id, or leave out even the index."""
    rest = [json.loads(json.dumps(later)) for _ in range(2)]
    for entry, arguments in zip(rest, ('"x"', ":1}"), strict=True):
        entry["function"]["arguments"] = arguments
    frames = [delta(tool_calls=[entry]) for entry in (piece(0, "a", "add", "{"), *rest)]
    assert calls(*frames) == [("a", "add", '{"x":1}')]


def test_another_id_is_another_call() -> None:
    """core 12.4: a new id at the same index begins a call, before the first has arguments."""
    frames = [piece(0, "a", "now"), piece(0, "b", "now")]
    assert calls(*(delta(tool_calls=[one]) for one in frames)) == [
        ("a", "now", ""),
        ("b", "now", ""),
    ]


def test_text_may_follow_a_call() -> None:
    """core 12.4: text before and behind a call are two blocks, in their order."""
    frames = [delta(content="a"), delta(tool_calls=[piece(0, "c", "now")]), delta(content="b")]
    assert content(*frames, STOP) == (Text("a"), ToolCall("c", "now", ""), Text("b"))


def test_an_id_may_come_late() -> None:
    """core 12.4: a call whose id comes behind its name keeps that id."""
    frames = [piece(0, None, "add", "{"), piece(0, "a", None, "}")]
    assert calls(*(delta(tool_calls=[one]) for one in frames)) == [("a", "add", "{}")]


def test_another_name_is_another_call() -> None:
    """core 12.4: without ids a piece with another name at the same index begins a new call."""
    frames = [piece(0, None, "add"), piece(0, None, "sub", "{}")]
    assert [name for _, name, _ in calls(*(delta(tool_calls=[one]) for one in frames))] == [
        "add",
        "sub",
    ]


def test_calls_may_return_by_id() -> None:
    """core 12.3: a server that numbers every call 0 is understood by the ids."""
    frames = [
        piece(0, "a", "add", '{"x"'),
        piece(0, "b", "sub", "{}"),
        piece(0, "a", None, ":1"),
        piece(0, None, None, "}"),
    ]
    assert calls(*(delta(tool_calls=[one]) for one in frames)) == [
        ("a", "add", '{"x":1}'),
        ("b", "sub", "{}"),
    ]


def test_the_name_of_a_call_leaves_once() -> None:
    """core 12.3: repeated names are no pieces of one name."""
    frames = [piece(0, "a", "add", "{"), piece(0, "a", "add", "}")]
    chunks, _, _ = read([delta(tool_calls=[one]) for one in frames] + [STOP])
    names = [chunk.name for chunk in chunks if isinstance(chunk, ToolCallDelta)]
    assert names == ["add", None]


def test_arguments_as_an_object_become_text() -> None:
    """core 8: a server that sends arguments as JSON instead of text is understood."""
    frame = delta(tool_calls=[piece(0, "a", "add", {"x": "ä"})])
    assert calls(frame) == [("a", "add", '{"x":"ä"}')]


def test_arguments_that_are_no_json_pass_as_they_are() -> None:
    """core 8: the tool pipeline, not the adapter, tells the model of its slip."""
    assert calls(delta(tool_calls=[piece(0, "a", "add", "{oops")])) == [("a", "add", "{oops")]


def test_a_tool_is_called_by_its_own_name() -> None:
    """core 12.3: a tool that the format made go by another name is called by its own."""
    entries = [piece(0, "a", "fs_read_1", "{"), piece(0, "a", "fs_read_1", "}")]
    frames = [delta(tool_calls=[entry]) for entry in entries]
    chunks, assembler, _ = read([*frames, STOP], {"fs_read_1": "fs.read"})
    assert assembler.message_content() == (ToolCall("a", "fs.read", "{}"),)
    assert [one.name for one in chunks if isinstance(one, ToolCallDelta)] == ["fs.read", None]


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call", "eos"])
def test_calls_decide_over_the_reason(reason: str) -> None:
    """core 12.3: an answer with calls ends with tool-calls, whatever a server calls it."""
    end = read([delta(reason, tool_calls=[piece(0, "a", "add", "{}")])])[1].finish
    assert end == Finish("tool-calls")


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "end_turn"])
def test_no_call_is_a_stop(reason: str) -> None:
    """core 12.3: an answer without calls ends with a stop, also when the reason promised some."""
    assert read([delta(reason, content="x")])[1].finish == Finish("stop")


def test_the_ceiling_leaves_the_cut_call_open() -> None:
    """core 12.4: at the ceiling only a whole call is closed, and none is to run."""
    entries = [piece(0, "a", "add", "{}"), piece(1, "b", "write", '{"pa')]
    chunks, assembler, _ = read([delta("length", content="I", tool_calls=entries)])
    assert [chunk.index for chunk in chunks if isinstance(chunk, BlockEnd)] == [0, 1]
    assert assembler.message_content() == (Text("I"),)
    assert chunks[-1] == Finish("max-tokens")


def test_a_ceiling_without_content_is_no_empty_answer() -> None:
    """core 12.5: an answer whose thoughts ate the ceiling would come out the same again."""
    assert read([delta("length")])[1].finish == Finish("max-tokens")


COUNTS = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}


def test_the_last_usage_leaves_once_before_the_finish() -> None:
    """core 12.3: counts on every chunk, in a chunk without choices, or both, leave once."""
    first = delta(content="x") | {"usage": COUNTS | {"completion_tokens": 1}}
    chunks, assembler, _ = read([first, STOP, {"choices": [], "usage": COUNTS}])
    assert [type(chunk).__name__ for chunk in chunks[-2:]] == ["UsageChunk", "Finish"]
    assert assembler.usage == Usage(10, 4)


def test_a_usage_before_the_finish_is_kept() -> None:
    """core 12.3: frames without counts behind the usage do not take it back."""
    first = delta(content="x") | {"usage": COUNTS}
    assert read([first, STOP | {"usage": None}])[1].usage == Usage(10, 4)


@pytest.mark.parametrize("usage", [None, {}, [], {"prompt_tokens": -1, "completion_tokens": True}])
def test_counts_that_cannot_be_used_are_no_usage(usage: Any) -> None:
    """core 12.3: a server without counts, or with impossible ones, leaves usage unknown."""
    assert read([delta("stop", content="x") | {"usage": usage}])[1].usage is None


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 6}}, Usage(4, 4, 6)),
        (
            {"prompt_tokens_details": {"cached_tokens": 6, "cache_write_tokens": 3}},
            Usage(1, 4, 6, 3),
        ),
        ({"prompt_cache_hit_tokens": 6}, Usage(4, 4, 6)),
        (
            {"completion_tokens_details": {"reasoning_tokens": 3}},
            Usage(10, 1, reasoning_tokens=3),
        ),
        (
            {"completion_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 17},
            Usage(10, 4, reasoning_tokens=3),
        ),
        ({"prompt_tokens_details": None, "completion_tokens_details": {}}, Usage(10, 4)),
        ({"prompt_tokens_details": {"cached_tokens": 99}}, Usage(0, 4, 99)),
    ],
    ids=["cached", "written", "deepseek", "reasoning", "on-top", "absent", "impossible"],
)
def test_counts_are_disjoint(more: dict[str, Any], expected: Usage) -> None:
    """core 12.3: cached tokens leave the input, reasoning leaves the output; absent stays None."""
    assert read([delta("stop", content="x") | {"usage": COUNTS | more}])[1].usage == expected


def test_other_choices_are_ignored() -> None:
    """core 12.3: only the choice with the index 0 is the answer; a missing index is 0."""
    other = {"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}
    mine: dict[str, Any] = {"delta": {"content": "yes"}}
    frames = [{"choices": [other]}, {"choices": [other, mine]}, STOP]
    assert content(*frames) == (Text("yes"),)


def test_an_end_before_the_finish_is_a_broken_connection() -> None:
    """core 12.5: an orderly end of the body without a finish reason is TRANSPORT."""
    assert code() == code(delta(content="x")) == code({"choices": []}) == "TRANSPORT"


def test_a_regular_end_without_content_is_an_empty_response() -> None:
    """core 12.5: nothing said and a regular end is EMPTY_RESPONSE; its usage is logged."""
    chunks, _, error = read([delta("stop", content="") | {"usage": COUNTS}])
    assert error is not None
    assert error.code == "EMPTY_RESPONSE"
    assert [type(chunk).__name__ for chunk in chunks] == ["UsageChunk"]


@pytest.mark.parametrize(
    "frames",
    [
        [delta(refusal="I can"), delta(refusal="not."), STOP],
        [delta(content="Well"), delta("content_filter")],
        [delta("content_filter")],
    ],
    ids=["words", "filter", "filter-at-once"],
)
def test_a_refusal_is_a_failure(frames: list[object]) -> None:
    """core 12.5: refused in words or by a filter, with or without text before, is REFUSAL."""
    assert code(*frames) == "REFUSAL"


def test_the_words_of_a_refusal_are_told() -> None:
    """core 12.5: the text of the failure holds what the model said when it refused."""
    _, _, error = read([delta(refusal="I can"), delta("stop", refusal="not.")])
    assert "I cannot." in str(error)


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
def test_a_server_that_gives_up_is_asked_again(reason: str) -> None:
    """core 12.5: a finish reason that says the server failed is SERVER, not an answer."""
    assert code(delta(content="x"), delta(reason)) == "SERVER"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"message": "x", "type": "overloaded_error"}, "SERVER"),
        ({"message": "x", "type": "requests", "code": "rate_limit_exceeded"}, "RATE_LIMIT"),
        ({"message": "x", "code": 502}, "SERVER"),
        ({"message": "x", "code": "context_length_exceeded"}, "CONTEXT_WINDOW_EXCEEDED"),
        ({"message": "x", "type": "invalid_request_error"}, "INVALID_REQUEST"),
        ({"message": "x"}, "SERVER"),
        ("x", "SERVER"),
    ],
)
def test_an_error_in_the_stream_has_its_code(error: Any, expected: str) -> None:
    """core 12.5: an error frame counts by its type or code; one without any is the server's."""
    assert code(delta(content="x"), {"error": error}) == expected
    if isinstance(error, dict):
        assert code(error | {"object": "error"}) == expected


@pytest.mark.parametrize(
    "frame",
    [
        None,
        [],
        "text",
        7,
        {},
        {"choices": {}},
        {"choices": ["x"]},
        {"choices": [{"delta": "x"}]},
        delta(content=["x"]),
        delta(refusal=1),
        delta(tool_calls={}),
        delta(tool_calls=["x"]),
        delta(tool_calls=[{"index": 0, "function": "add"}]),
        delta(tool_calls=[piece(0, "a", 7, "{}")]),  # type: ignore[arg-type]
        {"choices": [{"delta": {}, "finish_reason": 3}]},
    ],
    ids=repr,
)
def test_what_is_not_of_the_format_is_malformed(frame: object) -> None:
    """core 12.5: JSON of another shape is MALFORMED_RESPONSE, wherever it differs."""
    assert code(delta(content="x"), frame, STOP) == "MALFORMED_RESPONSE"


def test_a_call_without_a_name_is_malformed() -> None:
    """core 12.5: nobody could run it, and no server would take it back in the history."""
    assert code(delta("tool_calls", tool_calls=[piece(0, "a", None, "{}")])) == "MALFORMED_RESPONSE"


def test_half_a_character_does_not_lose_the_answer() -> None:
    """core 1.3: a lone surrogate, which a log cannot hold, becomes the replacement character."""
    entry = piece(0, "a", "add", '{"x":"\ud83d"}')
    frame = json.loads(json.dumps(delta(content="a\udc00", reasoning="\ud83d", tool_calls=[entry])))
    reasoning, text, call = content(frame, STOP)
    assert (reasoning, text) == (Reasoning("\ufffd"), Text("a\ufffd"))
    assert call == ToolCall("a", "add", '{"x":"\ufffd"}')


# -- whatever comes, what leaves keeps to the grammar

_texts = st.sampled_from(["", "a", "{", "}", '{"x":1}', "\ud800", "ä"]) | st.text(max_size=4)
_maybe = st.none() | _texts
_entries = st.fixed_dictionaries(
    {},
    optional={
        "index": st.none() | st.integers(-1, 2),
        "id": st.none() | st.sampled_from(["", "a", "b"]),
        "function": st.none()
        | st.fixed_dictionaries(
            {}, optional={"name": st.none() | st.sampled_from(["", "f", "g"]), "arguments": _maybe}
        ),
    },
)
_deltas = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "content": _maybe,
        "reasoning_content": _maybe,
        "reasoning": _maybe,
        "refusal": st.none() | st.just("") | st.just("no"),
        "tool_calls": st.none() | st.lists(_entries, max_size=3),
    },
)
_choices = st.fixed_dictionaries(
    {"delta": _deltas},
    optional={
        "index": st.integers(0, 1),
        "finish_reason": st.sampled_from([None, "", "stop", "tool_calls", "length", "odd"]),
    },
)
_usages = st.none() | st.fixed_dictionaries(
    {}, optional={"prompt_tokens": st.integers(-1, 9), "completion_tokens": st.integers(0, 9)}
)
_frames = st.fixed_dictionaries(
    {"choices": st.none() | st.lists(_choices, max_size=2)}, optional={"usage": _usages}
)


@given(st.lists(_frames, max_size=12))
def test_whatever_comes_leaves_in_good_order(frames: list[dict[str, Any]]) -> None:
    """core 12.3: every response of the format's shape passes our grammar, or ends in a failure."""
    chunks, assembler, error = read(frames)
    if error is not None:
        codes = {"TRANSPORT", "REFUSAL", "EMPTY_RESPONSE", "MALFORMED_RESPONSE"}
        assert error.code in codes
        return
    blocks = assembler.message_content()
    closed = [chunk.block for chunk in chunks if isinstance(chunk, BlockEnd)]
    for block in blocks:
        if not isinstance(block, ToolCall):
            assert block in closed
    ids = [block.id for block in blocks if isinstance(block, ToolCall)]
    assert len(set(ids)) == len(ids)
    assert all(ids)


@given(st.lists(st.tuples(_texts, st.sampled_from(["content", "reasoning_content"])), max_size=9))
def test_no_character_is_lost(said: list[tuple[str, str]]) -> None:
    """core 12.4: the blocks together say what the deltas said, in their order."""
    frames = [delta(**{field: text}) for text, field in said]
    _, assembler, _ = read([*frames, delta("length")])
    told = "".join(one.text for one in assembler.message_content() if not isinstance(one, ToolCall))  # type: ignore[union-attr]
    assert told == "".join(
        "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in text)
        for text, _ in said
    )


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "index", "usage", "error", "tool_calls", "content"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(st.lists(_JSON, max_size=4))
def test_any_json_is_an_answer_or_a_model_error(frames: list[object]) -> None:
    """core 12.5: no frame makes the adapter fail in a way of its own."""
    read(frames)
