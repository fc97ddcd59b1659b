"""Waiting until what a session has logged is on disk.

Source: spec core 5.4, DESIGN section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..messages.errors import BroodlineError, SessionError, SessionLeasedError

if TYPE_CHECKING:
    from .session import Session
    from .store import Writer

FAILED = "DURABILITY_FAILED"
"""Code of what could not be made durable."""


async def checkpoint(session: Session) -> None:
    """Wait until everything logged so far is stored.

    Raises:
        SessionError: ``DURABILITY_FAILED``, retryable, with the store's own error as its
            cause.
        SessionLeasedError: If another process has taken the session over.
    """
    writer = session.writer
    if writer is not None and (writer.stored_seq < session.seq or writer.failure is not None):
        await flushed(session, writer)


async def flushed(session: Session, writer: Writer) -> None:
    """Flush, whether or not there is anything to store; raises as `checkpoint`."""
    try:
        safe = await writer.flush()
    except Exception as error:
        raise undurable(session.id, error) from error
    if not safe:
        raise undurable(session.id, None)


def undurable(session_id: str, error: Exception | None) -> SessionError:
    """What a caller is told whose work could not be stored."""
    if isinstance(error, SessionLeasedError):
        return error
    said = "its store did not confirm it" if error is None else str(error)
    cause = error.to_dict() if isinstance(error, BroodlineError) else said
    return SessionError(
        f"what agent {session_id} was to do next could not be stored, so it was not done: {said}",
        code=FAILED,
        retryable=True,
        details={"session": session_id, "cause": cause},
    )
