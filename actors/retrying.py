"""Asking again after a failed request, inside the same step (spec core 12.6).

The policy decides, this carries out: it logs, waits, and gives way to a
cancellation at every point.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..messages.chunk import ModelFailure
from ..messages.payload import CallConfig, RetryPlanned, RetryStarted
from .interrupt import Interrupted
from .models.failure import error_of
from .models.retry import RetryPolicy
from .notice import RequestFailed
from .verdict import delay_of

if TYPE_CHECKING:
    from .turn import Turn


async def wait_for_retry(
    turn: Turn,
    config: CallConfig,
    failure: ModelFailure,
    attempt: int,
    cause: BaseException | None = None,
) -> None:
    """Return when the request is to be made again.

    Args:
        attempt: Which request of this step failed, from 1.
        cause: What the model raised, for a traceback; None if it was no error of its own.

    Raises:
        ModelError: If it is not: the policy and every interceptor gave up.
        TurnAborted: If the turn was cancelled meanwhile.
    """
    policy = turn.agent.runtime.models.retry_policy(config.provider)
    delay = await _decide(turn, policy, config, failure, attempt)
    turn.check()
    if delay is None:
        raise error_of(failure) from cause
    await _back_off(turn, policy, config, failure, attempt, delay)


async def _decide(
    turn: Turn, policy: RetryPolicy, config: CallConfig, failure: ModelFailure, attempt: int
) -> float | None:
    """Seconds to wait, or None. A policy that always retries lets the interceptors go first."""
    random = turn.agent.runtime.random
    if policy.mode == "normal":
        delay = policy.decide(failure, attempt, random)
        return delay if delay is not None else await _offer(turn, config, failure, attempt)
    offered = await _offer(turn, config, failure, attempt)
    return offered if offered is not None else policy.decide(failure, attempt, random)


async def _offer(
    turn: Turn, config: CallConfig, failure: ModelFailure, attempt: int
) -> float | None:
    agent = turn.agent
    for interceptor in agent.runtime.hooks.interceptors("agent/request-error", agent.scope):
        answer = interceptor(
            RequestFailed(agent, failure, attempt, config, turn.number, turn.step, turn.token)
        )
        if hasattr(answer, "__await__"):
            answer = await answer
        turn.check()
        delay = delay_of(answer, agent.id)
        if delay is not None:
            return delay
    return None


async def _back_off(
    turn: Turn,
    policy: RetryPolicy,
    config: CallConfig,
    failure: ModelFailure,
    attempt: int,
    delay: float,
) -> None:
    retry_id = turn.agent.runtime.ids.new("retry")
    turn.session.append(
        RetryPlanned(
            retry_id,
            turn.number,
            turn.step,
            config.provider,
            policy.mode,
            policy.key,
            attempt,
            math.ceil(delay * 1000),
            failure,
            policy.retries if policy.mode == "normal" else None,
        )
    )
    turn.agent.begin_phase("back-off")
    try:
        await turn.interrupt.wait(turn.agent.runtime.clock.sleep(delay))
    except Interrupted:
        turn.check()
    turn.check()
    turn.session.append(RetryStarted(retry_id, turn.number, turn.step, attempt))
