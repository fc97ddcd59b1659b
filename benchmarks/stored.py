"""The rows of stores on disk: delegation, resume, appended events, small and large stores."""

from __future__ import annotations

import asyncio
import atexit
import tempfile
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

from broodline import Runtime
from broodline.actors.store import Durability, Lease, Writer
from broodline.actors.stores.backend import Portion
from broodline.actors.stores.holder import this_process
from broodline.actors.stores.sqlite import SqliteStore
from broodline.actors.stores.sqlite_backend import SqliteBackend
from broodline.messages.chunk import TextDelta
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import ChunkReceived
from measure import Row, Sample, Stopwatch, timed
from stage import InstantModel, PaddedModel, delegate

STEP = 5
"""Events between two checkpoints."""

LONG = 1_000
"""Events of each session of a store that is filled."""

NEWEST = 20


@contextmanager
def database() -> Generator[Path]:
    """A path for a database, in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="broodline-bench-") as folder:
        yield Path(folder, "bench.db")


# --- a runtime over a store


async def one_by_one(count: int) -> Sample:
    """Delegations one after the other; what is accepted waits for the disk."""
    with database() as path:
        async with Runtime(model=InstantModel(), store=SqliteStore(path)) as runtime:
            parent = await runtime.agents.create()
            for _ in range(50):
                await delegate(runtime, parent)
            with Stopwatch() as watch:
                for _ in range(count):
                    await delegate(runtime, parent)
    return watch.per(count)


async def at_once(count: int) -> Sample:
    """Delegations of one parent at the same time, which share their commits."""
    with database() as path:
        async with Runtime(model=InstantModel(), store=SqliteStore(path)) as runtime:
            parent = await runtime.agents.create()
            await delegate(runtime, parent)
            with Stopwatch() as watch:
                await asyncio.gather(*(delegate(runtime, parent) for _ in range(count)))
    return watch.per(count)


def resuming(length: int) -> Callable[[int], Sample]:
    """A row's run: stored sessions of so many events are resumed and disposed."""

    async def run(count: int) -> Sample:
        with database() as path:
            events = await recorded(path, length)
            ids = [f"session-{number}" for number in range(count + 10)]
            fill(path, (stored(SessionHeader(session_id, 1), events) for session_id in ids))
            async with Runtime(model=InstantModel(), store=SqliteStore(path)) as runtime:
                for session_id in ids[count:]:
                    await (await runtime.agents.resume(session_id)).dispose()
                with Stopwatch() as watch:
                    for session_id in ids[:count]:
                        await (await runtime.agents.resume(session_id)).dispose()
        return watch.per(count)

    return timed(run)


async def recorded(path: Path, length: int) -> Sequence[Event]:
    """A log of exactly so many events, made by an agent that had turns without tools."""
    model = PaddedModel()
    async with Runtime(model=model, store=SqliteStore(path)) as runtime:
        agent = await runtime.agents.create(id="recorded")
        log = agent.agent.session.events
        turn = 0
        while len(log) < length:
            left = length - len(log)
            model.padding = left - turn if turn and left < 2 * turn else 0
            before = len(log)
            await agent.followup("Go.")
            await agent.when_idle()
            log = agent.agent.session.events
            turn = turn or len(log) - before
        return tuple(log)


# --- writers


