"""What all stores on disk are: live sessions, written behind, over a `Backend`.

Everything here runs on the loop of the store's host; the backend's functions run in two
lanes of its executor, one for what writes and one for what reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self, TypeVar

from ...messages.errors import ConfigurationError, SessionError
from ...messages.event import Event
from ...messages.header import SessionHeader
from ...messages.plain import quoted
from ..repair import closers
from ..seed import ends_in_open_turn
from ..store import Durability, Lease, Snapshot, StoredLog, StoreHost
from .backend import Backend, Image
from .figures import StoreStatistics, check_arguments, figures_of
from .hosted import Hosted
from .journal import Journal
from .mending import mended
from .own_host import OwnHost
from .refusal import (
    closed_error,
    elsewhere,
    exists,
    given_back,
    here,
    open_turn,
    recorded,
)
from .writer import DiskWriter

T = TypeVar("T")

WINDOW = 0.2
"""Seconds that an event may wait behind an idle queue."""

LEASE_TIMEOUT = 30.0
"""Seconds after which the leases of a holder that gave no sign of life are free."""


class DiskStore:
    """A store on disk; implements `Store`, which documents the methods.

    ``async with store:`` opens it on the running loop, for programs without a runtime.

    Args:
        backend: Where sessions lie.
        durability: What waits for the disk.
        window: Seconds that what does not wait may stay unwritten, from 0.
        lease_timeout: Seconds after which another process may take over from one that
            hangs; one that is known to be dead is replaced at once.

    Raises:
        ConfigurationError: For a wrong argument.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        durability: Durability = "accepted",
        window: float = WINDOW,
        lease_timeout: float = LEASE_TIMEOUT,
    ) -> None:
        check_arguments(durability, window, lease_timeout)
        self._backend = backend
        self._durability: Durability = durability
        self._window = window
        self._hosted = Hosted(backend, lease_timeout)
        self._own: OwnHost | None = None
        self._journal: Journal | None = None
        self._writers: dict[str, DiskWriter] = {}
        self._admitting = False

    def __repr__(self) -> str:
        state = "open" if self._hosted.host is not None else "closed"
        return f"<{type(self).__name__} {self._backend.place!r}, {state}>"

    @property
    def durability(self) -> Durability:
        """What waits for the disk."""
        return self._durability

    @property
    def place(self) -> str:
        """The path of its database or folder."""
        return self._backend.place

    def statistics(self) -> StoreStatistics:
        """What it counts, as of now."""
        return figures_of(list(self._writers.values()), self._journal)

    # Opening and closing.

    async def __aenter__(self) -> Self:
        host = self._own = OwnHost()
        try:
            await self.open(host)
        except BaseException:
            self._own = None
            await host.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.close()
        finally:
            own, self._own = self._own, None
            if own is not None:
                await own.close()

    async def open(self, host: StoreHost) -> None:
        """See `Store.open`."""
        await self._hosted.open(host)
        self._journal = Journal(
            self._backend,
            host,
            self._hosted.lane,
            durability=self._durability,
            window=self._window,
            forget=self._forget,
        )
        self._admitting = True

    async def close(self) -> None:
        """See `Store.close`."""
        self._admitting = False
        journal = self._journal
        if journal is None:
            return
        failures = await self._release_all()
        await journal.close()
        self._journal = None
        try:
            await self._hosted.close()
        except SessionError as error:
            failures.append(error)
        finally:
            self._writers = {}
        if failures:
            raise failures[0]

    async def _release_all(self) -> list[Exception]:
        waits: list[asyncio.Future[None]] = []
        for writer in tuple(self._writers.values()):
            if writer.header is None:  # reserved, and nobody came
                continue
            rest = writer.release()
            if rest is not None:
                waits.append(rest)
        if not waits:
            return []
        await asyncio.wait(waits)
        errors = [wait.exception() for wait in waits if not wait.cancelled()]
        return [error for error in errors if isinstance(error, Exception)]

    # Taking the right to write.

    async def create(
        self, header: SessionHeader, *, fresh: bool = False, projected: bool = False
    ) -> Lease:
        """See `Store.create`."""
        writer = await self._reserve(header.id, exists)
        try:
            if not fresh:
                await self._read(self._backend.check_new, header.id, self._hosted.now())
        except BaseException:
            self._forget(writer)
            raise
        writer.header, writer.new, writer.projected = header, True, projected
        writer.lease = Lease(header.id, 1, 0)
        return writer.lease

    async def prepare(self, session_id: str) -> StoredLog:
        """See `Store.prepare`."""
        await self._check_idle(session_id, here)
        image = await self._image(session_id)
        if image.standing == "alive":
            raise elsewhere(session_id)
        if image.log.projected:
            raise recorded(session_id)
        return mended(image.log)

    async def lease(
        self,
        session_id: str,
        *,
        after: StoredLog | None = None,
        events: Sequence[Event] = (),
        takeover: bool = False,
    ) -> Lease:
        """See `Store.lease`."""
        writer = await self._reserve(session_id, here)
        try:
            known = after or (await self._image(session_id)).log
            taking = asyncio.ensure_future(self._taken(session_id, after, tuple(events), takeover))
        except BaseException:
            self._forget(writer)
            raise
        try:
            lease = await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(partial(self._give_back, writer, known.header))
            raise
        except BaseException:
            self._forget(writer)
            raise
        self._hold(writer, lease, known.header)
        return lease

    async def _taken(
        self, session_id: str, after: StoredLog | None, events: Sequence[Event], takeover: bool
    ) -> Lease:
        now = self._hosted.now()
        take = partial(self._backend.lease, after=after, events=events, takeover=takeover)
        return await self._write(take, session_id, now)

    def _hold(self, writer: DiskWriter, lease: Lease, header: SessionHeader) -> None:
        writer.header, writer.lease, writer.stored = header, lease, lease.next_seq
        self._hosted.keep_alive(lambda: bool(self._writers))

    def _give_back(
        self, writer: DiskWriter, header: SessionHeader, taking: asyncio.Future[Lease]
    ) -> None:
        """Nobody waits any more for a lease that may have been taken."""
        if taking.cancelled() or taking.exception() is not None or self._journal is None:
            self._forget(writer)
            return
        self._hold(writer, taking.result(), header)
        writer.release()

    def release(self, lease: Lease) -> None:
        """See `Store.release`."""
        writer = self._writers.get(lease.session_id)
        if writer is not None and writer.lease is lease and not writer.attached:
            writer.release()

    def attach(
        self, header: SessionHeader, log: list[Event], lease: Lease | None = None
    ) -> DiskWriter:
        """See `Store.attach`; takes a lease only."""
        if lease is None:
            raise ConfigurationError(
                f"{self!r} needs the lease that create() or lease() gave for {header.id!r}"
            )
        writer = self._writers.get(header.id)
        if writer is None or writer.lease is not lease or writer.releasing:
            raise given_back(lease)
        if writer.attached or writer.log is not None:
            raise here(header.id)
        if len(log) < writer.stored:
            raise exists(header.id)
        writer.header, writer.log, writer.attached = header, log, True
        self._hold(writer, lease, header)
        if writer.waiting and self._journal is not None:
            self._journal.note(writer)
        return writer

    # Reading and writing without a live session.

    async def append(self, lease: Lease, events: Sequence[Event]) -> None:
        """See `Store.append`."""
        batch = list(events)
        writer = self._writers.get(lease.session_id)
        self._check_open()
        if writer is None or writer.lease is not lease or writer.releasing:
            raise given_back(lease)
        if writer.attached:
            raise SessionError(
                f"session {lease.session_id!r} is live; append through it", code="SESSION_LIVE"
            )
        await writer.append(batch)

    async def load(self, session_id: str) -> StoredLog:
        """See `Store.load`."""
        writer = await self._live(session_id)
        if writer is not None:
            assert writer.log is not None
            await writer.flush()
            if ends_in_open_turn(writer.log):
                raise open_turn(session_id)
            return await self._shown(writer)
        image = await self._image(session_id)
        missing = () if image.log.projected else closers(image.log.events)
        if not missing and (image.log.cut is None or image.standing == "alive"):
            return image.log
        if image.standing == "alive":
            raise elsewhere(session_id)
        lease = await self.lease(session_id, after=image.log, events=missing)
        held = self._writers[session_id]
        rest = held.release()
        if rest is not None:
            await asyncio.shield(rest)
        assert lease.next_seq == len(image.log.events) + len(missing)
        return (await self._image(session_id)).log

    async def inspect(self, session_id: str) -> StoredLog:
        """See `Store.inspect`."""
        writer = await self._live(session_id)
        if writer is not None:
            return await self._shown(writer)
        image = await self._image(session_id)
        return image.log if image.standing == "alive" else mended(image.log)

    async def read_from(self, session_id: str, from_seq: int) -> tuple[Event, ...]:
        """See `Store.read_from`."""
        if type(from_seq) is not int or from_seq < 0:
            raise ConfigurationError(
                f"from_seq must be an integer from 0 on, not {quoted(from_seq)}"
            )
        return tuple(await self._read(self._backend.read_from, session_id, from_seq))

    async def list(self) -> tuple[SessionHeader, ...]:
        """See `Store.list`."""
        return tuple(snapshot.header for snapshot in await self.list_snapshots())

    async def list_snapshots(self, *, parent: str | None = None) -> tuple[Snapshot, ...]:
        """See `Store.list_snapshots`."""
        return tuple(await self._read(self._backend.snapshots, self._hosted.now(), parent))

    async def flush(self) -> bool:
        """See `Store.flush`."""
        waits = [self._flushed(writer) for writer in tuple(self._writers.values())]
        outcomes = await asyncio.gather(*waits, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return True

    async def _flushed(self, writer: DiskWriter) -> None:
        if writer.releasing:
            rest = writer.release()
            if rest is not None:
                await asyncio.shield(rest)
        elif writer.attached:
            await writer.flush()

    # What the others need.

    async def _reserve(self, session_id: str, refusal: Callable[[str], SessionError]) -> DiskWriter:
        await self._check_idle(session_id, refusal)
        assert self._journal is not None
        writer = self._writers[session_id] = DiskWriter(self._journal, session_id)
        return writer

    async def _check_idle(self, session_id: str, refusal: Callable[[str], SessionError]) -> None:
        """Wait for what a session left that has gone; refuse one that is there."""
        self._check_open()
        writer = self._writers.get(session_id)
        if writer is not None and writer.releasing:
            await self._flushed(writer)
            self._check_open()
            writer = self._writers.get(session_id)
        if writer is not None:
            raise refusal(session_id)

    async def _live(self, session_id: str) -> DiskWriter | None:
        """The writer of a live session, or None; what one that has gone left is written."""
        self._check_open()
        writer = self._writers.get(session_id)
        if writer is not None and writer.releasing:
            await self._flushed(writer)
            writer = self._writers.get(session_id)
        return writer if writer is not None and writer.attached else None

    async def _shown(self, writer: DiskWriter) -> StoredLog:
        """A live session as it is now."""
        assert writer.log is not None
        assert writer.header is not None
        revision = "" if writer.new else (await self._image(writer.id)).log.revision
        log = tuple(writer.log or ())
        if not log:
            raise SessionError(f"no session {writer.id!r} is stored", code="SESSION_NOT_FOUND")
        return StoredLog(writer.header, log, revision, min(writer.stored, len(log)))

    async def _image(self, session_id: str) -> Image:
        return await self._read(self._backend.read, session_id, self._hosted.now())

    async def _read(self, fn: Callable[..., T], *args: Any) -> T:
        self._check_open()
        return await self._hosted.read(fn, *args)

    async def _write(self, fn: Callable[..., T], *args: Any) -> T:
        self._check_open()
        return await self._hosted.write(fn, *args)

    def _check_open(self) -> None:
        if not self._admitting:
            raise closed_error(self._backend.place)

    def _forget(self, writer: DiskWriter) -> None:
        if self._writers.get(writer.id) is writer:
            del self._writers[writer.id]
