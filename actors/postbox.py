"""The pykka inbox of an agent: a door to the one inbox that its log folds to.

There is no second buffer. What pykka puts here is handed to the agent on the
loop at once: content becomes a follow-up in the log, while signals (stop,
attribute access, method calls through a proxy) overtake what is pending.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from pykka._envelope import Envelope
from pykka.messages import _ActorStop  # pyright: ignore[reportPrivateUsage]

from ..messages.errors import ActorDeadError
from .letterbox import answer, answer_error

if TYPE_CHECKING:
    from .agent import Agent
    from .reply import Reply


class AgentMailbox:
    """Takes envelopes from any thread."""

    __slots__ = ("_agent",)

    def __init__(self) -> None:
        self._agent: Agent | None = None

    def attach(self, agent: Agent) -> None:
        """Say whose door this is."""
        self._agent = agent

    def put(self, envelope: Envelope[Any], /) -> None:
        """Hand an envelope to the agent; never blocks."""
        agent = self._agent
        if agent is not None:
            agent.runtime.call(_receive, agent, envelope)
        elif envelope.reply_to is not None:
            answer_error(envelope.reply_to, ActorDeadError("the agent is disposed"))

    def close(self) -> None:
        """Forget the agent: what comes now is answered with `ActorDeadError`."""
        self._agent = None

    def get(self) -> NoReturn:
        """Nothing is ever buffered here, so nothing can be taken out.

        Raises:
            LookupError: Always.
        """
        raise LookupError("an agent's messages are in agent.inbox; they are claimed by its turns")

    def empty(self) -> bool:
        """Whether nothing is pending in the agent's inbox."""
        return self._agent is None or not len(self._agent.inbox)


def _receive(agent: Agent, envelope: Envelope[Any]) -> None:
    """Take in what was sent through the agent's `ActorRef`. Loop only."""
    reply_to = envelope.reply_to
    if isinstance(envelope.message, _ActorStop):
        _stop(agent, reply_to)
        return
    try:
        value = agent._handle_receive(envelope.message)  # pyright: ignore[reportPrivateUsage]
    except BaseException as error:
        if reply_to is None:
            agent.runtime.logger.exception("agent %r refused a message", agent.id)
        else:
            answer_error(reply_to, error)
        return
    if inspect.iscoroutine(value):
        pending: Reply[Any] = agent.runtime.operate(value, name=f"call of agent {agent.id}")
        if reply_to is not None:
            pending.add_done_callback(partial(_pass_on, reply_to))
    elif reply_to is not None:
        answer(reply_to, value)


def _stop(agent: Agent, reply_to: Any) -> None:
    ended = agent.runtime.agents.dispose(agent)
    if reply_to is not None:
        ended.add_done_callback(partial(_pass_on, reply_to))


def _pass_on(reply_to: Any, outcome: Reply[Any]) -> None:
    error = outcome.error()
    if error is None:
        answer(reply_to, outcome.get())
    else:
        answer_error(reply_to, error)
