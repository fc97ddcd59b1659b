"""The memory store against the contract that every store keeps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.session import Session
from broodline.actors.store import Lease, Store, Writer
from broodline.actors.stores.memory import MemoryStore
from broodline.messages.errors import ConfigurationError, SessionError, SessionLeasedError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import OpaquePayload, TurnStart

NOTE = OpaquePayload("session/title", {})
HEADER = SessionHeader("s", 1)


def notes(start: int, stop: int) -> list[Event]:
    return [Event(seq, 1, NOTE) for seq in range(start, stop)]


async def stored(store: Store, count: int = 3, header: SessionHeader = HEADER) -> Lease:
    """A session of `count` events at rest, and the lease that wrote it."""
    lease = await store.create(header)
    await store.append(lease, notes(0, count))
    store.release(lease)
    return lease


def attached(store: Store, session: Session, lease: Lease | None = None) -> Writer:
    writer = store.attach(session.header, session.log, lease)
    session.keep_with(writer)
    return writer


def code(caught: pytest.ExceptionInfo[SessionError]) -> str:
    return str(caught.value.code)


def test_it_is_a_store() -> None:
    """DESIGN 3: the memory store has every method of the contract."""
    store: Store = MemoryStore()
    assert repr(store) == "<MemoryStore of 0 sessions>"


async def test_created_only(kit: SimpleNamespace) -> None:
    """core #80: a session that was created and never written is not stored."""
    store = MemoryStore()
    lease = await store.create(HEADER)
    assert await store.list() == ()
    for read in (store.load, store.inspect):
        with pytest.raises(SessionError) as caught:
            await read("s")
        assert code(caught) == "SESSION_NOT_FOUND"
    store.release(lease)
    await store.create(HEADER)


async def test_created_twice() -> None:
    """core #81: the id of a created or stored session is refused."""
    store = MemoryStore()
    await store.create(HEADER)
    with pytest.raises(SessionError) as caught:
        await store.create(HEADER)
    assert code(caught) == "SESSION_ALREADY_EXISTS"


@pytest.mark.parametrize("first", [2, 4])
async def test_append_continues(first: int) -> None:
    """core #83: a batch that does not start at the next number is refused whole."""
    store = MemoryStore()
    await stored(store)
    lease = await store.lease("s")
    with pytest.raises(SessionError) as caught:
        await store.append(lease, notes(first, first + 2))
    assert code(caught) == "SEQ_MISMATCH"
    assert len((await store.inspect("s")).events) == 3


async def test_append_without_gaps() -> None:
    """core #84: a batch with a gap inside is refused whole."""
    store = MemoryStore()
    await stored(store)
    lease = await store.lease("s")
    with pytest.raises(SessionError):
        await store.append(lease, [*notes(3, 4), *notes(5, 6)])
    assert len(await store.read_from("s", 0)) == 3


async def test_empty_batch() -> None:
    """core #85: an empty batch stores nothing."""
    store = MemoryStore()
    await store.append(await store.create(HEADER), [])
    assert await store.list() == ()


async def test_batch_is_taken_at_the_call() -> None:
    """core #86: what a caller does to its list afterwards changes nothing."""
    store = MemoryStore()
    lease = await store.create(HEADER)
    batch = notes(0, 2)
    await store.append(lease, batch)
    batch.clear()
    assert len((await store.load("s")).events) == 2


async def test_read_from() -> None:
    """core #100: the suffix from a number on; empty at and past the end."""
    store = MemoryStore()
    await stored(store)
    assert [event.seq for event in await store.read_from("s", 1)] == [1, 2]
    assert await store.read_from("s", 3) == await store.read_from("s", 9) == ()
    wrong: list[Any] = [-1, 1.5, True]
    for from_seq in wrong:
        with pytest.raises(ConfigurationError):
            await store.read_from("s", from_seq)
    with pytest.raises(SessionError):
        await store.read_from("nobody", 0)


