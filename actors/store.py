"""What a store of sessions does: the seam between a log and what keeps it.

A session that goes live is attached: its store gets the live log and, if it
wants, every event right after its commit. The producer never waits; `Writer.flush`
is the barrier. One process writes a session at a time: the lease carries a
fencing number, and a writer whose number is outdated is refused.

Source: DESIGN section 3, spec core 5.1, 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..messages.event import Event
from ..messages.header import SessionHeader


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write one stored session.

    Attributes:
        session_id: Whose log.
        fence: Grows with every holder; a store refuses all but the newest.
        next_seq: How many events were stored when the lease was taken.
    """

    session_id: str
    fence: int
    next_seq: int


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A stored session as it was read.

    Attributes:
        header: As stored.
        events: The whole log, contiguous from 0; shared frozen events.
        revision: Opaque; stays while the log is unchanged, differs after a change
            and between stores.
    """

    header: SessionHeader
    events: Sequence[Event]
    revision: str


class Writer(Protocol):
    """Writes one live session. Made by `Store.attach`, used on the loop."""

    @property
    def sink(self) -> Callable[[Event], None] | None:
        """Called with every event after its commit; must neither block nor raise.

        None when the store reads the live log by itself.
        """
        ...

    @property
    def stored_seq(self) -> int:
        """Events with a smaller sequence number are stored."""
        ...

    async def flush(self) -> bool:
        """Wait until every event committed so far is stored.

        Returns:
            Whether the store confirms it.

        Raises:
            SessionLeasedError: If another holder has taken the lease over.
            SessionError: If writing failed; the events stay queued, in order.
        """
        ...

    def release(self) -> None:
        """Give the lease back once what is queued is written; idempotent, never blocks.

        A writer whose lease was taken over changes nothing.
        """
        ...


class Store(Protocol):
    """Keeps sessions. Used on the loop; what blocks runs elsewhere."""

    async def create(self, header: SessionHeader) -> Lease:
        """Record the intent to write a new session; the log appears with its first event.

        Raises:
            SessionError: ``SESSION_ALREADY_EXISTS`` if the id is taken or stored.
        """
        ...

    async def lease(self, session_id: str, *, takeover: bool = False) -> Lease:
        """Take the right to write a stored session.

        Args:
            session_id: Whose.
            takeover: Take it from a holder that is known to be dead.

        Raises:
            SessionError: ``SESSION_NOT_FOUND``.
            SessionLeasedError: If it has a holder and `takeover` is False.
        """
        ...

    def release(self, lease: Lease) -> None:
        """Give back a lease that no writer was attached with; stale ones change nothing."""
        ...

    def attach(self, header: SessionHeader, log: list[Event], lease: Lease | None = None) -> Writer:
        """Start writing for a session that goes live.

        Args:
            header: The session's.
            log: The live log, to be read only; what is stored already is its beginning.
            lease: From `create` or `lease`. None takes one now; a stored session is
                then adopted if `log` begins with exactly what is stored.

        Raises:
            SessionLeasedError: If another holder has the lease.
            SessionError: ``SESSION_ALREADY_EXISTS`` if a different log is stored under the id.
        """
        ...

    async def append(self, lease: Lease, events: Sequence[Event]) -> None:
        """Store events of a session that is not live; resolves when they are durable.

        An empty batch does nothing.

        Raises:
            SessionError: ``SEQ_MISMATCH`` if the batch does not continue the log
                without a gap; nothing of it is stored.
            SessionLeasedError: If the lease is outdated.
        """
        ...

    async def load(self, session_id: str) -> StoredLog:
        """The log of a session, to be resumed from; a live one only between its turns.

        Raises:
            SessionError: ``SESSION_NOT_FOUND``, or ``OPEN_TURN`` for a live one.
            SessionFormatUnsupportedError: If it is intact but not understood.
            SessionCorruptError: If it is damaged.
        """
        ...

    async def inspect(self, session_id: str) -> StoredLog:
        """The same for looking at it: an open turn is fine, nothing is written.

        Raises:
            SessionError: ``SESSION_NOT_FOUND``.
        """
        ...

    async def read_from(self, session_id: str, from_seq: int) -> tuple[Event, ...]:
        """The stored events from `from_seq` on; empty past the end.

        Raises:
            ConfigurationError: If `from_seq` is no integer from 0 on.
            SessionError: ``SESSION_NOT_FOUND``.
        """
        ...

    async def list(self) -> tuple[SessionHeader, ...]:
        """The headers of all stored sessions, in the order of their creation."""
        ...

    async def flush(self) -> bool:
        """Wait until everything of every session is stored; False if that is not confirmed."""
        ...

    async def close(self) -> None:
        """Store what is queued and take nothing more; idempotent."""
        ...
