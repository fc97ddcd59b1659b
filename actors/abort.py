"""Cancelling what an agent does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..messages.errors import ConfigurationError, SessionError, SessionLeasedError
from ..messages.lossless import type_name
from ..messages.payload import AbortCause
from .checkpoint import FAILED, checkpoint
from .refusal import check_thread

if TYPE_CHECKING:
    from .agent import Agent


def abort(agent: Agent, cause: AbortCause, *, keep_inbox: bool) -> None:
    """See `Agent.cancel`."""
    if not isinstance(cause, AbortCause):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(
            f"cause of a cancellation must be an AbortCause, not {type_name(cause)}"
        )
    if agent.phase == "closed":
        return
    check_thread(agent)
    token = agent.token
    try:
        if keep_inbox:
            agent.inbox.put_off()
        else:
            agent.inbox.clear()
    except BaseException:
        agent.inbox.put_off()
        raise
    finally:
        # Not what an observer of the clearing has woken.
        if token is not None:
            token.cancel(cause)


async def abort_stored(agent: Agent, logged: int) -> None:
    """Wait until it is stored what a cancellation dropped, else a resume would find it again.

    Args:
        agent: Cancelled just now.
        logged: How many events its log had before.

    Raises:
        SessionError: ``DURABILITY_FAILED``, retryable.
        SessionLeasedError: If another process has taken the session over.
    """
    session = agent.session
    if session.writer is None or (session.seq == logged and session.writer.failure is None):
        return
    try:
        await checkpoint(session)
    except SessionLeasedError:
        raise
    except SessionError as error:
        raise SessionError(
            f"agent {agent.id} was cancelled, but its store could not note what that dropped; "
            "cancel it again when the store answers, else a resume may find it pending: "
            f"{error.details.get('cause')}",
            code=FAILED,
            retryable=True,
            details=error.details,
        ) from error
