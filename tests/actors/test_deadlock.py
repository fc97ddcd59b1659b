"""Waits that could never end are refused."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any

import pytest

from broodline.actors.actor import EventLoopActor
from broodline.actors.deadlock import begin_wait
from broodline.actors.ref import ActorRef
from broodline.actors.system import ActorSystem
from broodline.messages.errors import DeadlockError


class Link(EventLoopActor):
    """Asks the next link, if it has one, and answers with what that says."""

    def __init__(self) -> None:
        super().__init__()
        self._next: ActorRef[Link] | None = None

    async def on_receive(self, message: Any) -> Any:
        if isinstance(message, ActorRef):
            self._next = message
            return None
        if self._next is None:
            return "end"
        return await self._next.ask(message, block=False)


async def chain(length: int, *, closed: bool) -> list[ActorRef[Link]]:
    """Links in a row; with `closed` the last one asks the first."""
    links = [Link.start() for _ in range(length)]
    pairs = list(itertools.pairwise(links))
    for link, following in [*pairs, *([(links[-1], links[0])] if closed else [])]:
        await link.ask(following, block=False)
    return links


@pytest.mark.parametrize("length", [1, 2, 3, 10])
async def test_a_cycle_of_asks_is_refused_and_named(length: int, system: ActorSystem) -> None:
    """DESIGN 2: A asks itself, A asks B asks A, and longer: DeadlockError names the cycle."""
    links = await chain(length, closed=True)
    with pytest.raises(DeadlockError) as caught:
        await links[0].ask("go", block=False)
    cycle: list[str] = caught.value.details["cycle"]
    last = str(links[-1])
    start = [last, *[str(link) for link in links[:-1]], last] if length > 1 else [last, last]
    assert cycle == start
    assert " -> ".join(cycle) in str(caught.value)


async def test_after_a_refused_cycle_everyone_goes_on(system: ActorSystem) -> None:
    """DESIGN 2: the refusal answers every asker of the cycle, and all actors live on."""
    links = await chain(3, closed=True)
    for _ in range(2):
        with pytest.raises(DeadlockError):
            await links[0].ask("go", block=False)
    for link in links:
        assert link.is_alive()
        assert link.actor is not None
        assert link.actor.waits is None
        assert link.actor_inbox.empty()


async def test_what_was_refused_is_not_handled_either(system: ActorSystem) -> None:
    """DESIGN 2: the ask nobody can wait for is taken back, also behind a map."""
    handled: list[Any] = []

    class Asking(EventLoopActor):
        async def on_receive(self, message: Any) -> Any:
            handled.append(message)
            if message == "plain":
                return await self.actor_ref.ask("withdrawn", block=False)
            return await self.actor_ref.ask("withdrawn", block=False).map(str).map(str)

    ref = Asking.start()
    for message in ("plain", "mapped"):
        with pytest.raises(DeadlockError):
            await ref.ask(message, block=False)
    await ref.stop(block=False)
    assert handled == ["plain", "mapped"]


async def test_an_actor_cannot_await_its_own_stop_but_stops(system: ActorSystem) -> None:
    """DESIGN 2: awaiting the own stop is a cycle; the stop itself stands."""

    class Leaving(EventLoopActor):
        async def on_receive(self, message: Any) -> Any:
            return await self.actor_ref.stop(block=False)

    ref = Leaving.start()
    with pytest.raises(DeadlockError):
        await ref.ask("go", block=False)
    await ref.stop(block=False)
    assert not ref.is_alive()


async def test_a_long_chain_without_a_cycle_is_fine(system: ActorSystem) -> None:
    """DESIGN 2: a hundred actors waiting for one another in a row are no cycle."""
    links = await chain(100, closed=False)
    assert await links[0].ask("go", block=False) == "end"


async def test_a_wait_that_was_given_up_is_no_part_of_a_cycle(system: ActorSystem) -> None:
    """DESIGN 2: after a wait timed out, the actor may be asked by the one it had waited for."""
    gate = asyncio.Event()

    class Slow(EventLoopActor):
        async def on_receive(self, message: Any) -> Any:
            await gate.wait()
            return await asker.ask("who?", block=False)

    class Impatient(EventLoopActor):
        async def on_receive(self, message: Any) -> Any:
            if message == "who?":
                return "me"
            try:
                async with asyncio.timeout(0):
                    await slow.ask("x", block=False)
            except TimeoutError:
                gate.set()
                return "gave up"

    slow, asker = Slow.start(), Impatient.start()
    assert await asker.ask("go", block=False) == "gave up"
    assert await slow.ask("again", block=False) == "me"


async def test_a_wait_in_a_task_of_its_own_is_no_deadlock(system: ActorSystem) -> None:
    """DESIGN 2: a handler that only starts a waiting task is free to answer the asker."""

    class Relaxed(EventLoopActor):
        async def on_receive(self, message: Any) -> Any:
            if message == "go":
                self._task = system.spawn(self._later())
                return "started"
            return "answered"

        async def _later(self) -> Any:
            return await self.actor_ref.ask("later", block=False)

        def task(self) -> Any:
            return self._task

    ref = Relaxed.start()
    assert await ref.ask("go", block=False) == "started"
    assert await (await ref.proxy().task()) == "answered"


async def test_a_joined_reply_waits_for_each_of_its_parts(system: ActorSystem) -> None:
    """DESIGN 2: a cycle is found through map and join."""

    class Joining(EventLoopActor):
        async def on_receive(self, message: Any) -> Any:
            other = plain.ask("x", block=False)
            mine = self.actor_ref.ask("y", block=False).map(str)
            return await other.join(mine)

    plain = Link.start()
    with pytest.raises(DeadlockError):
        await Joining.start().ask("go", block=False)


async def test_a_cycle_through_a_thread_is_found(system: ActorSystem) -> None:
    """DESIGN 2: a plain function in the executor that asks the actor waiting for it is refused."""

    class Threaded(EventLoopActor):
        async def on_receive(self, message: Any) -> Any:
            return await system.executor.run(self.actor_ref.ask, "back")

    ref = Threaded.start()
    with pytest.raises(DeadlockError, match="a thread of Threaded"):
        await ref.ask("go", block=False)


async def test_a_thread_may_ask_somebody_else(system: ActorSystem) -> None:
    """DESIGN 2: a blocking ask in the executor works where there is no cycle."""

    class Threaded(EventLoopActor):
        async def on_receive(self, message: Any) -> Any:
            return await system.executor.run(other.ask, message)

    other = Link.start()
    assert await Threaded.start().ask("go", block=False) == "end"


def test_a_cycle_across_two_runtimes_is_found() -> None:
    """DESIGN 2: actors of two runtimes in two threads that await each other are refused."""
    with ActorSystem() as first, ActorSystem() as second:
        one, two = first.start_actor(Link), second.start_actor(Link)
        one.ask(two)
        two.ask(one)
        with pytest.raises(DeadlockError):
            one.ask("go", timeout=30)


class Stub:
    """A worker, and the reply that waits for workers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.waits: Any = None
        self.workers: list[Stub] = []

    def owners(self) -> list[Stub]:
        return self.workers

    def __str__(self) -> str:
        return self.name


