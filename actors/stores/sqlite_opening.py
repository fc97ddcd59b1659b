"""How a path becomes a store: looked at, made or brought up, checked."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from .sqlite_fault import code_of, damaged, fault, foreign, newer, unusable
from .sqlite_link import connect
from .sqlite_probe import look
from .sqlite_schema import APPLICATION_ID, STEPS, TABLES, Step, bring_up, store_id_of, version_of

_OLDEST = (3, 35)
"""SQLite's version; what the statements need."""


def open_store(
    path: str,
    *,
    create: bool,
    patience: float,
    trace: Callable[[str], None] | None = None,
    steps: Sequence[Step] = STEPS,
) -> tuple[sqlite3.Connection, str]:
    """Find a store, or make one of a path that is free or of an empty file.

    Several processes may do so at once: one makes it, the others find it.

    Args:
        path: Absolute.
        create: Whether a store may be made, where no file or an empty one is.
        patience: Seconds to wait for a lock that another connection has.
        trace: See `SqliteBackend`.
        steps: The layout that it must have afterwards.

    Returns:
        The connection to write through, and the store's id.

    Raises:
        ConfigurationError, SessionFormatUnsupportedError, SessionCorruptError: As
            `Store.open`; what lies at the path is untouched.
        SessionError: ``STORE_UNAVAILABLE``.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise unusable(path, f"SQLite {sqlite3.sqlite_version} is older than 3.35; update it")
    found = look(path, create=create, newest=len(steps))
    db: sqlite3.Connection | None = None
    try:
        db = connect(path, "rwc" if found == "nothing" else "rw", patience)
        db.execute("PRAGMA synchronous = FULL")
        if version_of(db) < len(steps):
            _bring_up(db, path, steps, trace)
        _check(db, path, len(steps))
        (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise unusable(path, "its file system cannot keep a write-ahead log; use a local disk")
        return db, store_id_of(db)  # which opens the log
    except BaseException as error:
        if db is not None:
            db.close()
        if not isinstance(error, sqlite3.Error):
            raise
        if code_of(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise unusable(path, f"{error}; give this process access to it") from error
        raise fault(error, path) from error


def _bring_up(
    db: sqlite3.Connection,
    path: str,
    steps: Sequence[Step],
    trace: Callable[[str], None] | None,
) -> None:
    db.execute("BEGIN IMMEDIATE")
    if version_of(db) == 0 and _tables(db):
        raise foreign(path)
    bring_up(db, steps)
    if trace is not None:
        trace("before layout")
    db.execute("COMMIT")
    if trace is not None:
        trace("after layout")
    # Where it is in WAL mode already: into the file, where `look` and `is_store` see it.
    db.execute("PRAGMA wal_checkpoint").fetchall()


def _check(db: sqlite3.Connection, path: str, newest: int) -> None:
    """See that it is a store whose tables are all there.

    `look` has seen most of it, but may have seen it before somebody else wrote.
    """
    if version_of(db) > newest:
        raise newer(path, version_of(db), newest)
    if db.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise foreign(path)
    missing = TABLES - _tables(db)
    if missing:
        raise damaged(path, f"it has no table {sorted(missing)[0]}")
    if not store_id_of(db):
        raise damaged(path, "it has lost its id")


def _tables(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
