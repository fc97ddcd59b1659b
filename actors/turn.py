"""One turn: steps until nothing is owed (spec core section 8).

A turn runs as part of its agent's driver task. It claims its own input, and
whatever happens it closes the step and the turn that it opened.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..messages.edge import COMPLETED, step_end, step_start
from ..messages.errors import ModelError
from ..messages.message import UserMessage
from ..messages.payload import (
    AbortCause,
    InboxTarget,
    TurnEndReason,
    UserMessageLogged,
)
from .cancellation import CancellationToken
from .checkpoint import checkpoint
from .interrupt import Interrupt, Interrupted
from .models.failure import failure_of
from .notice import PreStep, TurnStopping
from .prompting import assemble
from .step import respond
from .verdict import entered

if TYPE_CHECKING:
    from .agent import Agent
    from .session import Session

CEILING = TurnEndReason("max-tokens")
BLOCKED = TurnEndReason("blocked")

# Steps that never wait would starve every other actor of the loop.
_STEPS_BETWEEN_BREATHS = 16


class TurnAborted(Exception):
    """The turn's token has fired; the log gets the token's cause, not this."""


class Turn:
    """The state of the turn in progress.

    Attributes:
        agent: Whose turn it is.
        session: The agent's session.
        number: From 1, over the whole session.
        step: The number of the step in progress, or of the last one; 0 before the first.
        token: Fires when the turn is cancelled; no other turn has it.
        interrupt: Cuts the waits short that may be.
        concluded: A tool of this step asked for the turn to end with it.
        ceiling: A response of this turn ran into its ceiling.
    """

    __slots__ = (
        "agent",
        "ceiling",
        "concluded",
        "interrupt",
        "number",
        "session",
        "step",
        "step_open",
        "token",
    )

    def __init__(
        self, agent: Agent, number: int, token: CancellationToken, interrupt: Interrupt
    ) -> None:
        self.agent = agent
        self.session: Session = agent.session
        self.number = number
        self.token = token
        self.interrupt = interrupt
        self.step = 0
        self.step_open = False
        self.ceiling = False
        self.concluded = False

    def check(self) -> None:
        """Do nothing while the turn is wanted.

        Raises:
            TurnAborted: Once the token has fired.
        """
        if self.token.cancelled:
            raise TurnAborted

    def cause(self) -> AbortCause:
        """Why the turn was cancelled, as it is logged."""
        cause = self.token.cause
        return cause if isinstance(cause, AbortCause) else AbortCause("user")

    async def run(self) -> TurnEndReason:
        """Take steps until nothing is owed.

        Raises:
            TurnAborted: If the turn was cancelled.
            Exception: Whatever broke it.
        """
        target: InboxTarget = "next-turn"
        while True:
            entered = await self._enter(target)
            if entered is not None:
                return entered
            self._check_limit()
            self.concluded = False
            try:
                owes = await respond(self)
            finally:
                self.close_step()
            target = "next-step"
            if not self.step % _STEPS_BETWEEN_BREATHS:
                await asyncio.sleep(0)
            if owes or self.agent.inbox.has("next-step"):
                continue
            await self._stopping()
            if not self.agent.inbox.has("next-step"):
                return CEILING if self.ceiling else COMPLETED

    async def _enter(self, target: InboxTarget) -> TurnEndReason | None:
        """Claim, assemble, ask, open the step; or say how the turn ends without one."""
        agent = self.agent
        agent.begin_phase("assembling")
        messages = agent.inbox.claim(target)
        self.step += 1
        snapshot = await assemble(self)
        self.check()
        if snapshot is not None:
            messages += (snapshot,)
        if self.session.checkpoints:
            await self.checkpoint()
        decision = await self._ask(messages)
        self.check()
        if decision is None:
            return BLOCKED
        if not decision and self.step == 1:
            return COMPLETED
        self._open_step(decision)
        return None

    async def checkpoint(self) -> None:
        """Wait until what is logged is stored.

        Raises:
            TurnAborted: If the turn was cancelled meanwhile.
            SessionError: If it could not be stored.
        """
        try:
            await self.interrupt.wait(checkpoint(self.session))
        except Interrupted:
            pass
        self.check()

    async def _ask(self, messages: tuple[UserMessage, ...]) -> tuple[UserMessage, ...] | None:
        """Run the ``agent/pre-step`` interceptors; None is a rejection."""
        agent = self.agent
        asked = agent.runtime.hooks.interceptors("agent/pre-step", agent.scope)
        for interceptor in asked:
            answer = interceptor(PreStep(agent, messages, self.number, self.step, self.token))
            if hasattr(answer, "__await__"):
                answer = await answer
            left = entered(answer, messages, agent.id)
            if left is None:
                return None
            messages = left
        return messages

    def _open_step(self, messages: tuple[UserMessage, ...]) -> None:
        agent, append = self.agent, self.session.append
        before = agent.before_first_step
        if before is not None:
            agent.before_first_step = None
            before()
        append(step_start(self.number, self.step))
        self.step_open = True
        for message in messages:
            append(UserMessageLogged(message), surface="append")

    def _check_limit(self) -> None:
        limit = self.agent.runtime.settings.max_steps
        if limit is not None and self.step > limit:
            self.close_step()
            raise ModelError(
                f"turn {self.number} of agent {self.agent.id} reached {limit} steps without an "
                "end; raise Runtime(max_steps=...) if such turns are wanted",
                "STEP_LIMIT",
            )

    def close_step(self) -> None:
        """Log the end of the open step, if there is one."""
        if self.step_open:
            self.session.append(step_end(self.number, self.step))
            self.step_open = False

    async def _stopping(self) -> None:
        self.check()
        agent = self.agent
        hooks = agent.runtime.hooks
        if hooks.has("agent/turn-stopping"):
            agent.begin_phase("stopping")
            notice = TurnStopping(agent, self.number, self.token)
            await hooks.emit_serial("agent/turn-stopping", notice, scope=agent.scope)
            self.check()


def end_of(turn: Turn, error: BaseException) -> TurnEndReason:
    """How a turn ends that `error` broke. Cancellation outranks what it caused."""
    if turn.token.cancelled:
        return TurnEndReason("aborted", reason=turn.cause())
    return TurnEndReason("error", error=failure_of(error, aborted=False))
