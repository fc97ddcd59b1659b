"""A SQLite store, looked at. SQLite itself writes where nobody asks it to; not here.

An ordinary connection to a database whose last process was killed moves the log beside
it into it, and leaves a log of its own beside one that nobody may write. So the
connection is chosen by what lies there.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress

from ..actors.store import Snapshot
from ..actors.stores.backend import Image
from ..actors.stores.sqlite_fault import code_of, fault, foreign, newer, unusable
from ..actors.stores.sqlite_link import PATIENCE, SqliteLink
from ..actors.stores.sqlite_probe import address, look
from ..actors.stores.sqlite_reading import SqliteReading
from ..actors.stores.sqlite_schema import APPLICATION_ID, SEQ_BITS, STEPS, store_id_of, version_of
from ..messages.errors import BroodlineError, ConfigurationError, SessionFormatUnsupportedError
from .archive import Entry, now, onlooker

_MOST_DAMAGE = 5
"""Lines of SQLite about one damaged database."""


class SqliteArchive:
    """Implements `Archive`, which documents the methods.

    Args:
        path: Of the database.

    Raises:
        ConfigurationError: If there is no store.
        SessionFormatUnsupportedError: If it is of another version.
        SessionCorruptError: If the database is damaged.
        SessionError: ``STORE_UNAVAILABLE``.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)
        _find(self._path)
        self._db = _connect(self._path)
        try:
            _check(self._db, self._path)
            self._reading = SqliteReading(_Peephole(self._path, self._db), store_id_of(self._db))
        except (sqlite3.Error, BroodlineError) as error:
            self._db.close()
            if isinstance(error, sqlite3.Error):
                raise fault(error, self._path) from error
            raise
        self._mine = onlooker()

    def entries(self) -> list[Entry]:
        """See `Archive.entries`."""
        try:
            rows = self._db.execute("SELECT id FROM sessions ORDER BY key").fetchall()
        except sqlite3.Error as error:
            raise fault(error, self._path) from error
        return [Entry(str(session_id)) for (session_id,) in rows]

    def snapshots(self, parent: str | None = None) -> list[Snapshot]:
        """See `Archive.snapshots`."""
        return self._reading.snapshots(self._mine, now(), parent)

    def read(self, session_id: str) -> Image:
        """See `Archive.read`."""
        return self._reading.read(session_id, self._mine, now())

    def faults(self) -> Iterator[str]:
        """See `Archive.faults`."""
        # Python is asked now and then, so that Ctrl-C need not wait for a large database.
        self._db.set_progress_handler(lambda: False, 100_000)
        try:
            query = f"PRAGMA quick_check({_MOST_DAMAGE})"
            yield from (str(text) for (text,) in self._db.execute(query) if text != "ok")
            yield from self._strays()
        except sqlite3.Error as error:
            if code_of(error) == sqlite3.SQLITE_INTERRUPT:
                raise KeyboardInterrupt from None
            yield fault(error, self._path).message
        finally:
            self._db.set_progress_handler(None, 0)

    def close(self) -> None:
        """See `Archive.close`."""
        with suppress(sqlite3.Error):
            self._db.close()

    def _strays(self) -> Iterator[str]:
        """Events that belong to no session: found by a jump from session to session."""
        keys = {key for (key,) in self._db.execute("SELECT key FROM sessions")}
        query = "SELECT min(place) FROM events WHERE place >= ?"
        place = -(1 << 62)
        while True:
            (place,) = self._db.execute(query, (place,)).fetchone()
            if place is None:
                return
            key = place >> SEQ_BITS
            if key not in keys:
                yield f"it has events of a session that is not there (key {key})"
            place = (key + 1) << SEQ_BITS


class _Peephole(SqliteLink):
    """A link that keeps the one connection it was given, whatever happens to it."""

    def __init__(self, path: str, db: sqlite3.Connection) -> None:
        super().__init__(path, PATIENCE, reading=True)
        self._db = db

    def check(self) -> None:
        """What was opened is looked at, also when it lies elsewhere by now."""

    def drop(self) -> None:
        """One bad page must not hide the others."""


def _find(path: str) -> None:
    """Make sure that a store lies there, before any connection could change something.

    Raises:
        ConfigurationError: If there is none.
        SessionFormatUnsupportedError, SessionCorruptError, SessionError: As `look`.
    """
    if not os.path.exists(path):
        raise ConfigurationError(f"{path}: there is no such store")
    try:
        look(path, create=False, newest=len(STEPS))
    except ConfigurationError:
        # It also refuses what cannot be written, which is no fault of what is only read.
        if not os.path.isfile(path) or _is_writable(path):
            raise
        try:
            with closing(_opened(path, "mode=ro&immutable=1")) as db:
                _check(db, path)
        except sqlite3.Error as error:
            if code_of(error) == sqlite3.SQLITE_NOTADB:
                raise unusable(path, "the file is not a SQLite database") from None
            raise fault(error, path) from error


def _connect(path: str) -> sqlite3.Connection:
    real = os.path.realpath(path)
    try:
        if any(_has_bytes(f"{real}{end}") for end in ("-wal", "-journal")):
            return _opened(path, "mode=ro")
        if not _is_writable(path):
            return _opened(path, "mode=ro&immutable=1")
        # It makes its log and takes it away again; one for reading only would leave it there.
        return _opened(path, "mode=rw")
    except sqlite3.Error as error:
        raise fault(error, path) from error


def _opened(path: str, query: str) -> sqlite3.Connection:
    db = sqlite3.connect(address(path, query), uri=True, timeout=PATIENCE, isolation_level=None)
    db.execute("PRAGMA query_only = ON")
    return db


def _check(db: sqlite3.Connection, path: str) -> None:
    version = version_of(db)
    if db.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise foreign(path)
    if version > len(STEPS):
        raise newer(path, version, len(STEPS))
    if version < len(STEPS):
        raise SessionFormatUnsupportedError(
            f"{path} is a store of version {version}, older than {len(STEPS)}; a runtime "
            "that opens it brings it up, looking at it does not",
            details={"place": path, "version": version, "supported": len(STEPS)},
        )


def _is_writable(path: str) -> bool:
    folder = os.path.dirname(os.path.realpath(path))
    return os.access(path, os.W_OK) and os.access(folder, os.W_OK | os.X_OK)


def _has_bytes(path: str) -> bool:
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False
