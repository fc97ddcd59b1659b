"""A connection to the database of a store, which mends itself.

It is dropped when the file under it fails or is not the one at its path any more, and
made anew by the next call, which finds the cause gone or says that it is not. The file
is never made again then: a store that was lost is not replaced by an empty one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from ...messages.errors import BroodlineError
from .refusal import closed_error
from .sqlite_fault import SHORT_LIVED, code_of, fault, unavailable
from .sqlite_probe import address, is_store
from .sqlite_schema import store_id_of

PATIENCE = 5.0
"""Seconds that a lock of another process is waited for; its writes take milliseconds."""

_STATEMENTS = 64
"""Prepared statements that a connection keeps; a store uses fewer."""


def connect(path: str, mode: str, patience: float) -> sqlite3.Connection:
    """A connection that commits when it is told to.

    Args:
        path: Absolute.
        mode: ``rw``, or ``rwc`` to make a file that is not there.
        patience: Seconds to wait for a lock that another connection has.
    """
    return sqlite3.connect(
        address(path, f"mode={mode}"),
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_STATEMENTS,
    )


class SqliteLink:
    """One connection, used by one thread at a time.

    Args:
        path: Absolute.
        patience: As `connect`.
        reading: It is only read through.
    """

    __slots__ = ("_db", "_file", "_log", "_patience", "_reading", "_store_id", "path")

    def __init__(self, path: str, patience: float, *, reading: bool = False) -> None:
        self.path = path
        self._patience = patience
        self._reading = reading
        self._store_id: str | None = None
        self._db: sqlite3.Connection | None = None
        self._log = ""
        self._file = (0, 0)

    def open(self, store_id: str, db: sqlite3.Connection | None = None) -> None:
        """Begin: with a connection that there is, or with the first call that needs one."""
        self._store_id = store_id
        if db is not None:
            self._take(db)

    def close(self) -> None:
        """End; idempotent."""
        self._store_id = None
        self.drop()

    def drop(self) -> None:
        """Close the connection; the next call makes another."""
        db, self._db = self._db, None
        if db is not None:
            with suppress(sqlite3.Error):
                db.close()

    @property
    def db(self) -> sqlite3.Connection:
        """The connection.

        Raises:
            SessionError: ``STORE_CLOSED``; ``STORE_UNAVAILABLE``.
        """
        return self._db or self._connect()

    def check(self) -> None:
        """See that what is open is what lies at the path, so that it can be found again.

        Raises:
            SessionError: ``STORE_UNAVAILABLE``: it was taken away or replaced. The
                connection is dropped.
        """
        try:
            if self._look() == self._file:
                return
            reason = "replaced by another file"
        except OSError:
            reason = "not there any more"
        self.drop()
        raise unavailable(self.path, reason, "put the store back where it was")

    def failed(self, error: sqlite3.Error) -> BroodlineError:
        """End what was going on, and say what the error means."""
        db = self._db
        lasting = code_of(error) not in SHORT_LIVED
        if db is not None:
            try:
                if db.in_transaction:
                    db.execute("ROLLBACK")
            except sqlite3.Error:
                lasting = True
            if lasting:
                try:
                    self.check()
                except BroodlineError as moved:
                    return moved
                self.drop()
        return fault(error, self.path)

    def begin(self, statement: str) -> sqlite3.Connection:
        """Begin a transaction in what lies at the path now.

        Raises:
            BroodlineError: What the database says, in our terms.
        """
        try:
            db = self.db
            self.check()
            db.execute(statement)
        except sqlite3.Error as error:
            raise self.failed(error) from error
        return db

    def end(self, error: BaseException | None) -> None:
        """End a transaction that is not committed; an error of sqlite3 is told in our terms."""
        if isinstance(error, sqlite3.Error):
            raise self.failed(error) from error
        self.roll_back()

    def roll_back(self) -> None:
        """End a transaction that is not wanted; a connection that cannot is dropped."""
        db = self._db
        if db is not None and db.in_transaction:
            try:
                db.execute("ROLLBACK")
            except sqlite3.Error:
                self.drop()

    def _look(self) -> tuple[int, int]:
        """Which file is at the path, and that its log is beside it.

        The log is not asked for more than that: a `stat` of a file that is being written
        makes Linux note a new time with the next write and sync, which doubles its price.
        """
        if not os.access(self._log, os.F_OK):
            raise FileNotFoundError(self._log)
        found = os.stat(self.path)
        return found.st_dev, found.st_ino

    def _connect(self) -> sqlite3.Connection:
        if self._store_id is None:
            raise closed_error(self.path)
        if not os.path.exists(self.path):
            raise unavailable(self.path, "not there any more", "put the store back where it was")
        if not is_store(self.path, self._store_id):
            raise unavailable(self.path, "something else is there", "put the store back")
        db: sqlite3.Connection | None = None
        try:
            db = connect(self.path, "rw", self._patience)
            if self._reading:
                db.execute("PRAGMA query_only = ON")
            else:
                db.execute("PRAGMA synchronous = FULL")
            if store_id_of(db) != self._store_id:
                text = "another store is in its place"
                raise unavailable(self.path, text, "put the store back where it was")
            self._take(db)
        except (sqlite3.Error, OSError, BroodlineError) as error:
            if db is not None:
                db.close()
            if isinstance(error, BroodlineError):
                raise
            reason = str(error)
            if isinstance(error, sqlite3.Error):
                refused = fault(error, self.path)
                if refused.code == "STORE_UNAVAILABLE":
                    raise refused from error
            raise unavailable(self.path, reason, "put the store back where it was") from error
        return db

    def _take(self, db: sqlite3.Connection) -> None:
        self._log = f"{os.path.realpath(self.path)}-wal"
        self._file = self._look()
        self._db = db


class Transaction:
    """Everything of a ``with`` block or nothing, durable when the block is left.

    Args:
        link: Where.
        trace: See `SqliteBackend`.
        word: Names the commit there.

    Attributes:
        doubtful: Whether the commit was tried and nobody knows what came of it.
    """

    __slots__ = ("_link", "_trace", "_word", "doubtful")

    def __init__(self, link: SqliteLink, trace: Callable[[str], None] | None, word: str) -> None:
        self._link = link
        self._trace = trace
        self._word = word
        self.doubtful = False

    def __enter__(self) -> sqlite3.Connection:
        self.doubtful = False
        return self._link.begin("BEGIN IMMEDIATE")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        link = self._link
        if error is not None:
            return link.end(error)
        try:
            self._commit(link.db)
        except BaseException as failure:  # also what a trace raises
            link.end(failure)
            raise
        link.check()
        self.doubtful = False

    def _commit(self, db: sqlite3.Connection) -> None:
        trace = self._trace
        if trace is not None:
            trace(f"before {self._word}")
        self.doubtful = True
        db.execute("COMMIT")
        if trace is not None:
            trace(f"after {self._word}")


class View:
    """One state of the database for all reads of a ``with`` block."""

    __slots__ = ("_link",)

    def __init__(self, link: SqliteLink) -> None:
        self._link = link

    def __enter__(self) -> sqlite3.Connection:
        return self._link.begin("BEGIN")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._link.end(error)
