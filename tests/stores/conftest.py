"""What the tests of stores on disk share: a backend in memory, and an executor that holds back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from broodline.actors.executor import Done, Executor
from broodline.actors.store import Lease, Snapshot, StoredLog
from broodline.actors.stores.backend import Image, Portion
from broodline.actors.stores.disk import DiskStore
from broodline.actors.stores.holder import Holder
from broodline.actors.stores.writer import DiskWriter
from broodline.messages.errors import SessionError, SessionLeasedError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import StepEnd, StepStart, TurnEnd, TurnEndReason, TurnStart
from broodline.testing.stores.clock import ManualClock
from broodline.testing.stores.host import ManualHost

T = TypeVar("T")


@dataclass
class Record:
    """A session on the shelf."""

    header: SessionHeader
    events: list[Event]
    fence: int
    holder: str | None
    projected: bool = False


@dataclass
class ShelfBackend:
    """A `Backend` over a dictionary that several may share.

    Attributes:
        shelf: The sessions.
        grouped: As in `Backend`.
        writes: What every write was given.
        calls: The names of all calls, in order.
        down: Raised by every write, lease, sign of life and close.
        refuse: Answered for the portions of a session.
        gates: What a call of that name waits for, in its thread.
        alive: Holders elsewhere that are alive.
    """

    shelf: dict[str, Record] = field(default_factory=dict)
    grouped: bool = True
    place: str = "the shelf"
    writes: list[list[Portion]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    down: BaseException | None = None
    refuse: dict[str, Exception] = field(default_factory=dict)
    gates: dict[str, threading.Event] = field(default_factory=dict)
    alive: set[str] = field(default_factory=set)
    holders: list[Holder] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)

    def _called(self, name: str) -> None:
        self.calls.append(name)
        self.threads.add(f"{name} in {threading.current_thread().name}")
        gate = self.gates.get(name)
        if gate is not None:
            gate.wait()

    def _up(self) -> None:
        if self.down is not None:
            raise self.down

    def open(self, holder: Holder) -> None:
        self.holders.append(holder)
        self._called("open")
        self._up()

    def close(self) -> None:
        self._called("close")
        for record in self.shelf.values():
            if record.holder == self.holders[-1].id:
                record.holder = None
        self._up()

    def renew(self, holder: Holder) -> None:
        self._called("renew")
        self._up()
        self.holders.append(holder)

    def check_new(self, session_id: str, now: float) -> None:
        self._called("check_new")
        if session_id in self.shelf:
            raise SessionError("stored already", code="SESSION_ALREADY_EXISTS")

    def write(self, portions: Sequence[Portion], now: float) -> list[Exception | None]:
        self.writes.append(list(portions))
        self._called("write")
        self._up()
        return [self._put(portion) for portion in portions]

    def _put(self, portion: Portion) -> Exception | None:
        session_id = portion.header.id
        if session_id in self.refuse:
            return self.refuse[session_id]
        record = self.shelf.get(session_id)
        if portion.create:
            if record is not None:
                return SessionError("stored already", code="SESSION_ALREADY_EXISTS")
            record = Record(portion.header, [], 1, self.holders[-1].id, portion.projected)
            self.shelf[session_id] = record
        if record is None:
            return SessionLeasedError("it is gone", retryable=False)
        if (record.fence, record.holder) != (portion.lease.fence, self.holders[-1].id):
            return SessionLeasedError("somebody else has it", retryable=False)
        if len(record.events) != portion.first_seq:
            return SessionError("not the next", code="SEQ_MISMATCH")
        record.events += portion.events
        if portion.release:
            record.holder = None
        return None

    def lease(
        self,
        session_id: str,
        now: float,
        *,
        after: StoredLog | None,
        events: Sequence[Event],
        takeover: bool,
    ) -> Lease:
        self._called("lease")
        self._up()
        record = self._find(session_id)
        if record.holder in self.alive and not takeover:
            raise SessionLeasedError("live elsewhere")
        if after is not None and after.revision != _revision(record):
            raise SessionLeasedError("it has changed")
        record.events += events
        record.fence += 1
        record.holder = self.holders[-1].id
        return Lease(session_id, record.fence, len(record.events))

    def read(self, session_id: str, now: float) -> Image:
        self._called("read")
        record = self._find(session_id)
        events = tuple(record.events)
        log = StoredLog(record.header, events, _revision(record), len(events), record.projected)
        if record.holder is None:
            return Image(log, "free")
        mine = record.holder == self.holders[-1].id
        return Image(log, "mine" if mine else "alive" if record.holder in self.alive else "dead")

    def _find(self, session_id: str) -> Record:
        record = self.shelf.get(session_id)
        if record is None:
            raise SessionError("not stored", code="SESSION_NOT_FOUND")
        return record

    def read_from(self, session_id: str, from_seq: int) -> list[Event]:
        self._called("read_from")
        return self._find(session_id).events[from_seq:]

    def snapshots(self, now: float, parent: str | None) -> list[Snapshot]:
        self._called("snapshots")
        return [
            Snapshot(record.header, _revision(record), len(record.events), bool(record.holder))
            for record in self.shelf.values()
            if parent is None or record.header.parent_session == parent
        ]


def _revision(record: Record) -> str:
    return f"{record.fence}-{len(record.events)}"


class HeldExecutor:
    """Runs everything on the loop: at once, or, while it is shut, when it is let through."""

    def __init__(self) -> None:
        self.lanes: list[tuple[str, int]] = []
        self.begun = 0
        self._held: list[Callable[[], None]] | None = None

    @property
    def queued(self) -> int:
        return len(self._held or ())

    def shut(self) -> None:
        self._held = []

    async def pass_one(self) -> None:
        """Let the oldest through, and what waits for it."""
        assert self._held
        self._held.pop(0)()
        await settle()

    async def open(self) -> None:
        """Let all through, and what they wait for."""
        held, self._held = self._held or [], None
        for work in held:
            work()
        await settle()

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def done(result: T, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        self.start(done, fn, *args)
        return await future

    def start(self, done: Done, fn: Callable[..., object], *args: Any) -> None:
        self.begun += 1
        if self._held is not None:
            self._held.append(lambda: self._work(done, fn, *args))
        else:
            self._work(done, fn, *args)

    def _work(self, done: Done, fn: Callable[..., object], *args: Any) -> None:
        result, failure = None, None
        try:
            result = fn(*args)
        except BaseException as error:
            failure = error
        asyncio.get_running_loop().call_soon(done, result, failure)

    def lane(self, name: str, threads: int = 1) -> Executor:
        self.lanes.append((name, threads))
        return self

    async def close(self, timeout: float) -> tuple[str, ...]:
        return ()


async def settle(turns: int = 12) -> None:
    """Let the loop do what it can do without anybody's help."""
    for _ in range(turns):
        await asyncio.sleep(0)


