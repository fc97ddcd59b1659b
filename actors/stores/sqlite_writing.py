"""What is written to a SQLite store: events behind their lease, leases, signs of life.

Every write is one transaction, and every change of a session in it one statement that
says what it expects to find: the fence, the holder, the length. What finds something
else changes nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...messages.errors import BroodlineError, SessionError
from ...messages.event import Event
from ...messages.event_text import encode_header_line, encode_line, encode_projected
from ..store import Lease, StoredLog
from .backend import Portion
from .holder import Holder, standing
from .refusal import (
    changed,
    check_following,
    elsewhere,
    mismatch,
    not_found,
    recorded,
    stale,
    unwritable,
)
from .sqlite_fault import corrupt
from .sqlite_link import SqliteLink, Transaction
from .sqlite_reading import LAST_SEQ, LINES, Found, find, revision_of, taken
from .sqlite_schema import SEQ_BITS

CREATE = """INSERT INTO sessions (id, parent, header, length, revision, fence, holder, projected)
    VALUES (?, ?, ?, ?, 1, ?, ?, ?) ON CONFLICT (id) DO NOTHING"""
KEY = "SELECT key FROM sessions WHERE id = ?"
_GUARD = "WHERE key = ? AND id = ? AND fence = ? AND holder = ? AND length = ?"
APPEND = f"UPDATE sessions SET length = ?, revision = revision + 1 {_GUARD}"
APPEND_RELEASE = f"UPDATE sessions SET length = ?, revision = revision + 1, holder = NULL {_GUARD}"
RELEASE = f"UPDATE sessions SET holder = NULL {_GUARD}"
CHECK = f"SELECT 1 FROM sessions {_GUARD}"
LEASE = """UPDATE sessions SET fence = fence + 1, holder = ?, length = ?, revision = revision + ?
    WHERE key = ?"""
INSERT = "INSERT INTO events (place, line) VALUES (?, ?)"
HOLDER = "INSERT OR REPLACE INTO holders VALUES (?, ?, ?, ?, ?, ?)"
HOLDERS = "SELECT id, pid, process, boot, timeout, until FROM holders"
RENEW = "UPDATE holders SET until = ? WHERE id = ?"
RELEASE_ALL = "UPDATE sessions SET holder = NULL WHERE holder = ?"
SWEEP = """DELETE FROM holders WHERE id = ?1
    AND NOT EXISTS (SELECT 1 FROM sessions WHERE holder = ?1)"""


@dataclass(slots=True)
class Draft:
    """A portion with its events as they are written."""

    portion: Portion
    lines: list[str]


class _LeftOut(Exception):
    """A portion failed in the middle: the transaction is done again without it."""

    def __init__(self, index: int, error: BroodlineError) -> None:
        self.index = index
        self.error = error


class SqliteWriting:
    """The writing half of a `SqliteBackend`, whose methods say what they do."""

    __slots__ = (
        "_commit",
        "_doubtful",
        "_entered",
        "_keys",
        "_lease",
        "_leave",
        "_link",
        "_place",
        "_renew",
        "_signed",
        "holder",
        "store_id",
    )  # fmt: skip

    def __init__(
        self, link: SqliteLink, trace: Callable[[str], None] | None, holder: Holder, store_id: str
    ) -> None:
        self._link = link
        self._place = link.path
        self._commit = Transaction(link, trace, "commit")
        self._lease = Transaction(link, trace, "lease")
        self._renew = Transaction(link, trace, "renew")
        self._leave = Transaction(link, trace, "leave")
        self.holder = holder
        self.store_id = store_id
        self._entered = False
        """Whether `holders` may have this one."""
        self._signed = 0.0
        """Until when it says that this one is alive; 0 when that must be written again."""
        self._keys: dict[str, int] = {}
        """Of sessions that were written and not given back."""
        self._doubtful: set[str] = set()
        """Sessions whose last commit failed in a way that does not tell what came of it."""

    def leave(self) -> None:
        """Give back every lease that this holder has, and cross it out."""
        if self._entered:
            with self._leave as db:
                db.execute(RELEASE_ALL, (self.holder.id,))
                db.execute(SWEEP, (self.holder.id,))

    def renew(self, holder: Holder) -> None:
        """See `Backend.renew`."""
        self.holder = holder
        if self._entered:
            with self._renew as db:
                there = db.execute(RENEW, (holder.until, holder.id)).rowcount
            # Others may have taken this one for dead, and its last session with it.
            self._signed = holder.until if there else 0.0

    def write(self, portions: Sequence[Portion], now: float) -> list[Exception | None]:
        """See `Backend.write`."""
        results: list[Exception | None] = [None] * len(portions)
        drafts: dict[int, Draft] = {}
        for index, portion in enumerate(portions):
            try:
                write = encode_projected if portion.projected else encode_line
                lines = self._lines(portion.header.id, portion.events, portion.first_seq, write)
                drafts[index] = Draft(portion, lines)
            except SessionError as error:
                results[index] = error
        while drafts:
            try:
                self._write(drafts, results, now)
                break
            except _LeftOut as left:
                results[left.index] = left.error
                del drafts[left.index]
        return results

    def lease(
        self,
        session_id: str,
        now: float,
        *,
        after: StoredLog | None,
        events: Sequence[Event],
        takeover: bool,
    ) -> Lease:
        """See `Backend.lease`."""
        length = 0
        try:
            with self._lease as db:
                found = self._leasable(db, session_id, now, after, takeover)
                key, length = found.key, found.length
                lines = self._lines(session_id, events, length)
                end = length + len(lines)
                db.execute(LEASE, (self.holder.id, end, 1 if lines else 0, key))
                _insert(db, key, length, lines)
                self._sign(db, now)
        except BroodlineError as error:
            self._signed = 0.0
            if isinstance(error.__cause__, sqlite3.IntegrityError):
                raise self._overlap(session_id, length) from error.__cause__
            raise
        self._keys[session_id] = key
        self._doubtful.discard(session_id)
        return Lease(session_id, found.fence + 1, end)

    def _leasable(
        self,
        db: sqlite3.Connection,
        session_id: str,
        now: float,
        after: StoredLog | None,
        takeover: bool,
    ) -> Found:
        found = find(db, session_id)
        if found is None:
            raise not_found(session_id, self._place)
        if found.projected:
            raise recorded(session_id, self._place)
        if not takeover and found.standing(self.holder, now) == "alive":
            raise elsewhere(session_id, self._place, found.holder, current=found.fence)
        there = revision_of(self.store_id, found.key, found.revision)
        if after is not None and after.revision != there:
            raise changed(session_id, self._place)
        return found

    def _lines(
        self,
        session_id: str,
        events: Sequence[Event],
        first_seq: int,
        write: Callable[[Event], str] = encode_line,
    ) -> list[str]:
        """The events as they are stored, once it is sure that they follow what is."""
        check_following(session_id, first_seq, events, self._place)
        lines: list[str] = []
        for event in events:
            try:
                lines.append(write(event))
            except (BroodlineError, ValueError, TypeError, RecursionError) as error:
                raise unwritable(session_id, self._place, event.seq, error) from error
        return lines

    def _write(self, drafts: dict[int, Draft], results: list[Exception | None], now: float) -> None:
        commit = self._commit
        keys: dict[str, int] = {}
        try:
            with commit as db:
                for index, draft in drafts.items():
                    try:
                        results[index] = self._put(db, draft, keys, now)
                    except (sqlite3.IntegrityError, sqlite3.DataError, UnicodeError) as error:
                        raise _LeftOut(index, self._refusal(draft, error)) from error
        except BaseException:
            self._signed = 0.0
            if commit.doubtful:
                self._doubtful.update(draft.portion.header.id for draft in drafts.values())
            raise
        for index, draft in drafts.items():
            session_id = draft.portion.header.id
            if session_id in keys and not draft.portion.release:
                self._keys[session_id] = keys[session_id]
            else:
                self._keys.pop(session_id, None)
            if self._doubtful and results[index] is None:
                self._doubtful.discard(session_id)

    def _put(
        self, db: sqlite3.Connection, draft: Draft, keys: dict[str, int], now: float
    ) -> Exception | None:
        """Write one portion, or say why nothing of it was written."""
        portion, lines = draft.portion, draft.lines
        if portion.create:
            return self._make(db, draft, keys, now) if lines else None
        session_id, first = portion.header.id, portion.first_seq
        key = self._keys.get(session_id)
        if key is None:
            row = db.execute(KEY, (session_id,)).fetchone()
            if row is None:
                return stale(session_id, portion.lease.fence, None, self._place)
            key = row[0]
        guard = (key, session_id, portion.lease.fence, self.holder.id, first)
        if lines:
            statement = APPEND_RELEASE if portion.release else APPEND
            matched = db.execute(statement, (first + len(lines), *guard)).rowcount
        elif portion.release:
            matched = db.execute(RELEASE, guard).rowcount
        else:
            matched = db.execute(CHECK, guard).fetchone() is not None
        if not matched:
            return self._missed(db, draft, keys, now)
        _insert(db, key, first, lines)
        keys[session_id] = key
        return None

    def _make(
        self, db: sqlite3.Connection, draft: Draft, keys: dict[str, int], now: float
    ) -> Exception | None:
        portion, lines = draft.portion, draft.lines
        header, fence = portion.header, portion.lease.fence
        holder_id = None if portion.release else self.holder.id
        text = encode_header_line(header, projected=portion.projected)
        row = (header.id, header.parent_session, text, len(lines), fence, holder_id)
        cursor = db.execute(CREATE, (*row, portion.projected))
        if cursor.rowcount != 1:
            return self._missed(db, draft, keys, now)
        key = cursor.lastrowid
        assert key is not None
        _insert(db, key, 0, lines)
        if holder_id is not None:
            self._sign(db, now)
        keys[header.id] = key
        return None

    def _missed(
        self, db: sqlite3.Connection, draft: Draft, keys: dict[str, int], now: float
    ) -> Exception | None:
        """What a portion found instead of what it expected; maybe its own work."""
        portion = draft.portion
        session_id, fence = portion.header.id, portion.lease.fence
        found = find(db, session_id)
        if found is None:
            return stale(session_id, fence, None, self._place)
        if session_id in self._doubtful and found.fence == fence:
            rest = self._unwritten(db, draft, found)
            if rest is not None:
                return self._put(db, rest, keys, now) if found.holder_id is not None else None
        if portion.create:
            return taken(self._place, session_id, found, self.holder, now)
        if found.fence != fence or found.holder_id != self.holder.id:
            return stale(session_id, fence, found.fence, self._place)
        stored = found.length
        return mismatch(session_id, stored, portion.first_seq, stored, self._place)

    def _unwritten(self, db: sqlite3.Connection, draft: Draft, found: Found) -> Draft | None:
        """What is left of a portion whose commit was in doubt, but happened; None if it did not."""
        portion, length, holder_id = draft.portion, found.length, found.holder_id
        if holder_id != self.holder.id and not (holder_id is None and portion.release):
            return None
        base = found.key << SEQ_BITS
        bounds = base + portion.first_seq, base + LAST_SEQ
        stored = [line for (line,) in db.execute(LINES, bounds)]
        if portion.first_seq + len(stored) != length or stored != draft.lines[: len(stored)]:
            return None
        if holder_id is None and len(stored) != len(draft.lines):
            return None
        events = portion.events[len(stored) :]
        rest = replace(portion, first_seq=length, events=events, create=False)
        return Draft(rest, draft.lines[len(stored) :])

    def _sign(self, db: sqlite3.Connection, now: float) -> None:
        """See that `holders` has this one alive; until then nobody else may cross it out."""
        if now < self._signed:
            return
        if not self._entered:
            self._sweep(db, now)
            self._entered = True
        if self.holder.until <= now:  # it slept through its own time
            self.holder = self.holder.renewed(now)
        mine = self.holder
        values = (mine.id, mine.pid, mine.process, mine.boot, mine.timeout, mine.until)
        db.execute(HOLDER, values)
        self._signed = mine.until

    def _sweep(self, db: sqlite3.Connection, now: float) -> None:
        """Cross out holders that are dead and have no session that a take-over would need."""
        for row in db.execute(HOLDERS).fetchall():
            other = Holder(*row)
            if standing(other, self.holder, now) == "dead":
                db.execute(SWEEP, (other.id,))

    def _refusal(self, draft: Draft, error: Exception) -> BroodlineError:
        """Why the database does not take what was handed to it."""
        portion, lines = draft.portion, draft.lines
        if isinstance(error, sqlite3.IntegrityError):
            return self._overlap(portion.header.id, portion.first_seq)
        longest = max(range(len(lines)), key=lambda index: len(lines[index]))
        return unwritable(portion.header.id, self._place, portion.first_seq + longest, error)

    def _overlap(self, session_id: str, length: int) -> BroodlineError:
        text = f"it has {length} events, and others behind them"
        return corrupt(self._place, session_id, text, length)


def _insert(db: sqlite3.Connection, key: int, first: int, lines: list[str]) -> None:
    place = (key << SEQ_BITS) + first
    db.executemany(INSERT, zip(range(place, place + len(lines)), lines, strict=True))
