"""A store on disk: who may write, and what is read."""

from __future__ import annotations

import asyncio
import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.store import Lease
from broodline.actors.stores.disk import DiskStore
from broodline.messages.errors import ConfigurationError, SessionError, SessionLeasedError
from broodline.messages.header import SessionHeader


def header(session_id: str = "s", **more: Any) -> SessionHeader:
    return SessionHeader(session_id, 1, **more)


# Making sessions.


async def test_creating_is_an_intent_only(desk: Any) -> None:
    """core #80: creating looks for the id and writes nothing; the first event makes the session."""
    lease = await desk.store.create(header())
    assert lease == Lease("s", 1, 0)
    assert desk.backend.calls == ["open", "check_new"]
    assert await desk.store.list() == ()
    desk.store.attach(header(), [], lease)
    assert await desk.store.flush()
    assert desk.backend.writes == []


async def test_a_fresh_id_is_not_looked_for(desk: Any) -> None:
    """store.create: an id that nobody else can have costs no look."""
    await desk.store.create(header(), fresh=True)
    assert desk.backend.calls == ["open"]


@pytest.mark.parametrize("fresh", [True, False])
async def test_an_id_is_created_once(desk: Any, fresh: bool) -> None:
    """core #81: an id that is reserved or stored is refused, a fresh one too."""
    await desk.store.create(header())
    with pytest.raises(SessionError) as caught:
        await desk.store.create(header(), fresh=fresh)
    assert caught.value.code == "SESSION_ALREADY_EXISTS"


async def test_one_of_two_creates(desk: Any) -> None:
    """core #81: of two creates at the same time one has the id, before any look at the disk."""
    attempts = (desk.store.create(header()) for _ in range(2))
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Lease, SessionError]
    assert desk.backend.calls.count("check_new") == 1


