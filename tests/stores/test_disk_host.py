"""A store on disk and what it runs on: threads, signs of life, opening and closing."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.executor import ThreadExecutor
from broodline.actors.store import Lease
from broodline.actors.stores.disk import DiskStore
from broodline.messages.errors import ConfigurationError, SessionError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader


def header(session_id: str = "s") -> SessionHeader:
    return SessionHeader(session_id, 1)


def running(name: str = "store leases") -> int:
    """Tasks of this name: those that give signs of life."""
    return [task.get_name() for task in asyncio.all_tasks()].count(name)


# Threads.


@pytest.mark.parametrize(("grouped", "threads"), [(True, 1), (False, 4)])
async def test_two_lanes(kit: SimpleNamespace, grouped: bool, threads: int) -> None:
    """DESIGN 3: one thread writes, or four where sessions are written apart; one reads."""
    desk = kit.Desk(kit.Backend(grouped=grouped))
    await desk.store.open(desk.host)
    assert desk.executor.lanes == [("store-writer", threads), ("store-reader", 1)]
    await desk.store.close()


async def test_what_runs_where(kit: SimpleNamespace) -> None:
    """DESIGN 2: nothing of a backend runs on the loop: one thread writes, another reads."""
    backend = kit.Backend()
    host = kit.Host()
    store = DiskStore(backend)
    await store.open(host)
    writer = store.attach(header(), kit.steps(0, 1), await store.create(header()))
    await writer.flush()
    await store.list_snapshots()
    await store.read_from("s", 0)
    rest = writer.release()
    assert rest is not None
    await rest
    await store.load("s")
    await store.lease("s")
    await store.close()
    assert backend.threads == {
        f"{name} in store-store-{lane}-worker-0"
        for lane, names in {
            "writer": ("open", "write", "lease", "close"),
            "reader": ("check_new", "read", "read_from", "snapshots"),
        }.items()
        for name in names
    }
    await host.close()


async def test_sessions_side_by_side(kit: SimpleNamespace) -> None:
    """core 5.2: where a write of many is none of one, four sessions are written at once."""
    backend = kit.Backend(grouped=False)
    host = kit.Host()
    store = DiskStore(backend)
    await store.open(host)
    logs = {name: kit.steps(0, 2) for name in ("first", *"abcd")}
    writers = [
        store.attach(header(name), log, await store.create(header(name), fresh=True))
        for name, log in logs.items()
    ]
    meeting = threading.Barrier(4)
    write = backend.write

    def together(portions: Any, now: float) -> Any:
        assert len(portions) == 1
        if portions[0].header.id != "first":
            meeting.wait(30)
        return write(portions, now)

    backend.write = together
    assert all(await asyncio.gather(*(writer.flush() for writer in writers)))
    assert [len(write) for write in backend.writes] == [1] * 5
    await store.close()
    await host.close()


async def test_a_session_is_in_one_write_at_a_time(kit: SimpleNamespace) -> None:
    """core 5.2: also where four write at once, each session's events are stored in order."""
    backend = kit.Backend(grouped=False)
    host = kit.Host()
    store = DiskStore(backend)
    await store.open(host)
    lives = []
    for number in range(10):
        log: list[Any] = []
        lease = await store.create(header(str(number)), fresh=True)
        lives.append((store.attach(header(str(number)), log, lease), log))
    for round_ in range(20):
        for writer, log in lives:
            event = kit.steps(round_, round_ + 1)[0]
            log.append(event)
            writer.sink(event)
        await asyncio.gather(*(writer.flush() for writer, _ in lives[round_ % 3 :]))
    await store.close()
    for record in backend.shelf.values():
        assert [event.seq for event in record.events] == list(range(20))
    await host.close()


async def test_a_write_under_way_is_not_overtaken(kit: SimpleNamespace) -> None:
    """core 5.2: the next write begins when all portions of the one before it have ended."""
    desk = kit.Desk(kit.Backend(grouped=False))
    await desk.store.open(desk.host)
    (quick, _), (slow, log) = await desk.live("quick", 1), await desk.live("slow", 1)
    (first, _) = await desk.live("first", 1)
    desk.executor.shut()
    flushes = [asyncio.ensure_future(writer.flush()) for writer in (first, quick, slow)]
    await desk.wait(0)
    await desk.executor.pass_one()
    assert desk.executor.queued == 2
    desk.say(slow, log)
    await desk.wait(0.2)
    await desk.executor.pass_one()
    assert desk.executor.queued == 1, "the session that is being written still is"
    await desk.executor.open()
    assert all(await asyncio.gather(*flushes))
    assert desk.stored("slow") == [0, 1]
    await desk.store.close()
    await desk.host.close()


