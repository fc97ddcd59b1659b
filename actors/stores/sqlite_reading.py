"""What is read from a SQLite store: whole logs, their ends, and what is known without them."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from ...messages.errors import BroodlineError, SessionCorruptError
from ...messages.event import Event
from ...messages.event_text import decode_header_line, decode_lines
from ...messages.header import SessionHeader
from ..store import Snapshot, StoredLog
from .backend import Image
from .holder import Holder, Standing, standing
from .refusal import elsewhere, exists, not_found
from .sqlite_fault import corrupt, placed
from .sqlite_link import SqliteLink, View
from .sqlite_schema import SEQ_BITS

_logger = logging.getLogger("broodline.store")

LAST_SEQ = (1 << SEQ_BITS) - 1

SESSION = """SELECT key, header, length, revision, fence, holder, projected,
    pid, process, boot, timeout, until
    FROM sessions LEFT JOIN holders ON holders.id = sessions.holder WHERE sessions.id = ?"""
SNAPSHOTS = """SELECT sessions.id, key, header, length, revision, holder, projected,
    pid, process, boot, timeout, until
    FROM sessions LEFT JOIN holders ON holders.id = sessions.holder"""
CHILDREN = f"{SNAPSHOTS} WHERE parent = ? ORDER BY key"
ALL = f"{SNAPSHOTS} ORDER BY key"
LINES = "SELECT line FROM events WHERE place BETWEEN ? AND ? ORDER BY place"
LAST = "SELECT max(place) FROM events WHERE place BETWEEN ? AND ?"


class Found(NamedTuple):
    """What stands of a session beside its events.

    Attributes:
        key: Of the session in `events`.
        header: Its JSON.
        length: How many events it has.
        revision: Grows with every change of the log.
        fence: Of the newest lease.
        holder_id: Whose that is; None if it was given back.
        projected: Whether it is a recording in the projected form.
        holder: As it is written down, if it is.
    """

    key: int
    header: str
    length: int
    revision: int
    fence: int
    holder_id: str | None
    projected: int
    holder: Holder | None

    def standing(self, mine: Holder, now: float) -> Standing:
        """Whose its lease is."""
        return standing_of(self.holder_id, self.holder, mine, now)


def revision_of(store_id: str, key: int, revision: int) -> str:
    """What a log's revision is for those outside."""
    return f"{store_id}-{key}-{revision}"


def find(db: sqlite3.Connection, session_id: str) -> Found | None:
    """What stands of a session beside its events."""
    row = db.execute(SESSION, (session_id,)).fetchone()
    return None if row is None else Found._make((*row[:7], _holder(row[5], row[7:])))


def _holder(holder_id: str | None, row: Sequence[object]) -> Holder | None:
    return None if holder_id is None or row[0] is None else Holder(holder_id, *row)  # type: ignore[arg-type]  # a row of sqlite3 has no types


def standing_of(holder_id: str | None, holder: Holder | None, mine: Holder, now: float) -> Standing:
    """Whose a lease is; that of a holder which is not written down any more is a dead one's."""
    if holder_id is not None and holder is None and holder_id != mine.id:
        return "dead"
    return "mine" if holder_id == mine.id else standing(holder, mine, now)


