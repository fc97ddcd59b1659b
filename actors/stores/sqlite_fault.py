"""What is wrong with a SQLite store, each worded once; no error of sqlite3 gets out."""

from __future__ import annotations

import sqlite3
from typing import Any

from ...messages.errors import (
    BroodlineError,
    ConfigurationError,
    SessionCorruptError,
    SessionError,
    SessionFormatUnsupportedError,
)

_REASONS = {
    sqlite3.SQLITE_BUSY: ("locked too long", "see what else has it open, or try again"),
    sqlite3.SQLITE_LOCKED: ("locked too long", "see what else has it open, or try again"),
    sqlite3.SQLITE_PROTOCOL: ("locked too long", "see what else has it open, or try again"),
    sqlite3.SQLITE_FULL: ("disk full", "make room on the disk"),
    sqlite3.SQLITE_IOERR: ("I/O error", "see to the disk"),
    sqlite3.SQLITE_READONLY: ("read-only", "make the file and its folder writable"),
    sqlite3.SQLITE_PERM: ("no permission", "make the file and its folder writable"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "see to the file and its folder"),
    sqlite3.SQLITE_NOMEM: ("out of memory", "free some"),
}
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
SHORT_LIVED = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_NOMEM,
}
"""Codes after which the connection is as good as before; after others it is made anew."""


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for what the module sqlite3 itself refuses."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def fault(error: sqlite3.Error, place: str) -> SessionError:
    """What an error of sqlite3 means to a store."""
    code = code_of(error)
    if code in _DAMAGE or code == sqlite3.SQLITE_ERROR:  # no such table or column
        return damaged(place, str(error))
    reason, advice = _REASONS.get(code, (str(error) or type(error).__name__, "see to the disk"))
    name = getattr(error, "sqlite_errorname", None)
    return unavailable(
        place, f"{reason} ({name})" if name and code not in SHORT_LIVED else reason, advice
    )


def unavailable(place: str, reason: str, advice: str) -> SessionError:
    """``STORE_UNAVAILABLE``: the system refused; it may work later."""
    return SessionError(
        f"{place} is not available: {reason}; {advice}, and the store goes on where it stopped",
        code="STORE_UNAVAILABLE",
        retryable=True,
        details={"place": place, "reason": reason},
    )


_ADVICE = "; nothing was changed: restore the session from a backup"


def damaged(place: str, reason: str) -> SessionCorruptError:
    """The database itself is not whole."""
    return SessionCorruptError(
        f"{place} is damaged: {reason}; put a backup in its place, or save what is left with "
        "the .recover of the sqlite3 shell",
        details={"place": place, "reason": reason},
    )


def corrupt(place: str, session_id: str, text: str, seq: int | None = None) -> SessionCorruptError:
    """A session in it is not whole."""
    details: dict[str, Any] = {"place": place, "session": session_id}
    if seq is not None:
        details["seq"] = seq
    return SessionCorruptError(
        f"session {session_id!r} in {place} is damaged: {text}{_ADVICE}", details=details
    )


def placed(
    error: BroodlineError, place: str, session_id: str, first_seq: int | None = None
) -> BroodlineError:
    """The error of a decoder with the place, the session and the number of the event."""
    details = {"place": place, "session": session_id, **error.details}
    index = details.pop("index", None)
    where = f"session {session_id!r} in {place}"
    if first_seq is not None and type(index) is int:
        details["seq"] = first_seq + index
        where += f", seq {first_seq + index}"
    wanted = type(error) if isinstance(error, SessionError) else SessionCorruptError
    advice = _ADVICE if issubclass(wanted, SessionCorruptError) else ""
    return wanted(f"{where}: {error.message}{advice}", details=details)


def unusable(place: str, text: str) -> ConfigurationError:
    """A path that no store can be opened at."""
    return ConfigurationError(f"no SQLite store can be opened at {place}: {text}")


def foreign(place: str) -> ConfigurationError:
    """Somebody else's database."""
    return unusable(place, "the database there belongs to something else; choose another file")


def newer(place: str, version: int, supported: int) -> SessionFormatUnsupportedError:
    """A store that a newer version has made or brought up."""
    return SessionFormatUnsupportedError(
        f"{place} is a store of version {version}, newer than {supported}, the newest that this "
        "build knows; open it with a newer one",
        details={"place": place, "version": version, "supported": supported},
    )
