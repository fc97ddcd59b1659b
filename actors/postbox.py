"""The pykka inbox of an agent: a door to the one inbox that its log folds to.

There is no second buffer. What pykka puts here is handed to the agent on the
loop at once: content becomes a follow-up in the log, while signals (stop,
attribute access, method calls through a proxy) overtake what is pending.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from pykka._envelope import Envelope

from ..messages.errors import ActorDeadError
from .letterbox import answer_error

if TYPE_CHECKING:
    from .agent import Agent


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
            agent.runtime.call(agent.receive, envelope)
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