class SqliteReading:
    """The reading half of a `SqliteBackend`, whose methods say what they do."""

    __slots__ = ("_place", "_store_id", "_view")

    def __init__(self, link: SqliteLink, store_id: str) -> None:
        self._place = link.path
        self._view = View(link)
        self._store_id = store_id

    def check_new(self, session_id: str, mine: Holder, now: float) -> None:
        """See `Backend.check_new`."""
        with self._view as db:
            found = find(db, session_id)
        if found is not None:
            raise taken(self._place, session_id, found, mine, now)

    def read(self, session_id: str, mine: Holder, now: float) -> Image:
        """See `Backend.read`."""
        with self._view as db:
            found = find(db, session_id)
            if found is None:
                raise not_found(session_id, self._place)
            projected = bool(found.projected)
            header = self._header(session_id, found.header, projected)
            events = self._events(db, session_id, found.key, 0, found.length, projected)
        token = revision_of(self._store_id, found.key, found.revision)
        log = StoredLog(header, events, token, found.length, projected)
        return Image(log, found.standing(mine, now))

    def read_from(self, session_id: str, from_seq: int) -> list[Event]:
        """See `Backend.read_from`."""
        with self._view as db:
            found = find(db, session_id)
            if found is None:
                raise not_found(session_id, self._place)
            first, length = min(from_seq, found.length), found.length
            return self._events(db, session_id, found.key, first, length, bool(found.projected))

    def snapshots(self, mine: Holder, now: float, parent: str | None) -> list[Snapshot]:
        """See `Backend.snapshots`."""
        with self._view as db:
            rows = (
                db.execute(ALL) if parent is None else db.execute(CHILDREN, (parent,))
            ).fetchall()
        standings: dict[str | None, Standing] = {}
        shown: list[Snapshot] = []
        for session_id, key, text, length, revision, holder_id, projected, *holder in rows:
            try:
                header = self._header(session_id, text, bool(projected))
            except BroodlineError as error:  # one that cannot be read must not hide the others
                _logger.warning("left out of the list: %s", error.message)
                continue
            state = standings.get(holder_id)
            if state is None:
                state = standing_of(holder_id, _holder(holder_id, holder), mine, now)
                standings[holder_id] = state
            token = revision_of(self._store_id, key, revision)
            live = state in ("mine", "alive")
            shown.append(Snapshot(header, token, length, live, bool(projected)))
        return shown

    def _header(self, session_id: str, text: str, projected: bool) -> SessionHeader:
        try:
            header = decode_header_line(text, projected=projected)
        except BroodlineError as error:
            raise placed(error, self._place, session_id) from error
        if header.id != session_id:
            raise corrupt(self._place, session_id, f"its header is that of {header.id!r}")
        return header

    def _events(
        self,
        db: sqlite3.Connection,
        session_id: str,
        key: int,
        first: int,
        length: int,
        projected: bool,
    ) -> list[Event]:
        """The events from a number on; all that the session says it has, and no others."""
        base = key << SEQ_BITS
        bounds = base + first, base + LAST_SEQ
        try:
            lines = [line for (line,) in db.execute(LINES, bounds).fetchall()]
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", None) is not None:
                raise
            lines = _raw(db, bounds)  # a text that is no UTF-8: the decoder says which
        (last,) = db.execute(LAST, bounds).fetchone()
        try:
            events = decode_lines(lines, first, projected=projected)
        except BroodlineError as error:
            raise placed(error, self._place, session_id, first) from error
        end = first + len(lines)
        if end != length or (lines and last != base + end - 1):
            raise self._gap(db, session_id, base, first, length)
        return events

    def _gap(
        self, db: sqlite3.Connection, session_id: str, base: int, first: int, length: int
    ) -> SessionCorruptError:
        """Say where what is there and what should be there part."""
        query = "SELECT place FROM events WHERE place BETWEEN ? AND ? ORDER BY place"
        seq = first
        for (place,) in db.execute(query, (base + first, base + LAST_SEQ)):
            if place != base + seq:
                break
            seq += 1
        if seq > length:
            seq, text = length, f"it has events from seq {length} on, where it should have ended"
        else:
            text = f"the event of seq {seq} is missing; the session says that it has {length}"
        return corrupt(self._place, session_id, text, seq)


def taken(place: str, session_id: str, found: Found, mine: Holder, now: float) -> BroodlineError:
    """Why a session cannot be made: it is there."""
    if found.standing(mine, now) == "alive":
        return elsewhere(session_id, place, found.holder, current=found.fence)
    return exists(session_id, place)


def _raw(db: sqlite3.Connection, bounds: tuple[int, int]) -> list[bytes]:
    db.text_factory = bytes
    try:
        return [line for (line,) in db.execute(LINES, bounds).fetchall()]
    finally:
        db.text_factory = str
