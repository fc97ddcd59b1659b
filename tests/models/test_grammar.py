"""What a stream must not do: spec core 12.3 and 18.12."""

from __future__ import annotations

import pytest

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
from broodline.messages.content import OpaqueBlock, Reasoning, Text, ToolCall, ToolResult
from broodline.messages.errors import ModelError
from broodline.messages.lossless import FrozenDict

FAILURE = ModelFailure("down", "SERVER")


def check(*chunks: Chunk) -> StreamGrammar:
    grammar = StreamGrammar()
    for chunk in chunks:
        grammar.check(chunk)
    return grammar


def refused(*chunks: Chunk) -> str:
    """The text of the refusal of the last chunk; those before it are accepted."""
    grammar = check(*chunks[:-1])
    with pytest.raises(ModelError) as caught:
        grammar.check(chunks[-1])
    assert caught.value.code == "MALFORMED_RESPONSE"
    assert not caught.value.retryable
    return caught.value.message


def test_a_correct_stream_passes() -> None:
    """core 12.3: interleaved blocks of all three types, one usage and one finish pass."""
    grammar = check(
        BlockStart(0, "reasoning"),
        BlockStart(1, "text"),
        ReasoningDelta(0, "hm"),
        TextDelta(1, "so"),
        BlockEnd(0, Reasoning("hm")),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, "c", "{}", "count"),
        BlockEnd(2, ToolCall("c", "count", "{}")),
        BlockEnd(1, Text("so")),
        UsageChunk(Usage(1, 2)),
        Finish("tool-calls"),
    )
    grammar.end()


def test_a_second_finish_is_refused() -> None:
    """core 18.12 #262: a second finish is refused."""
    assert "Finish after the finish" in refused(Finish("stop"), Finish("stop"))


@pytest.mark.parametrize("late", [TextDelta(0, "x"), UsageChunk(Usage()), BlockStart(0, "text")])
def test_a_chunk_after_the_finish_is_refused(late: Chunk) -> None:
    """core 18.12 #262: any chunk after the finish is refused."""
    assert "after the finish" in refused(Finish("stop"), late)


def test_a_second_usage_is_refused() -> None:
    """core 18.12 #262: two usage chunks are refused."""
    assert "second usage" in refused(UsageChunk(Usage()), UsageChunk(Usage()))


@pytest.mark.parametrize(
    ("start", "delta"),
    [
        ("text", ReasoningDelta(0, "x")),
        ("text", ToolCallDelta(0, "c", "{}")),
        ("reasoning", TextDelta(0, "x")),
        ("tool-call", TextDelta(0, "x")),
    ],
)
def test_a_delta_on_the_wrong_block_is_refused(start: str, delta: Chunk) -> None:
    """core 18.12 #262: a delta on a block of another type is refused."""
    assert "block 0" in refused(BlockStart(0, start), delta)  # type: ignore[arg-type]  # pyright: ignore


def test_a_delta_that_changes_an_unstarted_block_is_refused() -> None:
    """core 18.12 #262: the first delta of a block that was not started fixes its type."""
    assert "block 0" in refused(TextDelta(0, "x"), ReasoningDelta(0, "y"))


def test_an_end_of_another_type_is_refused() -> None:
    """core 12.3: the end of a block matches the type of its start."""
    assert "block 0" in refused(BlockStart(0, "text"), BlockEnd(0, Reasoning("x")))


def test_a_start_of_an_open_block_is_refused() -> None:
    """core 12.3: a block is not started again while it is open."""
    assert "second start of block 0" in refused(BlockStart(0, "text"), BlockStart(0, "text"))


def test_a_start_after_the_end_passes() -> None:
    """core 12.3: a block may be started again once it is closed; the assembler ignores it."""
    check(BlockStart(0, "text"), BlockEnd(0, Text("a")), BlockStart(0, "text"))


