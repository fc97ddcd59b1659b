"""Why a store does not do what it was asked: the errors, each with what to do next.

All stores say them, each with the `place` it has, if it has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...messages.errors import SessionError, SessionLeasedError
from ...messages.event import Event
from ..store import Lease
from .holder import Holder


def closed_error(place: str | None = None) -> SessionError:
    """``STORE_CLOSED``: it is not open."""
    return SessionError(
        f"the store {place or 'in memory'} is closed; enter a runtime that has it, or "
        "`async with store:`",
        code="STORE_CLOSED",
        details={} if place is None else {"place": place},
    )


def exists(session_id: str, place: str | None = None) -> SessionError:
    """``SESSION_ALREADY_EXISTS``: the id is taken."""
    return SessionError(
        f"a {_named(session_id, place)} is stored or being made already; resume it or choose "
        "another id",
        code="SESSION_ALREADY_EXISTS",
        details=_details(session_id, place),
    )


def not_found(session_id: str, place: str | None = None) -> SessionError:
    """``SESSION_NOT_FOUND``."""
    where = "" if place is None else f" in {place}"
    return SessionError(
        f"no session {session_id!r} is stored{where}; the store's list says which are",
        code="SESSION_NOT_FOUND",
        details=_details(session_id, place),
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
    return _live(_named(session_id), "in this process", {"session": session_id})


def elsewhere(
    session_id: str, place: str | None = None, holder: Holder | None = None, **more: int
) -> SessionLeasedError:
    """A living holder has it."""
    pid = None if holder is None else holder.pid
    whom = "in another process" if pid is None else f"in process {pid}"
    details = _details(session_id, place, pid=pid, **more)
    return _live(_named(session_id, place), whom, details)


def changed(session_id: str, place: str | None = None) -> SessionLeasedError:
    """Somebody wrote between reading it and taking its lease."""
    return SessionLeasedError(
        f"{_named(session_id, place)} has changed since it was read; read it again",
        details=_details(session_id, place),
    )


def stale(
    session_id: str, fence: int, current: int | None, place: str | None = None
) -> SessionLeasedError:
    """A writer is not the holder any more; `current` is None where the session is gone."""
    now = "the session is gone" if current is None else f"now {current}"
    return SessionLeasedError(
        f"the lease on {_named(session_id, place)} is gone: fence {fence}, {now}; nothing more is "
        "written for this holder",
        details=_details(session_id, place, fence=fence, current=current),
        retryable=False,
    )


def recorded(session_id: str, place: str | None = None) -> SessionError:
    """``PROJECTED``: it is a recording in the projected form."""
    return SessionError(
        f"{_named(session_id, place)} is a recording without times and numbers; it can be read, "
        "exported and replayed, but not resumed",
        code="PROJECTED",
        details=_details(session_id, place),
    )


def live(session_id: str) -> SessionError:
    """``SESSION_LIVE``: a writer is attached."""
    return SessionError(
        f"session {session_id!r} is live; append through it",
        code="SESSION_LIVE",
        details={"session": session_id},
    )


def open_turn(session_id: str) -> SessionError:
    """It is live inside a turn."""
    return SessionError(
        f"session {session_id!r} is live inside a turn; inspect it instead", code="OPEN_TURN"
    )


def mismatch(
    session_id: str, stored: int, seq: int, expected: int, place: str | None = None
) -> SessionError:
    """``SEQ_MISMATCH``: a batch does not continue the log."""
    return SessionError(
        f"{_named(session_id, place)} has {stored} events stored; a batch may not have seq {seq} "
        f"where {expected} belongs, and nothing of it was written",
        code="SEQ_MISMATCH",
        details=_details(session_id, place, stored=stored, seq=seq),
    )


def check_following(
    session_id: str, stored: int, events: Sequence[Event], place: str | None = None
) -> None:
    """Do nothing for events that continue a log of `stored` events without a gap.

    Raises:
        SessionError: ``SEQ_MISMATCH``.
    """
    for seq, event in enumerate(events, stored):
        if event.seq != seq:
            raise mismatch(session_id, stored, event.seq, seq, place)


def unwritable(session_id: str, place: str, seq: int | None, reason: object) -> SessionError:
    """``EVENT_UNWRITABLE``: it can never be written; `seq` is None for the header."""
    what = "the header" if seq is None else f"event {seq}"
    details = {} if seq is None else {"seq": seq}
    return SessionError(
        f"{what} of session {session_id!r} cannot be written to {place}: {reason}",
        code="EVENT_UNWRITABLE",
        details=_details(session_id, place, **details),
    )


def unwanted(session_id: str) -> SessionError:
    """It was discarded before anything of it was stored."""
    return SessionError(
        f"session {session_id!r} was discarded, and nothing of it is stored; make another one",
        code="SESSION_NOT_LIVE",
        details={"session": session_id},
    )


def _live(session: str, whom: str, details: dict[str, Any]) -> SessionLeasedError:
    return SessionLeasedError(
        f"{session} is live {whom}; use it there, or wait until it is released", details=details
    )


def _named(session_id: str, place: str | None = None) -> str:
    return f"session {session_id!r}" + ("" if place is None else f" in {place}")


def _details(session_id: str, place: str | None, **more: int | None) -> dict[str, Any]:
    where = {} if place is None else {"place": place}
    return {**where, "session": session_id, **more}
