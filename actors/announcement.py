"""What an agent tells the observers of its inbox and its status, if there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..messages.message import UserMessage
from ..messages.payload import InboxTarget
from .inbox import Change
from .notice import InboxDequeued, InboxDiscarded, InboxEnqueued, StatusChanged

if TYPE_CHECKING:
    from .agent import Agent, Status

_EVENTS: dict[Change, str] = {
    "enqueue": "agent/inbox/enqueue",
    "dequeue": "agent/inbox/dequeue",
    "discard": "agent/inbox/discard",
}


def announce_status(agent: Agent, status: Status) -> None:
    """Tell that the agent began to run, or came to rest."""
    hooks = agent.runtime.hooks
    if hooks.has("agent/status"):
        hooks.emit("agent/status", StatusChanged(agent, status), scope=agent.scope)


def announce_change(
    agent: Agent, change: Change, message: UserMessage, target: InboxTarget
) -> None:
    """Tell what became of a message in the agent's inbox."""
    hooks = agent.runtime.hooks
    event = _EVENTS[change]
    if not hooks.has(event):
        return
    if change == "enqueue":
        notice: object = InboxEnqueued(agent, message, target)
    elif change == "dequeue":
        notice = InboxDequeued(agent, message, agent.turn.number if agent.turn else 0)
    else:
        notice = InboxDiscarded(agent, message)
    hooks.emit(event, notice, scope=agent.scope)