async def test_revision(kit: SimpleNamespace) -> None:
    """core 5.1: a revision stays while the log does, and is another one in another store."""
    store, other = MemoryStore(), MemoryStore()
    await stored(store)
    await stored(other)
    before = (await store.inspect("s")).revision
    assert (await store.inspect("s")).revision == before
    assert (await other.inspect("s")).revision != before
    await store.append(await store.lease("s"), notes(3, 4))
    assert (await store.inspect("s")).revision != before


async def test_list_keeps_the_order() -> None:
    """core 5.1: the headers of what is stored, in the order of creation."""
    store = MemoryStore()
    headers = [SessionHeader(name, 1) for name in ("b", "a", "c")]
    for header in headers:
        await stored(store, header=header)
    assert await store.list() == tuple(headers)


async def test_live_session_is_shared(kit: SimpleNamespace) -> None:
    """core 5.2: a live session is stored as it grows, the same event objects."""
    store = MemoryStore()
    session = kit.session()
    writer = attached(store, session)
    event = session.append(NOTE)
    assert (await store.inspect("s")).events[0] is event
    assert writer.stored_seq == 1
    assert await writer.flush()
    assert await store.flush()


async def test_live_log_is_loaded_between_turns(kit: SimpleNamespace) -> None:
    """core 5.1: inside a turn a live log can be inspected, not loaded."""
    store = MemoryStore()
    session = kit.session()
    attached(store, session)
    session.append(TurnStart(1))
    with pytest.raises(SessionError) as caught:
        await store.load("s")
    assert code(caught) == "OPEN_TURN"
    assert len((await store.inspect("s")).events) == 1
    session.append(kit.ended(1))
    assert len((await store.load("s")).events) == 2


async def test_read_log_does_not_grow(kit: SimpleNamespace) -> None:
    """core 5.1: what was read is a picture of its moment."""
    store = MemoryStore()
    session = kit.session()
    attached(store, session)
    session.append(NOTE)
    before = await store.inspect("s")
    session.append(NOTE)
    assert len(before.events) == 1


async def test_live_session_takes_no_batch(kit: SimpleNamespace) -> None:
    """core 5.2: to a live session events come through the session alone."""
    store = MemoryStore()
    await stored(store)
    lease = await store.lease("s")
    session = kit.session((await store.load("s")).events)
    attached(store, session, lease)
    with pytest.raises(SessionError) as caught:
        await store.append(lease, notes(4, 5))
    assert code(caught) == "SESSION_LIVE"


async def test_adoption(kit: SimpleNamespace) -> None:
    """core 5.2: a log that begins with exactly what is stored adopts it; others are refused."""
    store = MemoryStore()
    await stored(store)
    different = kit.session([Event(0, 2, NOTE)])
    with pytest.raises(SessionError) as caught:
        attached(store, different)
    assert code(caught) == "SESSION_ALREADY_EXISTS"
    elsewhere = Session(SessionHeader("s", 1, cwd="/x"), seed=notes(0, 3), clock=kit.CountedClock())
    with pytest.raises(SessionError):
        attached(store, elsewhere)
    attached(store, kit.session(notes(0, 3)))
    assert len(await store.read_from("s", 0)) == 4


async def test_lease_has_one_holder(kit: SimpleNamespace) -> None:
    """DESIGN 3: a leased session is refused until its holder lets it go."""
    store = MemoryStore()
    await stored(store)
    lease = await store.lease("s")
    with pytest.raises(SessionLeasedError):
        await store.lease("s")
    with pytest.raises(SessionLeasedError):
        attached(store, kit.session(notes(0, 3)))
    store.release(lease)
    store.release(lease)
    again = await store.lease("s")
    assert again.fence > lease.fence
    assert again.next_seq == 3
    with pytest.raises(SessionError):
        await store.lease("nobody")


async def test_stale_lease_is_refused(kit: SimpleNamespace) -> None:
    """DESIGN 3: an outdated lease writes nothing, attaches nothing, and releases nobody."""
    store = MemoryStore()
    old = await stored(store)
    new = await store.lease("s")
    with pytest.raises(SessionLeasedError) as caught:
        await store.append(old, notes(3, 4))
    assert not caught.value.retryable
    with pytest.raises(SessionLeasedError):
        attached(store, kit.session(notes(0, 3)), old)
    store.release(old)
    await store.append(new, notes(3, 4))


