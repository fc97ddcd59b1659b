"""Cases about leases: one holder, fences that grow, what is written with taking one."""

from __future__ import annotations

import asyncio

from ...actors.store import Lease
from ...messages.errors import SessionLeasedError
from ...messages.payload import EndSeed
from .claim import equal, must, refused
from .gate import GatedExecutor
from .lab import Lab, Live, stored_events
from .life import said, say
from .sample import header, interrupted_log, note, notes
from .scenario import StoreCase, durable_scenario, scenario


class TenureCases(StoreCase):
    """`prepare`, `lease`, `release`."""

    @scenario
    async def test_one_holder(self, lab: Lab) -> None:
        """DESIGN 3: a lease is refused while somebody has one, and free when it is given back."""
        store = await lab.open()
        await lab.keep(store, notes(0, 3))
        lease = await store.lease("s")
        equal((lease.session_id, lease.next_seq), ("s", 3), "the lease")
        for _ in range(2):
            with refused("SESSION_LEASED", by="lease of a leased session") as caught:
                await store.lease("s")
            must(caught.error.retryable, "a lease that may become free must be retryable")
            with refused("SESSION_LEASED", by="prepare of a leased session"):
                await store.prepare("s")
        store.release(lease)
        store.release(lease)
        await store.prepare("s")
        must((await store.lease("s")).fence > lease.fence, "the fence has not grown")

    @scenario
    async def test_fences_grow(self, lab: Lab) -> None:
        """DESIGN 3: every lease of a session has a greater fence."""
        store = await lab.open()
        fences = [(await lab.keep(store, notes(0, 1))).fence]
        for _ in range(3):
            lease = await store.lease("s")
            fences.append(lease.fence)
            store.release(lease)
        await (await lab.resume(store)).leave()
        fences.append((await store.lease("s")).fence)
        equal(fences, sorted(set(fences)), "the fences, in the order in which they were given")

    @durable_scenario
    async def test_fences_outlive_their_store(self, lab: Lab) -> None:
        """DESIGN 3: fences go on growing when a store is opened again."""
        store = await lab.open()
        fences = [(await lab.keep(store, notes(0, 1))).fence]
        for _ in range(3):
            store = await lab.again(store)
            lease = await store.lease("s")
            fences.append(lease.fence)
            store.release(lease)
        equal(fences, sorted(set(fences)), "the fences, in the order in which they were given")

    @scenario
    async def test_a_stale_lease(self, lab: Lab) -> None:
        """DESIGN 3: an outdated lease writes nothing, attaches nothing and releases nobody."""
        store = await lab.open()
        old = await lab.keep(store, notes(0, 3))
        with refused("SESSION_LEASED", by="append with a lease that was given back") as caught:
            await store.append(old, notes(3, 4))
        must(not caught.error.retryable, "an outdated lease never comes back: not retryable")
        new = await store.lease("s")
        with refused("SESSION_LEASED", by="append with an outdated lease"):
            await store.append(old, notes(3, 4))
        with refused("SESSION_LEASED", by="attach with an outdated lease"):
            store.attach(header(), notes(0, 3), old)
        store.release(old)
        with refused("SESSION_LEASED", by="lease after a stale release"):
            await store.lease("s")
        await store.append(new, notes(3, 4))
        equal(await stored_events(store), notes(0, 4), "the log")

    @scenario
    async def test_a_reserved_id_takes_no_batch(self, lab: Lab) -> None:
        """core 5.6: while a session is being resumed, an earlier lease appends nothing."""
        store = await lab.open()
        old = await lab.keep(store, notes(0, 2))
        stored = await store.prepare("s")
        mark = lab.revive(stored).log[2:]
        await store.lease("s", after=stored, events=mark)
        with refused("SESSION_LEASED", by="append while another has reserved the session"):
            await store.append(old, notes(3, 4))
        equal(len(await stored_events(store)), 3, "the length of the log")

    @scenario
    async def test_a_lease_with_events(self, lab: Lab) -> None:
        """store.lease: events are stored with the lease, which stands behind them."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        lease = await store.lease("s", events=notes(2, 4))
        equal(lease.next_seq, 4, "next_seq behind two events and two more")
        equal(await stored_events(store), notes(0, 4), "the log")
        await store.append(lease, notes(4, 5))
        store.release(lease)
        store = await lab.again(store)
        equal(await stored_events(store), notes(0, 5), "the log after reopening")

    @scenario
    async def test_a_lease_with_a_gap(self, lab: Lab) -> None:
        """store.lease: events that do not follow are refused, and no lease was taken."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        for batch in (notes(3, 4), notes(1, 3), [note(2), note(4)]):
            numbers = [event.seq for event in batch]
            with refused("SEQ_MISMATCH", by=f"lease with events numbered {numbers} behind two"):
                await store.lease("s", events=batch)
        equal(await stored_events(store), notes(0, 2), "the log after the refusals")
        store.release(await store.lease("s"))

    @scenario
    async def test_a_lease_after_a_change(self, lab: Lab) -> None:
        """store.lease: a log that has changed since it was prepared is refused."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        stored = await store.prepare("s")
        lease = await store.lease("s", after=stored)
        await store.append(lease, notes(2, 3))
        store.release(lease)
        with refused("SESSION_LEASED", by="lease after a log that has grown since"):
            await store.lease("s", after=stored, events=notes(2, 3))
        equal(await stored_events(store), notes(0, 3), "the log after the refusal")
        again = await store.prepare("s")
        await store.append(await store.lease("s", after=again), notes(3, 4))

    @scenario
    async def test_prepare_reserves_nothing(self, lab: Lab) -> None:
        """store.prepare: preparing writes nothing, and as often as one likes."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        first, second = await asyncio.gather(store.prepare("s"), store.prepare("s"))
        equal(first.revision, second.revision, "the revisions of two preparations")
        equal(list(first.events), notes(0, 2), "the prepared log")
        await store.lease("s", after=second)

    @scenario
    async def test_leases_at_once(self, lab: Lab) -> None:
        """core 5.6: of several leases at the same time one is given, and its events are stored."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        tries = [store.lease("s", events=[note(2, str(number))]) for number in range(5)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        winners = [index for index, one in enumerate(results) if isinstance(one, Lease)]
        equal(len(winners), 1, "the number of leases given at once")
        for result in results:
            if not isinstance(result, Lease):
                must(isinstance(result, SessionLeasedError), f"a loser got {result!r}")
        wanted = [*notes(0, 2), note(2, str(winners[0]))]
        equal(await stored_events(store), wanted, "the log")

    @scenario
    async def test_resumes_at_once(self, lab: Lab) -> None:
        """core 5.6: of several resumes at once one wins: one repair, one mark, one writer."""
        store = await lab.open()
        await lab.keep(store, interrupted_log())
        tries = (lab.resume(store) for _ in range(5))
        results = await asyncio.gather(*tries, return_exceptions=True)
        winners = [one for one in results if isinstance(one, Live)]
        equal(len(winners), 1, "the number of sessions that came alive")
        for result in results:
            if not isinstance(result, Live):
                must(isinstance(result, SessionLeasedError), f"a loser got {result!r}")
        say(winners[0], "alone")
        await winners[0].leave()
        stored = await stored_events(store)
        equal(stored, list(winners[0].session.events), "the log")
        equal([type(event.data) for event in stored].count(EndSeed), 1, "the number of marks")

    @scenario
    async def test_a_cancelled_lease(self, lab: Lab) -> None:
        """store.lease: who stops waiting for a lease leaves the session free for others."""
        gate = GatedExecutor()
        store = await lab.open(executor=gate)
        await lab.keep(store, notes(0, 2))
        gate.shut()
        taking = asyncio.ensure_future(store.lease("s"))
        await asyncio.sleep(0)
        taking.cancel()
        await asyncio.wait({taking})
        gate.open()
        if not taking.cancelled():
            store.release(taking.result())
        lease = None
        while lease is None:  # it may take a moment to be given back
            try:
                lease = await store.lease("s")
            except SessionLeasedError:
                await asyncio.sleep(0.001)
        equal(await stored_events(store), notes(0, 2), "the log")

    @scenario
    async def test_a_cancelled_create(self, lab: Lab) -> None:
        """store.create: who stops waiting for a reservation leaves the id free for others."""
        gate = GatedExecutor()
        store = await lab.open(executor=gate)
        gate.shut()
        making = asyncio.ensure_future(store.create(header()))
        await asyncio.sleep(0)
        making.cancel()
        await asyncio.wait({making})
        gate.open()
        if not making.cancelled():
            store.release(making.result())
        await lab.keep(store, notes(0, 1))

    @scenario
    async def test_leasing_what_is_not_there(self, lab: Lab) -> None:
        """store.lease: what was only created, or given back before it was written, has no lease."""
        store = await lab.open()
        lease = await store.create(header())
        for name in ("lease", "prepare"):
            with refused(
                "SESSION_NOT_FOUND", "SESSION_LEASED", by=f"{name} of a session without events"
            ):
                await getattr(store, name)("s")
        store.release(lease)
        for name in ("lease", "prepare"):
            with refused("SESSION_NOT_FOUND", by=f"{name} of a session that was given up"):
                await getattr(store, name)("s")

    @scenario
    async def test_takeover_of_what_is_free(self, lab: Lab) -> None:
        """store.lease: taking over a session that nobody holds is a lease like any other."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        lease = await store.lease("s", events=notes(2, 3), takeover=True)
        await store.append(lease, notes(3, 4))
        equal(await stored_events(store), notes(0, 4), "the log")

    @scenario
    async def test_attach_follows_the_lease(self, lab: Lab) -> None:
        """core 5.2: a log that is shorter than what is stored is not this session's."""
        store = await lab.open()
        await lab.keep(store, notes(0, 3))
        lease = await store.lease("s")
        with refused("SESSION_ALREADY_EXISTS", by="attach of two events where three are stored"):
            store.attach(header(), notes(0, 2), lease)
        session = lab.revive(await store.inspect("s"))
        live = Live(store, session, lease)
        say(live, "four")
        await live.leave()
        equal(said(await stored_events(store))[-1:], ["four"], "what was said last")
        equal(await stored_events(store), list(session.events), "the log")
