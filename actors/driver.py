"""The driver: the task of an agent that runs, from its first wake to its next rest.

There is at most one, and none while the agent is idle. It runs turn after turn;
the look at what is pending and the step back to idle are one piece of
synchronous code, so a wake can never fall between them (spec core D1).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from ..messages.edge import turn_end, turn_start
from ..messages.errors import BroodlineError, ModelError
from ..messages.payload import AbortCause, TurnEndReason
from .cancellation import CancellationToken
from .context import current_actor
from .interrupt import Interrupt
from .models.failure import UNKNOWN, failure_of
from .models.redaction import redacted_trace
from .notice import AgentFailed
from .recovery import can_begin
from .stray import as_exception, is_stray
from .turn import Turn, end_of
from .watch import WatchedCoroutine

if TYPE_CHECKING:
    from .agent import Agent

# Turns that never wait would starve every other actor of the loop.
_TURNS_BETWEEN_BREATHS = 16

current_agent: ContextVar[Agent | None] = ContextVar("broodline_current_agent", default=None)
"""The agent whose turn this code runs in: attribution, never authority."""


class DriverSteps(WatchedCoroutine[None]):
    """The driver's steps; an agent whose driver ended before its first line rests too."""

    __slots__ = ()

    def throw(self, typ: Any, val: Any = None, tb: Any = None, /) -> Any:
        """Run one step that begins with an exception."""
        begun = self._begun()
        try:
            return super().throw(typ, val, tb)
        except BaseException:
            if not begun:  # else it has rested, and another driver may be at work
                self._rest()
            raise

    def close(self) -> None:
        """End the driver, if it began; the agent rests either way."""
        begun = self._begun()
        try:
            super().close()
        finally:
            if not begun:
                self._rest()

    def _rest(self) -> None:
        cast("Agent", self._culprit).rest()

    def _begun(self) -> bool:
        return inspect.getcoroutinestate(self._inner) != inspect.CORO_CREATED


async def drive(agent: Agent) -> None:
    """Run turns until nothing is owed, then let the agent rest."""
    current_agent.set(agent)
    if current_actor.get() is not None:
        current_actor.set(None)  # whoever woke it does not wait for what it does
    task = asyncio.current_task()
    assert task is not None
    interrupt = Interrupt(task)
    try:
        while True:
            token = agent.token
            if token is None or not await can_begin(agent):
                break
            turn = _open(agent, token, interrupt)
            ended = None if turn is None else await _finish(agent, turn)
            if not _goes_on(agent, token, ended):
                break
            agent.token = CancellationToken()
            if not agent.turns % _TURNS_BETWEEN_BREATHS:
                await asyncio.sleep(0)
    finally:
        agent.rest()


def _open(agent: Agent, token: CancellationToken, interrupt: Interrupt) -> Turn | None:
    """Log the start of a turn; None when there is nothing to do, or the log refuses."""
    if token.cancelled or not agent.inbox.claimable:
        return None
    number = agent.session.last_turn + 1
    try:
        agent.session.append(turn_start(number))
    except BaseException as error:
        if not is_stray(error, None):
            raise
        _report(agent, number, None, as_exception(error))
        return None
    turn = agent.turn = Turn(agent, number, token, interrupt)
    agent.turns += 1
    token.follow(interrupt.fire)
    return turn


async def _finish(agent: Agent, turn: Turn) -> TurnEndReason:
    """Run an opened turn and log its end, whatever happens."""
    failure: Exception | None = None
    try:
        reason = await turn.run()
    except BaseException as error:
        if not is_stray(error, turn.interrupt.task):
            # The loop itself is going down; the log must not keep an open turn.
            turn.token.cancel(AbortCause("disposed"))
            _close(agent, turn, end_of(turn, error), None)
            raise
        failure = as_exception(error)
        reason = end_of(turn, failure)
        if reason.kind != "error":
            failure = None
    _close(agent, turn, reason, failure)
    failure = None  # its traceback holds this frame: together they would be a cycle
    agent.turn = None
    turn.token.retire()
    return reason


def _close(agent: Agent, turn: Turn, reason: TurnEndReason, failure: Exception | None) -> None:
    if agent.turn is not turn:
        return  # it was let go of, and its log closed without it
    agent.last_end = reason
    try:
        turn.close_step()
        agent.session.append(turn_end(turn.number, reason))
    except BaseException as error:
        if not is_stray(error, None):
            raise
        # The log has a turn that nobody can close: no further turn may follow it.
        agent.fault = as_exception(error)
        failure = failure or agent.fault
        agent.last_end = TurnEndReason("error", error=failure_of(failure))
    if failure is not None:
        _report(agent, turn.number, turn.step or None, failure)


def _report(agent: Agent, turn: int, step: int | None, error: Exception) -> None:
    said = failure_of(error)
    foreign = _is_foreign(error)
    clean = redacted_trace(error) if foreign else None
    agent.runtime.logger.log(
        # A child's result says it too; a root has nobody else to tell.
        logging.WARNING if agent.parent is None else logging.INFO,
        "agent %r: turn %d ended in an error: %s: %s%s",
        agent.id,
        turn,
        said.code,
        said.message,
        "" if clean is None else "\n" + clean,
        exc_info=error if clean is None and foreign else None,
    )
    notice = AgentFailed(agent, turn, step, error)
    agent.runtime.hooks.emit("agent/error", notice, scope=agent.scope)


def _is_foreign(error: BaseException) -> bool:
    """Whether it comes from code that is not ours and did not speak in our terms."""
    while isinstance(error, ModelError) and error.code == UNKNOWN and error.__cause__ is not None:
        error = error.__cause__
    return not isinstance(error, BroodlineError)


def _goes_on(agent: Agent, token: CancellationToken, ended: TurnEndReason | None) -> bool:
    """Whether another turn follows. Source: DESIGN section 3, spec core D8."""
    if agent.fault is not None or agent.closing:
        return False
    inbox = agent.inbox
    if token.cancelled:
        return inbox.waking > 0  # what was pending at the cancellation does not count
    if ended is None:
        return False
    if ended.kind in ("completed", "max-tokens"):
        return inbox.claimable
    return inbox.waking > 0 or inbox.has("next-turn")
