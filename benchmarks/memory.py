"""The memory rows, each run as a process of its own: prints bytes for each thing."""

from __future__ import annotations

import asyncio
import sys

from broodline import Runtime, SubagentRequest
from measure import growth
from rows import Idler
from stage import SilentModel


async def waiting(count: int) -> float:
    """Children of one parent, each in a turn whose model does not answer."""
    model = SilentModel()
    async with Runtime(model=model) as runtime:
        parent = await runtime.agents.create()
        kept: list[object] = []

        async def make(number: int) -> None:
            for _ in range(number):
                request = SubagentRequest(prompt="Go.", parent=parent)
                kept.append(await runtime.subagents.start("spawn", request))
            await model.until(len(kept))

        return await growth(count, make)


async def idle(count: int) -> float:
    """Actors that have never had a message."""
    async with Runtime() as runtime:
        kept: list[object] = []

        async def make(number: int) -> None:
            kept.extend(runtime.start_actor(Idler) for _ in range(number))
            await asyncio.sleep(0)

        return await growth(count, make)


if __name__ == "__main__":
    job = {"waiting": waiting, "idle": idle}[sys.argv[1]]
    print(asyncio.run(job(int(sys.argv[2]))))
