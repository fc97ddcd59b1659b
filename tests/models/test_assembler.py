"""From chunks to a message: spec core 12.4 and 18.12."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from broodline.actors.models import Assembler
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
from broodline.messages.content import OpaqueBlock, Reasoning, Text, ToolCall
from broodline.messages.errors import ModelError
from broodline.messages.lossless import FrozenDict

IMAGE = OpaqueBlock(FrozenDict({"type": "image", "data": "AAAA"}))


def fed(*chunks: Chunk) -> Assembler:
    assembler = Assembler()
    feed_all(assembler, chunks)
    return assembler


def feed_all(assembler: Assembler, chunks: Iterable[Chunk]) -> None:
    for chunk in chunks:
        assembler.feed(chunk)


def test_a_plain_response() -> None:
    """core 12.4: start, deltas, end, usage and finish make one block, the usage and the finish."""
    usage = Usage(3, 4, reasoning_tokens=1)
    done = Finish("stop")
    assembler = fed(
        BlockStart(0, "text"),
        TextDelta(0, "Hel"),
        TextDelta(0, "lo"),
        BlockEnd(0, Text("Hello")),
        UsageChunk(usage),
        done,
    )
    assert assembler.message_content() == (Text("Hello"),)
    assert assembler.usage is usage
    assert assembler.finish is done


def test_deltas_alone_are_enough() -> None:
    """core 18.12 #265: deltas without a start or an end are assembled."""
    assembler = fed(TextDelta(0, "Hel"), TextDelta(0, "lo"), ReasoningDelta(1, "hm"))
    assert assembler.message_content() == (Text("Hello"), Reasoning("hm"))


def test_a_tool_delta_without_an_id_is_named_by_its_index() -> None:
    """core 18.12 #265: a tool delta without an id becomes ``call-<index>``."""
    assembler = fed(ToolCallDelta(2, "", '{"a"', "count"), ToolCallDelta(2, "", ":1}"))
    assert assembler.message_content() == (ToolCall("call-2", "count", '{"a":1}'),)


def test_an_end_without_an_id_takes_it_from_the_deltas() -> None:
    """core 12.4: a closing call without an id gets the one of its deltas."""
    assembler = fed(ToolCallDelta(0, "c7", "{", "count"), BlockEnd(0, ToolCall("", "count", "{}")))
    assert assembler.message_content() == (ToolCall("c7", "count", "{}"),)


def test_an_end_alone_without_an_id_is_named_by_its_index() -> None:
    """core 18.12 #265: a closing call with an id nowhere becomes ``call-<index>``."""
    assembler = fed(BlockEnd(3, ToolCall("", "count", "{}")))
    assert assembler.message_content() == (ToolCall("call-3", "count", "{}"),)


def test_the_first_id_and_name_of_a_call_hold() -> None:
    """core 12.4: id and name may come in any delta; the first of each holds."""
    assembler = fed(
        ToolCallDelta(0, "", "", None),
        ToolCallDelta(0, "c1", "{", "count"),
        ToolCallDelta(0, "c2", "}", "other"),
    )
    assert assembler.message_content() == (ToolCall("c1", "count", "{}"),)


def test_the_end_of_a_block_wins_over_its_deltas() -> None:
    """core 18.12 #266: the text in the end differs from the deltas: the end wins."""
    assembler = fed(BlockStart(0, "text"), TextDelta(0, "Hxllo"), BlockEnd(0, Text("Hello")))
    assert assembler.message_content() == (Text("Hello"),)


def test_a_second_end_is_ignored() -> None:
    """core 18.12 #266: a second end for an index is ignored."""
    assembler = fed(BlockEnd(0, Text("one")), BlockEnd(0, Text("two")))
    assert assembler.message_content() == (Text("one"),)


def test_deltas_after_the_end_are_ignored() -> None:
    """core 12.4: deltas and starts after a block's end are ignored, whatever their type."""
    assembler = fed(
        BlockEnd(0, Text("one")),
        TextDelta(0, "two"),
        ToolCallDelta(0, "c", "{}"),
        BlockStart(0, "reasoning"),
    )
    assert assembler.message_content() == (Text("one"),)


