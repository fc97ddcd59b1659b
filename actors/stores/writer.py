"""One session that a store on disk is concerned with, and the writer of one that is live."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...messages.errors import SessionError, SessionLeasedError
from ...messages.event import Event
from ...messages.header import SessionHeader
from ..store import Durability, Lease
from .backend import Portion
from .refusal import mismatch

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
        waiters: What flushes wait for, each for its own.
        farewell: What the release waits for, or None.
        lost: Why nothing can be written any more, or None.
        gone: The store knows it no more.
        order: Keeps batches apart that are appended without a live session.
    """

    __slots__ = (
        "_failure",
        "_journal",
        "attached",
        "base",
        "busy",
        "farewell",
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
        "waiters",
    )

    def __init__(self, journal: Journal, session_id: str) -> None:
        self._journal = journal
        self.id = session_id
        self.header: SessionHeader | None = None
        self.lease: Lease | None = None
        self.log: list[Event] | None = None
        self.base = self.stored = 0
        self.attached = self.gone = False
        self.order = asyncio.Lock()
        self.new = self.projected = self.releasing = self.noted = self.busy = False
        self.waiters: list[asyncio.Future[None]] = []
        self.farewell: asyncio.Future[None] | None = None
        self.lost: Exception | None = None
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
            raise self.lost
        if self.gone:
            raise SessionError(
                f"session {self.id!r} has left its store; resume it to go on",
                code="SESSION_NOT_LIVE",
            )
        if self._failure is None and not self.waiting and not self.busy:
            return True
        await self._journal.flush(self)
        return True

    def release(self, *, discard: bool = False) -> asyncio.Future[None] | None:
        """See `Writer.release`."""
        if self.gone:
            return None
        if self.farewell is not None and not self.farewell.done():
            return self.farewell
        return self._journal.release(self, discard=discard)

    async def append(self, batch: list[Event]) -> None:
        """Store a batch without a live session; see `Store.append`."""
        async with self.order:
            for seq, event in enumerate(batch, self.stored):
                if event.seq != seq:
                    raise mismatch(self.id, self.stored, event.seq, seq)
            if not batch:
                return
            self.base, self.log = self.stored, batch
            try:
                await self.flush()
            finally:
                self.log = None  # a batch that was refused leaves nothing behind

    # What the journal sees.

    @property
    def waiting(self) -> int:
        """How many events are not stored."""
        return 0 if self.log is None else self.base + len(self.log) - self.stored

    @property
    def draining(self) -> bool:
        """Whether its session has gone, and only what it left is still to be written."""
        return self.releasing

    def portion(self) -> Portion | None:
        """What is to be written now; None if that is nothing."""
        events: Sequence[Event] = () if self.log is None else self.log[self.stored - self.base :]
        if not events and (self.new or not self.releasing):
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