async def test_an_executor_without_lanes(kit: SimpleNamespace) -> None:
    """Contract: an executor that gives no lanes is used itself, and not closed."""

    class Plain(ThreadExecutor):
        lane = None  # type: ignore[assignment] # taken away
        start = None  # type: ignore[assignment] # as above

    executor = Plain(1)
    host = kit.Host(executor=executor)
    store = DiskStore(kit.Backend())
    await store.open(host)
    writer = store.attach(header(), kit.steps(0, 1), await store.create(header()))
    assert await writer.flush()
    await store.close()
    assert await executor.run(int) == 0
    await host.close()


# Hosts.


async def test_one_host_at_a_time(desk: Any, kit: SimpleNamespace) -> None:
    """store.open: a store that is open is refused to a second host, and goes on."""
    with pytest.raises(ConfigurationError, match="in use"):
        await desk.store.open(kit.Host())
    writer, _ = await desk.live("s", 1)
    assert await writer.flush()


async def test_a_host_of_its_own(kit: SimpleNamespace) -> None:
    """Contract: `async with` opens a store on the running loop, and leaves no thread or task."""
    before = threading.active_count()
    backend = kit.Backend()
    async with DiskStore(backend) as store:
        with pytest.raises(ConfigurationError):
            async with store:
                raise AssertionError
        writer = store.attach(header(), kit.steps(0, 1), await store.create(header()))
        assert await writer.flush()
    assert threading.active_count() == before
    assert backend.shelf["s"].holder is None
    backend.down = kit.unavailable()
    with pytest.raises(SessionError, match="disk full"):
        async with store:
            raise AssertionError
    assert threading.active_count() == before


async def test_a_place_that_cannot_be_opened(desk: Any, kit: SimpleNamespace) -> None:
    """store.open: a store that could not be opened is closed, and may be opened later."""
    await desk.store.close()
    desk.backend.down = ConfigurationError("no such folder")
    with pytest.raises(ConfigurationError, match="no such folder"):
        await desk.store.open(desk.host)
    with pytest.raises(SessionError) as caught:
        await desk.store.list()
    assert caught.value.code == "STORE_CLOSED"
    desk.backend.down = None
    await desk.store.open(desk.host)
    assert await desk.store.list() == ()


async def test_opening_is_called_off(desk: Any, kit: SimpleNamespace) -> None:
    """DESIGN 8: a backend that is open by the time its opening is called off is closed again."""
    await desk.store.close()
    desk.backend.calls.clear()
    desk.executor.shut()
    opening = asyncio.ensure_future(desk.store.open(desk.host))
    await kit.settle()
    opening.cancel()
    await kit.settle()
    await desk.executor.open()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert desk.backend.calls == ["open", "close"]
    await desk.store.open(desk.host)


async def test_every_opening_is_a_holder(kit: SimpleNamespace) -> None:
    """DESIGN 3: no two holders are the same, also under a seed that gives the same ids twice."""
    backends = [kit.Backend() for _ in range(3)]
    for backend in (*backends, *backends):
        async with DiskStore(backend, lease_timeout=7.0):
            assert backend.holders[-1].timeout == 7.0
    holders = [holder.id for backend in backends for holder in backend.holders]
    assert len(set(holders)) == len(holders) == 6


# Signs of life.


async def test_signs_of_life(desk: Any) -> None:
    """DESIGN 3: a holder signs every third of its time-out, once for all its sessions."""
    for name in "abc":
        await desk.live(name, 1)
    await desk.store.flush()
    for _ in range(4):
        await desk.wait(9.9)
        await desk.wait(0.1)
    assert desk.backend.calls.count("renew") == 4
    assert desk.backend.holders[-1].until == desk.clock.monotonic() + 30
    assert running() == 1


