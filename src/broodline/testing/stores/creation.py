"""Cases about making a session: what an intent is, and whose an id is."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ...actors.store import Lease, Store
from ...messages.errors import SessionError
from ...messages.header_codec import encode_header
from .claim import equal, must, refused
from .lab import Lab, stored_events
from .sample import full_header, header, notes
from .scenario import StoreCase, durable_scenario, scenario


async def _absent(store: Store, session_id: str) -> None:
    """Nobody can see a session of this id."""
    heads = [head.id for head in await store.list()]
    must(session_id not in heads, f"list() shows {session_id!r}, of which nothing is stored")
    shown = [snapshot.header.id for snapshot in await store.list_snapshots()]
    must(session_id not in shown, f"list_snapshots() shows {session_id!r}, not stored")
    with refused("SESSION_NOT_FOUND", by="load of a session without events"):
        await store.load(session_id)
    with refused("SESSION_NOT_FOUND", by="inspect of a session without events"):
        await store.inspect(session_id)
    with refused("SESSION_NOT_FOUND", by="read_from of a session without events"):
        await store.read_from(session_id, 0)


class CreationCases(StoreCase):
    """`Store.create`, `Store.release` of what was never written, headers."""

    @scenario
    async def test_created_only(self, lab: Lab) -> None:
        """core #80: a session that was created and never written is not there."""
        store = await lab.open()
        await store.create(header())
        await _absent(store, "s")
        await _absent(await lab.again(store), "s")

    @durable_scenario
    async def test_created_only_leaves_no_file(self, lab: Lab) -> None:
        """core #80: creating and taking back writes nothing that another store could see."""
        store = await lab.open()
        store.release(await store.create(header()))
        await store.create(header("t"))
        other = await lab.open()
        await _absent(other, "s")
        await _absent(other, "t")
        store.release(await other.create(header()))

    @scenario
    async def test_created_twice(self, lab: Lab) -> None:
        """core #81: an id that is reserved cannot be created again."""
        store = await lab.open()
        lease = await store.create(header())
        with refused("SESSION_ALREADY_EXISTS", by="create of a reserved id"):
            await store.create(header())
        await store.append(lease, notes(0, 1))
        with refused("SESSION_ALREADY_EXISTS", by="create of an id that is being written"):
            await store.create(header())

    @scenario
    async def test_created_twice_at_once(self, lab: Lab) -> None:
        """core #81: of two creates of one id at the same time one is refused."""
        store = await lab.open()
        tries = [store.create(header()) for _ in range(5)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        leases = [result for result in results if isinstance(result, Lease)]
        equal(len(leases), 1, "the number of creates of one id that were let through")
        for result in results:
            if not isinstance(result, Lease):
                must(isinstance(result, SessionError), f"create at once raised {result!r}")
        await store.append(leases[0], notes(0, 1))

    @scenario
    async def test_created_when_stored(self, lab: Lab) -> None:
        """core #81: the id of a session at rest cannot be created, not after reopening either."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        with refused("SESSION_ALREADY_EXISTS", by="create of a stored id"):
            await store.create(header())
        store = await lab.again(store)
        with refused("SESSION_ALREADY_EXISTS", by="create of a stored id after reopening"):
            await store.create(header())
        equal(await stored_events(store), notes(0, 2), "the log after the refusals")

    @scenario
    async def test_created_elsewhere_in_the_tree(self, lab: Lab) -> None:
        """core 5.1: an id is taken whatever the working directory and the parent say."""
        store = await lab.open()
        await lab.keep(store, notes(0, 1), full_header("s"))
        with refused("SESSION_ALREADY_EXISTS", by="create of an id stored for another directory"):
            await store.create(header())

    @scenario
    async def test_fresh(self, lab: Lab) -> None:
        """store.create: what is said to be fresh is made like everything else."""
        store = await lab.open()
        lease = await store.create(header(), fresh=True)
        equal(lease.session_id, "s", "the session of the lease")
        equal(lease.next_seq, 0, "next_seq of a new session")
        await store.append(lease, notes(0, 2))
        with refused("SESSION_ALREADY_EXISTS", by="create of a fresh id that is there by now"):
            await store.create(header())
        equal(await stored_events(store), notes(0, 2), "the log")

    @scenario
    async def test_taken_back(self, lab: Lab) -> None:
        """store.release: a reservation that was given back leaves its id free."""
        store = await lab.open()
        lease = await store.create(header())
        store.release(lease)
        store.release(lease)
        again = await store.create(header(), fresh=True)
        await store.append(again, notes(0, 1))
        equal(await stored_events(store), notes(0, 1), "the log")

    @scenario
    async def test_taken_back_stays_so(self, lab: Lab) -> None:
        """DESIGN 3: a lease that was given back is stale also when its id is made anew."""
        store = await lab.open()
        stale = await store.create(header())
        store.release(stale)
        with refused("SESSION_LEASED", by="append with a lease that was given back"):
            await store.append(stale, notes(0, 1))
        fresh = await store.create(header())
        with refused("SESSION_LEASED", by="append with the lease of an earlier reservation"):
            await store.append(stale, notes(0, 1))
        with refused("SESSION_LEASED", by="attach with the lease of an earlier reservation"):
            store.attach(header(), [], stale)
        store.release(stale)
        await store.append(fresh, notes(0, 1))

    @scenario
    async def test_headers_are_kept(self, lab: Lab) -> None:
        """core #137: every field of a header is read back as it was written."""
        store = await lab.open()
        for head in (full_header(), header("root"), header("child", parent="root")):
            await lab.keep(store, notes(0, 2), head)
        for _ in range(2):
            for head in (full_header(), header("root"), header("child", parent="root")):
                wanted = list(encode_header(head).items())
                for what, found in (
                    ("load", (await store.load(head.id)).header),
                    ("inspect", (await store.inspect(head.id)).header),
                    ("prepare", (await store.prepare(head.id)).header),
                    ("list", next(one for one in await store.list() if one.id == head.id)),
                ):
                    equal(list(encode_header(found).items()), wanted, f"the header by {what}()")
            store = await lab.again(store)

    @scenario
    async def test_order_of_the_list(self, lab: Lab) -> None:
        """core 5.1: list() has the sessions in the order in which they were made."""
        store = await lab.open()
        names = ["b", "a", "c", "B", "0"]
        for number, name in enumerate(names):
            self_made = header(name, at=1000 + number)
            await lab.keep(store, notes(0, 1), self_made)
        equal([head.id for head in await store.list()], names, "the ids of list()")
        await (await lab.resume(store, "a")).leave()
        shown = [snapshot.header.id for snapshot in await store.list_snapshots()]
        equal(shown, names, "the ids of list_snapshots() after one has grown")
        store = await lab.again(store)
        equal([head.id for head in await store.list()], names, "the ids after reopening")

    @scenario
    async def test_stores_are_strangers(self, lab: Lab) -> None:
        """core 5.1: what is in one store is in no other, and has another revision there."""
        folder = Path(lab.folder, "other")
        folder.mkdir()
        store, other = await lab.open(), await lab.open(lab.store(folder))
        await lab.keep(store, notes(0, 1))
        await _absent(other, "s")
        await lab.keep(other, notes(0, 1))
        mine, theirs = await store.inspect("s"), await other.inspect("s")
        must(mine.revision != theirs.revision, "two stores give the same revision")
