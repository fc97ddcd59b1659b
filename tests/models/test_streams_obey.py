"""Whatever a script or a rule says, the stream obeys the grammar."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.cancellation import CancellationToken
from broodline.actors.models import (
    Assembler,
    LocalModel,
    RuleModel,
    ScriptedModel,
    StreamGrammar,
    blocks,
    calls,
    fail,
    max_tokens,
    text,
)
from broodline.messages.chunk import Chunk
from broodline.messages.content import Block, OpaqueBlock, Reasoning, Text, ToolCall
from broodline.messages.errors import ModelError
from broodline.messages.lossless import FrozenDict
from broodline.messages.payload import CallConfig
from broodline.messages.request import ModelRequest

short = st.text(max_size=12)
a_call = st.builds(ToolCall, st.sampled_from(["", "mine"]), st.sampled_from(["a", "b"]), short)
image = st.just(OpaqueBlock(FrozenDict({"type": "image"})))
block = st.builds(Text, short) | st.builds(Reasoning, short) | a_call | image
content = st.lists(block, max_size=5)


def take_in(model: LocalModel, signal: Any = None, stop_at: int = -1) -> tuple[Assembler, Any]:
    """Read one response, checking every chunk; the token fires before chunk `stop_at`."""
    request = ModelRequest(CallConfig("a", "b"), [], None, (), "s", signal)
    assembler, grammar = Assembler(), StreamGrammar()

    async def read() -> None:
        async with aclosing(model.stream(request)) as stream:
            place = 0
            async for chunk in stream:
                check(chunk)
                place += 1
                if place == stop_at:
                    signal.cancel()

    def check(chunk: Chunk) -> None:
        grammar.check(chunk)
        assembler.feed(chunk)

    try:
        asyncio.run(read())
    except ModelError as error:
        return assembler, error
    grammar.end()
    return assembler, None


def as_said(said: list[Block]) -> tuple[Block, ...]:
    """The blocks with the ids that calls without one are to get."""
    return tuple(
        ToolCall(b.id or f"call-0-{place}", b.name, b.arguments) if isinstance(b, ToolCall) else b
        for place, b in enumerate(said)
    )


@given(content, st.integers(1, 20))
def test_blocks_come_out_as_they_went_in(said: list[Block], pieces: int) -> None:
    """core 12.3: any blocks, cut anyhow, are a correct stream that makes the same blocks."""
    assembler, error = take_in(ScriptedModel(shared=[blocks(*said, pieces=pieces)]))
    assert error is None
    assert assembler.message_content() == as_said(said)
    assert assembler.finish is not None
    wants = any(isinstance(b, ToolCall) for b in said)
    assert assembler.finish.kind == ("tool-calls" if wants else "stop")


@given(content)
def test_a_rule_says_the_same(said: list[Block]) -> None:
    """core 12.3: a rule that returns blocks streams what a script of them would."""
    scripted, _ = take_in(ScriptedModel(shared=[said]))
    ruled, error = take_in(RuleModel(lambda _conversation: said))
    assert error is None
    assert ruled.message_content() == scripted.message_content() == as_said(said)


@given(short, short, st.integers(1, 20))
def test_a_text_comes_out_as_it_went_in(value: str, thought: str, pieces: int) -> None:
    """core 12.3: any text, with any thinking before it, is a correct stream."""
    assembler, _ = take_in(ScriptedModel(shared=[text(value, reasoning=thought, pieces=pieces)]))
    expected = [Reasoning(thought)] * bool(thought) + [Text(value)] * bool(value)
    assert list(assembler.message_content()) == expected


@given(short, st.lists(a_call, min_size=1, max_size=4))
def test_the_ceiling_leaves_the_text(value: str, cut: list[ToolCall]) -> None:
    """core 12.4: any response at the ceiling is a correct stream that keeps its text alone."""
    assembler, _ = take_in(ScriptedModel(shared=[max_tokens(value, *cut)]))
    assert assembler.message_content() == ((Text(value),) if value else ())


@given(short, st.lists(a_call, min_size=1, max_size=3), st.booleans())
def test_a_failure_breaks_off_correctly(value: str, cut: list[ToolCall], emit: bool) -> None:
    """core 12.5: whatever a response failed after, raised or streamed, it was correct so far."""
    entry = fail("SERVER", "down", after=calls(*cut, text=value), emit=emit)
    assembler, error = take_in(ScriptedModel(shared=[entry]))
    assert len(assembler.message_content()) == len(cut) + bool(value)
    assert (error is None) == emit
    finish = assembler.finish
    assert (finish is not None and finish.kind == "error") == emit


@given(content, st.integers(1, 12))
def test_a_cancelled_stream_is_correct(said: list[Block], stop_at: int) -> None:
    """core 18.8 #180: a stream cancelled after any chunk is correct to its aborted finish."""
    assembler, error = take_in(ScriptedModel(shared=[blocks(*said)]), CancellationToken(), stop_at)
    assert error is None
    finish = assembler.finish
    assert finish is not None
    if finish.kind != "aborted":
        assert assembler.message_content() == as_said(said)
    for kept in assembler.interrupted_content():
        assert isinstance(kept, Text | Reasoning)
        assert kept.text.strip()
