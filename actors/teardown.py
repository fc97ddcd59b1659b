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
from ..messages.payload import AbortCause, TurnEndReason
from .abandonment import abandon
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
        return agent.scope.dispose_now() and _stored(agent)  # what failed then fails now
    if not agent.closing:
        agent.begin_disposal()
    if agent.status == "running" or agent.acceptance is not None:
        return False
    try:
        if not agent.scope.dispose_now():
            return False
    except ExceptionGroup:
        leave(agent)
        raise
    leave(agent)
    return _stored(agent)


def _stored(agent: Agent) -> bool:
    """Whether the log of an agent that has left is stored, as far as its store goes.

    Raises:
        SessionError: If it could not be.
    """
    farewell = agent.session.farewell
    if farewell is None:
        return True
    if not farewell.done():
        return False
    farewell.result()
    return True


async def end(agent: Agent) -> None:
    """End an agent and wait for it; all callers share one ending.

    Cancelling a caller ends its wait only.

    Raises:
        DeadlockError: From a turn that the ending would wait for.
        ExceptionGroup: If clean-ups failed; the agent is gone all the same.
        SessionError: If its log could not be stored, as far as it was not yet; the store
            keeps the rest and goes on trying.
    """
    refuse_self_wait(agent)
    if end_now(agent):
        return
    if agent.ending is None:
        agent.ending = agent.runtime.spawn(_finish(agent), name=f"end of {agent.id}")
    await asyncio.shield(agent.ending)


async def _finish(agent: Agent) -> None:
    failures: list[Exception] = []
    try:
        await _quiesce(agent)
        await _release(agent)
    except Exception as error:
        failures.append(error)
    finally:
        leave(agent)
    try:
        await _store_rest(agent)
    except Exception as error:
        failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup(f"agent {agent.id} is gone, but not all it held", failures)


async def _store_rest(agent: Agent) -> None:
    """Wait, but not for ever, until the log is stored."""
    farewell = agent.session.farewell
    if farewell is None:
        return
    deadline = 2 * agent.runtime.settings.dispose_timeout
    await asyncio.wait((farewell,), timeout=deadline)
    if not farewell.done():
        raise TimeoutError(
            f"the log of agent {agent.id} was not stored within {deadline:g} s; the agent is gone, "
            "and its store goes on trying"
        )
    farewell.result()


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
    """Wait for the turn, and for the store to say what of the last deliveries it took."""
    if agent.status == "idle" and agent.acceptance is None:
        return
    deadline = agent.runtime.settings.dispose_timeout
    try:
        async with asyncio.timeout(deadline):
            await agent.when_idle()
    except TimeoutError:
        if agent.status == "idle":
            return  # it is the store that is silent
        logger.error(
            "agent %r ignored its cancellation for %g s in phase %r and was detached: it can log "
            "nothing more, but what it runs may still go on",
            agent.id,
            deadline,
            agent.phase,
        )
        detach(agent)


def detach(agent: Agent) -> None:
    """Let go of work that ignored its cancellation: it can log nothing any more."""
    _close_log(agent)
    _give_up_deliveries(agent)
    agent.session.seal(f"agent {agent.id} was detached: it ignored its cancellation")
    agent.end_task()


def _close_log(agent: Agent) -> None:
    """Close a turn that is still open in the log, if the log lets that happen."""
    cause = agent.token.cause if agent.token is not None else None
    cause = cause if isinstance(cause, AbortCause) else AbortCause("disposed")
    if agent.session.open_turn:
        agent.last_end = TurnEndReason("aborted", reason=cause)
    try:
        abandon(agent.session, cause)
    except Exception:
        logger.exception("the log of agent %r could not be closed", agent.id)


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
    logger.exception("agent %r: clean-ups of a creation that was taken back failed", agent.id)


def leave(agent: Agent) -> None:
    """Leave both registries, with the edges that pair those of the creation."""
    host = agent.runtime
    if agent.ended:
        return
    agent.ended = True
    if agent.fault is not None and not agent.session.sealed:
        _close_log(agent)
    _give_up_deliveries(agent)
    host.agents.remove(agent)
    if agent.announced and host.hooks.has("agent/disposed"):
        host.hooks.emit("agent/disposed", AgentDisposed(agent), scope=agent.scope)
    if agent.entry is not None:
        agent.entry.dispose()
    agent.close()


def _give_up_deliveries(agent: Agent) -> None:
    """Take back what no store has confirmed, while the log can still say so."""
    if agent.acceptance is not None:
        agent.acceptance.give_up()


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
