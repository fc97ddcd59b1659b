"""What the hooks hand over: one frozen payload a kind of event.

An observer is told and answers nothing. An interceptor answers with one of the
decisions named beside its payload, or with None for "as it is". `agent` is the
live ``Agent``, `session` the live ``Session``. `docs/hooks.md` lists who hears
what, and when.

Source: spec core 6.2, 7, 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..messages.chunk import ModelFailure
from ..messages.message import UserMessage
from ..messages.payload import CallConfig, InboxTarget


@dataclass(frozen=True, slots=True)
class SessionCreated:
    """``session/created``, strict: a plain observer that raises vetoes the creation."""

    session: Any


@dataclass(frozen=True, slots=True)
class SessionDisposed:
    """``session/disposed``: the session left the registry; pairs every ``session/created``."""

    session: Any


@dataclass(frozen=True, slots=True)
class AgentCreated:
    """``agent/created``, strict: a plain observer that raises vetoes the creation."""

    agent: Any


@dataclass(frozen=True, slots=True)
class AgentDisposed:
    """``agent/disposed``: the agent left the registry, its session is still there."""

    agent: Any


@dataclass(frozen=True, slots=True)
class SessionStart:
    """``agent/session-start``: the agent is usable; the first place to inject.

    A seeded creation is a ``startup``.
    """

    agent: Any
    source: Literal["startup", "resume"]


@dataclass(frozen=True, slots=True)
class StatusChanged:
    """``agent/status``: one for each change, never a repeat."""

    agent: Any
    status: Literal["idle", "running"]


@dataclass(frozen=True, slots=True)
class InboxEnqueued:
    """``agent/inbox/enqueue``: a message is pending in the inbox."""

    agent: Any
    message: UserMessage
    target: InboxTarget = "next-turn"


@dataclass(frozen=True, slots=True)
class InboxDequeued:
    """``agent/inbox/dequeue``: a turn claimed a message."""

    agent: Any
    message: UserMessage
    turn: int


@dataclass(frozen=True, slots=True)
class InboxDiscarded:
    """``agent/inbox/discard``: a pending message was taken out without being claimed."""

    agent: Any
    message: UserMessage


@dataclass(frozen=True, slots=True)
class PreStep:
    """``agent/pre-step``, intercepted: may this step begin, and with which messages?

    Attributes:
        messages: The claimed batch, then a context snapshot if there is a new one;
            for a later interceptor, what the earlier ones made of it.
        step: From 1 within the turn.
        signal: The turn's ``CancellationToken``.
    """

    agent: Any
    messages: tuple[UserMessage, ...]
    turn: int
    step: int
    signal: Any


@dataclass(frozen=True, slots=True)
class Enter:
    """Answer to `PreStep`: begin the step with these messages, which may be none."""

    messages: tuple[UserMessage, ...]


@dataclass(frozen=True, slots=True)
class Reject:
    """Answer to `PreStep`: no step; the turn ends ``blocked``. No one else is asked."""

    reason: str


@dataclass(frozen=True, slots=True)
class RequestProposal:
    """``agent/request``, intercepted: which model is asked, and how?

    The answer is the `CallConfig` to use, or None; the next interceptor sees it.
    """

    agent: Any
    config: CallConfig
    turn: int
    step: int


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """``agent/request-error``, intercepted: a model request failed; try again?

    Attributes:
        attempt: Which request of this step failed, from 1.
        signal: The turn's ``CancellationToken``; once fired, no answer counts.
    """

    agent: Any
    failure: ModelFailure
    attempt: int
    config: CallConfig
    turn: int
    step: int
    signal: Any


@dataclass(frozen=True, slots=True)
class Retry:
    """Answer to `RequestFailed`: ask again after `delay` seconds (0 or more); the first counts."""

    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnStopping:
    """``agent/turn-stopping``, awaited one by one: the turn is about to close.

    An observer that queues next-step input makes the turn go on.
    """

    agent: Any
    turn: int
    signal: Any


@dataclass(frozen=True, slots=True)
class AgentFailed:
    """``agent/error``: a turn ended in an error; never for a cancellation.

    Attributes:
        step: The step it broke in, or None before the first.
    """

    agent: Any
    turn: int
    step: int | None
    error: BaseException
