"""What lies at a path, found out without leaving a trace there.

An ordinary connection writes when it only looks: it makes ``-wal`` and ``-shm``, rolls a
journal back, moves a log into its database. So a file is first read as one that never
changes (``immutable=1``), which makes, locks and writes nothing. It is never opened as a
plain file: closing that would drop the locks that other connections of this process
have on it (POSIX). What such a look misses is the log beside the file, which may hold a
newer first page; nothing locks the log itself, so that is read directly.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Literal, TypeAlias

from .sqlite_fault import code_of, damaged, fault, foreign, newer, unusable
from .sqlite_schema import APPLICATION_ID, store_id_of

Find: TypeAlias = Literal["nothing", "empty", "store"]
"""What can be made a store, or is one."""

_WAL_HEADER, _FRAME_HEADER = 32, 24
_USER_VERSION, _APPLICATION_ID = slice(60, 64), slice(68, 72)


def address(path: str, query: str) -> str:
    """A path as SQLite takes it with parameters."""
    return f"{Path(path).as_uri()}?{query}"


def look(path: str, *, create: bool, newest: int) -> Find:
    """What lies at `path`; writes nothing.

    Args:
        path: Absolute.
        create: Whether there may be nothing, or an empty file.
        newest: The newest version of a store that is known.

    Raises:
        ConfigurationError: If no store can be there.
        SessionFormatUnsupportedError: If the store there is of a newer version.
        SessionCorruptError: If the database there is damaged.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        found = None
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise unusable(path, f"{said.lower()}; choose a path that can be used") from None
    _check_folder(path)
    if found is None:
        if not create:
            raise unusable(path, "there is none; give the path of one, or let it be made")
        return "nothing"
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "no ordinary file"
        raise unusable(path, f"it is {what}; give the path of a file in it, or of another file")
    if not os.access(path, os.R_OK | os.W_OK):
        raise unusable(path, "the file cannot be written; give this process access to it")
    kind = _identify(path, newest) if found.st_size else "empty"
    if kind == "empty" and not create:
        raise unusable(path, "no store is in the file yet; give the path of one, or let it be made")
    return kind


def _check_folder(path: str) -> None:
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise unusable(path, f"there is no folder {folder}; make it first")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise unusable(path, f"the folder {folder} cannot be written; give this process access")


def _identify(path: str, newest: int) -> Find:
    """Tell a store from other files by what is no secret: the numbers in their first page."""
    logged = _logged_numbers(f"{os.path.realpath(path)}-wal")
    try:
        numbers, tables = _stored_numbers(path)
    except sqlite3.Error as error:
        if code_of(error) == sqlite3.SQLITE_NOTADB:
            raise unusable(path, "the file is not a SQLite database; choose another") from None
        if code_of(error) != sqlite3.SQLITE_CORRUPT:
            raise fault(error, path) from error
        # It may be in the middle of being written: then a log or journal has the rest.
        if logged is None and not os.path.exists(f"{os.path.realpath(path)}-journal"):
            raise damaged(path, str(error)) from error
        numbers, tables = logged or (APPLICATION_ID, 0), True
    if numbers == (0, 0) and not tables:
        if logged is None and os.path.getsize(path) >= 512:
            return "empty"
        numbers = logged or numbers
    application, version = numbers
    if application != APPLICATION_ID:
        raise foreign(path)
    version = max(version, logged[1] if logged else 0)
    if version > newest:
        raise newer(path, version, newest)
    return "store"


def _stored_numbers(path: str) -> tuple[tuple[int, int], bool]:
    """Application id and version as they stand in the file, and whether it has any table."""
    with closing(_unchanging(path)) as db:
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        tables = application == version == 0 and db.execute(
            "SELECT count(*) FROM sqlite_master"
        ).fetchone() != (0,)
        return (application, version), tables


def is_store(path: str, store_id: str) -> bool:
    """Whether it is this very store that lies at `path`; writes nothing.

    A connection would apply the log that lies beside the file, whosever file it is.
    """
    try:
        with closing(_unchanging(path)) as db:
            return store_id_of(db) == store_id
    except sqlite3.Error as error:
        # Half of its log may have been moved into it when a process died: then the log knows.
        logged = _logged_numbers(f"{os.path.realpath(path)}-wal")
        return code_of(error) == sqlite3.SQLITE_CORRUPT and logged is not None


def _unchanging(path: str) -> sqlite3.Connection:
    return sqlite3.connect(address(path, "mode=ro&immutable=1"), uri=True, isolation_level=None)


def _logged_numbers(path: str) -> tuple[int, int] | None:
    """The same from the newest first page in a write-ahead log; None if there is none."""
    try:
        with open(path, "rb") as log:
            header = log.read(_WAL_HEADER)
            size = int.from_bytes(header[8:12], "big")
            if len(header) < _WAL_HEADER or not 512 <= size <= 65536:
                return None
            salts, place, numbers = header[16:24], _WAL_HEADER, None
            while frame := log.read(_FRAME_HEADER):
                if frame[8:16] != salts:  # left over from before the log was begun anew
                    break
                if frame[:4] == b"\0\0\0\1":
                    page = log.read(72)
                    version, application = page[_USER_VERSION], page[_APPLICATION_ID]
                    numbers = int.from_bytes(application, "big"), int.from_bytes(version, "big")
                place += _FRAME_HEADER + size
                log.seek(place)
            return numbers
    except OSError:
        return None
