"""Cases about live sessions: what is stored of them, and who may look at them."""

from __future__ import annotations

import asyncio
from typing import Any

from ...actors.store import Store
from ...messages.payload import (
    EndSeed,
    OpaquePayload,
    StepStart,
    TurnEnd,
    TurnEndReason,
    TurnStart,
)
from .claim import equal, must, refused
from .gate import GatedExecutor
from .lab import Lab, Live, released, stored_events
from .sample import header, notes
from .scenario import StoreCase, scenario


def say(live: Live, text: str) -> None:
    """Append a note to a live session."""
    live.session.append(OpaquePayload("session/title", {"title": text}))


async def held_back(lab: Lab) -> tuple[GatedExecutor, Store, Live]:
    """A gate that is shut, a store whose work waits at it, a live session that has said "one"."""
    gate = GatedExecutor()
    store = await lab.open(executor=gate)
    live = await lab.enter(store)
    say(live, "one")
    gate.shut()
    return gate, store, live


def said(events: Any) -> list[str]:
    """The texts of the notes among events."""
    return [event.data.data["title"] for event in events if isinstance(event.data, OpaquePayload)]


class LifeCases(StoreCase):
    """`Store.attach` and `Writer`."""

    @scenario
    async def test_a_writer_says_what_waits(self, lab: Lab) -> None:
        """DESIGN 3: a writer has the durability of its store, and starts behind what is stored."""
        store = await lab.open()
        live = await lab.enter(store)
        equal(live.writer.durability, store.durability, "the durability of a writer")
        equal(live.writer.stored_seq if not live.session.seq else 0, 0, "stored_seq at first")

    @scenario
    async def test_nothing_is_there_before_the_first_event(self, lab: Lab) -> None:
        """core #80: a live session without events is not stored, whether flushed or released."""
        store = await lab.open()
        live = await lab.enter(store)
        must(await live.writer.flush(), "the flush of an empty session does not confirm")
        equal(await store.list(), (), "list() while nothing was said")
        await live.leave()
        equal(await store.list(), (), "list() after the release of an empty session")
        await lab.keep(store, notes(0, 1))

    @scenario
    async def test_a_seed_is_stored_once(self, lab: Lab) -> None:
        """core 5.2: the seed of a new session and its end mark are stored, each once."""
        store = await lab.open()
        live = await lab.enter(store, seed=notes(0, 3))
        must(await live.writer.flush(), "the flush does not confirm")
        stored = await stored_events(store)
        equal(stored, list(live.session.events), "the stored log")
        equal(len(stored), 4, "the length of the stored log")
        must(type(stored[3].data) is EndSeed, "the end mark of the seed is missing")

    @scenario
    async def test_a_resume_stores_what_is_new(self, lab: Lab) -> None:
        """core 5.2: a resume stores its end mark and what follows, and nothing twice."""
        store = await lab.open()
        await lab.keep(store, notes(0, 3))
        for round_ in range(3):
            live = await lab.resume(store)
            say(live, f"round {round_}")
            must(await live.writer.flush(), "the flush does not confirm")
            equal(await stored_events(store), list(live.session.events), "the stored log")
            equal(live.writer.stored_seq, live.session.seq, "stored_seq")
            await live.leave()
        kinds = [type(event.data) for event in await stored_events(store)]
        equal(kinds.count(EndSeed), 3, "the number of end marks after three resumes")

    @scenario
    async def test_a_release_stores_the_rest(self, lab: Lab) -> None:
        """core 5.2: a release without a flush stores what is queued and gives the id free."""
        store = await lab.open()
        live = await lab.enter(store)
        for seq in range(20):
            say(live, str(seq))
        await live.leave()
        equal(await stored_events(store), list(live.session.events), "the log after the release")
        equal(live.writer.stored_seq, 20, "stored_seq after the release")
        await (await lab.resume(store)).leave()

    @scenario
    async def test_release_is_idempotent(self, lab: Lab) -> None:
        """store.Writer: a second release changes nothing, not for a later holder either."""
        store = await lab.open()
        live = await lab.enter(store)
        say(live, "one")
        first = live.writer.release()
        await asyncio.gather(*(rest for rest in (first, live.writer.release()) if rest is not None))
        heir = await lab.resume(store)
        await released(live.writer)
        say(heir, "two")
        must(await heir.writer.flush(), "a stale release has taken the heir's lease")
        equal(said(await stored_events(store)), ["one", "two"], "what was said")

    @scenario
    async def test_nothing_is_stored_behind_a_release(self, lab: Lab) -> None:
        """core 5.2: what is appended after a release is not stored, and nobody is hurt."""
        store = await lab.open()
        live = await lab.enter(store)
        say(live, "one")
        await released(live.writer)
        say(live, "too late")
        heir = await lab.resume(store)
        say(live, "much too late")
        say(heir, "two")
        must(await heir.writer.flush(), "the flush of the heir does not confirm")
        equal(said(await stored_events(store)), ["one", "two"], "what was said")
        equal(said(live.session.events)[1:], ["too late", "much too late"], "its own log")

    @scenario
    async def test_a_session_that_nobody_wanted(self, lab: Lab) -> None:
        """store.Writer.release: what is new and not stored is gone with `discard`."""
        store = await lab.open()
        live = await lab.enter(store, header("s", parent="p"))
        say(live, "never mind")
        early = live.writer.stored_seq if self.durable else 0
        await live.leave(discard=True)
        if not early:
            equal(await store.list(), (), "list() after a session was discarded")
            equal(await store.list_snapshots(parent="p"), (), "the children of its parent")
            await lab.keep(store, notes(0, 1))

    @scenario
    async def test_a_stored_session_is_not_discarded(self, lab: Lab) -> None:
        """store.Writer.release: with `discard` what is stored stays, and the id becomes free."""
        store = await lab.open()
        await lab.keep(store, notes(0, 3))
        live = await lab.resume(store)
        await live.writer.flush()
        await live.leave(discard=True)
        equal((await stored_events(store))[:3], notes(0, 3), "what was stored before")
        await (await lab.resume(store)).leave()

    @scenario
    async def test_a_live_id_is_taken(self, lab: Lab) -> None:
        """core 5.2: while a session is live, its id is refused to everybody else."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        live = await lab.resume(store)
        with refused("SESSION_LEASED", by="prepare of a live id"):
            await store.prepare("s")
        with refused("SESSION_LEASED", by="lease of a live id"):
            await store.lease("s")
        with refused("SESSION_ALREADY_EXISTS", by="create of a live id"):
            await store.create(header())
        say(live, "still here")
        must(await live.writer.flush(), "the flush after the refusals does not confirm")

    @scenario
    async def test_a_live_session_takes_no_batch(self, lab: Lab) -> None:
        """core 5.2: to a live session events come through the session alone."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        stored = await store.prepare("s")
        session = lab.revive(stored)
        lease = await store.lease("s", after=stored, events=session.log[2:])
        live = Live(store, session, lease)
        with refused("SESSION_LIVE", by="append to a live session"):
            await store.append(lease, notes(3, 4))
        with refused("SESSION_LEASED", "SESSION_LIVE", by="a second attach with one lease"):
            store.attach(session.header, session.log, lease)
        store.release(lease)
        say(live, "three")
        must(await live.writer.flush(), "the release of an attached lease has let it go")
        equal(len(await stored_events(store)), 4, "the length of the log")

    @scenario
    async def test_load_of_a_live_log(self, lab: Lab) -> None:
        """core 5.1: a live log is flushed and loaded between its turns, not inside one."""
        store = await lab.open()
        live = await lab.enter(store)
        say(live, "one")
        found = await store.load("s")
        equal(list(found.events), list(live.session.events), "the log that was loaded")
        equal(found.stored, 1, "`stored` of a live log that was loaded")
        live.session.append(TurnStart(1))
        with refused("OPEN_TURN", by="load of a live log inside a turn"):
            await store.load("s")
        live.session.append(StepStart(1, 1))
        with refused("OPEN_TURN", by="load of a live log inside a step"):
            await store.load("s")
        await live.writer.flush()
        equal(await stored_events(store), list(live.session.events), "the log after two refusals")

    @scenario
    async def test_load_after_the_turn(self, lab: Lab) -> None:
        """core 5.1: once the turn of a live log has ended, it can be loaded."""
        store = await lab.open()
        live = await lab.enter(store)
        live.session.append(TurnStart(1))
        live.session.append(TurnEnd(1, TurnEndReason("completed")))
        found = await store.load("s")
        equal(list(found.events), list(live.session.events), "the log that was loaded")
        equal(found.stored, 2, "`stored`")

    @scenario
    async def test_inspect_of_a_live_log(self, lab: Lab) -> None:
        """core 5.1: a live log is shown as it is, an open turn and unflushed events and all."""
        store = await lab.open()
        live = await lab.enter(store)
        live.session.append(TurnStart(1))
        await live.writer.flush()
        live.session.append(StepStart(1, 1))
        found = await store.inspect("s")
        equal(list(found.events), list(live.session.events), "the log that was inspected")
        must(found.stored in (1, 2), f"`stored` is {found.stored} of 2, one of which was flushed")

    @scenario
    async def test_a_live_session_is_never_repaired(self, lab: Lab) -> None:
        """core 4: looking at a live session, or failing to load it, adds nothing to its log."""
        store = await lab.open()
        live = await lab.enter(store)
        live.session.append(TurnStart(1))
        await live.writer.flush()
        for _ in range(2):
            await store.inspect("s")
            with refused("OPEN_TURN", by="load of a live log inside a turn"):
                await store.load("s")
        await live.writer.flush()
        equal(await stored_events(store), list(live.session.events), "the stored log")
        equal(live.session.seq, 1, "the length of the live log")

    @scenario
    async def test_statistics(self, lab: Lab) -> None:
        """store.statistics: where a store counts, it counts without being asked twice."""
        store: Any = await lab.open()
        if hasattr(store, "statistics"):
            live = await lab.enter(store)
            say(live, "one")
            await live.writer.flush()
            must(store.statistics() is not None, "statistics() of an open store says nothing")
            must(store.statistics() == store.statistics(), "asking twice changes the counts")
        must(repr(store), "the repr is empty")
