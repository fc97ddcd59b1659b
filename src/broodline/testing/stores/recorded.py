"""Cases about recordings in the projected form: kept for reading, never written on."""

from __future__ import annotations

from dataclasses import replace

from ...messages.payload import TurnStart
from .claim import equal, must, refused
from .lab import Lab, stored_events
from .sample import header, interrupted_log, sample_log
from .scenario import StoreCase, scenario

PLACEHOLDER = "{{cwd}}"


class RecordedCases(StoreCase):
    """`create` with ``projected=True``, and what becomes of such a session."""

    @scenario
    async def test_a_recording_is_kept(self, lab: Lab) -> None:
        """core 15.3: a recording keeps its events and placeholders, and says what it is."""
        store = await lab.open()
        head = replace(header("r", parent="p"), cwd=PLACEHOLDER, delegation_depth=None)
        log = [replace(event, time=0) for event in sample_log()]
        await lab.keep(store, log, head, projected=True)
        for _ in range(2):
            for what in ("load", "inspect"):
                found = await getattr(store, what)("r")
                must(found.projected, f"{what}() does not say that it is a recording")
                equal(found.header.cwd, PLACEHOLDER, f"the placeholder in the header by {what}()")
                equal(list(found.events), log, f"the events by {what}()")
                equal(found.stored, len(log), f"`stored` by {what}()")
            (snapshot,) = await store.list_snapshots(parent="p")
            must(snapshot.projected, "a snapshot does not say that it is a recording")
            equal([one.id for one in await store.list()], ["r"], "the ids of list()")
            store = await lab.again(store)

    @scenario
    async def test_a_recording_is_not_resumed(self, lab: Lab) -> None:
        """store.prepare: a recording is refused for a resume; nothing of it changes."""
        store = await lab.open()
        log = [replace(event, time=0) for event in sample_log()]
        await lab.keep(store, log, projected=True)
        for _ in range(2):
            before = (await store.inspect("s")).revision
            with refused("PROJECTED", by="prepare of a recording"):
                await store.prepare("s")
            with refused("PROJECTED", by="lease of a recording"):
                await store.lease("s")
            with refused("SESSION_ALREADY_EXISTS", by="create of an id that a recording has"):
                await store.create(header())
            equal((await store.inspect("s")).revision, before, "the revision")
            store = await lab.again(store)

    @scenario
    async def test_a_recording_is_not_repaired(self, lab: Lab) -> None:
        """core 4: a recording that ends inside a turn is loaded without writing on it."""
        store = await lab.open()
        log = [replace(event, time=0) for event in interrupted_log()]
        must(any(type(event.data) is TurnStart for event in log), "the sample has no turn")
        await lab.keep(store, log, projected=True)
        before = (await store.inspect("s")).revision
        found = await store.load("s")
        equal(found.stored, len(log), "`stored` of a recording that was loaded")
        equal(list(found.events[: len(log)]), log, "the events of a recording that was loaded")
        equal(await stored_events(store), log, "what is stored")
        equal((await store.inspect("s")).revision, before, "the revision after load")
