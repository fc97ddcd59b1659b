"""Cases about appending to a session that is not live."""

from __future__ import annotations

import asyncio

from ...messages.content import Text
from ...messages.errors import SessionError
from ...messages.event import Event
from ...messages.payload import UserMessageLogged
from .claim import equal, must, refused
from .lab import Lab, stored_events
from .sample import header, note, notes, user
from .scenario import StoreCase, durable_scenario, scenario


class BatchCases(StoreCase):
    """`Store.append`."""

    @scenario
    async def test_append_must_continue(self, lab: Lab) -> None:
        """core #83: a batch that starts too late or too early is refused whole."""
        store = await lab.open()
        await lab.keep(store, notes(0, 5))
        lease = await store.lease("s")
        equal(lease.next_seq, 5, "next_seq of a session of five events")
        for first in (6, 4, 0, 500):
            with refused("SEQ_MISMATCH", by=f"append from seq {first} behind five events"):
                await store.append(lease, notes(first, first + 2))
        equal(await stored_events(store), notes(0, 5), "the log after four refusals")
        await store.append(lease, notes(5, 7))
        equal(await stored_events(store), notes(0, 7), "the log after what continues it")

    @scenario
    async def test_append_to_nothing(self, lab: Lab) -> None:
        """core #83: the first event of a new session has the number 0."""
        store = await lab.open()
        lease = await store.create(header())
        with refused("SEQ_MISMATCH", by="append from seq 1 to a new session"):
            await store.append(lease, notes(1, 2))
        equal(await store.list(), (), "list() after the refusal")
        await store.append(lease, notes(0, 1))

    @scenario
    async def test_append_without_gaps(self, lab: Lab) -> None:
        """core #84: of a batch with a gap, a repetition or a step back nothing is stored."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        lease = await store.lease("s")
        for numbers in ((2, 4), (2, 2), (2, 3, 2), (2, 3, 5)):
            with refused("SEQ_MISMATCH", by=f"append of a batch numbered {numbers}"):
                await store.append(lease, [note(seq) for seq in numbers])
        equal(await stored_events(store), notes(0, 2), "the log after four refusals")

    @scenario
    async def test_empty_batch(self, lab: Lab) -> None:
        """core #85: an empty batch does nothing: a new session is not there afterwards."""
        store = await lab.open()
        lease = await store.create(header())
        await store.append(lease, [])
        equal(await store.list(), (), "list() after an empty batch")
        await store.append(lease, notes(0, 2))
        before = (await store.inspect("s")).revision
        await store.append(lease, ())
        equal((await store.inspect("s")).revision, before, "the revision after an empty batch")

    @scenario
    async def test_batch_is_taken_at_the_call(self, lab: Lab) -> None:
        """core #86: what becomes of the list while it is written changes nothing."""
        store = await lab.open()
        lease = await store.create(header())
        batch = notes(0, 3)
        writing = asyncio.ensure_future(store.append(lease, batch))
        await asyncio.sleep(0)
        batch[0] = note(7)
        batch.append(note(9))
        await writing
        batch.clear()
        equal(await stored_events(store), notes(0, 3), "the log")

    @scenario
    async def test_appends_of_one_session_keep_their_order(self, lab: Lab) -> None:
        """core 5.2: appends that are started one after the other are made one after the other."""
        store = await lab.open()
        lease = await store.create(header())
        steps = [store.append(lease, notes(seq, seq + 3)) for seq in range(0, 30, 3)]
        await asyncio.gather(*steps)
        equal(await stored_events(store), notes(0, 30), "the log")

    @scenario
    async def test_a_refused_append_stops_nobody(self, lab: Lab) -> None:
        """core 5.2: an append that is refused leaves the one behind it and its lease alone."""
        store = await lab.open()
        lease = await store.create(header())
        await store.append(lease, notes(0, 1))
        results = await asyncio.gather(
            store.append(lease, notes(5, 6)),
            store.append(lease, notes(1, 2)),
            return_exceptions=True,
        )
        must(isinstance(results[0], SessionError), f"the gap came to {results[0]!r}")
        must(results[1] is None, f"the good batch behind it came to {results[1]!r}")
        equal(await stored_events(store), notes(0, 2), "the log")

    @scenario
    async def test_appends_of_many_sessions(self, lab: Lab) -> None:
        """core 5.2: sessions are written side by side, and each has its own events only."""
        store = await lab.open()
        names = [f"s{number}" for number in range(20)]
        leases = [await store.create(header(name)) for name in names]
        for first in range(0, 6, 2):
            batches = [[note(seq, name) for seq in range(first, first + 2)] for name in names]
            work = zip(leases, batches, strict=True)
            await asyncio.gather(*(store.append(lease, batch) for lease, batch in work))
        for name in names:
            wanted = [note(seq, name) for seq in range(6)]
            equal(await stored_events(store, name), wanted, f"the log of {name}")

    @scenario
    async def test_append_is_stored(self, lab: Lab) -> None:
        """core 5.1: what an append has answered for is there after reopening, lease or not."""
        store = await lab.open()
        lease = await store.create(header())
        await store.append(lease, notes(0, 2))
        await store.append(lease, notes(2, 1000))
        store = await lab.again(store)
        equal(await stored_events(store), notes(0, 1000), "the log after reopening")
        equal((await store.prepare("s")).stored, 1000, "`stored` after reopening")

    @durable_scenario
    async def test_append_is_seen_at_once(self, lab: Lab) -> None:
        """core 5.1: when an append resolves, another store of the same place can read it."""
        store, other = await lab.open(), await lab.open()
        lease = await store.create(header())
        for first in range(3):
            await store.append(lease, notes(first, first + 1))
            equal(await stored_events(other), notes(0, first + 1), "what the other store reads")

    @durable_scenario
    async def test_what_cannot_be_written(self, lab: Lab) -> None:
        """core 5.1: an event that no file can hold is refused by name, and leaves no trace."""
        store = await lab.open()
        lease = await store.create(header())
        half = UserMessageLogged(user("u", Text("half a pair: \ud83d")))
        with refused("EVENT_UNWRITABLE", by="append of text with a lone surrogate") as caught:
            await store.append(lease, [note(0), Event(1, 1, half, "append")])
        must(not caught.error.retryable, "what can never be written is not to be retried")
        equal(await store.list(), (), "list() after the refusal")
        await store.append(lease, notes(0, 2))
        equal(await stored_events(store), notes(0, 2), "the log")