async def test_takeover(kit: SimpleNamespace) -> None:
    """DESIGN 3: a dead holder's lease is taken over; its later writes do not arrive."""
    store = MemoryStore()
    dead = kit.session()
    old = attached(store, dead)
    dead.append(NOTE)
    lease = await store.lease("s", takeover=True)
    dead.append(NOTE)
    with pytest.raises(SessionLeasedError):
        await old.flush()
    heir = kit.session((await store.load("s")).events)
    new = attached(store, heir, lease)
    old.release()
    assert len(await store.read_from("s", 0)) == heir.seq == 2
    assert await new.flush()


async def test_released_writer(kit: SimpleNamespace) -> None:
    """core 5.2: a released writer confirms nothing more; an empty log leaves no trace."""
    store = MemoryStore()
    writer = attached(store, kit.session())
    writer.release()
    writer.release()
    assert repr(store) == "<MemoryStore of 0 sessions>"
    with pytest.raises(SessionLeasedError):
        await writer.flush()


async def test_closed_store(kit: SimpleNamespace) -> None:
    """core #117: a closed store takes nothing more, and can be read."""
    store = MemoryStore()
    lease = await stored(store)
    await store.close()
    await store.close()
    for attempt in (store.create(SessionHeader("t", 1)), store.append(lease, []), store.lease("s")):
        with pytest.raises(SessionError) as caught:
            await attempt
        assert code(caught) == "STORE_CLOSED"
    with pytest.raises(SessionError):
        attached(store, kit.session(id="t"))
    assert len((await store.load("s")).events) == 3


async def test_no_fence_is_used_twice() -> None:
    """DESIGN section 3: a lease that was given back stays stale, also when its id is made anew."""
    store = MemoryStore()
    stale = await store.create(HEADER)
    store.release(stale)
    fresh = await store.create(HEADER)
    assert fresh.fence > stale.fence
    with pytest.raises(SessionLeasedError):
        await store.append(stale, notes(0, 1))
    with pytest.raises(SessionLeasedError):
        store.attach(HEADER, [], stale)
    store.release(stale)
    await store.append(fresh, notes(0, 1))


async def test_a_lease_changes_no_revision() -> None:
    """core 5.1: the revision stays while the log is unchanged, whoever may write it."""
    store = MemoryStore()
    await stored(store)
    before = (await store.inspect("s")).revision
    lease = await store.lease("s")
    assert (await store.inspect("s")).revision == before
    await store.append(lease, notes(3, 4))
    assert (await store.inspect("s")).revision != before


@pytest.mark.parametrize("keep_ended", [True, False])
async def test_ended_sessions_are_kept_or_not(kit: SimpleNamespace, keep_ended: bool) -> None:
    """core 5.1: what has ended can be loaded again, unless the store was told to forget it."""
    store = MemoryStore(keep_ended=keep_ended)
    session = kit.session()
    writer = attached(store, session)
    session.append(NOTE)
    assert [header.id for header in await store.list()] == ["s"]
    writer.release()
    assert bool(await store.list()) is keep_ended


async def test_hosts_share_it() -> None:
    """store.open: several hosts may have it open; it closes with the last of them."""
    store = MemoryStore()
    await stored(store)
    async with store:
        async with store:
            await store.create(SessionHeader("t", 1))
        await store.create(SessionHeader("u", 1))
    with pytest.raises(SessionError) as caught:
        await store.create(SessionHeader("v", 1))
    assert code(caught) == "STORE_CLOSED"
    async with store:
        await store.create(SessionHeader("v", 1))
        assert len((await store.load("s")).events) == 3


async def test_closing_gives_leases_back(kit: SimpleNamespace) -> None:
    """store.close: what was live when the last host left can be resumed by the next."""
    store = MemoryStore()
    session = kit.session()
    writer = attached(store, session)
    session.append(NOTE)
    await store.create(SessionHeader("reserved", 1))
    await store.close()
    session.append(NOTE)
    assert writer.stored_seq == 1
    async with store:
        assert (await store.prepare("s")).stored == 1
        assert repr(store) == "<MemoryStore of 1 sessions>"


