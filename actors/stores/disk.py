"""What all stores on disk are: live sessions, written behind, over a `Backend`.

Everything here runs on the loop of the store's host; the backend's functions run in two
lanes of its executor, one for what writes and one for what reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
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
    live,
    not_found,
    open_turn,
    recorded,
)
from .roster import Roster
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
        self._roster: Roster | None = None
        self._closing: asyncio.Future[None] | None = None

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
        return figures_of(self._roster)

    # Opening and closing.

    async def __aenter__(self) -> Self:
        host = OwnHost()
        await self.open(host)
        self._own = host
        return self

    async def __aexit__(self, *_: object) -> None:
        own, self._own = self._own, None
        try:
            await self.close()
        finally:
            if own is not None:
                await own.close()

    async def open(self, host: StoreHost) -> None:
        """See `Store.open`."""
        await self._hosted.open(host)
        journal = Journal(
            self._backend,
            host,
            self._hosted.lane,
            durability=self._durability,
            window=self._window,
        )
        self._roster = Roster(journal, host, self._backend.place)

    async def close(self) -> None:
        """See `Store.close`; also when it is cancelled, everything is let go, in seconds."""
        if self._closing is not None:
            await asyncio.wait((self._closing,))
            return
        roster = self._roster
        if roster is None:
            return
        closing = self._closing = asyncio.get_running_loop().create_future()
        try:
            await self._close(roster)
        finally:
            self._closing = None
            closing.set_result(None)

    async def _close(self, roster: Roster) -> None:
        failures: list[Exception] = []
        hasty = True
        try:
            failures += await roster.close()
            hasty = False
        finally:
            self._roster = None
            try:
                await roster.abandon()
                await self._hosted.close(hasty=hasty)
            except SessionError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    # Taking the right to write.

    async def create(
        self, header: SessionHeader, *, fresh: bool = False, projected: bool = False
    ) -> Lease:
        """See `Store.create`."""
        sessions = self._sessions
        writer = await sessions.reserve(header.id, exists)
        try:
            if not fresh:
                await self._read(self._backend.check_new, header.id, self._hosted.now())
                sessions.check()
        except BaseException:
            sessions.forget(writer)
            raise
        self._hosted.keep_alive(sessions.__bool__)
        return writer.begin(header, projected=projected)

    async def prepare(self, session_id: str) -> StoredLog:
        """See `Store.prepare`."""
        await self._sessions.check_idle(session_id, here)
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
        """See `Store.lease`; cancelling it gives back what was taken."""
        take = partial(self._backend.lease, after=after, events=tuple(events), takeover=takeover)
        sessions = self._sessions
        writer = await sessions.reserve(session_id, here)
        try:
            header = (after or (await self._image(session_id)).log).header
            taking = sessions.run(self._take(writer, header, take), "store lease")
        except BaseException:
            sessions.forget(writer)
            raise
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            writer.unclaimed = taking
            taking.add_done_callback(partial(_give_back, writer))
            raise

    async def _take(
        self, writer: DiskWriter, header: SessionHeader, take: Callable[[str, float], Lease]
    ) -> Lease:
        sessions = self._roster
        assert sessions is not None
        try:
            lease = await self._hosted.write(take, writer.id, self._hosted.now())
        except BaseException:
            sessions.forget(writer)
            raise
        writer.hold(header, lease)
        self._hosted.keep_alive(sessions.__bool__)
        return lease

    def release(self, lease: Lease) -> None:
        """See `Store.release`."""
        writer = None if self._roster is None else self._roster.get(lease.session_id)
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
        writer = self._held(lease)
        if writer.attached or writer.log is not None:
            raise here(header.id)
        if header.id != lease.session_id or len(log) < writer.stored:
            raise exists(header.id)
        writer.attach(header, log)
        return writer

    def _held(self, lease: Lease) -> DiskWriter:
        writer = self._sessions.get(lease.session_id)
        if writer is None or writer.lease is not lease or writer.releasing:
            raise given_back(lease)
        return writer

    # Reading and writing without a live session.

    def append(self, lease: Lease, events: Sequence[Event]) -> Coroutine[Any, Any, None]:
        """See `Store.append`; the events are those of the moment of the call.

        Cancelling it ends the wait only.
        """
        return self._append(lease, tuple(events))

    async def _append(self, lease: Lease, batch: tuple[Event, ...]) -> None:
        sessions, writer = self._sessions, self._held(lease)
        if writer.attached:
            raise live(lease.session_id)
        await asyncio.shield(sessions.run(writer.append(batch), "store append"))

    async def load(self, session_id: str) -> StoredLog:
        """See `Store.load`."""
        sessions = self._sessions
        async with sessions.turn(session_id):
            writer = await sessions.live(session_id)
            if writer is None:
                return await self._load(session_id, sessions)
            await writer.flush()
            shown = await self._shown(writer)
            if ends_in_open_turn(shown.events):
                raise open_turn(session_id)
            return shown

    async def _load(self, session_id: str, sessions: Roster) -> StoredLog:
        image = await self._image(session_id)
        missing = () if image.log.projected else closers(image.log.events)
        if not missing and (image.log.cut is None or image.standing == "alive"):
            return image.log
        if image.standing == "alive":
            raise elsewhere(session_id)
        self.release(await self.lease(session_id, after=image.log, events=missing))
        await sessions.live(session_id)
        return (await self._image(session_id)).log

    async def inspect(self, session_id: str) -> StoredLog:
        """See `Store.inspect`."""
        writer = await self._sessions.live(session_id)
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
        """See `Store.flush`; one that is closed has nothing to store."""
        if self._roster is not None:
            await self._roster.flush()
        return True

    # What the others need.

    @property
    def _sessions(self) -> Roster:
        if self._roster is None:
            raise closed_error(self._backend.place)
        self._roster.check()
        return self._roster

    async def _shown(self, writer: DiskWriter) -> StoredLog:
        """A live session as it is now; `revision` and `stored` are of one moment."""
        revision, stored = "", 0
        if not writer.new:
            image = await self._image(writer.id)
            revision, stored = image.log.revision, image.log.stored
        assert writer.header is not None
        log = tuple(writer.log or ())
        if not log:
            raise not_found(writer.id)
        return StoredLog(writer.header, log, revision, min(stored, len(log)))

    async def _image(self, session_id: str) -> Image:
        return await self._read(self._backend.read, session_id, self._hosted.now())

    async def _read(self, fn: Callable[..., T], *args: Any) -> T:
        self._sessions.check()
        return await self._hosted.read(fn, *args)


def _give_back(writer: DiskWriter, taking: asyncio.Future[Lease]) -> None:
    """Nobody waits any more for a lease that may have been taken."""
    if not taking.cancelled() and taking.exception() is None:
        writer.release()
