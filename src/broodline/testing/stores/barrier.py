"""Cases about flushes: what they wait for, what is written behind, what fails."""

from __future__ import annotations

import asyncio

from ...messages.content import Text
from ...messages.errors import SessionError
from ...messages.payload import (
    UserMessageLogged,
)
from .claim import equal, must, refused
from .lab import Lab, stored_events
from .life import held_back, said, say
from .sample import user
from .scenario import StoreCase, durable_scenario, scenario


class BarrierCases(StoreCase):
    """`Writer.flush`, `Store.flush`."""

    @scenario
    async def test_a_flush_confirms(self, lab: Lab) -> None:
        """core 5.2: a flush resolves when all that was committed before it is stored."""
        store = await lab.open()
        live = await lab.enter(store)
        for count in (1, 2, 50):
            for _ in range(count):
                say(live, str(live.session.seq))
            must(await live.writer.flush(), "the flush does not confirm")
            equal(live.writer.stored_seq, live.session.seq, "stored_seq after a flush")
            equal(await stored_events(store), list(live.session.events), "the stored log")
        must(live.writer.failure is None, f"nothing failed, yet failure is {live.writer.failure}")
        must(await live.writer.flush(), "a flush with nothing to do does not confirm")

    @scenario
    async def test_a_released_writer_confirms_nothing(self, lab: Lab) -> None:
        """core #108: a flush of a session that has left is refused, or not confirmed."""
        store = await lab.open()
        live = await lab.enter(store)
        say(live, "one")
        await live.leave()
        try:
            confirmed = await live.writer.flush()
        except SessionError:
            confirmed = False
        must(not confirmed, "the flush of a released writer confirms")

    @scenario
    async def test_a_resume_right_behind_a_release(self, lab: Lab) -> None:
        """core 5.2: operations on one id come one after the other: a resume waits for a release."""
        gate, store, live = await held_back(lab)
        rest = live.writer.release()
        waits = [] if rest is None else [asyncio.ensure_future(rest)]
        resuming = asyncio.ensure_future(lab.resume(store))
        await asyncio.sleep(0)
        gate.open()
        heir = await resuming
        await asyncio.gather(*waits)
        say(heir, "two")
        must(await heir.writer.flush(), "the flush of the heir does not confirm")
        equal(said(await stored_events(store)), ["one", "two"], "what is stored")

    @scenario
    async def test_three_flushes(self, lab: Lab) -> None:
        """core #104: flushes at the same time all resolve once everything is stored."""
        store = await lab.open()
        live = await lab.enter(store)
        for seq in range(10):
            say(live, str(seq))
        confirmed = await asyncio.gather(*(live.writer.flush() for _ in range(3)))
        equal(confirmed, [True, True, True], "what the flushes answer")
        equal(live.writer.stored_seq, 10, "stored_seq")

    @scenario
    async def test_a_flush_joins_the_write_under_way(self, lab: Lab) -> None:
        """core #104: events and flushes that come while a write runs are in the barrier too."""
        gate, store, live = await held_back(lab)
        flushes = [asyncio.ensure_future(live.writer.flush())]
        await asyncio.sleep(0)
        say(live, "two")
        flushes += [asyncio.ensure_future(live.writer.flush()) for _ in range(2)]
        await asyncio.sleep(0)
        gate.open()
        equal(await asyncio.gather(*flushes), [True, True, True], "what the flushes answer")
        equal(said(await stored_events(store)), ["one", "two"], "what is stored, in order")

    @scenario
    async def test_cancelling_a_flush(self, lab: Lab) -> None:
        """store.Writer: cancelling the caller of a flush ends its wait only."""
        gate, store, live = await held_back(lab)
        first, second = (asyncio.ensure_future(live.writer.flush()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait({first})
        gate.open()
        must(await second, "the other flush does not confirm")
        equal(said(await stored_events(store)), ["one"], "what is stored")

    @durable_scenario
    async def test_it_is_written_behind(self, lab: Lab) -> None:
        """core #102: what nobody flushes is stored when its window is over."""
        store = await lab.open()
        live = await lab.enter(store)
        say(live, "one")
        say(live, "two")
        await lab.until(lambda: lab.clock.sleepers > 0)
        lab.clock.advance(self.window)
        await lab.until(lambda: live.writer.stored_seq == 2)
        equal(said(await stored_events(store)), ["one", "two"], "what is stored")

    @durable_scenario
    async def test_one_that_cannot_be_written(self, lab: Lab) -> None:
        """core #107: a session that cannot be written holds up no other, and says so to the end."""
        store = await lab.open()
        sick, sound = await lab.enter(store, "sick"), await lab.enter(store, "sound")
        half = UserMessageLogged(user("u", Text("half a pair: \ud83d")))
        sick.session.append(half, surface="append")
        for round_ in range(3):
            say(sound, str(round_))
            results = await asyncio.gather(
                sick.writer.flush(), sound.writer.flush(), return_exceptions=True
            )
            must(isinstance(results[0], SessionError), f"the sick one's flush got {results[0]!r}")
            equal(results[1], True, "what the sound one's flush answers")
            must(sick.writer.failure is not None, "the sick one's writer has no failure")
            must(sound.writer.failure is None, f"the sound one: {sound.writer.failure}")
        equal(said(await stored_events(store, "sound")), ["0", "1", "2"], "what was said")
        with refused("EVENT_UNWRITABLE", by="the flush of a store with a sick session"):
            await store.flush()
        with refused("EVENT_UNWRITABLE", by="close of a store with a sick session"):
            await lab.close(store)
        store = await lab.open()
        equal([one.id for one in await store.list()], ["sound"], "the ids of list()")

    @scenario
    async def test_many_writers(self, lab: Lab) -> None:
        """core 5.2: a hundred sessions that take turns each keep their own order."""
        store = await lab.open()
        lives = [await lab.enter(store, f"s{number}") for number in range(100)]
        flushes: list[asyncio.Future[bool]] = []
        for round_ in range(5):
            for live in lives:
                say(live, f"{live.session.id} {round_}")
            flushes += [asyncio.ensure_future(live.writer.flush()) for live in lives[round_::7]]
            await asyncio.sleep(0)
        must(all(await asyncio.gather(*flushes)), "a flush does not confirm")
        must(await store.flush(), "the flush of the store does not confirm")
        for live in lives:
            wanted = [f"{live.session.id} {round_}" for round_ in range(5)]
            found = await stored_events(store, live.session.id)
            equal(said(found), wanted, f"what is stored of {live.session.id}")

    @scenario
    async def test_flush_of_the_store(self, lab: Lab) -> None:
        """store.flush: it waits for every session, live ones and those that have left."""
        store = await lab.open()
        lives = [await lab.enter(store, name) for name in ("a", "b", "c")]
        for live in lives:
            say(live, live.session.id)
        leaving = lives[0].writer.release()
        waits = [] if leaving is None else [asyncio.ensure_future(leaving)]
        must(await store.flush(), "the flush does not confirm")
        for live in lives:
            name = live.session.id
            equal(said(await stored_events(store, name)), [name], f"what is stored of {name}")
        await asyncio.gather(*waits)
