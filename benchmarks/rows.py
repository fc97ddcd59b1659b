"""The rows of DESIGN section 7 that can be measured now."""

from __future__ import annotations

import asyncio

from broodline import AgentHandle, EventLoopActor, Runtime, SubagentRequest
from measure import Row, Sample, Scale, Stopwatch, in_fresh_process, timed
from stage import InstantModel, SlowModel


async def delegate(runtime: Runtime, parent: AgentHandle) -> None:
    """One delegation as a host does it: start, result, dispose."""
    run = await runtime.subagents.start("spawn", SubagentRequest(prompt="Go.", parent=parent))
    await run.result
    await run.dispose()


async def one_by_one(scale: Scale) -> Sample:
    """Delegations one after the other, the parent idle."""
    count = scale.of(2_000)
    async with Runtime(model=InstantModel()) as runtime:
        parent = await runtime.agents.create()
        for _ in range(50):
            await delegate(runtime, parent)
        with Stopwatch() as watch:
            for _ in range(count):
                await delegate(runtime, parent)
    return watch.per(count)


async def at_once(scale: Scale) -> Sample:
    """1,024 delegations of one parent at the same time."""
    count = scale.of(1_024)
    async with Runtime(model=InstantModel()) as runtime:
        parent = await runtime.agents.create()
        await delegate(runtime, parent)
        with Stopwatch() as watch:
            await asyncio.gather(*(delegate(runtime, parent) for _ in range(count)))
    return watch.per(count)


async def long_session(scale: Scale, *, last: int | None = None) -> Sample:
    """1,000 turns of one agent without tools; only the `last` of them are timed."""
    count = scale.of(1_000)
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


async def late_turns(scale: Scale) -> Sample:
    """The last tenth of a session of 1,000 turns: the price must not have grown."""
    return await long_session(scale, last=scale.of(1_000) // 10)


async def waiting_turns(scale: Scale) -> Sample:
    """10,000 agents, a turn of 50 ms each, from the first send to the end of the last turn."""
    count = scale.of(10_000)
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


async def start_and_stop(scale: Scale) -> Sample:
    """10,000 bare actors started, then stopped."""
    count = scale.of(10_000)
    async with Runtime() as runtime:
        with Stopwatch() as watch:
            actors = [runtime.start_actor(Idler) for _ in range(count)]
            for actor in actors:
                actor.stop(block=False)
            while runtime.actors:
                await asyncio.sleep(0)
    return watch.per(1)


ROWS = (
    Row("delegation", "one-shot delegation, idle parent, each", "ms", timed(one_by_one), 0.30),
    Row("delegation-1024", "1,024 delegations at once, each", "ms", timed(at_once), 0.30),
    Row("turn", "turn without tools, 1,000 in one session, each", "ms", timed(long_session), 0.15),
    Row("turn-late", "the last 100 of those, each", "ms", timed(late_turns), 0.15),
    Row("turns-10000", "10,000 turns of 50 ms at once", "s", timed(waiting_turns), 0.5, "wall"),
    Row(
        "memory-waiting",
        "a child waiting on a model, over 10,000, each",
        "KiB",
        in_fresh_process("waiting"),
        12.0,
        "memory",
    ),
    Row(
        "memory-idle",
        "an idle actor, over 10,000, each",
        "KiB",
        in_fresh_process("idle"),
        judged="memory",
    ),
    Row("actors-10000", "start and stop of 10,000 actors", "s", timed(start_and_stop)),
)
