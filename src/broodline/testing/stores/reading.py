"""Cases about reading: views, positions, revisions, snapshots."""

from __future__ import annotations

from typing import Any

from ...actors.store import Store
from .claim import equal, must, refused
from .lab import Lab
from .sample import header, interrupted_log, note, notes
from .scenario import StoreCase, durable_scenario, scenario


async def _shown(store: Store, parent: str) -> list[str]:
    """Ids of the children that the store finds."""
    return [snapshot.header.id for snapshot in await store.list_snapshots(parent=parent)]


class ReadingCases(StoreCase):
    """`load`, `inspect`, `read_from`, `list`, `list_snapshots` of sessions at rest."""

    @scenario
    async def test_read_from(self, lab: Lab) -> None:
        """core #100: the events from a number on; none at the end and behind it."""
        store = await lab.open()
        await lab.keep(store, notes(0, 5))
        for first in range(5):
            found = await store.read_from("s", first)
            equal(found, tuple(notes(first, 5)), f"read_from({first})")
        for first in (5, 6, 2**53 - 1, 10**30):
            equal(await store.read_from("s", first), (), f"read_from({first})")

    @scenario
    async def test_read_from_takes_numbers_only(self, lab: Lab) -> None:
        """core #100: a position that is negative, no integer or a bool is refused."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        wrong: list[Any] = [-1, 1.5, 1.0, True, "1", None]
        for position in wrong:
            with refused("CONFIGURATION", by=f"read_from({position!r})"):
                await store.read_from("s", position)

    @scenario
    async def test_unknown_ids(self, lab: Lab) -> None:
        """core 5.1: an id that nobody has stored is refused by everything that reads or writes."""
        store = await lab.open()
        await lab.keep(store, notes(0, 1), "somebody")
        for session_id in ("nobody", "", "some", "somebody ", "SOMEBODY", "some%", "*"):
            for name in ("load", "inspect", "prepare", "lease"):
                with refused("SESSION_NOT_FOUND", by=f"{name}({session_id!r})"):
                    await getattr(store, name)(session_id)
            with refused("SESSION_NOT_FOUND", by=f"read_from({session_id!r}, 0)"):
                await store.read_from(session_id, 0)
        equal([head.id for head in await store.list()], ["somebody"], "the ids of list()")

    @scenario
    async def test_views_agree(self, lab: Lab) -> None:
        """core 5.1: load, inspect and prepare show a balanced log alike, all of it stored."""
        store = await lab.open()
        await lab.keep(store, notes(0, 4))
        inspected = await store.inspect("s")
        for name in ("load", "inspect", "prepare"):
            found = await getattr(store, name)("s")
            equal(list(found.events), notes(0, 4), f"the events of {name}()")
            equal(found.stored, 4, f"`stored` of {name}()")
            equal(found.revision, inspected.revision, f"the revision of {name}()")
            must(not found.projected, f"{name}() calls a log of our own projected")
            equal(found.cut, None, f"`cut` of {name}()")

    @scenario
    async def test_a_view_is_a_picture(self, lab: Lab) -> None:
        """core 5.1: what was read does not grow with its session."""
        store = await lab.open()
        live = await lab.enter(store)
        live.session.append(note(0).data)
        await live.writer.flush()
        views = [await store.inspect("s"), await store.load("s")]
        live.session.append(note(1).data)
        await live.writer.flush()
        for view in views:
            equal(len(view.events), 1, "the length of a view after the session has grown")
        equal(len((await store.inspect("s")).events), 2, "the length of a new view")

    @scenario
    async def test_revision(self, lab: Lab) -> None:
        """core 5.1: the revision stays while the log does, and changes when the log does."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        await lab.keep(store, notes(0, 2), "t")
        seen = [(await store.inspect("s")).revision]
        for first in (2, 3):
            lease = await store.lease("s")
            equal((await store.inspect("s")).revision, seen[-1], "the revision after a lease")
            await store.append(lease, notes(first, first + 1))
            seen.append((await store.inspect("s")).revision)
            store.release(lease)
            await store.flush()
            equal((await store.inspect("s")).revision, seen[-1], "the revision after a release")
        equal(len(set(seen)), 3, "the number of revisions of a log that was written three times")

    @durable_scenario
    async def test_revision_outlives_its_store(self, lab: Lab) -> None:
        """core 5.1: a revision is the same to every store that opens the place."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        before = (await store.inspect("s")).revision
        equal((await (await lab.open()).inspect("s")).revision, before, "the other's revision")
        equal((await (await lab.again(store)).inspect("s")).revision, before, "after reopening")

    @scenario
    async def test_inspecting_changes_nothing(self, lab: Lab) -> None:
        """core #101: looking at an interrupted log leaves its revision; load changes it."""
        store = await lab.open()
        await lab.keep(store, interrupted_log())
        before = await store.inspect("s")
        await store.read_from("s", 0)
        await store.list_snapshots()
        await store.prepare("s")
        equal((await store.inspect("s")).revision, before.revision, "the revision after looking")
        loaded = await store.load("s")
        must(loaded.revision != before.revision, "load repaired the log and kept its revision")
        equal((await store.inspect("s")).revision, loaded.revision, "the revision after load")

    @scenario
    async def test_snapshots(self, lab: Lab) -> None:
        """core 5.1: a snapshot has the header, the revision, and the length if it is known."""
        store = await lab.open()
        await lab.keep(store, notes(0, 3))
        await lab.keep(store, notes(0, 5), header("t", parent="s"))
        snapshots = await store.list_snapshots()
        equal([one.header for one in snapshots], list(await store.list()), "their headers")
        for one, length in zip(snapshots, (3, 5), strict=True):
            must(one.length in (None, length), f"length {one.length} of a log of {length}")
            revision = (await store.inspect(one.header.id)).revision
            equal(one.revision, revision, "the revision of a snapshot")
            must(not one.live, "a session at rest is shown as live")
            must(not one.projected, "a log of our own is shown as projected")

    @scenario
    async def test_children(self, lab: Lab) -> None:
        """store.list_snapshots: the children of one parent, in order, and nobody else's."""
        store = await lab.open()
        parents = ("root", "other", "../odd\n\0", "%", "")
        for number, parent in enumerate(parents):
            for name in ("x", "y"):
                child = header(f"{name}{number}", parent=parent or None, at=number)
                await lab.keep(store, notes(0, 1), child)
        await store.create(header("reserved", parent="root"))
        for _ in range(2):
            for number, parent in enumerate(parents[:-1]):
                wanted = [f"x{number}", f"y{number}"]
                equal(await _shown(store, parent), wanted, f"the children of {parent!r}")
            for parent in ("nobody", "x0", "roo", "root ", "ROOT"):
                equal(await _shown(store, parent), [], f"the children of {parent!r}")
            store = await lab.again(store)

    @scenario
    async def test_snapshot_says_who_is_live(self, lab: Lab) -> None:
        """store.Snapshot: `live` while somebody has the lease, and not before or after."""
        store = await lab.open()
        live = await lab.enter(store, header("s", parent="p"))
        live.session.append(note(0).data)
        await live.writer.flush()
        for parent in (None, "p"):
            (snapshot,) = await store.list_snapshots(parent=parent)
            must(snapshot.live, "a live session is shown as one at rest")
            must(snapshot.length in (None, 1), f"length {snapshot.length} of a log of 1")
        await live.leave()
        (snapshot,) = await store.list_snapshots(parent="p")
        must(not snapshot.live, "a session that was released is shown as live")

    @scenario
    async def test_an_empty_store(self, lab: Lab) -> None:
        """core 5.1: an empty store has nothing to list, and its flush confirms that."""
        store = await lab.open()
        equal(await store.list(), (), "list() of an empty store")
        equal(await store.list_snapshots(), (), "list_snapshots() of an empty store")
        must(await store.flush(), "flush() of an empty store does not confirm")
        must(store.durability in ("accepted", "checkpoint", "settled"), "unknown durability")
