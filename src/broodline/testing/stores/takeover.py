"""Cases about several stores of one place: who writes, who is refused, who takes over.

Only for durable stores. Each store has a host of its own; one whose clock stands still
gives no sign of life, like a process that hangs.
"""

from __future__ import annotations

import asyncio

from ...actors.repair import closers
from ...messages.errors import SessionError
from ...messages.payload import TurnStart
from .claim import equal, must, refused
from .clock import ManualClock
from .lab import Lab, released, stored_events
from .life import said, say
from .sample import header, interrupted_log, notes
from .scenario import StoreCase, durable_scenario


class TakeoverCases(StoreCase):
    """Two store objects at one place."""

    @durable_scenario
    async def test_live_elsewhere(self, lab: Lab) -> None:
        """DESIGN 3: a second store is refused what the first has live, and has written nothing."""
        first, second = await lab.open(), await lab.open()
        live = await lab.enter(first)
        live.session.append(TurnStart(1))
        await live.writer.flush()
        before = (await second.inspect("s")).revision
        with refused("SESSION_LEASED", by="prepare of what is live elsewhere") as caught:
            await second.prepare("s")
        must(caught.error.retryable, "what is live elsewhere may become free: retryable")
        with refused("SESSION_LEASED", by="lease of what is live elsewhere"):
            await second.lease("s", events=notes(1, 2))
        with refused("SESSION_LEASED", by="load of what is live elsewhere inside a turn"):
            await second.load("s")
        with refused("SESSION_LEASED", "SESSION_ALREADY_EXISTS", by="create of a live id"):
            await second.create(header())
        equal((await second.inspect("s")).revision, before, "the revision after four refusals")
        say(live, "still here")
        must(await live.writer.flush(), "the flush of the holder does not confirm")

    @durable_scenario
    async def test_looking_from_elsewhere(self, lab: Lab) -> None:
        """core 5.1: a second store shows what is live in the first as it lies there."""
        first, second = await lab.open(), await lab.open()
        live = await lab.enter(first)
        live.session.append(TurnStart(1))
        await live.writer.flush()
        found = await second.inspect("s")
        equal(list(found.events), list(live.session.events), "the log, with its open turn")
        equal(found.stored, 1, "`stored`")
        (snapshot,) = await second.list_snapshots()
        must(snapshot.live, "a session that is live elsewhere is shown as one at rest")
        equal(await stored_events(second), list(live.session.events), "what is stored")

    @durable_scenario
    async def test_handed_over(self, lab: Lab) -> None:
        """DESIGN 3: what the first gives back the second can resume at once, and so on."""
        stores = [await lab.open(), await lab.open()]
        live = await lab.enter(stores[0])
        for round_ in range(4):
            say(live, str(round_))
            await live.leave()
            live = await lab.resume(stores[(round_ + 1) % 2])
        await live.leave()
        for store in stores:
            found = said(await stored_events(store))
            equal(found, ["0", "1", "2", "3"], "what was said, in turn")

    @durable_scenario
    async def test_a_silent_holder_is_replaced(self, lab: Lab) -> None:
        """DESIGN 3: a holder that gives no sign of life is replaced after its time, not before."""
        still, moving = ManualClock(), ManualClock()
        first, second = await lab.open(clock=still), await lab.open(clock=moving)
        live = await lab.enter(first)
        say(live, "one")
        await live.writer.flush()
        moving.advance(self.lease_timeout * 0.9)
        with refused("SESSION_LEASED", by="prepare before the holder's time is over"):
            await second.prepare("s")
        moving.advance(self.lease_timeout * 0.2)
        heir = await lab.resume(second)
        say(heir, "two")
        must(await heir.writer.flush(), "the flush of the heir does not confirm")
        equal(said(await stored_events(second)), ["one", "two"], "what is stored")

    @durable_scenario
    async def test_a_stale_holder_is_refused(self, lab: Lab) -> None:
        """DESIGN 3: a holder that was replaced writes nothing more, and cannot undo it."""
        still, moving = ManualClock(), ManualClock()
        first, second = await lab.open(clock=still), await lab.open(clock=moving)
        live = await lab.enter(first)
        say(live, "one")
        await live.writer.flush()
        moving.advance(self.lease_timeout * 2)
        heir = await lab.resume(second)
        say(live, "too late")
        with refused("SESSION_LEASED", by="the flush of a holder that was replaced") as caught:
            await live.writer.flush()
        must(not caught.error.retryable, "what was taken over never comes back: not retryable")
        must(live.writer.failure is not None, "the writer does not say that it has failed")
        still.advance(self.lease_timeout)  # its sign of life comes too late
        await lab.until(lambda: True)
        await asyncio.gather(released(live.writer), return_exceptions=True)
        say(heir, "two")
        must(await heir.writer.flush(), "the stale holder has hurt the heir")
        equal(said(await stored_events(second)), ["one", "two"], "what is stored")
        with refused("SESSION_LEASED", by="prepare by the stale holder's store"):
            await first.prepare("s")

    @durable_scenario
    async def test_a_stale_lease_appends_nothing(self, lab: Lab) -> None:
        """DESIGN 3: an append with a lease that another store took over is refused."""
        still, moving = ManualClock(), ManualClock()
        first, second = await lab.open(clock=still), await lab.open(clock=moving)
        lease = await first.create(header())
        await first.append(lease, notes(0, 2))
        moving.advance(self.lease_timeout * 2)
        newer = await second.lease("s")
        must(newer.fence > lease.fence, f"the fence went from {lease.fence} to {newer.fence}")
        with refused("SESSION_LEASED", by="append with a lease that was taken over"):
            await first.append(lease, notes(2, 3))
        await second.append(newer, notes(2, 3))
        first.release(lease)
        await asyncio.gather(first.flush(), return_exceptions=True)
        await second.append(newer, notes(3, 4))
        equal(await stored_events(second), notes(0, 4), "the log")

    @durable_scenario
    async def test_a_takeover_repairs(self, lab: Lab) -> None:
        """core 4: what a silent holder left open is closed when its time is over, not before."""
        still, moving = ManualClock(), ManualClock()
        first, second = await lab.open(clock=still), await lab.open(clock=moving)
        log = interrupted_log()
        await first.append(await first.create(header()), log)
        with refused("SESSION_LEASED", by="load of what is open elsewhere"):
            await second.load("s")
        moving.advance(self.lease_timeout * 2)
        loaded = await second.load("s")
        equal(list(loaded.events), [*log, *closers(log)], "the log that was loaded")
        equal(await stored_events(second), list(loaded.events), "the stored log")

    @durable_scenario
    async def test_a_forced_takeover(self, lab: Lab) -> None:
        """store.lease: with `takeover` a lease is taken from a holder that is alive, at once."""
        first, second = await lab.open(), await lab.open()
        live = await lab.enter(first)
        say(live, "one")
        await live.writer.flush()
        lease = await second.lease("s", takeover=True)
        say(live, "too late")
        with refused("SESSION_LEASED", by="the flush of a holder that was replaced"):
            await live.writer.flush()
        await second.append(lease, notes(1, 2))
        equal(len(await stored_events(second)), 2, "the length of the log")

    @durable_scenario
    async def test_signs_of_life(self, lab: Lab) -> None:
        """DESIGN 3: a holder that gives signs of life keeps its lease for as long as it likes."""
        first, second = await lab.open(), await lab.open()
        live = await lab.enter(first)
        say(live, "one")
        await live.writer.flush()
        waiting = lab.clock.sleepers
        for _ in range(12):
            lab.clock.advance(self.lease_timeout / 3)
            await lab.until(lambda: lab.clock.sleepers >= waiting)
            with refused("SESSION_LEASED", by="prepare while the holder gives signs of life"):
                await second.prepare("s")
        say(live, "two")
        must(await live.writer.flush(), "the flush of the holder does not confirm")

    @durable_scenario
    async def test_created_in_two_stores(self, lab: Lab) -> None:
        """core #81: of two stores that make one id, the one that writes first has it."""
        first, second = await lab.open(), await lab.open()
        mine, theirs = await first.create(header()), await second.create(header())
        await first.append(mine, notes(0, 2))
        with refused(
            "SESSION_ALREADY_EXISTS", "SESSION_LEASED", by="the first append of the other"
        ):
            await second.append(theirs, notes(0, 1))
        await first.append(mine, notes(2, 3))
        for store in (first, second):
            equal(await stored_events(store), notes(0, 3), "the log")

    @durable_scenario
    async def test_resumed_in_two_stores(self, lab: Lab) -> None:
        """core 5.6: of resumes in two stores one wins, and the loser has written nothing."""
        first, second = await lab.open(), await lab.open()
        log = interrupted_log()
        await lab.keep(first, log)
        stored = [await first.prepare("s"), await second.prepare("s")]
        rest = [list(closers(one.events[: one.stored])) for one in stored]
        results = await asyncio.gather(
            first.lease("s", after=stored[0], events=rest[0]),
            second.lease("s", after=stored[1], events=rest[1]),
            return_exceptions=True,
        )
        losers = [one for one in results if isinstance(one, BaseException)]
        equal(len(losers), 1, "the number of resumes that were refused")
        must(isinstance(losers[0], SessionError), f"the loser got {losers[0]!r}")
        equal(str(getattr(losers[0], "code", "")), "SESSION_LEASED", "the loser's code")
        equal(await stored_events(first), [*log, *closers(log)], "the stored log")

    @durable_scenario
    async def test_many_stores(self, lab: Lab) -> None:
        """core 5.2: stores that write one place at the same time lose and mix up nothing."""
        stores = [await lab.open() for _ in range(4)]
        lives = [
            await lab.enter(store, f"{number} {name}")
            for number, store in enumerate(stores)
            for name in range(5)
        ]
        for round_ in range(5):
            for live in lives:
                say(live, f"{live.session.id} {round_}")
            await asyncio.gather(*(live.writer.flush() for live in lives))
        for live in lives:
            for store in stores[:2]:
                found = said(await stored_events(store, live.session.id))
                wanted = [f"{live.session.id} {round_}" for round_ in range(5)]
                equal(found, wanted, f"what is stored of {live.session.id}")
        equal(len(await stores[0].list()), len(lives), "the number of sessions")
