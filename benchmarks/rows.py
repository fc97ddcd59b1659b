"""The rows of DESIGN section 7 that can be measured now."""

from __future__ import annotations

import asyncio

from broodline import EventLoopActor, Runtime
from measure import Row, Sample, Stopwatch, in_fresh_process, timed
from stage import InstantModel, SlowModel, delegate
from stored import ROWS as STORED


async def one_by_one(count: int) -> Sample:
    """Delegations one after the other, the parent idle."""
    async with Runtime(model=InstantModel()) as runtime:
        parent = await runtime.agents.create()
        for _ in range(50):
            await delegate(runtime, parent)
        with Stopwatch() as watch:
            for _ in range(count):
                await delegate(runtime, parent)
    return watch.per(count)


async def at_once(count: int) -> Sample:
    """Delegations of one parent at the same time."""
    async with Runtime(model=InstantModel()) as runtime:
        parent = await runtime.agents.create()
        await delegate(runtime, parent)
        with Stopwatch() as watch:
            await asyncio.gather(*(delegate(runtime, parent) for _ in range(count)))
    return watch.per(count)


async def long_session(count: int, *, last: int | None = None) -> Sample:
    """Turns of one agent without tools; only the `last` of them are timed."""
    timed_turns = min(last or count, count)
    async with Runtime(model=InstantModel()) as runtime:
        agent = await runtime.agents.create()
        for _ in range(count - timed_turns):
            await agent.followup("Go.")
            await agent.when_idle()
        with Stopwatch() as watch:
            for _ in range(timed_turns):
                await agent.followup("Go.")
                await agent.when_idle()
    return watch.per(timed_turns)


async def late_turns(count: int) -> Sample:
    """The last tenth of a session's turns: the price must not have grown."""
    return await long_session(count, last=count // 10)


async def waiting_turns(count: int) -> Sample:
    """Many agents, a turn of 50 ms each, from the first send to the end of the last turn."""
    async with Runtime(model=SlowModel(0.05)) as runtime:
        agents = [await runtime.agents.create() for _ in range(count)]
        with Stopwatch() as watch:
            for agent in agents:
                agent.followup("Go.")
            for agent in agents:
                await agent.agent.when_idle()
    return watch.per(1)


class Idler(EventLoopActor):
    """An actor that does nothing."""


async def start_and_stop(count: int) -> Sample:
    """Bare actors started, then stopped."""
    async with Runtime() as runtime:
        with Stopwatch() as watch:
            actors = [runtime.start_actor(Idler) for _ in range(count)]
            for actor in actors:
                actor.stop(block=False)
            while runtime.actors:
                await asyncio.sleep(0)
    return watch.per(1)


ROWS = (
    Row(
        "delegation", "one-shot delegation, idle parent, each", "ms", timed(one_by_one), 2_000, 0.30
    ),
    Row("delegation-1024", "{} delegations at once, each", "ms", timed(at_once), 1_024, 0.30),
    Row(
        "turn",
        "turn without tools, {} in one session, each",
        "ms",
        timed(long_session),
        1_000,
        0.15,
    ),
    Row("turn-late", "the last tenth of {} such turns, each", "ms", timed(late_turns), 1_000, 0.15),
    Row("turns-10000", "{} turns of 50 ms at once", "s", timed(waiting_turns), 10_000, 0.5, "wall"),
    Row(
        "memory-waiting",
        "a child waiting on a model, over {}, each",
        "KiB",
        in_fresh_process("waiting"),
        10_000,
        12.0,
        "memory",
    ),
    Row(
        "memory-idle",
        "an idle actor, over {}, each",
        "KiB",
        in_fresh_process("idle"),
        10_000,
        judged="memory",
    ),
    Row("actors-10000", "start and stop of {} actors", "s", timed(start_and_stop), 10_000),
    *STORED,
)
