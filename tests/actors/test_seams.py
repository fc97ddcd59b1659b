"""Every seam of time and chance is handed in."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
import uuid
from typing import Any

import pytest

from broodline.actors.actor import EventLoopActor
from broodline.actors.clock import SystemClock
from broodline.actors.identity import IdKind, RandomIds
from broodline.actors.operation import Operation
from broodline.actors.system import ActorSystem


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def time_ms(self) -> int:
        return int(self.now * 1000)

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


class CountingIds:
    """Ids that count."""

    def __init__(self) -> None:
        self.count = 0

    def new(self, kind: IdKind) -> str:
        self.count += 1
        return f"{kind}-{self.count}"


class Holding(EventLoopActor):
    """Holds the loop for as long as it is told to, by moving the clock."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self.clock = clock

    def on_receive(self, message: float) -> None:
        self.clock.now += message

    async def slowly(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.clock.now += seconds


async def test_the_machines_clock() -> None:
    """DESIGN 2: the default clock gives epoch milliseconds, monotonic seconds and sleep."""
    clock = SystemClock()
    assert abs(clock.time_ms() - time.time() * 1000) < 60_000
    first = clock.monotonic()
    await clock.sleep(0)
    assert clock.monotonic() >= first


@pytest.mark.parametrize("kind", ["session", "message", "run", "call", "retry"])
def test_an_id_is_32_hex_digits(kind: IdKind) -> None:
    """DESIGN 2: ids are 32 hex digits of the runtime's randomness."""
    ids = RandomIds(random.Random(1))
    made = [ids.new(kind) for _ in range(100)]
    assert all(re.fullmatch(r"[0-9a-f]{32}", text) for text in made)
    assert len(set(made)) == 100


def test_a_urn_is_a_uuid() -> None:
    """DESIGN 2: a urn has pykka's form, a UUID of version 4."""
    ids = RandomIds(random.Random(1))
    for _ in range(100):
        urn = ids.new("urn")
        parsed = uuid.UUID(urn)
        assert parsed.urn == urn
        assert (parsed.version, parsed.variant) == (4, uuid.RFC_4122)


def test_a_seed_repeats_all_ids() -> None:
    """DESIGN 2: the same seed gives the same ids, urns of actors included."""

    def run() -> list[str]:
        with ActorSystem(random=random.Random(7)) as system:
            return [EventLoopActor.start().actor_urn, system.ids.new("session")]

    assert run() == run()


def test_without_a_seed_ids_differ() -> None:
    """DESIGN 2: two runtimes without a seed make different ids."""
    assert ActorSystem().ids.new("run") != ActorSystem().ids.new("run")


async def test_ids_and_randomness_are_handed_in() -> None:
    """DESIGN 2: the runtime uses the id source, randomness and clock it was given."""
    ids, source, clock = CountingIds(), random.Random(1), FakeClock()
    async with ActorSystem(ids=ids, random=source, clock=clock) as system:
        assert EventLoopActor.start().actor_urn == "urn-1"
        assert (system.ids, system.random, system.clock) == (ids, source, clock)


@pytest.mark.parametrize("kind", ["tell", "async"])
async def test_a_stall_is_logged_with_the_actors_name(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2: whoever holds the loop for more than 250 ms is named, plain and async."""
    clock = FakeClock()
    async with ActorSystem(clock=clock) as system:
        ref = Holding.start(clock)
        if kind == "tell":
            ref.tell(0.3)
            await ref.ask(0.1, block=False)
        else:
            await ref.proxy().slowly(0.3)
    assert system.statistics().stalls == 1
    assert str(ref) in caplog.text
    assert "stood still for 0." in caplog.text


async def test_a_short_stretch_is_no_stall(caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 2: at 250 ms and below nothing is logged; waiting does not count."""
    clock = FakeClock()
    async with ActorSystem(clock=clock) as system:
        ref = Holding.start(clock)
        await ref.proxy().slowly(0.25)
        await ref.proxy().slowly(0.25)
    assert system.statistics().stalls == 0
    assert "stood still" not in caplog.text


async def test_operations_and_spawned_tasks_are_watched_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DESIGN 2: a stall in an operation or a spawned task is logged under its name."""
    clock = FakeClock()

    async def hold(_operation: Any = None) -> None:
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0)
        except TimeoutError:
            clock.now += 1

    async def run(_operation: Operation[None]) -> None:
        await hold()

    async with ActorSystem(clock=clock, stall_threshold=0.5) as system:
        await system.operate(run, name="heavy")
        await system.spawn(hold(), name="errand")
    assert system.statistics().stalls == 2
    assert "operation heavy" in caplog.text
    assert "errand" in caplog.text


async def test_a_watched_task_can_be_looked_into(system: ActorSystem) -> None:
    """DESIGN 2: asyncio's aids (repr, stack) still show what a watched task is doing."""

    async def waiting_for_godot() -> None:
        await asyncio.Event().wait()

    task = system.spawn(waiting_for_godot(), name="godot")
    await asyncio.sleep(0)
    assert "waiting_for_godot" in repr(task)
    assert task.get_stack()
    task.cancel()
    await asyncio.wait({task})


async def test_a_failing_message_names_its_actor_in_the_log(
    system: ActorSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2: what a runtime logs about an actor has its class and urn."""

    class Failing(EventLoopActor):
        def on_receive(self, message: Any) -> None:
            raise ValueError(message)

    ref = Failing.start()
    with caplog.at_level(logging.ERROR, logger="broodline.actors"):
        ref.tell("x")
        await ref.stop(block=False)
    assert f"Unhandled exception in Failing ({ref.actor_urn})" in caplog.text