async def test_a_create_that_is_refused_or_called_off(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.1: an id that could not be created is not taken."""
    kit.put(desk.backend, kit.steps(0, 1))
    with pytest.raises(SessionError):
        await desk.store.create(header())
    desk.backend.shelf.clear()
    desk.executor.shut()
    attempt = asyncio.ensure_future(desk.store.create(header()))
    await kit.settle()
    attempt.cancel()
    await desk.executor.open()
    assert (await desk.store.create(header())).fence == 1


async def test_a_lease_is_needed(desk: Any) -> None:
    """store.attach: a store on disk cannot tell at once whether an id is free."""
    with pytest.raises(ConfigurationError, match=r"create\(\) or lease\(\)"):
        desk.store.attach(header(), [])


async def test_a_lease_fits_its_own_session_once(desk: Any) -> None:
    """DESIGN 3: a lease serves one session, one time; an equal one from before is not it."""
    lease = await desk.store.create(header())
    with pytest.raises(SessionError) as caught:
        desk.store.attach(header("other"), [], lease)
    assert caught.value.code == "SESSION_ALREADY_EXISTS"
    desk.store.release(lease)
    again = await desk.store.create(header())
    assert again == lease
    with pytest.raises(SessionLeasedError):
        desk.store.attach(header(), [], lease)
    with pytest.raises(SessionLeasedError):
        await desk.store.append(lease, [])
    desk.store.release(lease)
    desk.store.attach(header(), [], again)
    with pytest.raises(SessionLeasedError):
        desk.store.attach(header(), [], again)
    desk.store.release(again)
    assert desk.store.statistics().sessions == 1, "it is live, so it is not given back"


async def test_a_log_shorter_than_what_is_stored(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.2: a log that does not begin with what is stored is not attached."""
    kit.put(desk.backend, kit.steps(0, 3))
    lease = await desk.store.lease("s")
    with pytest.raises(SessionError) as caught:
        desk.store.attach(header(), kit.steps(0, 2), lease)
    assert caught.value.code == "SESSION_ALREADY_EXISTS"
    writer = desk.store.attach(header(), kit.steps(0, 5), lease)
    assert writer.stored_seq == 3
    await writer.flush()
    assert desk.written() == [[("s", [3, 4])]]


async def test_what_a_log_brings_along_is_written_behind(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.2: a seed is stored without a flush, when the window from attaching is over."""
    desk.store.attach(header(), kit.steps(0, 2), await desk.store.create(header()))
    await desk.wait(0.2)
    assert desk.stored() == [0, 1]


# Batches.


@pytest.mark.parametrize("first", [4, 6])
async def test_a_batch_that_does_not_follow(desk: Any, kit: SimpleNamespace, first: int) -> None:
    """core #83: behind five events a batch from 4 or 6 is refused before anything is written."""
    lease = await desk.store.create(header())
    await desk.store.append(lease, kit.steps(0, 5))
    with pytest.raises(SessionError) as caught:
        await desk.store.append(lease, kit.steps(first, first + 2))
    assert caught.value.code == "SEQ_MISMATCH"
    assert caught.value.details["seq"] == first
    await desk.store.append(lease, kit.steps(5, 6))
    assert desk.stored() == [0, 1, 2, 3, 4, 5]
    assert len(desk.backend.writes) == 2


async def test_a_batch_with_a_gap(desk: Any, kit: SimpleNamespace) -> None:
    """core #84: of a batch with a gap inside nothing is written."""
    lease = await desk.store.create(header())
    with pytest.raises(SessionError) as caught:
        await desk.store.append(lease, [*kit.steps(0, 2), *kit.steps(3, 4)])
    assert caught.value.code == "SEQ_MISMATCH"
    assert desk.backend.writes == []


async def test_an_empty_batch(desk: Any) -> None:
    """core #85: an empty batch writes nothing."""
    await desk.store.append(await desk.store.create(header()), [])
    assert desk.backend.writes == []


async def test_a_batch_is_that_of_the_call(desk: Any, kit: SimpleNamespace) -> None:
    """core #86: what becomes of the list after the call changes nothing, begun or not."""
    lease = await desk.store.create(header())
    batch = kit.steps(0, 3)
    append = desk.store.append(lease, batch)
    batch.clear()
    await append
    assert desk.stored() == [0, 1, 2]


async def test_no_batch_for_a_live_session(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.6: events come to a live session through the session alone."""
    lease = await desk.store.create(header())
    desk.store.attach(header(), [], lease)
    with pytest.raises(SessionError) as caught:
        await desk.store.append(lease, kit.steps(0, 1))
    assert caught.value.code == "SESSION_LIVE"


async def test_no_session_goes_live_inside_a_batch(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.6: while a batch is being written, its session cannot be attached."""
    lease = await desk.store.create(header())
    desk.executor.shut()
    append = asyncio.ensure_future(desk.store.append(lease, kit.steps(0, 1)))
    await kit.settle()
    with pytest.raises(SessionLeasedError):
        desk.store.attach(header(), kit.steps(0, 1), lease)
    await desk.executor.open()
    await append
    desk.store.attach(header(), kit.steps(0, 1), lease)


async def test_a_batch_that_fails_can_be_handed_in_again(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.1: a batch that the disk refused leaves no state; the same one is taken later."""
    lease = await desk.store.create(header())
    desk.backend.down = kit.unavailable()
    with pytest.raises(SessionError, match="disk full"):
        await desk.store.append(lease, kit.steps(0, 2))
    assert desk.store.statistics().waiting == 0
    assert desk.store.statistics().failing == 0
    desk.backend.down = None
    await desk.wait(5)
    assert desk.stored() == []
    await desk.store.append(lease, kit.steps(0, 2))
    assert desk.stored() == [0, 1]


async def test_calling_off_a_batch(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.2: a batch whose caller has gone is stored, and the next one follows it."""
    lease = await desk.store.create(header())
    desk.executor.shut()
    first = asyncio.ensure_future(desk.store.append(lease, kit.steps(0, 2)))
    await kit.settle()
    first.cancel()
    second = asyncio.ensure_future(desk.store.append(lease, kit.steps(2, 4)))
    await kit.settle()
    await desk.executor.open()
    await second
    assert first.cancelled()
    assert desk.written() == [[("s", [0, 1])], [("s", [2, 3])]]


async def test_a_batch_behind_a_release(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.6: a batch in line when its lease is given back is refused; the one before is not."""
    lease = await desk.store.create(header())
    desk.executor.shut()
    appends = [
        asyncio.ensure_future(desk.store.append(lease, kit.steps(seq, seq + 1))) for seq in (0, 1)
    ]
    await kit.settle()
    desk.store.release(lease)
    await desk.executor.open()
    outcomes = await asyncio.gather(*appends, return_exceptions=True)
    assert outcomes[0] is None
    assert isinstance(outcomes[1], SessionLeasedError)
    assert desk.stored() == [0]
    assert desk.backend.shelf["s"].holder is None


# Resuming.


async def test_one_of_two_resumes(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.6: two prepare the same log; one gets the lease, the other is refused at once."""
    kit.put(desk.backend, kit.open_turn())
    logs = [await desk.store.prepare("s") for _ in range(2)]
    assert [log.stored for log in logs] == [2, 2]
    assert logs[0].events[2:]
    attempts = (desk.store.lease("s", after=log, events=log.events[2:]) for log in logs)
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Lease, SessionLeasedError]
    assert outcomes[0] == Lease("s", 2, len(logs[0].events))
    assert len(desk.stored()) == len(logs[0].events)


async def test_who_may_not_be_prepared(desk: Any, kit: SimpleNamespace) -> None:
    """DESIGN 3: a session that is live here or elsewhere, a recording, and none: refused."""
    await desk.live("here", 1)
    kit.put(desk.backend, [], "elsewhere").holder = "other"
    desk.backend.alive.add("other")
    kit.put(desk.backend, [], "recorded", projected=True)
    for session_id, code in (
        ("here", "SESSION_LEASED"),
        ("elsewhere", "SESSION_LEASED"),
        ("recorded", "PROJECTED"),
        ("none", "SESSION_NOT_FOUND"),
    ):
        with pytest.raises(SessionError) as caught:
            await desk.store.prepare(session_id)
        assert caught.value.code == code
    kit.put(desk.backend, [], "dead").holder = "gone"
    await desk.store.prepare("dead")


async def test_preparing_writes_nothing(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.1: prepare and inspect close a log in memory only."""
    kit.put(desk.backend, kit.open_turn())
    for read in (desk.store.prepare, desk.store.inspect):
        found = await read("s")
        assert (found.stored, len(found.events) > 2) == (2, True)
    assert desk.stored() == [0, 1]
    assert set(desk.backend.calls) == {"open", "read"}


async def test_a_lease_that_is_refused(desk: Any, kit: SimpleNamespace) -> None:
    """store.lease: what could not be leased is not taken, and its error is the backend's."""
    kit.put(desk.backend, kit.steps(0, 1))
    old = await desk.store.prepare("s")
    desk.backend.shelf["s"].events.extend(kit.steps(1, 2))
    with pytest.raises(SessionLeasedError, match="changed"):
        await desk.store.lease("s", after=old)
    with pytest.raises(SessionError, match="not stored"):
        await desk.store.lease("none")
    assert desk.store.statistics().sessions == 0
    assert (await desk.store.lease("s")).next_seq == 2


async def test_calling_off_a_lease(desk: Any, kit: SimpleNamespace) -> None:
    """DESIGN 3: a lease whose taker has gone is given back, and the id is free again."""
    kit.put(desk.backend, kit.steps(0, 1))
    known = await desk.store.prepare("s")
    desk.executor.shut()
    attempt = asyncio.ensure_future(desk.store.lease("s", after=known))
    await kit.settle()
    attempt.cancel()
    await desk.executor.open()
    assert attempt.cancelled()
    assert desk.backend.shelf["s"].fence == 2
    assert desk.backend.shelf["s"].holder is None
    assert (await desk.store.lease("s")).fence == 3


async def test_asking_again_for_a_lease_that_was_called_off(
    desk: Any, kit: SimpleNamespace
) -> None:
    """DESIGN 3: nobody has a session whose taker has gone: who asks next waits, and gets it."""
    kit.put(desk.backend, kit.steps(0, 1))
    known = await desk.store.prepare("s")
    desk.executor.shut()
    attempt = asyncio.ensure_future(desk.store.lease("s", after=known))
    await kit.settle()
    attempt.cancel()
    await kit.settle()
    again = [asyncio.ensure_future(desk.store.prepare("s")) for _ in range(2)]
    await kit.settle()
    await desk.executor.open()
    async with asyncio.timeout(10):
        assert [len((await log).events) for log in again] == [1, 1]
    assert (await desk.store.lease("s")).fence == 3


async def test_calling_off_a_lease_that_fails(desk: Any, kit: SimpleNamespace) -> None:
    """DESIGN 3: a lease that could not be taken, and whose taker has gone, leaves the id free."""
    kit.put(desk.backend, kit.steps(0, 1))
    known = await desk.store.prepare("s")
    desk.executor.shut()
    attempt = asyncio.ensure_future(desk.store.lease("s", after=known))
    await kit.settle()
    attempt.cancel()
    desk.backend.down = kit.unavailable()
    await desk.executor.open()
    desk.backend.down = None
    assert (await desk.store.lease("s")).fence == 2


async def test_a_lease_given_back_unused(desk: Any, kit: SimpleNamespace) -> None:
    """store.release: a lease that no writer was attached with goes back, once."""
    kit.put(desk.backend, kit.steps(0, 1))
    lease = await desk.store.lease("s")
    desk.executor.shut()
    desk.store.release(lease)
    with pytest.raises(SessionLeasedError):
        desk.store.attach(header(), kit.steps(0, 1), lease)
    await desk.executor.open()
    desk.store.release(dataclasses.replace(lease))
    await kit.settle()
    assert desk.backend.shelf["s"].holder is None
    assert len(desk.backend.writes) == 1


# Reading.


async def test_load_closes_a_log_for_good(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.1: load stores what is missing, gives the lease back, and shows what is stored."""
    kit.put(desk.backend, kit.open_turn())
    found = await desk.store.load("s")
    assert found.stored == len(found.events) == len(desk.stored()) == 4
    assert desk.backend.shelf["s"].holder is None
    assert await desk.store.load("s") == found
    assert desk.backend.calls.count("lease") == 1


async def test_loads_at_the_same_time(desk: Any, kit: SimpleNamespace) -> None:
    """core #76: loads of one log at the same time all succeed, and it is closed once."""
    kit.put(desk.backend, kit.open_turn())
    found = await asyncio.gather(*(desk.store.load("s") for _ in range(5)))
    assert len({len(log.events) for log in found}) == 1
    assert len(desk.stored()) == 4
    assert desk.backend.calls.count("lease") == 1


async def test_load_gives_its_lease_back_first(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.1: when load has closed a log, its lease is free by the time it answers."""
    kit.put(desk.backend, kit.open_turn())
    desk.executor.shut()
    load = asyncio.ensure_future(desk.store.load("s"))
    for call in ("read", "lease", "write"):
        await kit.settle()
        assert desk.executor.queued == 1
        await desk.executor.pass_one()
        assert desk.backend.calls[-1] == call
    await desk.executor.open()
    assert len((await load).events) == 4


async def test_reading_what_is_leased_here(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.6: a session that is being resumed can be looked at, and is not closed by a load."""
    kit.put(desk.backend, kit.open_turn())
    kit.put(desk.backend, kit.whole_turn(), "whole")
    await desk.store.lease("s")
    await desk.store.lease("whole")
    assert len((await desk.store.inspect("s")).events) == 4
    assert len((await desk.store.load("whole")).events) == 2
    with pytest.raises(SessionLeasedError):
        await desk.store.load("s")
    assert desk.stored() == [0, 1]


async def test_load_of_what_another_holds(desk: Any, kit: SimpleNamespace) -> None:
    """core 4: an open turn that is live elsewhere is not closed; a balanced log is read."""
    kit.put(desk.backend, kit.open_turn()).holder = "other"
    desk.backend.alive.add("other")
    with pytest.raises(SessionLeasedError):
        await desk.store.load("s")
    assert len((await desk.store.inspect("s")).events) == 2
    kit.put(desk.backend, kit.whole_turn()).holder = "other"
    assert len((await desk.store.load("s")).events) == 2
    assert desk.backend.calls.count("lease") == 0


async def test_load_of_a_recording(desk: Any, kit: SimpleNamespace) -> None:
    """core 15.3: a recording that ends inside a turn is read as it is."""
    kit.put(desk.backend, kit.open_turn(), projected=True)
    for read in (desk.store.load, desk.store.inspect):
        assert len((await read("s")).events) == 2


async def test_load_of_a_live_log(desk: Any, kit: SimpleNamespace) -> None:
    """core #87: a live log is flushed and loaded, unless a turn is open: that is never repaired."""
    log = kit.whole_turn()
    desk.store.attach(header(), log, await desk.store.create(header()))
    found = await desk.store.load("s")
    assert found.stored == len(found.events) == 2
    assert desk.stored() == [0, 1]
    live = kit.open_turn()
    desk.store.attach(header("open"), live, await desk.store.create(header("open")))
    with pytest.raises(SessionError) as caught:
        await desk.store.load("open")
    assert caught.value.code == "OPEN_TURN"
    assert len(live) == 2
    assert desk.backend.calls.count("lease") == 0


async def test_a_turn_that_opens_while_its_log_is_loaded(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.1: what load shows of a live session is balanced at the moment it is shown."""
    log = kit.whole_turn()
    writer = desk.store.attach(header(), log, await desk.store.create(header()))
    await writer.flush()
    desk.executor.shut()
    load = asyncio.ensure_future(desk.store.load("s"))
    await kit.settle()
    log.append(dataclasses.replace(kit.open_turn()[0], seq=2))
    await desk.executor.open()
    with pytest.raises(SessionError) as caught:
        await load
    assert caught.value.code == "OPEN_TURN"


async def test_inspect_of_a_live_log(desk: Any) -> None:
    """core 5.1: a live session is shown as it is; the revision is that of what is stored."""
    writer, log = await desk.live("s", 1)
    assert (await desk.store.inspect("s")).stored == 0
    await writer.flush()
    desk.say(writer, log, 2)
    found = await desk.store.inspect("s")
    assert (found.stored, len(found.events)) == (1, 3)
    await writer.flush()
    later = await desk.store.inspect("s")
    assert later.stored == 3
    assert later.revision != found.revision
    assert len(found.events) == 3


async def test_a_live_session_without_events(desk: Any) -> None:
    """core #80: nothing is stored of a session that said nothing, so nothing is shown."""
    await desk.live()
    for read in (desk.store.inspect, desk.store.load):
        with pytest.raises(SessionError) as caught:
            await read("s")
        assert caught.value.code == "SESSION_NOT_FOUND"


async def test_reading_from_a_position(desk: Any, kit: SimpleNamespace) -> None:
    """core #100: the stored suffix; none past the end; a wrong number never gets to the disk."""
    kit.put(desk.backend, kit.steps(0, 3))
    assert [event.seq for event in await desk.store.read_from("s", 1)] == [1, 2]
    assert await desk.store.read_from("s", 3) == await desk.store.read_from("s", 9) == ()
    reads = len(desk.backend.calls)
    for wrong in (-1, 1.5, True, "0", None):
        with pytest.raises(ConfigurationError):
            await desk.store.read_from("s", wrong)
    assert len(desk.backend.calls) == reads
    with pytest.raises(SessionError):
        await desk.store.read_from("none", 0)


async def test_listing(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.1: what is stored is listed; a parent's children are asked for, not sorted out."""
    kit.put(desk.backend, kit.steps(0, 1), "a")
    desk.backend.shelf["b"] = kit.Record(header("b", parent_session="a"), [], 1, None)
    assert [found.id for found in await desk.store.list()] == ["a", "b"]
    assert [found.header.id for found in await desk.store.list_snapshots(parent="a")] == ["b"]


# Figures.


async def test_the_figures(desk: Any, kit: SimpleNamespace) -> None:
    """DESIGN 8: a store counts its sessions, what waits, and what was written and what failed."""
    (first, _), (second, log) = await desk.live("a", 2), await desk.live("b", 3)
    figures = desk.store.statistics()
    assert (figures.sessions, figures.queued, figures.waiting) == (2, 2, 5)
    desk.backend.refuse["b"] = kit.unavailable()
    await desk.wait(0.2)
    figures = desk.store.statistics()
    assert (figures.writes, figures.events, figures.failures, figures.failing) == (1, 2, 1, 1)
    assert (figures.queued, figures.waiting, figures.draining) == (0, 3, 0)
    with pytest.raises(SessionError):
        await second.release()
    assert desk.store.statistics().draining == 1
    desk.backend.refuse.clear()
    await desk.store.close()
    figures = desk.store.statistics()
    assert dataclasses.astuple(figures) == (0,) * 8
    assert (len(log), first.stored_seq) == (3, 2)


@pytest.mark.parametrize(
    "options",
    [
        {"durability": "sometimes"},
        {"window": -1},
        {"window": float("nan")},
        {"window": "1"},
        {"lease_timeout": 0},
        {"lease_timeout": float("inf")},
        {"lease_timeout": None},
    ],
    ids=repr,
)
def test_wrong_arguments(kit: SimpleNamespace, options: dict[str, Any]) -> None:
    """DESIGN 8: a wrong argument is refused by its name."""
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        DiskStore(kit.Backend(), **options)


async def test_how_it_looks(desk: Any) -> None:
    """DESIGN 8: a store says where it is and whether it is open; a writer, how far it is."""
    assert repr(desk.store) == "<DiskStore 'the shelf', open>"
    writer, _ = await desk.live("s", 2)
    assert repr(writer) == "<writer of 's', 0 stored, 2 waiting>"
    assert writer.durability == desk.store.durability == "accepted"
    assert desk.store.place == "the shelf"
    await desk.store.close()
    assert repr(desk.store) == "<DiskStore 'the shelf', closed>"