def test_blocks_stand_in_first_seen_order() -> None:
    """core 12.4: the order is that in which the indexes were first seen, not their size."""
    assembler = fed(
        TextDelta(5, "first"),
        TextDelta(1, "second"),
        BlockEnd(5, Text("first")),
        ReasoningDelta(0, "third"),
    )
    assert assembler.message_content() == (Text("first"), Text("second"), Reasoning("third"))


def test_no_finish_leaves_the_content_whole() -> None:
    """core 18.12 #267: a stream without a finish is taken as ``stop``: its calls stay."""
    assembler = fed(TextDelta(0, "so"), ToolCallDelta(1, "c", "{}", "count"))
    assert assembler.finish is None
    assert assembler.message_content() == (Text("so"), ToolCall("c", "count", "{}"))


def test_the_ceiling_drops_tool_calls() -> None:
    """core 12.4: a ``max-tokens`` finish drops every tool call, closed or not, and only those."""
    assembler = fed(
        TextDelta(0, "so"),
        BlockEnd(1, ToolCall("a", "count", "{}")),
        ToolCallDelta(2, "b", '{"pa', "count"),
        Finish("max-tokens"),
    )
    assert assembler.message_content() == (Text("so"),)


def test_an_open_block_of_an_unknown_type_is_malformed() -> None:
    """core 12.4: an unknown block type that was never closed raises MALFORMED_RESPONSE."""
    assembler = fed(BlockStart(0, "image"))  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(ModelError, match="image") as caught:
        assembler.message_content()
    assert caught.value.code == "MALFORMED_RESPONSE"


def test_a_closed_block_of_an_unknown_type_is_carried() -> None:
    """core 12.4: an unknown block type that was closed is carried as it is."""
    assembler = fed(BlockStart(0, "image"), BlockEnd(0, IMAGE))  # type: ignore[arg-type]  # pyright: ignore
    assert assembler.message_content() == (IMAGE,)


def test_a_delta_of_another_type_is_malformed() -> None:
    """core 18.12 #262: the assembler does not mix a delta into an open block of another type."""
    assembler = fed(BlockStart(0, "text"))
    with pytest.raises(ModelError, match="reasoning delta for block 0") as caught:
        assembler.feed(ReasoningDelta(0, "hm"))
    assert caught.value.code == "MALFORMED_RESPONSE"


def test_what_is_no_chunk_is_malformed() -> None:
    """core 12.3: something that is no chunk raises MALFORMED_RESPONSE and names its type."""
    with pytest.raises(ModelError, match="str") as caught:
        fed("Hello")  # type: ignore[arg-type]  # pyright: ignore
    assert caught.value.code == "MALFORMED_RESPONSE"


def test_the_first_finish_holds() -> None:
    """core 12.4: a finish after the first changes nothing."""
    first = Finish("error", ModelFailure("x"))
    assert fed(first, Finish("stop")).finish is first


def test_an_interrupted_message_keeps_what_could_be_read() -> None:
    """core 18.8 #182: of an interrupted stream text and reasoning are kept, a whole call is not."""
    assembler = fed(
        ReasoningDelta(0, "hm"),
        TextDelta(1, "Hel"),
        BlockEnd(2, ToolCall("c", "count", "{}")),
        BlockEnd(3, IMAGE),
    )
    assert assembler.interrupted_content() == (Reasoning("hm"), Text("Hel"))


@pytest.mark.parametrize(
    "chunk",
    [
        TextDelta(0, " \n\t"),
        ReasoningDelta(0, " "),
        BlockEnd(0, Text("  ")),
        ToolCallDelta(0, "c", '{"half', "count"),
        BlockStart(0, "text"),
    ],
)
def test_an_interrupted_message_of_nothing_readable_is_empty(chunk: Chunk) -> None:
    """core 18.8 #181: whitespace only, or half a tool call, leaves no interrupted content."""
    assert fed(chunk).interrupted_content() == ()


def test_content_can_be_read_at_any_time() -> None:
    """core 12.4: reading the content changes nothing, so it can be read while it grows."""
    assembler = fed(TextDelta(0, "Hel"))
    assert assembler.message_content() == (Text("Hel"),)
    feed_all(assembler, [TextDelta(0, "lo")])
    assert assembler.message_content() == assembler.message_content() == (Text("Hello"),)