def appending(writers: int, durability: Durability) -> Callable[[int], Sample]:
    """A row's run: events through so many live writers, which wait as `durability` says."""

    async def run(count: int) -> Sample:
        each = max(STEP, count // writers)
        events = chunks(each)
        with database() as path:
            async with SqliteStore(path, durability=durability) as store:
                live = [await attached(store, f"session-{number}") for number in range(writers)]
                with Stopwatch() as watch:
                    await asyncio.gather(*(append(one, events, durability) for one in live))
        return watch.per(each * writers)

    return timed(run)


async def attached(store: SqliteStore, session_id: str) -> tuple[list[Event], Writer]:
    """A live log and its writer."""
    header, log = SessionHeader(session_id, 1), list[Event]()
    lease = await store.create(header, fresh=True)
    return log, store.attach(header, log, lease)


async def append(
    live: tuple[list[Event], Writer], events: Sequence[Event], durability: Durability
) -> None:
    """Append as a session does: every event, every step or only the end waits for the disk."""
    log, writer = live
    sink = writer.sink
    wait = {"accepted": 1, "checkpoint": STEP, "settled": len(events)}[durability]
    for event in events:
        log.append(event)
        if sink is not None:
            sink(event)
        if len(log) % wait == 0:
            await writer.flush()
    await writer.flush()


# --- small and large stores


def over(ask: Callable[[SqliteStore], Awaitable[Any]], times: int) -> Callable[[int], Sample]:
    """A row's run: ask a store of so many events the same thing again and again."""

    async def run(count: int) -> Sample:
        async with SqliteStore(filled(count)) as store:
            for _ in range(20):
                await ask(store)
            with Stopwatch() as watch:
                for _ in range(times):
                    await ask(store)
        return watch.per(times)

    return timed(run)


async def children(store: SqliteStore) -> None:
    """What is known of the children of a parent."""
    assert len(await store.list_snapshots(parent="session-0")) == 9


async def newest(store: SqliteStore) -> None:
    """The newest events of a session."""
    assert len(await store.read_from("session-3", LONG - NEWEST)) == NEWEST


async def opening(count: int) -> Sample:
    """A store opened and closed."""
    path = filled(count)
    with Stopwatch() as watch:
        for _ in range(20):
            async with SqliteStore(path):
                pass
    return watch.per(20)


@cache
def filled(count: int) -> Path:
    """A store of so many events in sessions of a thousand; nine are the first one's children."""
    folder = tempfile.TemporaryDirectory(prefix="broodline-bench-")
    atexit.register(folder.cleanup)
    path = Path(folder.name, "bench.db")
    events = chunks(LONG)
    fill(path, (stored(header, events) for header in headers(max(10, count // LONG))))
    return path


def headers(count: int) -> Iterator[SessionHeader]:
    """A parent, its nine children, and others."""
    for number in range(count):
        parent = "session-0" if 1 <= number <= 9 else None
        yield SessionHeader(f"session-{number}", 1, parent_session=parent)


def chunks(count: int) -> list[Event]:
    """Events as most are: a few words of an answer."""
    return [
        Event(seq, 1, ChunkReceived(1, 1, TextDelta(0, " so many words"))) for seq in range(count)
    ]


def stored(header: SessionHeader, events: Sequence[Event]) -> Portion:
    """A whole session, released as soon as it is written."""
    return Portion(header, Lease(header.id, 1, 0), 0, events, create=True, release=True)


def fill(path: Path, portions: Iterator[Portion]) -> None:
    """Write sessions in large commits."""
    backend = SqliteBackend(path)
    backend.open(this_process("bench", 30.0, monotonic()))
    while batch := list(islice(portions, 50)):
        assert backend.write(batch, monotonic()) == [None] * len(batch)
    backend.close()


def append_rows() -> Iterator[Row]:
    """Events a second at each durability, of one writer and of a hundred."""
    kinds: tuple[tuple[Durability, str, int], ...] = (
        ("accepted", "each waits", 20),
        ("checkpoint", f"each {STEP}th waits", 100),
        ("settled", "the last waits", 500),
    )
    for durability, what, share in kinds:
        for writers in (1, 100):
            whose = "1 writer" if writers == 1 else f"{writers} writers"
            yield Row(
                f"append-{durability}-{writers}",
                f"{{}} events, {whose}, {what}, each",
                "µs",
                appending(writers, durability),
                share * (50 if writers == 1 else 500),
                rate="events",
            )


def size_rows() -> Iterator[Row]:
    """The same question to a small and to a large store."""
    kinds = (
        ("children", "a parent's children, store of {} events", over(children, 2_000)),
        ("newest", f"newest {NEWEST} events, store of {{}}", over(newest, 2_000)),
        ("open", "open and close a store of {} events", timed(opening)),
    )
    for name, what, run in kinds:
        for count in (10_000, 1_000_000):
            against = None if count == 10_000 else f"{name}-10000"
            yield Row(f"{name}-{count}", what, "ms", run, count, against=against)


ROWS = (
    Row(
        "durable-delegation",
        "one-shot delegation over SQLite, each",
        "ms",
        timed(one_by_one),
        1_000,
        0.6,
    ),
    Row(
        "durable-delegation-1024",
        "{} of them at once, each",
        "ms",
        timed(at_once),
        1_024,
        0.6,
    ),
    Row("resume-18", "resume and dispose, 18 events, each", "ms", resuming(18), 200),
    Row("resume-1008", "resume and dispose, 1,008 events, each", "ms", resuming(1_008), 100),
    *append_rows(),
    *size_rows(),
)
