"""What a store of sessions does: the seam between a log and what keeps it.

A session that goes live is attached: its store gets the live log and, if it
wants, every event right after its commit. The producer never waits; `Writer.flush`
is the barrier. One process writes a session at a time: the lease carries a
fencing number, and a writer whose number is outdated is refused.

Source: DESIGN section 3, spec core 5.1, 5.2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from ..messages.event import Event
from ..messages.header import SessionHeader
from .clock import Clock
from .executor import Executor

Durability: TypeAlias = Literal["accepted", "checkpoint", "settled"]
"""What waits for the disk: ``accepted``, every delivery and every checkpoint (before a
step, a model request and a tool body); ``checkpoint``, those alone; ``settled``, only the
end of a session. What does not wait is written behind, a moment later."""


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
        stored: How many of `events` are stored; those behind them are a repair that was
            made in memory.
        projected: Whether it is a recording in the projected form, which is kept for
            reading and never written on.
        cut: What was left out at the end, for people: the incomplete last line of a
            file; None if nothing was.
    """

    header: SessionHeader
    events: Sequence[Event]
    revision: str
    stored: int
    projected: bool = False
    cut: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known of a stored session without reading its log.

    Attributes:
        header: As stored.
        revision: As in `StoredLog`.
        length: How many events are stored; None where that takes reading the log.
        live: Whether somebody holds its lease now.
        projected: As in `StoredLog`.
    """

    header: SessionHeader
    revision: str
    length: int | None = None
    live: bool = False
    projected: bool = False


class StoreHost(Protocol):
    """What a store runs on; a runtime is one."""

    clock: Clock
    executor: Executor

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str = ...) -> Any:
        """Run a task on the loop, ended at the latest with the host."""
        ...


class Writer(Protocol):
    """Writes one live session. Made by `Store.attach`, used on the loop."""

    @property
    def durability(self) -> Durability:
        """What of this session waits for the disk."""
        ...

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

    @property
    def failure(self) -> Exception | None:
        """Why the last write failed; None again once one has succeeded."""
        ...

    async def flush(self) -> bool:
        """Wait until every event committed so far is stored.

        Cancelling a caller ends its wait only.

        Returns:
            Whether the store confirms it.

        Raises:
            SessionLeasedError: If another holder has taken the lease over.
            SessionError: If writing failed; the events stay queued, in order.
        """
        ...

    def release(self, *, discard: bool = False) -> Awaitable[None] | None:
        """Write what is queued and give the lease back; idempotent, never blocks.

        A writer whose lease was taken over changes nothing.

        Args:
            discard: The session was never wanted: leave nothing of a new one, as far as
                nothing of it is stored yet.

        Returns:
            None when that is done already; else what to await for it, which raises as
            `flush` does. Events that could not be stored stay with the store, which
            writes them when it can.
        """
        ...


class Store(Protocol):
    """Keeps sessions. Used on the loop of its host; what blocks runs elsewhere."""

    @property
    def durability(self) -> Durability:
        """What waits for the disk."""
        ...

    async def open(self, host: StoreHost) -> None:
        """Make it usable on `host`, whose loop is running. A runtime calls it when entered.

        Raises:
            ConfigurationError: If its place cannot be used, or another host uses it.
            SessionFormatUnsupportedError: If its place was written by a newer version.
            SessionCorruptError: If what is there is damaged.
        """
        ...

    async def create(
        self, header: SessionHeader, *, fresh: bool = False, projected: bool = False
    ) -> Lease:
        """Record the intent to write a new session; the log appears with its first event.

        Args:
            header: Checked already.
            fresh: Nobody else can have made this id; the store need not look for it.
            projected: It is a recording in the projected form.

        Raises:
            SessionError: ``SESSION_ALREADY_EXISTS`` if the id is taken or stored.
            SessionLeasedError: If it is live in another process.
        """
        ...

    async def prepare(self, session_id: str) -> StoredLog:
        """The log to resume a session from, balanced; nothing is written yet.

        Raises:
            SessionLeasedError: If it has a holder that is alive.
            SessionError: ``SESSION_NOT_FOUND``; ``PROJECTED`` for a recording.
            SessionFormatUnsupportedError: If it is intact but not understood.
            SessionCorruptError: If it is damaged.
        """
        ...

    async def lease(
        self,
        session_id: str,
        *,
        after: StoredLog | None = None,
        events: Sequence[Event] = (),
        takeover: bool = False,
    ) -> Lease:
        """Take the right to write a stored session, and store `events` behind it, in one.

        Args:
            session_id: Whose.
            after: What `prepare` gave; refuse if the log has changed since.
            events: What follows what is stored: a repair, the mark of a resume.
            takeover: Take it from a holder that is known to be dead.

        Returns:
            With `next_seq` behind `events`.

        Raises:
            SessionError: ``SESSION_NOT_FOUND``; ``SEQ_MISMATCH`` as `append`.
            SessionLeasedError: If it has a holder and `takeover` is False, or the log
                has changed. Nothing was written.
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
            lease: From `create` or `lease`. None is only for stores that can tell at once
                whether the id is free.

        Raises:
            SessionLeasedError: If another holder has the lease.
            SessionError: ``SESSION_ALREADY_EXISTS`` if a different log is stored under the id.
        """
        ...

    def append(self, lease: Lease, events: Sequence[Event]) -> Coroutine[Any, Any, None]:
        """Store events of a session that is not live; done when they are durable.

        The batch is taken as it is at the call; an empty one does nothing.

        Raises:
            SessionError: ``SEQ_MISMATCH`` if the batch does not continue the log
                without a gap; nothing of it is stored. ``SESSION_LIVE`` if a writer is
                attached.
            SessionLeasedError: If the lease is outdated.
        """
        ...

    async def load(self, session_id: str) -> StoredLog:
        """The balanced log of a session; an interrupted one is repaired, on disk too.

        A live one is flushed and read as it is, between its turns only.

        Raises:
            SessionError: ``SESSION_NOT_FOUND``, or ``OPEN_TURN`` for a live one.
            SessionLeasedError: If it must be repaired and is live in another process.
            SessionFormatUnsupportedError: If it is intact but not understood.
            SessionCorruptError: If it is damaged.
        """
        ...

    async def inspect(self, session_id: str) -> StoredLog:
        """The same for looking at it: a repair stays in memory, nothing is written.

        A live session is shown as it is, an open turn and all.

        Raises:
            SessionError, SessionFormatUnsupportedError, SessionCorruptError: As `load`.
        """
        ...

    async def read_from(self, session_id: str, from_seq: int) -> tuple[Event, ...]:
        """The stored events from `from_seq` on, without a repair; empty past the end.

        Raises:
            ConfigurationError: If `from_seq` is no integer from 0 on.
            SessionError: ``SESSION_NOT_FOUND``.
        """
        ...

    async def list(self) -> tuple[SessionHeader, ...]:
        """The headers of all stored sessions, in the order of their creation."""
        ...

    async def list_snapshots(self, *, parent: str | None = None) -> tuple[Snapshot, ...]:
        """What is known of the stored sessions without reading their logs.

        Args:
            parent: Only the sessions whose header names this parent; found without
                looking at the others.
        """
        ...

    async def flush(self) -> bool:
        """Wait until everything of every session is stored; False if that is not confirmed."""
        ...

    async def close(self) -> None:
        """Store what is queued, give every lease back and let go of the host; idempotent.

        It may be opened again.

        Raises:
            SessionError: If events could not be stored.
        """
        ...
