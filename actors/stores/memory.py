"""A store that keeps sessions in memory, for as long as it lives itself.

It shares a live session's log instead of copying it, so keeping a session costs
nothing an event. It outlives the runtime it was handed to: several runtimes, one
after the other or side by side, may use the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...messages.errors import ConfigurationError, SessionLeasedError
from ...messages.event import Event
from ...messages.header import SessionHeader
from ...messages.plain import quoted
from ..repair import closers
from ..seed import ends_in_open_turn
from ..store import Durability, Lease, Snapshot, StoredLog, StoreHost
from .mending import mended
from .refusal import (
    changed,
    check_following,
    closed_error,
    exists,
    here,
    live,
    not_found,
    open_turn,
    recorded,
    stale,
)


class Record:
    """One stored session.

    `log` is the session's own list once one was attached: it is read up to `length`
    when that session has left, and written to only after it was copied.
    """

    __slots__ = (
        "birth",
        "fence",
        "header",
        "held",
        "length",
        "log",
        "owned",
        "projected",
        "writer",
    )

    def __init__(self, header: SessionHeader, birth: int, projected: bool) -> None:
        self.header = header
        self.birth = birth
        self.projected = projected
        self.log: list[Event] = []
        self.length = 0
        self.owned = True
        self.fence = 0
        self.held = False
        self.writer: MemoryWriter | None = None

    def events(self) -> list[Event]:
        """What is stored; to be read only."""
        log = self.log
        return log if self.writer is not None or len(log) == self.length else log[: self.length]

    def extend(self, events: Iterable[Event]) -> None:
        """Store what follows; for a session that is not live."""
        if not self.owned:
            self.log = self.log[: self.length]
            self.owned = True
        self.log.extend(events)
        self.length = len(self.log)

    def attach(self, log: list[Event], writer: MemoryWriter) -> None:
        """Share the log of a session that goes live."""
        self.log = log
        self.owned = False
        self.writer = writer

    def detach(self) -> None:
        """Keep what the live session has until now, and nothing that follows."""
        if self.writer is not None:
            self.length = len(self.log)
            self.writer.end(self.length)
            self.writer = None


class MemoryWriter:
    """Stands for a live session in its store; the log itself is shared."""

    __slots__ = ("_end", "_fence", "_record", "_store")

    sink = None
    durability: Durability = "settled"
    failure: Exception | None = None

    def __init__(self, store: MemoryStore, record: Record) -> None:
        self._store = store
        self._record = record
        self._fence = record.fence
        self._end: int | None = None

    @property
    def stored_seq(self) -> int:
        """All of the log; once the lease is gone, what was stored until then."""
        return len(self._record.log) if self._end is None else self._end

    async def flush(self) -> bool:
        """Confirm; raises `SessionLeasedError` if the lease was taken over or given back."""
        if self._end is not None:
            raise stale(self._record.header.id, self._fence, self._record.fence)
        return True

    def release(self, *, discard: bool = False) -> None:
        """Give the lease back; an empty session leaves no trace, nor one to be discarded."""
        if self._end is None:
            unwanted = discard and not self._record.length
            self._store.let_go(self._record, discard=unwanted)

    def end(self, length: int) -> None:
        """Note that the session is not written any more."""
        self._end = length


class MemoryStore:
    """Keeps sessions in memory; implements `Store`, which documents the methods.

    Nothing waits for it, and its flush always confirms. It needs no host and is usable
    before it was ever opened. Several hosts may open it; once the last of them has closed
    it, it takes nothing more until it is opened again, and can still be read.

    Args:
        keep_ended: Whether a session is kept when its agent has ended, so that it can
            be read and resumed. Without, thousands of short-lived agents leave nothing.
    """

    __slots__ = ("_children", "_closed", "_fence", "_hosts", "_keep_ended", "_records")

    durability: Durability = "settled"

    def __init__(self, *, keep_ended: bool = True) -> None:
        self._keep_ended = keep_ended
        # One count for all sessions: an id that is used again never repeats a number.
        self._fence = 0
        self._records: dict[str, Record] = {}
        self._children: dict[str, dict[str, Record]] = {}
        self._hosts = 0
        self._closed = False

    def __repr__(self) -> str:
        return f"<MemoryStore of {len(self._records)} sessions>"

    async def __aenter__(self) -> MemoryStore:
        self._hosts += 1
        self._closed = False
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    async def open(self, host: StoreHost) -> None:
        await self.__aenter__()

    async def create(
        self, header: SessionHeader, *, fresh: bool = False, projected: bool = False
    ) -> Lease:
        self._check_open()
        if header.id in self._records:
            raise exists(header.id)
        return self._hold(self._add(header, projected))

    async def prepare(self, session_id: str) -> StoredLog:
        self._check_open()
        record = self._writable(session_id)
        if record.held:
            raise here(session_id)
        return mended(self._read(record))

    async def lease(
        self,
        session_id: str,
        *,
        after: StoredLog | None = None,
        events: Sequence[Event] = (),
        takeover: bool = False,
    ) -> Lease:
        self._check_open()
        record = self._writable(session_id)
        if record.held and not takeover:
            raise here(session_id)
        if after is not None and after.revision != self._revision(record):
            raise changed(session_id)
        batch = _following(record, events)
        record.detach()
        if batch:
            record.extend(batch)
        return self._hold(record)

    def release(self, lease: Lease) -> None:
        record = self._records.get(lease.session_id)
        if record is not None and record.writer is None and _holds(record, lease):
            self.let_go(record)

    def attach(
        self, header: SessionHeader, log: list[Event], lease: Lease | None = None
    ) -> MemoryWriter:
        self._check_open()
        record = self._records.get(header.id)
        if lease is not None and (record is None or not _holds(record, lease)):
            raise _outdated(lease, record)
        if record is None:
            record = self._add(header, projected=False)
        elif record.projected:
            raise recorded(header.id)
        elif record.writer is not None or (record.held and lease is None):
            raise here(header.id)
        stored = record.length
        if stored and (record.header.cwd != header.cwd or log[:stored] != record.events()):
            raise exists(header.id)
        if lease is None:
            self._hold(record)
        writer = MemoryWriter(self, record)
        record.attach(log, writer)
        return writer

    async def append(self, lease: Lease, events: Sequence[Event]) -> None:
        self._check_open()
        record = self._records.get(lease.session_id)
        if record is None or not _holds(record, lease):
            raise _outdated(lease, record)
        if record.writer is not None:
            raise live(lease.session_id)
        record.extend(_following(record, events))

    async def load(self, session_id: str) -> StoredLog:
        record = self._find(session_id)
        if record.projected or not ends_in_open_turn(record.events()):
            return self._read(record)
        if record.writer is not None:
            raise open_turn(session_id)
        if record.held:
            raise here(session_id)
        self._check_open()
        record.extend(closers(record.events()))
        return self._read(record)

    async def inspect(self, session_id: str) -> StoredLog:
        record = self._find(session_id)
        log = self._read(record)
        return log if record.held else mended(log)

    async def read_from(self, session_id: str, from_seq: int) -> tuple[Event, ...]:
        if type(from_seq) is not int or from_seq < 0:
            raise ConfigurationError(
                f"from_seq must be an integer from 0 on, not {quoted(from_seq)}"
            )
        return tuple(self._find(session_id).events()[from_seq:])

    async def list(self) -> tuple[SessionHeader, ...]:
        return tuple(record.header for record in self._records.values() if record.log)

    async def list_snapshots(self, *, parent: str | None = None) -> tuple[Snapshot, ...]:
        records = self._records if parent is None else self._children.get(parent, {})
        return tuple(
            Snapshot(
                record.header,
                self._revision(record),
                len(record.events()),
                record.held,
                record.projected,
            )
            for record in records.values()
            if record.log
        )

    async def flush(self) -> bool:
        return True

    async def close(self) -> None:
        self._hosts = max(0, self._hosts - 1)
        if self._hosts or self._closed:
            return
        self._closed = True
        for record in [record for record in self._records.values() if record.held]:
            self.let_go(record)

    def let_go(self, record: Record, *, discard: bool = False) -> None:
        """End the lease of a record's holder, and forget it where nothing is to be kept."""
        record.detach()
        record.held = False
        if discard or not record.length or not self._keep_ended:
            self._remove(record.header)

    def _add(self, header: SessionHeader, projected: bool) -> Record:
        record = self._records[header.id] = Record(header, self._fence + 1, projected)
        parent = header.parent_session
        if parent is not None:
            children = self._children.get(parent)
            if children is None:
                self._children[parent] = {header.id: record}
            else:
                children[header.id] = record
        return record

    def _remove(self, header: SessionHeader) -> None:
        del self._records[header.id]
        if header.parent_session is not None:
            children = self._children[header.parent_session]
            del children[header.id]
            if not children:
                del self._children[header.parent_session]

    def _hold(self, record: Record) -> Lease:
        self._fence += 1
        record.fence = self._fence
        record.held = True
        return Lease(record.header.id, record.fence, record.length)

    def _find(self, session_id: str) -> Record:
        record = self._records.get(session_id)
        if record is None or not record.log:
            raise not_found(session_id)
        return record

    def _writable(self, session_id: str) -> Record:
        record = self._find(session_id)
        if record.projected:
            raise recorded(session_id)
        return record

    def _read(self, record: Record) -> StoredLog:
        events, revision = tuple(record.events()), self._revision(record)
        return StoredLog(record.header, events, revision, len(events), record.projected)

    def _revision(self, record: Record) -> str:
        return f"{id(self):x}-{record.birth}-{len(record.events())}"

    def _check_open(self) -> None:
        if self._closed:
            raise closed_error()


def _holds(record: Record, lease: Lease) -> bool:
    return record.held and record.fence == lease.fence


def _following(record: Record, events: Sequence[Event]) -> list[Event]:
    """The events, once it is sure that they continue what is stored."""
    batch = list(events)
    check_following(record.header.id, len(record.events()), batch)
    return batch


def _outdated(lease: Lease, record: Record | None) -> SessionLeasedError:
    return stale(lease.session_id, lease.fence, None if record is None else record.fence)