async def test_nobody_signs_without_a_lease(desk: Any) -> None:
    """DESIGN 3: a store signs only while it has a lease, and begins again with the next."""
    await desk.wait(60)
    assert running() == 0
    writer, _ = await desk.live("s", 1)
    await writer.release()
    await desk.wait(10)
    assert running() == 0
    assert desk.backend.calls.count("renew") == 0
    await desk.store.lease("s")
    await desk.wait(10)
    assert desk.backend.calls.count("renew") == 1


async def test_a_session_that_is_appended_to_is_held(desk: Any, kit: SimpleNamespace) -> None:
    """DESIGN 3: a long import keeps its lease, though nothing is live."""
    lease = await desk.store.create(header())
    await desk.store.append(lease, kit.steps(0, 1))
    await desk.wait(10)
    assert desk.backend.calls.count("renew") == 1


async def test_a_sign_of_life_that_fails(
    desk: Any, kit: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 3: a holder that cannot sign says so once, and goes on trying."""
    writer, _ = await desk.live("s", 1)
    await writer.flush()
    for error in (kit.unavailable(), OSError("gone"), RuntimeError("odd")):
        desk.backend.down = error
        await desk.wait(10)
    assert len(caplog.records) == 1
    assert "disk full" in caplog.text
    desk.backend.down = None
    await desk.wait(10)
    assert desk.backend.holders[-1].until == desk.clock.monotonic() + 30
    desk.backend.down = kit.unavailable()
    await desk.wait(10)
    assert len(caplog.records) == 2


# Closing.


async def test_close_stores_everything(desk: Any, kit: SimpleNamespace) -> None:
    """core #117: everything is stored when close is done, leases are free, appends are refused."""
    lives = [await desk.live(name, 2) for name in "abc"]
    kit.put(desk.backend, [], "leased")
    lease = await desk.store.lease("leased")
    await desk.store.create(header("reserved"))
    assert running("store window") == 1
    await desk.store.close()
    assert running("store window") == running() == 0
    for name in "abc":
        assert desk.stored(name) == [0, 1]
    assert {record.holder for record in desk.backend.shelf.values()} == {None}
    assert "reserved" not in desk.backend.shelf
    assert desk.backend.calls[-1] == "close"
    with pytest.raises(SessionError) as caught:
        await desk.store.append(lease, [])
    assert caught.value.code == "STORE_CLOSED"
    desk.say(*lives[0])
    await desk.wait(1)
    assert desk.stored("a") == [0, 1]
    assert running() == 0


async def test_close_with_an_unreachable_disk(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.2: what cannot be stored is told when all else is let go; it can be reopened."""
    (writer, log), (other, _) = await desk.live("s", 2), await desk.live("good", 1)
    desk.backend.refuse["s"] = kit.unavailable()
    with pytest.raises(SessionError, match="disk full"):
        await desk.store.close()
    assert desk.stored("good") == [0]
    assert desk.backend.calls[-1] == "close"
    assert other.stored_seq == 1
    with pytest.raises(SessionError) as caught:
        await writer.flush()
    assert caught.value.code == "STORE_CLOSED"
    desk.say(writer, log)
    assert writer.release() is None
    desk.backend.refuse.clear()
    await desk.store.open(desk.host)
    await desk.wait(1)
    assert desk.stored() == []
    await desk.live("s", 1)


async def test_close_of_a_place_that_is_gone(desk: Any, kit: SimpleNamespace) -> None:
    """store.close: a backend that cannot be closed is told of, and let go all the same."""
    desk.backend.down = kit.unavailable("the device is gone")
    with pytest.raises(SessionError, match="device is gone"):
        await desk.store.close()
    await desk.store.close()
    desk.backend.down = None
    await desk.store.open(desk.host)


async def test_two_close_it(desk: Any, kit: SimpleNamespace) -> None:
    """store.close: who closes a store that is being closed waits until it is."""
    await desk.live("s", 1)
    desk.executor.shut()
    closings = [asyncio.ensure_future(desk.store.close()) for _ in range(2)]
    await kit.settle()
    assert not any(closing.done() for closing in closings)
    await desk.executor.open()
    await asyncio.gather(*closings)
    assert desk.backend.calls.count("close") == 1
    assert desk.stored() == [0]


async def test_a_lease_that_is_being_taken_while_it_closes(desk: Any, kit: SimpleNamespace) -> None:
    """DESIGN 3: close waits for a lease that is being taken, and gives it back."""
    kit.put(desk.backend, kit.steps(0, 1))
    known = await desk.store.prepare("s")
    desk.executor.shut()
    attempt = asyncio.ensure_future(desk.store.lease("s", after=known))
    await kit.settle()
    closing = asyncio.ensure_future(desk.store.close())
    await kit.settle()
    await desk.executor.open()
    await closing
    assert isinstance(await attempt, Lease)
    assert desk.backend.shelf["s"].holder is None
    assert desk.backend.calls[-2:] == ["write", "close"]
    assert running() == 0


async def test_a_batch_that_is_under_way_while_it_closes(desk: Any, kit: SimpleNamespace) -> None:
    """core #117: batches that were handed in before close are stored, in order."""
    lease = await desk.store.create(header())
    desk.executor.shut()
    appends = [
        asyncio.ensure_future(desk.store.append(lease, kit.steps(seq, seq + 1))) for seq in range(3)
    ]
    await kit.settle()
    closing = asyncio.ensure_future(desk.store.close())
    await kit.settle()
    await desk.executor.open()
    await closing
    await asyncio.gather(*appends)
    assert desk.stored() == [0, 1, 2]
    assert desk.backend.shelf["s"].holder is None


async def test_an_id_that_is_being_looked_for_while_it_closes(
    desk: Any, kit: SimpleNamespace
) -> None:
    """core #117: a create that has not ended when the store closes is refused."""
    desk.executor.shut()
    attempt = asyncio.ensure_future(desk.store.create(header()))
    await kit.settle()
    closing = asyncio.ensure_future(desk.store.close())
    await kit.settle()
    await desk.executor.open()
    await closing
    with pytest.raises(SessionError) as caught:
        await attempt
    assert caught.value.code == "STORE_CLOSED"
    await desk.store.open(desk.host)
    await desk.store.create(header())


async def test_what_comes_while_it_closes(desk: Any, kit: SimpleNamespace) -> None:
    """core #117: from the moment of the close nothing new begins, nor what waited for an id."""
    writer, _ = await desk.live("s", 1)
    desk.executor.shut()
    writer.release()
    waiting = asyncio.ensure_future(desk.store.create(header(), fresh=True))
    await kit.settle()
    closing = asyncio.ensure_future(desk.store.close())
    await kit.settle()
    with pytest.raises(SessionError) as caught:
        await desk.store.create(header("t"), fresh=True)
    assert caught.value.code == "STORE_CLOSED"
    await desk.executor.open()
    await closing
    with pytest.raises(SessionError) as caught:
        await waiting
    assert caught.value.code == "STORE_CLOSED"


async def test_a_close_that_is_called_off_and_fails(desk: Any, kit: SimpleNamespace) -> None:
    """DESIGN 8: who calls a close off gets no failure of it instead; it is closed all the same."""
    await desk.live("s", 1)
    desk.executor.shut()
    closing = asyncio.ensure_future(desk.store.close())
    await kit.settle()
    closing.cancel()
    await kit.settle()
    desk.backend.down = kit.unavailable()
    await desk.executor.open()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert "closed" in repr(desk.store)


async def test_a_close_of_the_backend_that_hangs(
    kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN 2: also when the backend hangs in its close, a close that is called off ends."""
    monkeypatch.setattr("broodline.actors.stores.hosted._HASTE", 0.01)
    monkeypatch.setattr("broodline.actors.stores.hosted._GRACE", 3600)
    backend = kit.Backend()
    host = kit.Host()
    store = DiskStore(backend)
    await store.open(host)
    gate = backend.gates["close"] = threading.Event()
    closing = asyncio.ensure_future(store.close())
    while "close" not in backend.calls:
        await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    gate.set()
    await host.close()


async def test_reads_that_meet_a_close(kit: SimpleNamespace) -> None:
    """core #117: a read that runs when the store closes is answered; those in line are refused."""
    backend = kit.Backend()
    kit.put(backend, kit.steps(0, 1))
    host = kit.Host()
    store = DiskStore(backend)
    await store.open(host)
    gate = backend.gates["read"] = threading.Event()
    backend.gates["close"] = gate  # closed under a reader, this would be seen
    reads = [asyncio.ensure_future(store.inspect("s")) for _ in range(3)]
    while backend.calls.count("read") == 0:
        await asyncio.sleep(0)
    closing = asyncio.ensure_future(store.close())
    await asyncio.gather(*reads[1:], return_exceptions=True)
    assert "close" not in backend.calls
    gate.set()
    await closing
    assert len((await reads[0]).events) == 1
    for read in reads[1:]:
        with pytest.raises(SessionError) as caught:
            await read
        assert caught.value.code == "STORE_CLOSED"
    await host.close()


async def test_a_close_that_hangs_is_called_off(
    kit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN 8: a close over a disk that hangs can be called off; all but the thread is let go."""
    monkeypatch.setattr("broodline.actors.stores.hosted._HASTE", 0.01)
    backend = kit.Backend()
    host = kit.Host()
    store = DiskStore(backend)
    await store.open(host)
    writer = store.attach(header(), kit.steps(0, 1), await store.create(header()))
    gate = backend.gates["write"] = threading.Event()
    flush = asyncio.ensure_future(writer.flush())
    closing = asyncio.ensure_future(store.close())
    while "write" not in backend.calls:
        await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    with pytest.raises(SessionError):
        await flush
    assert running() == 0
    assert "closed" in repr(store)
    with pytest.raises(SessionError) as caught:
        await writer.flush()
    assert caught.value.code == "STORE_CLOSED"
    names = await host.executor.close(0.01)
    assert names == ("store-store-writer-worker-0",)
    gate.set()
    await host.close()


def test_a_loop_that_goes_down(kit: SimpleNamespace) -> None:
    """DESIGN 8: who waits when a loop goes down is called off, and the store can be closed then."""
    backend = kit.Backend()
    ends: list[str] = []

    async def wait(store: DiskStore) -> None:
        writer = store.attach(header(), kit.steps(0, 1), await store.create(header()))
        backend.down = kit.unavailable()
        with pytest.raises(SessionError):
            await writer.flush()
        backend.down = None
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ends.append("called off")
            await store.close()
            ends.append("closed")

    async def main() -> None:
        store = DiskStore(backend)
        await store.open(kit.Host())
        task = asyncio.get_running_loop().create_task(wait(store))
        while "write" not in backend.calls:
            await asyncio.sleep(0)
        await kit.settle()
        tasks.append(task)

    tasks: list[asyncio.Task[None]] = []
    asyncio.run(main())
    assert ends == ["called off", "closed"]
    assert [event.seq for event in backend.shelf["s"].events] == [0]


# Everything at once.


@pytest.mark.parametrize("grouped", [True, False])
async def test_nothing_is_lost_in_the_crowd(kit: SimpleNamespace, grouped: bool) -> None:
    """core 5.2: sessions that come, write, fail, flush and go at the same time lose nothing."""
    backend = kit.Backend(grouped=grouped)
    host = kit.Host()
    store = DiskStore(backend, window=0.001)
    await store.open(host)
    flaky = backend.write
    count = 0

    def write(portions: Any, now: float) -> Any:
        nonlocal count
        count += 1
        if count % 5 == 0:
            raise kit.unavailable()
        return flaky(portions, now)

    backend.write = write

    async def life(number: int) -> None:
        name, log = str(number), list[Event]()
        lease = await store.create(header(name))
        for epoch in range(3):
            writer = store.attach(header(name), log, lease)
            for event in kit.steps(len(log), len(log) + 5):
                log.append(event)
                writer.sink(event)
                if event.seq % (number + 2) == 0:
                    await asyncio.gather(writer.flush(), return_exceptions=True)
            while (rest := writer.release()) is not None:
                await asyncio.gather(rest, return_exceptions=True)
            lease = await store.lease(name) if epoch < 2 else lease

    await asyncio.gather(*(life(number) for number in range(30)))
    await store.close()
    assert len(backend.shelf) == 30
    for record in backend.shelf.values():
        assert [event.seq for event in record.events] == list(range(15))
        assert record.holder is None
    await host.close()
