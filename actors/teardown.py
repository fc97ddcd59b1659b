"""Ending an agent, in one order, whatever fails on the way.

Abort what runs and wait for it, unwind the scope, leave the agents
(``agent/disposed``, while the session is still there), leave the sessions
(``session/disposed``). Source: spec core 6.3, DESIGN section 4 (W3).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..messages.errors import DeadlockError
from .driver import current_agent
from .notice import AgentDisposed

if TYPE_CHECKING:
    from .agent import Agent

logger = logging.getLogger("broodline")


def end_now(agent: Agent) -> bool:
    """End an idle agent that has nothing to wait for.

    Returns:
        False when something has to be awaited: go on with `end`.

    Raises:
        ExceptionGroup: If clean-ups failed; the agent is gone all the same.
    """
    if agent.ended:
        return agent.scope.dispose_now()  # what failed then fails now
    if not agent.closing:
        agent.begin_disposal()
    if agent.status == "running":
        return False
    try:
        if not agent.scope.dispose_now():
            return False
    except ExceptionGroup:
        leave(agent)
        raise
    leave(agent)
    return True


async def end(agent: Agent) -> None:
    """End an agent and wait for it; all callers share one ending.

    Cancelling a caller ends its wait only.

    Raises:
        DeadlockError: From a turn that the ending would wait for.
        ExceptionGroup: If clean-ups failed; the agent is gone all the same.
    """
    refuse_self_wait(agent)
    if end_now(agent):
        return
    if agent.ending is None:
        agent.ending = agent.runtime.spawn(_finish(agent), name=f"end of {agent.id}")
    await asyncio.shield(agent.ending)


async def _finish(agent: Agent) -> None:
    try:
        await _quiesce(agent)
        await _release(agent)
    finally:
        leave(agent)


async def _release(agent: Agent) -> None:
    # Twice the deadline: children in the scope have the first half for their own work.
    deadline = 2 * agent.runtime.settings.dispose_timeout
    try:
        async with asyncio.timeout(deadline):
            await agent.scope.dispose()
    except TimeoutError:
        stuck = TimeoutError(
            f"a clean-up of agent {agent.id} did not end within {deadline:g} s and was left behind"
        )
        raise ExceptionGroup(f"agent {agent.id} is gone, but not all it held", [stuck]) from None


async def _quiesce(agent: Agent) -> None:
    if agent.status == "idle":
        return
    deadline = agent.runtime.settings.dispose_timeout
    try:
        async with asyncio.timeout(deadline):
            await agent.when_idle()
    except TimeoutError:
        logger.error(
            "agent %s ignored its cancellation for %g s in phase %r and was detached: it can log "
            "nothing more, but what it runs may still go on",
            agent.id,
            deadline,
            agent.phase,
        )
        agent.detach()


async def unwind(agent: Agent, then: Callable[[], None]) -> None:
    """Dispose the scope of an agent that was never published, and call `then`.

    Failures of clean-ups are logged. Cancelling the caller ends its wait only:
    what was begun is taken back whole.
    """
    agent.closing = True
    try:
        done = agent.scope.dispose_now()
    except ExceptionGroup:
        done = True
        _log_unwinding(agent)
    if done:
        then()
        return
    rest = agent.runtime.spawn(_unwind(agent, then), name=f"taking back of {agent.id}")
    await asyncio.shield(rest)


async def _unwind(agent: Agent, then: Callable[[], None]) -> None:
    try:
        await agent.scope.dispose()
    except ExceptionGroup:
        _log_unwinding(agent)
    finally:
        then()


def _log_unwinding(agent: Agent) -> None:
    logger.exception("agent %s: clean-ups of a creation that was taken back failed", agent.id)


def leave(agent: Agent) -> None:
    """Leave both registries, with the edges that pair those of the creation."""
    host = agent.runtime
    if agent.ended:
        return
    agent.ended = True
    if agent.fault is not None and not agent.session.sealed:
        agent.close_log()
    host.agents.remove(agent)
    if agent.announced and host.hooks.has("agent/disposed"):
        host.hooks.emit("agent/disposed", AgentDisposed(agent), scope=agent.scope)
    if agent.entry is not None:
        agent.entry.dispose()
    agent.close()


def refuse_self_wait(agent: Agent) -> None:
    """Refuse to let a turn wait for an ending that waits for this very turn.

    Raises:
        DeadlockError: If the code runs in a turn of `agent` or of one below it.
    """
    caller = current_agent.get()
    if caller is None or caller.turn is None:
        return
    above: Agent | None = caller
    while above is not None:
        if above is agent:
            raise DeadlockError(
                f"a turn of agent {caller.id} asked to wait for the end of agent {agent.id}, which "
                "waits for that turn; cancel it instead, or dispose it from outside",
                details={"agent": agent.id, "caller": caller.id},
            )
        above = above.parent