def test_a_walk_through_branches_finds_the_cycle_and_ends() -> None:
    """DESIGN 2: with several owners every branch is looked at once."""
    a, b, c, d = (Stub(name) for name in "abcd")
    wait_b, wait_c, wait_a = Stub("-"), Stub("-"), Stub("-")
    wait_b.workers = [d, b]
    wait_c.workers = [c, d]
    wait_a.workers = [a]
    b.waits, c.waits = wait_c, wait_a
    with pytest.raises(DeadlockError, match="a -> b -> c -> a"):
        begin_wait(a, wait_b)
    assert a.waits is None
    c.waits = wait_b
    begin_wait(d, wait_a)
    assert d.waits is wait_a


def test_a_walk_through_a_cycle_of_others_ends() -> None:
    """DESIGN 2: two others that wait for each other do not hold up who waits for them."""
    a, b, c = Stub("a"), Stub("b"), Stub("c")
    wait_b, wait_c = Stub("-"), Stub("-")
    wait_b.workers, wait_c.workers = [b], [c]
    b.waits, c.waits = wait_c, wait_b
    begin_wait(a, wait_b)
    assert a.waits is wait_b


def test_of_two_threads_closing_a_cycle_at_least_one_is_refused() -> None:
    """DESIGN 2: two waits that close a cycle at the same moment cannot both begin."""
    for _ in range(200):
        a, b = Stub("a"), Stub("b")
        for_a, for_b = Stub("-"), Stub("-")
        for_a.workers, for_b.workers = [a], [b]
        start = threading.Barrier(2)
        refused: list[Stub] = []

        def wait(
            worker: Stub,
            reply: Stub,
            start: threading.Barrier = start,
            refused: list[Stub] = refused,
        ) -> None:
            start.wait()
            try:
                begin_wait(worker, reply)
            except DeadlockError:
                refused.append(worker)

        threads = [threading.Thread(target=wait, args=pair) for pair in ((a, for_b), (b, for_a))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert refused
