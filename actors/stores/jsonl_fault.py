"""What is wrong with a JSONL store, each worded once."""

from __future__ import annotations

import errno
import os

from ...messages.errors import (
    BroodlineError,
    SessionCorruptError,
    SessionError,
    SessionFormatUnsupportedError,
)

_ADVICE = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room within the quota",
    errno.EROFS: "make the file system writable",
    errno.EACCES: "give this process access to it",
    errno.EPERM: "give this process access to it",
    errno.ENOENT: "put it back where it was",
    errno.ENOTDIR: "put the folder back where it was",
}


def reason_of(error: OSError | ValueError) -> str:
    """What the system said, in its words."""
    said = error.strerror if isinstance(error, OSError) else None
    return (said or str(error) or type(error).__name__).lower()


def unavailable(place: str, error: OSError, doing: str) -> SessionError:
    """``STORE_UNAVAILABLE``: the system refused a step; it may work later."""
    reason = reason_of(error)
    advice = _ADVICE.get(error.errno or 0, "see to the disk")
    return SessionError(
        f"{place} cannot be {doing}: {reason}; {advice}, and the store goes on where it stopped",
        code="STORE_UNAVAILABLE",
        retryable=True,
        details={"place": place, "reason": reason},
    )


def not_undone(first: BroodlineError, place: str, second: OSError) -> BroodlineError:
    """The same error, saying that what was written could not be taken back either."""
    reason = reason_of(second)
    text = f"{first.message}; nor could what was written be taken back: {reason}"
    both = type(first)(text, code=first.code, retryable=first.retryable, details=first.details)
    both.details |= {"place": place, "rollback": reason}
    return both


def locked_too_long(place: str, session_id: str | None) -> SessionError:
    """``STORE_UNAVAILABLE``: another process keeps a lock that is held for one write only."""
    return SessionError(
        f"{place} is locked by another process for longer than a write takes; see whether that "
        "process is stopped, and try again",
        code="STORE_UNAVAILABLE",
        retryable=True,
        details={"place": place, "reason": "locked too long", "session": session_id},
    )


def altered(place: str, session_id: str, text: str) -> SessionError:
    """``SEQ_MISMATCH``: a log is not as its holder left it."""
    return SessionError(
        f"session {session_id!r} in {place}: {text}; nothing was written, resume it to go on from "
        "what is there",
        code="SEQ_MISMATCH",
        details={"place": place, "session": session_id},
    )


def corrupt(path: str, session_id: str, text: str, line: int | None = None) -> SessionCorruptError:
    """Damage, or a log that is not where it belongs."""
    where = path if line is None else f"{path}:{line}"
    details: dict[str, object] = {"place": path, "session": session_id}
    if line is not None:
        details["line"] = line
    return SessionCorruptError(f"{where}: {text}", details=details)


def obsolete(path: str, session_id: str) -> SessionFormatUnsupportedError:
    """A log in a layout that is not read here."""
    name = os.path.basename(path)
    layout = "compressed" if name.endswith(".zstd") else "of an older layout"
    return SessionFormatUnsupportedError(
        f"session {session_id!r} lies in {path}, which is {layout} and not read here; export it "
        "with the program that wrote it, or move it away",
        details={"place": path, "session": session_id},
    )
