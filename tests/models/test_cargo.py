"""What chunks may carry: a model is outside code, and what it streams is logged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.models import StreamGrammar
from broodline.messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    ModelFailure,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from broodline.messages.codec import decode_event, encode_event
from broodline.messages.content import OpaqueBlock, Reasoning, Text, ToolCall
from broodline.messages.errors import ConfigurationError, ModelError
from broodline.messages.event import Event
from broodline.messages.payload import ChunkReceived

LONE = "half a smile: \ud83d"


def logged_and_read(chunk: Chunk) -> Chunk:
    """The chunk after a stay in a file."""
    event = Event(0, 1, ChunkReceived(1, 1, chunk))
    stored = json.dumps(encode_event(event), ensure_ascii=False, allow_nan=False).encode()
    data = decode_event(json.loads(stored)).data
    assert isinstance(data, ChunkReceived)
    return data.chunk


UNFIT: dict[str, Any] = {
    "text with half a pair": TextDelta(0, LONE),
    "reasoning with half a pair": ReasoningDelta(0, LONE),
    "arguments with half a pair": ToolCallDelta(0, "c", LONE),
    "id with half a pair": ToolCallDelta(0, LONE, "{}"),
    "name with half a pair": ToolCallDelta(0, "c", "{}", LONE),
    "id that is no text": ToolCallDelta(0, 7, "{}"),  # type: ignore[arg-type]
    "name that is no text": ToolCallDelta(0, "c", "{}", 7),  # type: ignore[arg-type]
    "block with half a pair": BlockEnd(0, Text(LONE)),
    "block without text": BlockEnd(0, Reasoning(None)),  # type: ignore[arg-type]
    "call with an object": BlockEnd(0, ToolCall("c", "count", {})),  # type: ignore[arg-type]
    "call without an id": BlockEnd(0, ToolCall(None, "count", "{}")),  # type: ignore[arg-type]
    "opaque block without a type": BlockEnd(0, OpaqueBlock({"data": 1})),
    "opaque block that is no object": BlockEnd(0, OpaqueBlock([1])),  # type: ignore[arg-type]
    "opaque block that is a text": BlockEnd(0, OpaqueBlock({"type": "text", "text": "x"})),
    "opaque block that is half a call": BlockEnd(0, OpaqueBlock({"type": "tool-call", "x": 1})),
    "start without a type": BlockStart(0, None),  # type: ignore[arg-type]
    "start of an empty type": BlockStart(0, ""),  # type: ignore[arg-type]
    "index beyond the safe integers": TextDelta(2**53, "x"),
    "index that is a bool": TextDelta(True, "x"),
    "no usage": UsageChunk(None),  # type: ignore[arg-type]
    "usage that is a bool": UsageChunk(Usage(True, 1)),
    "usage that is a fraction": UsageChunk(Usage(1, 1.5)),  # type: ignore[arg-type]
    "usage below zero": UsageChunk(Usage(-1, 1)),
    "usage beyond the safe integers": UsageChunk(Usage(2**53, 1)),
    "usage without a count": UsageChunk(Usage(None, 1)),  # type: ignore[arg-type]
    "cached tokens below zero": UsageChunk(Usage(1, 1, -1)),
    "failure without a code": Finish("error", ModelFailure("x", "")),
    "failure without a text": Finish("error", ModelFailure(None)),  # type: ignore[arg-type]
    "failure with half a pair": Finish("error", ModelFailure(LONE)),
    "status below zero": Finish("error", ModelFailure("x", status=-5)),
    "wait that is a fraction": Finish(
        "error",
        ModelFailure("x", provider_retry_after_ms=1.5),  # type: ignore[arg-type]
    ),
    "request id that is no text": Finish("error", ModelFailure("x", request_id=7)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_a_log_could_not_keep_is_refused(name: str) -> None:
    """core 1.3, 12.3: a chunk that could not be written or read again is malformed."""
    with pytest.raises(ModelError) as caught:
        StreamGrammar().check(UNFIT[name])
    assert caught.value.code == "MALFORMED_RESPONSE"


def test_a_known_index_is_no_way_around() -> None:
    """core 12.3: True is no index, also where block 1 is open."""
    grammar = StreamGrammar()
    grammar.check(BlockStart(1, "text"))
    with pytest.raises(ModelError):
        grammar.check(TextDelta(True, "x"))


def test_a_block_of_a_type_of_its_own_passes_and_is_read_again() -> None:
    """core 12.3, 2: the start and the end of an image are logged and read as they were."""
    grammar = StreamGrammar()
    image = OpaqueBlock({"type": "image", "data": "AAAA"})
    for chunk in (BlockStart(0, "image"), BlockEnd(0, image), Finish("stop")):  # type: ignore[arg-type]
        grammar.check(chunk)
        assert logged_and_read(chunk) == chunk


def test_a_replay_state_is_the_logs_own() -> None:
    """core 1.2: what a model keeps of its replay state cannot change the log."""
    state = {"turns": [1]}
    finish = Finish("stop", None, state)
    state["turns"].append(2)
    assert finish.replay_state == {"turns": [1]}
    with pytest.raises(ConfigurationError, match="replay_state"):
        Finish("stop", None, object())


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
ANY: Any = st.one_of(JSON, st.text(st.characters(), max_size=4), st.binary(max_size=2))
INTS: Any = st.one_of(st.integers(-1, 3), st.integers(), st.booleans(), st.none())


def _opaque(value: Any) -> Any:
    try:
        return OpaqueBlock(value)
    except ConfigurationError:
        return Text("x")


BLOCKS: Any = st.one_of(
    st.builds(Text, ANY),
    st.builds(Reasoning, ANY),
    st.builds(ToolCall, ANY, ANY, ANY),
    st.builds(_opaque, ANY),
    st.builds(_opaque, st.fixed_dictionaries({"type": st.text(), "v": JSON})),
)
CHUNKS: Any = st.one_of(
    st.builds(BlockStart, INTS, ANY),
    st.builds(TextDelta, INTS, ANY),
    st.builds(ReasoningDelta, INTS, ANY),
    st.builds(ToolCallDelta, INTS, ANY, ANY, ANY),
    st.builds(BlockEnd, INTS, BLOCKS),
    st.builds(UsageChunk, st.builds(Usage, INTS, INTS, INTS, INTS, INTS)),
    st.builds(
        Finish,
        st.sampled_from(["stop", "error", "aborted", "x"]),
        st.none() | st.builds(ModelFailure, ANY, ANY, INTS, INTS, ANY),
    ),
)


@given(CHUNKS)
def test_what_passes_is_read_as_it_was_written(chunk: Any) -> None:
    """core 12.3: whatever the grammar lets pass comes back from a file unchanged."""
    try:
        StreamGrammar().check(chunk)
    except ModelError:
        return
    assert logged_and_read(chunk) == chunk
