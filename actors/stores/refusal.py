"""Why a store does not do what it was asked: the errors, each with what to do next."""

from __future__ import annotations

from ...messages.errors import SessionError, SessionLeasedError
from ..store import Lease


def closed_error(place: str) -> SessionError:
    """It is not open."""
    return SessionError(
        f"the store {place} is not open; enter a runtime that has it, or `async with store:`",
        code="STORE_CLOSED",
        details={"place": place},
    )


def exists(session_id: str) -> SessionError:
    """The id is taken."""
    return SessionError(
        f"a session {session_id!r} is stored or being made already; resume it or choose another id",
        code="SESSION_ALREADY_EXISTS",
        details={"session": session_id},
    )


def given_back(lease: Lease) -> SessionLeasedError:
    """The lease is none any more."""
    return SessionLeasedError(
        f"the lease on session {lease.session_id!r} was given back; take a new one",
        details={"session": lease.session_id, "fence": lease.fence},
        retryable=False,
    )


def here(session_id: str) -> SessionLeasedError:
    """It is live, or being resumed, in this very store."""
    return SessionLeasedError(
        f"session {session_id!r} is live in this process; use it there, or wait until it is "
        "released",
        details={"session": session_id},
    )


def elsewhere(session_id: str) -> SessionLeasedError:
    """A living holder has it."""
    return SessionLeasedError(
        f"session {session_id!r} is live in another process; use it there, or wait until it is "
        "released",
        details={"session": session_id},
    )


def recorded(session_id: str) -> SessionError:
    """It is a recording in the projected form."""
    return SessionError(
        f"session {session_id!r} is a recording without times and numbers; it can be read and "
        "replayed, but not resumed",
        code="PROJECTED",
        details={"session": session_id},
    )


def open_turn(session_id: str) -> SessionError:
    """It is live inside a turn."""
    return SessionError(
        f"session {session_id!r} is live inside a turn; inspect it instead", code="OPEN_TURN"
    )


def mismatch(session_id: str, stored: int, seq: int, expected: int) -> SessionError:
    """A batch does not continue the log."""
    return SessionError(
        f"session {session_id!r} has {stored} events stored; a batch may not have seq {seq} where "
        f"{expected} belongs",
        code="SEQ_MISMATCH",
        details={"session": session_id, "stored": stored, "seq": seq},
    )


def unwanted(session_id: str) -> SessionError:
    """It was discarded before anything of it was stored."""
    return SessionError(
        f"session {session_id!r} was discarded, and nothing of it is stored; make another one",
        code="SESSION_NOT_LIVE",
        details={"session": session_id},
    )