class Desk:
    """A store over a shelf, open on a host whose clock and executor are moved by hand."""

    def __init__(self, backend: ShelfBackend, **options: Any) -> None:
        self.backend = backend
        self.clock = ManualClock()
        self.executor = HeldExecutor()
        self.host = ManualHost(self.clock, self.executor)
        self.store = DiskStore(backend, **options)

    async def live(self, session_id: str = "s", count: int = 0) -> tuple[DiskWriter, list[Event]]:
        """A new session that is live, with this many events."""
        log: list[Event] = []
        header = SessionHeader(session_id, 1)
        writer = self.store.attach(header, log, await self.store.create(header, fresh=True))
        self.say(writer, log, count)
        return writer, log

    def say(self, writer: DiskWriter, log: list[Event], count: int = 1) -> None:
        """Commit events, as a session does."""
        for event in steps(len(log), len(log) + count):
            log.append(event)
            writer.sink(event)

    def stored(self, session_id: str = "s") -> list[int]:
        """The numbers of the events on the shelf."""
        record = self.backend.shelf.get(session_id)
        return [] if record is None else [event.seq for event in record.events]

    def written(self) -> list[list[tuple[str, list[int]]]]:
        """Of every write, the sessions and the numbers of their events."""
        return [
            [(portion.header.id, [event.seq for event in portion.events]) for portion in write]
            for write in self.backend.writes
        ]

    async def wait(self, seconds: float) -> None:
        """Move the clock on, and let everything happen that is due."""
        self.clock.advance(seconds)
        await settle()


def steps(first: int, end: int) -> list[Event]:
    """Events of any kind, with these numbers."""
    return [Event(seq, 5, StepEnd(1, seq + 1)) for seq in range(first, end)]


def open_turn() -> list[Event]:
    """A log that ends inside a turn."""
    return [Event(0, 5, TurnStart(1)), Event(1, 5, StepStart(1, 1))]


def whole_turn() -> list[Event]:
    """A log that ends behind a turn."""
    return [Event(0, 5, TurnStart(1)), Event(1, 5, TurnEnd(1, TurnEndReason("completed")))]


def unavailable(text: str = "disk full") -> SessionError:
    """What a backend raises when the system refuses."""
    return SessionError(text, code="STORE_UNAVAILABLE", retryable=True)


def put(backend: ShelfBackend, events: list[Event], session_id: str = "s", **more: Any) -> Record:
    """Have a session on the shelf that nobody holds."""
    record = Record(SessionHeader(session_id, 1), list(events), 1, None, **more)
    backend.shelf[session_id] = record
    return record


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """An open store; its window is 0.2 s, its lease time-out 30 s."""
    desk = Desk(ShelfBackend())
    await desk.store.open(desk.host)
    yield desk
    desk.backend.down = None
    desk.backend.refuse.clear()
    await desk.executor.open()
    try:
        await desk.store.close()
    finally:
        await desk.host.close()


@pytest.fixture
def kit() -> SimpleNamespace:
    """The makers above, under one name, because test folders are no packages."""
    return SimpleNamespace(
        Backend=ShelfBackend,
        Desk=Desk,
        Executor=HeldExecutor,
        Host=ManualHost,
        Record=Record,
        open_turn=open_turn,
        put=put,
        settle=settle,
        steps=steps,
        unavailable=unavailable,
        whole_turn=whole_turn,
    )
