"""What the one who made an agent holds: its reach from any thread, and its end."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ..messages.chunk import Usage
from ..messages.content import ContentLike
from ..messages.errors import ConfigurationError, DeadlockError
from ..messages.lossless import type_name
from ..messages.message import MessageId
from ..messages.payload import AbortCause, TurnEndReason
from .abort import abort_stored
from .acceptance import delivered
from .agent import USER_CANCEL, Agent, Status
from .operation import Operation
from .reply import Reply

if TYPE_CHECKING:
    from .agents import AgentRegistry


class AgentHandle:
    """An agent and the right to dispose of it.

    Every method may be called from any thread and returns a `Reply` at once:
    ``await`` it on a loop, or ``.result()`` it in a plain thread. Looking an
    agent up by its id never gives a handle.
    """

    __slots__ = ("_registry", "agent")

    def __init__(self, agent: Agent, registry: AgentRegistry) -> None:
        self.agent = agent
        self._registry = registry

    def __repr__(self) -> str:
        return f"<AgentHandle {self.agent.id} {self.agent.status}>"

    @property
    def id(self) -> str:
        """The agent's and its session's id."""
        return self.agent.id

    @property
    def status(self) -> Status:
        """A picture of the moment: ``idle`` or ``running``."""
        return self.agent.status

    @property
    def answer(self) -> str:
        """Text of the last message with content that the agent gave; empty before."""
        return self.agent.answer

    @property
    def usage(self) -> Usage | None:
        """Tokens of all its requests so far, failed ones too; None when none were reported.

        Of this agent alone: what its children used is in their own logs.
        """
        return self.agent.usage

    @property
    def last_end(self) -> TurnEndReason | None:
        """How the last turn of this process ended; None before the first."""
        return self.agent.last_end

    def followup(
        self, content: ContentLike, *, source: Any = None, id: MessageId | None = None
    ) -> Reply[MessageId]:
        """Queue a prompt for a turn of its own; see `Agent.followup` for errors.

        With a store of durability ``"accepted"`` it settles when the message is on disk. One
        that could not be stored never runs: the error is ``DURABILITY_FAILED``.
        """
        return self._deliver(self._followup, content, source, id)

    def steer(
        self, content: ContentLike, *, source: Any = None, id: MessageId | None = None
    ) -> Reply[MessageId]:
        """Hand in input for the next step; idle, it starts a turn."""
        return self._deliver(self._steer, content, source, id)

    def inject(
        self, content: ContentLike, *, source: Any = None, id: MessageId | None = None
    ) -> Reply[MessageId]:
        """Leave context for the next step, without a wake."""
        return self._deliver(self._inject, content, source, id)

    def cancel(self, cause: AbortCause = USER_CANCEL, *, keep_inbox: bool = False) -> Reply[None]:
        """Abort the turn in progress; without `keep_inbox` drop what is pending too.

        With a store of durability ``"accepted"`` it settles when it is on disk what was
        dropped. If that fails, with ``DURABILITY_FAILED``, the agent is cancelled all the
        same, but what was dropped may be pending again when it is resumed.
        """
        system = self.agent.runtime
        if keep_inbox or not self.agent.session.accepts:
            return system.settle_now(self._cancel, cause, keep_inbox)
        return system.operate(self._cancel_stored, cause, name="cancel")

    def when_idle(self) -> Reply[TurnEndReason | None]:
        """Settles when the agent has no turn in progress or due.

        The value is how the last turn of this process ended, or None before the first::

            end = await handle.when_idle()
            print(handle.answer if end and end.kind == "completed" else end)

        Errors:
            DeadlockError: From a turn of the agent, which would wait for its own end.
        """
        agent = self.agent
        try:
            agent.refuse_own_turn()
        except DeadlockError as error:
            return Reply.failed(error, agent.runtime, "when_idle")
        return agent.runtime.operate(agent.when_idle(), name="when_idle")

    def dispose(self) -> Reply[None]:
        """End the agent: abort its turn, release what it owns, leave the registry.

        Pending messages stay in the log. All callers share one disposal. Work
        that ignores its cancellation past ``dispose_timeout`` is detached: the
        log is sealed against it.

        Errors:
            DeadlockError: From inside a turn of the agent or of one below it,
                which the disposal would wait for.
            ExceptionGroup: If something that it owned failed to be released; it
                is gone all the same.
        """
        return self._registry.dispose(self.agent)

    def _deliver(
        self, how: Callable[..., Any], content: ContentLike, source: Any, id: Any
    ) -> Reply[MessageId]:
        system = self.agent.runtime
        if not self.agent.session.accepts:
            return system.settle_now(how, content, source, id)
        name = how.__name__.strip("_")
        return system.operate(self._accept, how, content, source, id, name=name)

    def _accept(
        self,
        operation: Operation[MessageId],
        how: Callable[..., Any],
        content: ContentLike,
        source: Any,
        id: Any,
    ) -> Coroutine[Any, Any, MessageId]:
        """Deliver now and wait until it is stored; plain, so that deliveries keep their order."""
        return _accepted(operation, how(content, source, id))

    # Their names are what an error about a forgotten await says.

    def _followup(self, content: ContentLike, source: Any, id: Any) -> Any:
        message = self.agent.message(content, source, id)
        return delivered(self.agent, message, "next-turn", waking=True)

    def _steer(self, content: ContentLike, source: Any, id: Any) -> Any:
        message = self.agent.message(content, source, id)
        return delivered(self.agent, message, "next-step", waking=True)

    def _inject(self, content: ContentLike, source: Any, id: Any) -> Any:
        message = self.agent.message(content, source, id)
        return delivered(self.agent, message, "next-step", waking=False)

    def _cancel(self, cause: AbortCause, keep_inbox: bool) -> None:
        self.agent.cancel(cause, keep_inbox=keep_inbox)

    def _cancel_stored(
        self, operation: Operation[None], cause: AbortCause
    ) -> Coroutine[Any, Any, None]:
        """Cancel now, and wait until it is stored."""
        operation.accept()
        logged = self.agent.session.seq
        self.agent.cancel(cause)
        return abort_stored(self.agent, logged)


async def _accepted(operation: Operation[MessageId], delivery: Any) -> MessageId:
    message_id: MessageId = await delivery if inspect.isawaitable(delivery) else delivery
    operation.accept()
    return message_id


def agent_of(reference: object, subject: str = "agent") -> Agent:
    """The agent that a handle or the agent itself stands for.

    Raises:
        ConfigurationError: If the reference is neither, naming the argument `subject`.
    """
    if isinstance(reference, AgentHandle):
        return reference.agent
    if isinstance(reference, Agent):
        return reference
    if isinstance(reference, Reply):
        raise ConfigurationError(
            f"{subject} is a Reply of {reference.label()!r} that was not awaited; await it first, "
            f"or hand over reply.result() in a thread"
        )
    raise ConfigurationError(
        f"{subject} must be an Agent or its AgentHandle, not {type_name(reference)}; "
        "runtime.agents.get(id) finds a live agent by its id"
    )
