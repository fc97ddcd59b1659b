"""Threads for one kind of work, and work that is begun without a task."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import pytest

from broodline.actors.executor import Executor, InlineExecutor, ThreadExecutor, begin, lane_of
from broodline.messages.errors import ActorDeadError

T = TypeVar("T")


class PlainExecutor:
    """What an executor has to have, and nothing more."""

    queued = 0

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        await asyncio.sleep(0)
        return fn(*args)

    async def close(self, timeout: float) -> tuple[str, ...]:
        return ()


class Outcome:
    """Waits for what `begin` tells."""

    def __init__(self) -> None:
        self.told: asyncio.Future[tuple[Any, BaseException | None]]
        self.told = asyncio.get_running_loop().create_future()

    def __call__(self, result: Any, error: BaseException | None) -> None:
        self.told.set_result((result, error))


def fail(error: BaseException) -> None:
    raise error


@pytest.fixture
async def pool() -> AsyncIterator[ThreadExecutor]:
    """A pool of one thread."""
    pool = ThreadExecutor(1, "pool")
    yield pool
    assert await pool.close(30) == ()


async def test_a_lane_has_threads_of_its_own(pool: ThreadExecutor) -> None:
    """DESIGN 2: a lane is named for its work, and a pool that is busy does not hold it up."""
    gate = threading.Event()
    busy = asyncio.ensure_future(pool.run(gate.wait))
    lane = pool.lane("store-writer")
    thread = await lane.run(threading.current_thread)
    assert thread.name == "pool-store-writer-worker-0"
    gate.set()
    await busy


async def test_a_lane_is_as_wide_as_asked(pool: ThreadExecutor) -> None:
    """DESIGN 2: a lane of three runs three functions at once, a lane of one keeps their order."""
    meeting = threading.Barrier(3)
    wide = pool.lane("wide", 3)
    await asyncio.gather(*(wide.run(meeting.wait, 30) for _ in range(3)))
    narrow, order = pool.lane("narrow"), list[int]()
    await asyncio.gather(*(narrow.run(order.append, number) for number in range(50)))
    assert order == list(range(50))


async def test_lanes_close_with_their_pool() -> None:
    """DESIGN 2: closing a pool closes its lanes; what hangs in them is named."""
    pool = ThreadExecutor(1, "pool")
    idle, stuck = pool.lane("idle"), pool.lane("stuck")
    gate, begun = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        gate.wait()

    await idle.run(int)
    hanging = asyncio.ensure_future(stuck.run(hang))
    while not begun.is_set():
        await asyncio.sleep(0)
    assert await pool.close(0.01) == ("pool-stuck-worker-0",)
    for lane in (pool, idle, stuck):
        with pytest.raises(ActorDeadError):
            await lane.run(int)
    gate.set()
    await hanging
    assert await pool.close(30) == ()


async def test_a_lane_may_close_before_its_pool(pool: ThreadExecutor) -> None:
    """DESIGN 2: a pool goes on when a lane is closed, and does not keep those that are."""
    for _round in range(5):
        lane = pool.lane("lane")
        await lane.run(int)
        for _ in range(3):
            assert await lane.close(30) == ()
            assert lane.queued == 0
    assert await pool.run(int) == 0
    kept: Any = pool
    assert len(kept._lanes) == 1


async def test_where_there_are_no_lanes(pool: ThreadExecutor) -> None:
    """DESIGN 2: a simulation has one order; an executor that knows no lanes is used itself."""
    inline, plain = InlineExecutor(), PlainExecutor()
    assert lane_of(inline, "lane", 4) is inline
    assert lane_of(plain, "lane", 4) is plain
    assert lane_of(pool, "lane", 4) is not pool


@pytest.fixture(params=["threads", "inline", "plain"])
async def executor(request: pytest.FixtureRequest) -> AsyncIterator[Executor]:
    """One of each kind."""
    kinds: dict[str, Executor] = {
        "threads": ThreadExecutor(1, "pool"),
        "inline": InlineExecutor(),
        "plain": PlainExecutor(),
    }
    chosen = kinds[request.param]
    yield chosen
    await chosen.close(30)


async def test_begun_work_tells_its_end(executor: Executor) -> None:
    """DESIGN 2: who begins something is told what it returned, on the loop, in a later turn."""
    outcome = Outcome()
    begin(executor, outcome, divmod, 7, 2)
    assert not outcome.told.done()
    assert await outcome.told == ((3, 1), None)


@pytest.mark.parametrize("error", [ValueError("no"), asyncio.CancelledError()], ids=repr)
async def test_begun_work_tells_its_failure(error: BaseException, executor: Executor) -> None:
    """DESIGN 2: who begins something is told what it raised."""
    outcome = Outcome()
    begin(executor, outcome, fail, error)
    result, told = await outcome.told
    assert result is None
    assert type(told) is type(error)


async def test_begun_work_may_stop_an_iteration(pool: ThreadExecutor) -> None:
    """DESIGN 2: StopIteration, which no future carries, is told like all others."""
    outcome = Outcome()
    begin(pool, outcome, next, iter(()))
    assert isinstance((await outcome.told)[1], StopIteration)


async def test_nothing_begins_in_a_closed_pool() -> None:
    """DESIGN 2: a closed pool refuses; what was in line when it closed is told so."""
    pool = ThreadExecutor(1, "pool")
    gate, outcomes = threading.Event(), [Outcome() for _ in range(2)]
    begin(pool, outcomes[0], gate.wait)
    while pool.queued:
        await asyncio.sleep(0)
    begin(pool, outcomes[1], int)
    closing = asyncio.ensure_future(pool.close(30))
    _, refusal = await outcomes[1].told
    assert isinstance(refusal, ActorDeadError)
    gate.set()
    assert await outcomes[0].told == (True, None)
    assert await closing == ()
    with pytest.raises(ActorDeadError):
        begin(pool, Outcome(), int)


def test_work_that_outlives_its_loop() -> None:
    """DESIGN 2: when the loop has gone, the end of what it began is told to nobody, quietly."""
    pool, gate = ThreadExecutor(1, "pool"), threading.Event()
    told: list[object] = []

    async def main() -> None:
        begin(pool, lambda result, error: told.append((result, error)), gate.wait)

    asyncio.run(main())
    gate.set()
    assert asyncio.run(pool.close(30)) == ()
    assert told == []
