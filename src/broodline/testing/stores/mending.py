"""Cases about logs that were cut off: how they are closed, and when."""

from __future__ import annotations

import asyncio

from ...actors.repair import closers
from ...actors.store import StoredLog
from ...messages.errors import SessionError, SessionLeasedError
from ...messages.payload import EndSeed, TurnEnd, TurnStart
from .claim import equal, must, refused
from .lab import Lab, stored_events
from .sample import header, interrupted_log, sample_log
from .scenario import StoreCase, scenario


class MendingCases(StoreCase):
    """Repair: on load only, twice is once, never on a live session."""

    @scenario
    async def test_load_repairs(self, lab: Lab) -> None:
        """core 4: load closes an interrupted log, in the store too."""
        store = await lab.open()
        log = interrupted_log()
        await lab.keep(store, log)
        whole = [*log, *closers(log)]
        loaded = await store.load("s")
        equal(list(loaded.events), whole, "the log that was loaded")
        equal(loaded.stored, len(whole), "`stored` of the log that was loaded")
        equal(await stored_events(store), whole, "the stored log")
        store = await lab.again(store)
        equal(await stored_events(store), whole, "the stored log after reopening")

    @scenario
    async def test_repaired_twice(self, lab: Lab) -> None:
        """core #76: a second load finds nothing to do and leaves the revision."""
        store = await lab.open()
        await lab.keep(store, interrupted_log())
        first = await store.load("s")
        second = await store.load("s")
        equal(list(second.events), list(first.events), "the log that was loaded again")
        equal(second.revision, first.revision, "the revision after the second load")
        store = await lab.again(store)
        equal(list((await store.load("s")).events), list(first.events), "after reopening")

    @scenario
    async def test_loads_at_once(self, lab: Lab) -> None:
        """core #76: loads of an interrupted log at the same time repair it once."""
        store = await lab.open()
        log = interrupted_log()
        await lab.keep(store, log)
        whole = [*log, *closers(log)]
        tries = (store.load("s") for _ in range(5))
        results = await asyncio.gather(*tries, return_exceptions=True)
        good = [one for one in results if isinstance(one, StoredLog)]
        must(good, f"no load came through: {results}")
        for result in results:
            if isinstance(result, StoredLog):
                equal(list(result.events), whole, "a log that was loaded")
            else:
                must(isinstance(result, SessionLeasedError), f"a load at once got {result!r}")
        equal(await stored_events(store), whole, "the stored log")

    @scenario
    async def test_inspect_repairs_in_memory(self, lab: Lab) -> None:
        """core 5.1: inspect shows the repair behind what is stored, and stores nothing."""
        store = await lab.open()
        log = interrupted_log()
        await lab.keep(store, log)
        for _ in range(2):
            found = await store.inspect("s")
            equal(list(found.events), [*log, *closers(log)], "the log that was inspected")
            equal(found.stored, len(log), "`stored` of the log that was inspected")
        equal(await stored_events(store), list(log), "the stored log")

    @scenario
    async def test_read_from_repairs_nothing(self, lab: Lab) -> None:
        """core 5.1: the events from a position are those that are stored."""
        store = await lab.open()
        log = interrupted_log()
        await lab.keep(store, log)
        await store.inspect("s")
        equal(await store.read_from("s", 2), log[2:], "read_from(2)")
        equal(await store.read_from("s", len(log)), (), "read_from() at the end")

    @scenario
    async def test_prepare_repairs_in_memory(self, lab: Lab) -> None:
        """core 5.1: prepare shows a balanced log; the repair is stored with the lease."""
        store = await lab.open()
        log = interrupted_log()
        await lab.keep(store, log)
        stored = await store.prepare("s")
        whole = [*log, *closers(log)]
        equal(list(stored.events), whole, "the prepared log")
        equal(stored.stored, len(log), "`stored` of the prepared log")
        equal(await stored_events(store), list(log), "the log before the lease")
        lease = await store.lease("s", after=stored, events=whole[len(log) :])
        equal(lease.next_seq, len(whole), "next_seq behind the repair")
        equal(await stored_events(store), whole, "the log after the lease")

    @scenario
    async def test_every_cut(self, lab: Lab) -> None:
        """core 4: wherever a log was cut off, load gives what repair gives, and it is balanced."""
        store = await lab.open()
        log = sample_log()
        for length in range(1, len(log) + 1):
            name = f"cut{length}"
            await lab.keep(store, log[:length], name)
            loaded = await store.load(name)
            wanted = [*log[:length], *closers(log[:length])]
            equal(list(loaded.events), wanted, f"the log that was cut off at {length}")
            opened = [type(event.data) for event in loaded.events]
            equal(opened.count(TurnStart), opened.count(TurnEnd), f"the turns of {name}")

    @scenario
    async def test_a_leased_session_is_not_repaired(self, lab: Lab) -> None:
        """core 4: while somebody has the lease, an open turn is open rightly."""
        store = await lab.open()
        log = interrupted_log()
        lease = await store.create(header())
        await store.append(lease, log[:-1])
        with refused("SESSION_LEASED", "OPEN_TURN", by="load of a leased session inside a turn"):
            await store.load("s")
        equal(await stored_events(store), list(log[:-1]), "the log after the refusal")
        await store.append(lease, log[-1:])
        store.release(lease)
        await store.load("s")

    @scenario
    async def test_load_while_it_is_resumed(self, lab: Lab) -> None:
        """core 4: a load and a resume at the same time: the log is closed once."""
        store = await lab.open()
        log = interrupted_log()
        await lab.keep(store, log)
        live, loaded = await asyncio.gather(
            lab.resume(store), store.load("s"), return_exceptions=True
        )
        for result in (live, loaded):
            if isinstance(result, BaseException):
                must(isinstance(result, SessionError), f"one of the two got {result!r}")
        if not isinstance(live, BaseException):
            await live.leave()
        stored = await stored_events(store)
        whole = [*log, *closers(log)]
        equal(stored[: len(whole)], whole, "the stored log")
        must(all(type(one.data) is EndSeed for one in stored[len(whole) :]), "more was stored")

    @scenario
    async def test_resume_after_a_repair(self, lab: Lab) -> None:
        """core #79: a repaired session goes on with the next turn."""
        store = await lab.open()
        await lab.keep(store, interrupted_log())
        turn = max(one.data.turn for one in interrupted_log() if isinstance(one.data, TurnStart))
        live = await lab.resume(store)
        equal(live.session.last_turn, turn, "the last turn of the resumed session")
        live.session.append(TurnStart(turn + 1))
        must(await live.writer.flush(), "the flush does not confirm")
        equal(await stored_events(store), list(live.session.events), "the stored log")