@pytest.mark.parametrize("index", [-1, 1.0, True, None, "0"])
def test_an_index_is_a_whole_number(index: object) -> None:
    """core 12.3: an index is a whole number from 0, in every chunk that has one."""
    for chunk in (
        BlockStart(index, "text"),  # type: ignore[arg-type]  # pyright: ignore
        TextDelta(index, "x"),  # type: ignore[arg-type]  # pyright: ignore
        BlockEnd(index, Text("x")),  # type: ignore[arg-type]  # pyright: ignore
    ):
        assert "whole number" in refused(chunk)


def test_a_success_leaves_no_block_open() -> None:
    """core 12.3: a success while a started block is open is refused."""
    for kind in ("stop", "tool-calls"):
        message = refused(BlockStart(4, "text"), TextDelta(4, "x"), Finish(kind))  # pyright: ignore
        assert "block 4 is open" in message


def test_a_ceiling_may_cut_a_block_off() -> None:
    """core 12.3, 12.4: what runs into the ceiling of a response breaks off where it is."""
    check(
        BlockStart(0, "tool-call"),
        ToolCallDelta(0, "c", '{"command": "echo ', "bash"),
        UsageChunk(Usage(1, 2)),
        Finish("max-tokens"),
    ).end()


def test_a_failure_may_leave_a_block_open() -> None:
    """core 12.3: an aborted or failed stream may break off inside a block."""
    check(BlockStart(0, "text"), Finish("error", FAILURE)).end()
    check(BlockStart(0, "text"), Finish("aborted", FAILURE)).end()


def test_a_failure_has_facts_and_a_success_has_none() -> None:
    """core 12.3: ``aborted`` and ``error`` carry a failure, the other finishes none."""
    assert "without a failure" in refused(Finish("error"))
    assert "without a failure" in refused(Finish("aborted"))
    assert "with a failure" in refused(Finish("stop", FAILURE))


def test_an_unknown_finish_is_refused() -> None:
    """core 12.3: the five finish reasons are a closed set."""
    assert "'refusal'" in refused(Finish("refusal"))  # type: ignore[arg-type]  # pyright: ignore


@pytest.mark.parametrize("junk", ["text", None, {"type": "text-delta"}])
def test_what_is_no_chunk_is_refused(junk: object) -> None:
    """core 12.3: the seven chunks are a closed set; anything else is refused, not crashed on."""
    assert type(junk).__name__ in refused(junk)  # type: ignore[arg-type]  # pyright: ignore


def test_a_delta_that_is_no_text_is_refused() -> None:
    """core 12.3: a delta without text is refused before it can break the assembler."""
    assert "NoneType" in refused(TextDelta(0, None))  # type: ignore[arg-type]  # pyright: ignore
    assert "dict" in refused(ToolCallDelta(0, "c", {}))  # type: ignore[arg-type]  # pyright: ignore


def test_a_model_cannot_say_a_tool_result() -> None:
    """core 12.3: a tool result is no block of a model's message."""
    assert "ToolResult" in refused(BlockEnd(0, ToolResult("c", ())))


def test_an_opaque_block_goes_by_its_own_type() -> None:
    """core 12.3: a block of an unknown type matches a start of the same name."""
    image = OpaqueBlock(FrozenDict({"type": "image"}))
    check(BlockStart(0, "image"), BlockEnd(0, image), Finish("stop"))  # type: ignore[arg-type]  # pyright: ignore
    assert "image" in refused(BlockStart(0, "text"), BlockEnd(0, image))


def test_what_the_assembler_gives_a_meaning_passes() -> None:
    """core 18.12 #265, #266: missing starts and ends, and second ends, are not malformed."""
    check(TextDelta(0, "x"), Finish("stop"))
    check(BlockEnd(0, Text("x")), BlockEnd(0, Text("y")), TextDelta(0, "z"), Finish("stop"))


def test_an_end_without_a_finish_is_refused_when_asked() -> None:
    """core 12.3: exactly one finish: `end` refuses a stream that had none."""
    with pytest.raises(ModelError, match="no finish"):
        check(TextDelta(0, "x")).end()
