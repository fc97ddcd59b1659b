"""What every row plays with: models that cost nothing, their five chunks, a delegation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from broodline import AgentHandle, Runtime, SubagentRequest
from broodline.messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    TextDelta,
    Usage,
    UsageChunk,
)
from broodline.messages.content import Text
from broodline.messages.request import ModelRequest

ANSWER: tuple[Chunk, ...] = (
    BlockStart(0, "text"),
    TextDelta(0, "Done."),
    BlockEnd(0, Text("Done.")),
    UsageChunk(Usage(input_tokens=10, output_tokens=2)),
    Finish("stop"),
)


class InstantModel:
    """Answers at once, with five chunks."""

    provider = "bench"
    model = "instant"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The five chunks."""
        for chunk in ANSWER:
            yield chunk


class PaddedModel:
    """Answers at once, with five chunks and `padding` more."""

    provider = "bench"
    model = "padded"

    def __init__(self) -> None:
        self.padding = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The chunks."""
        start, delta, *rest = ANSWER
        yield start
        for _ in range(self.padding):
            yield TextDelta(0, "")
        for chunk in (delta, *rest):
            yield chunk


class SlowModel:
    """Waits `seconds`, then answers with five chunks."""

    provider = "bench"
    model = "slow"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The wait, then the five chunks."""
        await asyncio.sleep(self.seconds)
        for chunk in ANSWER:
            yield chunk


class SilentModel:
    """Never answers; `waiting` counts the requests that wait."""

    provider = "bench"
    model = "silent"

    def __init__(self) -> None:
        self.waiting = 0
        self.enough = asyncio.Event()
        self.target = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Nothing, for ever."""
        self.waiting += 1
        if self.waiting >= self.target:
            self.enough.set()
        await asyncio.get_running_loop().create_future()
        yield Finish("stop")

    async def until(self, target: int) -> None:
        """Return when `target` requests wait."""
        self.target = target
        self.enough.clear()
        if self.waiting < target:
            await self.enough.wait()


async def delegate(runtime: Runtime, parent: AgentHandle) -> None:
    """One delegation as a host does it: start, result, dispose."""
    run = await runtime.subagents.start("spawn", SubagentRequest(prompt="Go.", parent=parent))
    await run.result
    await run.dispose()
