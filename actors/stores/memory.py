"""A store that keeps sessions in memory, for as long as it lives itself.

It shares a live session's log instead of copying it, so keeping a session costs
nothing an event. It outlives the runtime it was handed to: several runtimes, one
after the other or side by side, may use the same one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...messages.errors import ConfigurationError, SessionError, SessionLeasedError
from ...messages.event import Event
from ...messages.header import SessionHeader
from ...messages.plain import quoted
from ..seed import ends_in_open_turn
from ..store import Lease, StoredLog


class Record:
    """One stored session: `log` is the live list while a session is attached."""

    __slots__ = ("attached", "fence", "header", "held", "log")

    def __init__(self, header: SessionHeader) -> None:
        self.header = header
        self.log: list[Event] = []
        self.fence = 0
        self.held = False
        self.attached = False


class MemoryWriter:
    """Stands for a live session in its store; the log itself is shared."""

    __slots__ = ("_fence", "_record", "_store")

    sink = None

    def __init__(self, store: MemoryStore, record: Record) -> None:
        self._store = store
        self._record = record
        self._fence = record.fence

    @property
    def stored_seq(self) -> int:
        """All of the log, while the lease holds."""
        return len(self._record.log)

    async def flush(self) -> bool:
        """Confirm; raises `SessionLeasedError` if the lease was taken over."""
        self._store.check_fence(self._record, self._fence)
        return True

    def release(self) -> None:
        """Give the lease back; an empty session leaves no trace."""
        self._store.let_go(self._record, self._fence)


class MemoryStore:
    """Keeps sessions in memory; implements `Store`, which documents the methods.

    Args:
        keep_ended: Whether a session is kept when its agent has ended, so that it can
            be read and resumed. Without, thousands of short-lived agents leave nothing.
    """

    __slots__ = ("_closed", "_fence", "_keep_ended", "_records")

    def __init__(self, *, keep_ended: bool = True) -> None:
        self._keep_ended = keep_ended
        # One count for all sessions: an id that is used again never repeats a number.
        self._fence = 0
        self._records: dict[str, Record] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<MemoryStore of {len(self._records)} sessions>"

    async def create(self, header: SessionHeader) -> Lease:
        self._check_open()
        if header.id in self._records:
            raise _exists(header.id)
        record = self._records[header.id] = Record(header)
        return self._hold(record)

    async def lease(self, session_id: str, *, takeover: bool = False) -> Lease:
        self._check_open()
        record = self._find(session_id)
        if record.held and not takeover:
            raise _leased(session_id)
        if record.attached:  # what the old holder still appends is not ours any more
            record.log = list(record.log)
            record.attached = False
        return self._hold(record)

    def release(self, lease: Lease) -> None:
        record = self._records.get(lease.session_id)
        if record is not None and not record.attached:
            self.let_go(record, lease.fence)

    def attach(
        self, header: SessionHeader, log: list[Event], lease: Lease | None = None
    ) -> MemoryWriter:
        self._check_open()
        record = self._records.get(header.id)
        if record is None:
            if lease is not None:
                raise _not_found(header.id)
            record = self._records[header.id] = Record(header)
        elif lease is not None:
            self.check_fence(record, lease.fence)
        if record.attached or (record.held and lease is None):
            raise _leased(header.id)
        stored = len(record.log)
        if stored and (record.header.cwd != header.cwd or log[:stored] != record.log):
            raise _exists(header.id)
        if lease is None:
            self._hold(record)
        record.log = log
        record.attached = True
        return MemoryWriter(self, record)

    async def append(self, lease: Lease, events: Sequence[Event]) -> None:
        self._check_open()
        record = self._records.get(lease.session_id)
        if record is None:
            raise _not_found(lease.session_id)
        self.check_fence(record, lease.fence)
        if record.attached:
            raise SessionError(
                f"session {lease.session_id!r} is live; append through it", code="SESSION_LIVE"
            )
        batch = list(events)
        for seq, event in enumerate(batch, len(record.log)):
            if event.seq != seq:
                raise SessionError(
                    f"session {lease.session_id!r} has {len(record.log)} events stored; a batch "
                    f"may not have seq {event.seq} where {seq} belongs",
                    code="SEQ_MISMATCH",
                )
        record.log.extend(batch)

    async def load(self, session_id: str) -> StoredLog:
        record = self._find(session_id)
        if record.attached and ends_in_open_turn(record.log):
            raise SessionError(
                f"session {session_id!r} is live inside a turn; inspect it instead",
                code="OPEN_TURN",
            )
        return self._read(record)

    async def inspect(self, session_id: str) -> StoredLog:
        return self._read(self._find(session_id))

    async def read_from(self, session_id: str, from_seq: int) -> tuple[Event, ...]:
        if type(from_seq) is not int or from_seq < 0:
            raise ConfigurationError(
                f"from_seq must be an integer from 0 on, not {quoted(from_seq)}"
            )
        return tuple(self._find(session_id).log[from_seq:])

    async def list(self) -> tuple[SessionHeader, ...]:
        return tuple(record.header for record in self._records.values() if record.log)

    async def flush(self) -> bool:
        return True

    async def close(self) -> None:
        self._closed = True

    def check_fence(self, record: Record, fence: int) -> None:
        """Refuse a holder that is not the newest.

        Raises:
            SessionLeasedError: If the lease was taken over or given back.
        """
        if record.fence != fence or not record.held:
            raise SessionLeasedError(
                f"the lease on session {record.header.id!r} is gone: fence {fence}, now "
                f"{record.fence}; nothing more is written for this holder",
                details={"session": record.header.id, "fence": fence, "current": record.fence},
                retryable=False,
            )

    def let_go(self, record: Record, fence: int) -> None:
        """End a holder's lease, if it is the newest."""
        if record.fence != fence or not record.held:
            return
        record.held = record.attached = False
        if not record.log or not self._keep_ended:
            del self._records[record.header.id]

    def _hold(self, record: Record) -> Lease:
        self._fence += 1
        record.fence = self._fence
        record.held = True
        return Lease(record.header.id, record.fence, len(record.log))

    def _find(self, session_id: str) -> Record:
        record = self._records.get(session_id)
        if record is None or not record.log:
            raise _not_found(session_id)
        return record

    def _read(self, record: Record) -> StoredLog:
        revision = f"{id(self):x}-{len(record.log)}"
        return StoredLog(record.header, tuple(record.log), revision)

    def _check_open(self) -> None:
        if self._closed:
            raise SessionError("the store is closed; hand the runtime another", code="STORE_CLOSED")


def _exists(session_id: str) -> SessionError:
    return SessionError(
        f"a session {session_id!r} is stored already; resume it or choose another id",
        code="SESSION_ALREADY_EXISTS",
    )


def _not_found(session_id: str) -> SessionError:
    return SessionError(f"no session {session_id!r} is stored", code="SESSION_NOT_FOUND")


def _leased(session_id: str) -> SessionLeasedError:
    return SessionLeasedError(
        f"session {session_id!r} is live elsewhere; use it there, or wait until it is released",
        details={"session": session_id},
    )
