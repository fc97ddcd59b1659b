"""Cancelling what an agent does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..messages.errors import ConfigurationError
from ..messages.lossless import type_name
from ..messages.payload import AbortCause
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
