"""One session that a store on disk is concerned with, and the writer of one that is live."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...messages.errors import SessionError, SessionLeasedError
from ...messages.event import Event
from ...messages.header import SessionHeader
from ..store import Durability, Lease
from .backend import Portion
from .refusal import check_following, given_back, unwanted

if TYPE_CHECKING:
    from .journal import Journal

_FINAL = ("SESSION_ALREADY_EXISTS", "SEQ_MISMATCH")
"""Refusals that no later write can change."""


class DiskWriter:
    """What a store knows of one session while somebody has its lease here. Loop only.

    It keeps the live log, not a copy, and how much of it is stored; so an event costs
    nothing but the look whether the journal knows that something waits.

    Attributes:
        header: The session's; None until it is attached.
        lease: None until it is taken.
        attached: Whether a live session writes through it.
        log: The live log, or a batch to be stored; else None.
        base: Number of the first event in `log`.
        stored: How many events are stored.
        new: Nothing is stored yet, not even the session itself.
        projected: It is a recording in the projected form.
        releasing: The lease is to be given back with the next write.
        noted: The journal knows that something waits.
        busy: A write of it is under way.
        waiters: What flushes and releases wait for, each for its own.
        lost: Why nothing can be written any more, or None.
        discarded: Nobody wanted the session: nothing of it need be stored.
        gone: The store knows it no more.
        unclaimed: The taking of a lease that nobody waits for any more; it goes back then.
        order: Keeps batches apart that are appended without a live session.
        forget: Called with it when it has nothing left to do.
    """

    __slots__ = (
        "_failure",
        "_journal",
        "attached",
        "base",
        "busy",
        "discarded",
        "forget",
        "gone",
        "header",
        "id",
        "lease",
        "log",
        "lost",
        "new",
        "noted",
        "order",
        "projected",
        "releasing",
        "stored",
        "unclaimed",
        "waiters",
    )

    def __init__(
        self, journal: Journal, session_id: str, forget: Callable[[DiskWriter], None]
    ) -> None:
        self._journal = journal
        self.id = session_id
        self.forget = forget
        self.header: SessionHeader | None = None
        self.lease: Lease | None = None
        self.log: Sequence[Event] | None = None
        self.base = self.stored = 0
        self.attached = self.gone = self.discarded = False
        self.order: asyncio.Lock | None = None
        self.new = self.projected = self.releasing = self.noted = self.busy = False
        self.waiters: list[asyncio.Future[None]] = []
        self.lost: Exception | None = None
        self.unclaimed: asyncio.Future[Lease] | None = None
        self._failure: Exception | None = None

    def __repr__(self) -> str:
        return f"<writer of {self.id!r}, {self.stored} stored, {self.waiting} waiting>"

    # What a session sees.

    @property
    def durability(self) -> Durability:
        """What of this session waits for the disk."""
        return self._journal.durability

    def sink(self, _event: Event) -> None:
        """Note that something waits."""
        if not self.noted:
            self._journal.note(self)

    @property
    def stored_seq(self) -> int:
        """Events with a smaller sequence number are stored."""
        return self.stored

    @property
    def failure(self) -> Exception | None:
        """Why the last write failed; None again once one has succeeded."""
        return self._failure

    async def flush(self) -> bool:
        """See `Writer.flush`."""
        if self.lost is not None:
            raise self.lost.with_traceback(None)  # or it would grow with every flush
        if self.new and self.discarded:
            raise unwanted(self.id)
        if self.gone:
            raise _left(self.id)
        if self._failure is None and not self.waiting:
            return True
        await self._journal.flush(self)
        return True

    def release(self, *, discard: bool = False) -> asyncio.Future[None] | None:
        """See `Writer.release`; one future for each who asks."""
        return None if self.gone else self._journal.release(self, discard=discard)

    async def append(self, batch: Sequence[Event]) -> None:
        """Store a batch without a live session; see `Store.append`.

        It runs to its end, whoever waits for it: a write cannot be called back, and what
        comes next must know how much is stored.
        """
        if self.order is None:
            self.order = asyncio.Lock()
        async with self.order:
            if self.releasing or self.gone:
                assert self.lease is not None
                raise self.lost or given_back(self.lease)
            check_following(self.id, self.stored, batch)
            if not batch:
                return
            self.base, self.log = self.stored, batch
            try:
                await self.flush()
            finally:
                # A batch that was refused leaves nothing behind.
                self.log, self._failure = None, self.lost

    # What the store does with it.

    def begin(self, header: SessionHeader, *, projected: bool) -> Lease:
        """Make it the writer of a new session."""
        self.header, self.new, self.projected = header, True, projected
        self.lease = Lease(header.id, 1, 0)
        return self.lease

    def hold(self, header: SessionHeader, lease: Lease) -> None:
        """Make it the writer of a stored session."""
        self.header, self.lease, self.stored = header, lease, lease.next_seq

    def attach(self, header: SessionHeader, log: list[Event]) -> None:
        """Begin to write a live log."""
        self.header, self.base, self.log, self.attached = header, 0, log, True
        if self.waiting:
            self._journal.note(self)

    # What the journal sees.

    @property
    def waiting(self) -> int:
        """How many events are not stored."""
        return 0 if self.log is None else self.base + len(self.log) - self.stored

    @property
    def unsettled(self) -> bool:
        """Whether something of it is to be written, or could not be."""
        return bool(self.releasing or self.waiting or self._failure is not None)

    @property
    def needless(self) -> bool:
        """Whether it can go without a trace."""
        return self.new and not self.busy and (self.discarded or not self.waiting)

    def barrier(self) -> asyncio.Future[None]:
        """What is done when all of it is stored."""
        return self._journal.flush(self)

    def portion(self) -> Portion | None:
        """What is to be written now; None if that is nothing."""
        events: Sequence[Event] = () if self.log is None else self.log[self.stored - self.base :]
        nothing = not events and not self.releasing
        if nothing or self.needless or self.lost is not None:
            return None
        assert self.lease is not None
        assert self.header is not None
        return Portion(
            self.header,
            self.lease,
            self.stored,
            events,
            create=self.new,
            release=self.releasing,
            projected=self.projected,
        )

    def succeeded(self, portion: Portion) -> None:
        """Take in that a portion is stored."""
        self.stored += len(portion.events)
        self._failure = None
        if portion.events:
            self.new = False

    def failed(self, error: Exception) -> None:
        """Take in that a portion was refused, for now or for good."""
        self._failure = error
        final = isinstance(error, SessionError) and error.code in _FINAL
        if final or isinstance(error, SessionLeasedError):
            self.lost = error


def _left(session_id: str) -> SessionError:
    return SessionError(
        f"session {session_id!r} has left its store; resume it to go on", code="SESSION_NOT_LIVE"
    )
