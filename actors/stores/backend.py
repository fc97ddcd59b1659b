"""What a store on disk is built on: blocking functions over one place.

A `DiskStore` calls them in threads of its own, never on the loop: `write` and `lease`,
`renew`, `open` and `close` one after the other in one thread, what reads in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...messages.event import Event
from ...messages.header import SessionHeader
from ..store import Lease, Snapshot, StoredLog
from .holder import Holder, Standing


@dataclass(frozen=True, slots=True)
class Portion:
    """What one commit does to one session: check the lease, insert, give the lease back.

    Attributes:
        header: The session's.
        lease: The writer's. With `create` it is not stored yet: the session is made with
            this very fence and belongs to the holder.
        first_seq: Number of the first of `events`: how many are stored.
        events: Contiguous from there; may be empty.
        create: The session is new: its first events make it.
        release: Give the lease back in the same commit.
        projected: It is a recording in the projected form; every portion of one says so.
    """

    header: SessionHeader
    lease: Lease
    first_seq: int
    events: Sequence[Event]
    create: bool = False
    release: bool = False
    projected: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """A stored session as it lies there, without a repair.

    Attributes:
        log: With `stored == len(events)`.
        standing: Whose its lease is.
    """

    log: StoredLog
    standing: Standing


class Backend(Protocol):
    """One database or one folder; see the module for which thread calls what.

    What the system refuses is raised as a `SessionError` ``STORE_UNAVAILABLE`` with
    ``retryable=True`` that names the place, the reason and what to do next.
    """

    @property
    def place(self) -> str:
        """The path, for errors."""
        ...

    @property
    def grouped(self) -> bool:
        """Whether one `write` of many portions costs about as much as one of one."""
        ...

    def open(self, holder: Holder) -> None:
        """Make the place usable, or raise and leave it untouched. Errors as `Store.open`."""
        ...

    def close(self) -> None:
        """Give back what this holder still has, and let go of the place; idempotent."""
        ...

    def renew(self, holder: Holder) -> None:
        """Write down a new sign of life, if this holder has any lease."""
        ...

    def check_new(self, session_id: str, now: float) -> None:
        """Do nothing if no such session is stored.

        Raises:
            SessionError: ``SESSION_ALREADY_EXISTS``.
            SessionLeasedError: If a living holder other than this one has it.
        """
        ...

    def write(self, portions: Sequence[Portion], now: float) -> list[Exception | None]:
        """Commit portions of different sessions; durable when it returns.

        Returns:
            For each portion None, or why nothing of it was stored: `SessionLeasedError`
            if the lease is not the newest, `SessionError` ``SESSION_ALREADY_EXISTS``,
            ``SEQ_MISMATCH``, ``EVENT_UNWRITABLE``, or ``STORE_UNAVAILABLE``.

        Raises:
            SessionError: ``STORE_UNAVAILABLE``; nothing was stored.
        """
        ...

    def lease(
        self,
        session_id: str,
        now: float,
        *,
        after: StoredLog | None,
        events: Sequence[Event],
        takeover: bool,
    ) -> Lease:
        """See `Store.lease`; a lease that is this holder's own already is taken anew."""
        ...

    def read(self, session_id: str, now: float) -> Image:
        """Read a session as it lies there; nothing is written. Errors as `Store.inspect`."""
        ...

    def read_from(self, session_id: str, from_seq: int) -> list[Event]:
        """Read the stored events from a number on. Errors as `Store.read_from`."""
        ...

    def snapshots(self, now: float, parent: str | None) -> list[Snapshot]:
        """See `Store.list_snapshots`."""
        ...