@pytest.mark.parametrize("keep_ended", [True, False])
async def test_children_are_indexed(keep_ended: bool) -> None:
    """store.list_snapshots: children are found under their parent as long as they are kept."""
    store = MemoryStore(keep_ended=keep_ended)
    leases: list[Lease] = []
    for name in ("a", "b"):
        lease = await store.create(SessionHeader(name, 1, parent_session="p"))
        await store.append(lease, notes(0, 1))
        leases.append(lease)
    assert [one.header.id for one in await store.list_snapshots(parent="p")] == ["a", "b"]
    store.release(leases[0])
    left = ["a", "b"] if keep_ended else ["b"]
    assert [one.header.id for one in await store.list_snapshots(parent="p")] == left
    store.release(leases[1])
    assert bool(await store.list_snapshots(parent="p")) is keep_ended
    assert await store.list_snapshots(parent="a") == ()


async def test_a_resume_leaves_the_dead_log_alone(kit: SimpleNamespace) -> None:
    """core 1.5: the log of a session that has left is its own: a resume adds nothing to it."""
    store = MemoryStore()
    session = kit.session()
    writer = attached(store, session)
    session.append(NOTE)
    writer.release()
    lease = await store.lease("s", events=notes(1, 2))
    await store.append(lease, notes(2, 3))
    assert session.seq == len(session.events) == 1
    assert [event.seq for event in await store.read_from("s", 0)] == [0, 1, 2]


async def test_the_dead_log_leaves_the_store_alone(kit: SimpleNamespace) -> None:
    """core 5.2: what is appended to a log that was let go of is not stored."""
    store = MemoryStore()
    session = kit.session()
    writer = attached(store, session)
    session.append(NOTE)
    writer.release()
    session.append(NOTE)
    assert len((await store.inspect("s")).events) == writer.stored_seq == 1
    (snapshot,) = await store.list_snapshots()
    assert snapshot.length == 1
    heir = kit.session((await store.prepare("s")).events)
    attached(store, heir, await store.lease("s"))
    assert len(await store.read_from("s", 0)) == heir.seq == 2


async def test_a_revision_is_of_one_session(kit: SimpleNamespace) -> None:
    """core 5.1: a session that was forgotten and made anew has another revision."""
    store = MemoryStore(keep_ended=False)
    first = await store.create(HEADER)
    await store.append(first, notes(0, 1))
    before = (await store.inspect("s")).revision
    store.release(first)
    await store.append(await store.create(HEADER), notes(0, 1))
    assert (await store.inspect("s")).revision != before


async def test_nothing_waits_for_it() -> None:
    """DESIGN 3: the memory store confirms at once, so that nothing waits for it."""
    store = MemoryStore()
    assert store.durability == "settled"
    writer = store.attach(HEADER, [])
    assert (writer.durability, writer.sink, writer.failure) == ("settled", None, None)
    assert await writer.flush()


async def test_a_recording_is_not_adopted(kit: SimpleNamespace) -> None:
    """store.attach: a recording takes no live session, with the very log that it has or without."""
    store = MemoryStore()
    lease = await store.create(HEADER, projected=True)
    await store.append(lease, notes(0, 3))
    store.release(lease)
    with pytest.raises(SessionError) as caught:
        attached(store, kit.session(notes(0, 3)))
    assert code(caught) == "PROJECTED"


async def test_what_is_not_wanted_is_forgotten(kit: SimpleNamespace) -> None:
    """store.Writer.release: a new session is discarded whole, a resumed one is kept."""
    store = MemoryStore()
    session = kit.session()
    writer = attached(store, session)
    session.append(NOTE)
    writer.release(discard=True)
    assert await store.list() == ()
    await stored(store)
    attached(store, kit.session(notes(0, 3))).release(discard=True)
    assert len(await store.list()) == 1
