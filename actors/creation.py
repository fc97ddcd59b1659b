"""Making an agent as one transaction: it is there whole, or nothing of it is.

The order is: session, agent, set-up, the id kept free in the store, commit, entry into
both registries,
``session/created``, ``agent/created`` (both may veto), ``agent/session-start``.
Every creation edge that went out is paired by a disposal edge when a later step
fails. Source: spec core 6.2.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from ..messages.errors import SessionError
from ..messages.event import Event
from ..messages.header import SessionHeader
from ..messages.options import AgentOptions
from .agent import Agent
from .cancellation import CancellationToken
from .choice import chosen_options
from .notice import AgentCreated, SessionStart
from .teardown import leave, unwind

if TYPE_CHECKING:
    from .host import AgentHost
    from .session import Session

Commit: TypeAlias = Callable[[], None]
Setup: TypeAlias = Callable[[Agent], Commit | Awaitable[Commit | None] | None]
"""Composes an unpublished agent; plain or async. What it returns, if anything, is
called right before publication."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """What an agent is made of.

    Attributes:
        header: Its session's header, checked already.
        options: What it is run with.
        seed: The leading events of its log; None for a log of its own.
        setup: Composes it while nobody can see it.
        parent: The delegating agent, or None.
        signal: Fired before publication, it takes everything back.
        source: ``resume`` when it comes back from its own stored log.
        fresh: The id was made for it, so that nobody else can have it.
    """

    header: SessionHeader
    options: AgentOptions
    seed: Sequence[Event] | None = None
    setup: Setup | None = None
    parent: Agent | None = None
    signal: CancellationToken | None = None
    source: Literal["startup", "resume"] = "startup"
    fresh: bool = False


async def establish(host: AgentHost, spec: AgentSpec, session: Session | None = None) -> Agent:
    """Make and publish an agent, or leave nothing behind.

    Args:
        host: Where it will live.
        spec: What it is made of.
        session: Prepared already, from a stored log; None prepares one.

    Raises:
        BaseException: The signal's cause, if it fired before publication.
        SessionError: If the id is live, or host or parent are closing.
        Exception: What the set-up, its commit or a veto raised.
    """
    if session is None:
        _check_wanted(host, spec)
        session = host.sessions.prepare(spec.header, spec.seed)
        _log_options(host, session, spec.options)
    agent: Agent | None = None
    try:
        agent = Agent(host, session, spec.options, spec.parent)
        _check_wanted(host, spec)
        commit = await _set_up(agent, spec)
        await host.sessions.reserve(session, fresh=spec.fresh)
        _check_wanted(host, spec)
        if commit is not None:
            commit()
            _check_wanted(host, spec)
        agent.entry = host.sessions.enter(session)
    except BaseException:
        if agent is None:
            host.sessions.abandon(session)
        else:
            await unwind(agent, partial(_forget, agent))
        raise
    await _publish(agent, spec)
    return agent


def _log_options(host: AgentHost, session: Session, options: AgentOptions) -> None:
    """Log what the agent is run with, where a resume could not know it."""
    chosen = chosen_options(options, host.default_model)
    if chosen is not None:
        session.append(chosen, ignorable=True)


async def _set_up(agent: Agent, spec: AgentSpec) -> Commit | None:
    if spec.setup is None:
        return None
    commit: Any = spec.setup(agent)
    if inspect.isawaitable(commit):
        commit = await commit
    _check_wanted(agent.runtime, spec)
    return cast("Commit | None", commit)


async def _publish(agent: Agent, spec: AgentSpec) -> None:
    host = agent.runtime
    host.agents.add(agent)
    try:
        _announce(agent, spec)
    except BaseException:
        agent.session.unwanted = spec.source == "startup"
        await unwind(agent, partial(leave, agent))
        raise
    agent.published = True
    if host.hooks.has("agent/session-start"):
        start = SessionStart(agent, spec.source)
        host.hooks.emit("agent/session-start", start, scope=agent.scope)


def _announce(agent: Agent, spec: AgentSpec) -> None:
    host = agent.runtime
    host.sessions.announce(agent.session)
    _check_announced(agent, spec)
    if host.hooks.has("agent/created"):
        agent.announced = True
        host.hooks.emit_strict("agent/created", AgentCreated(agent), scope=agent.scope)
        _check_announced(agent, spec)
    agent.announced = True


def _check_announced(agent: Agent, spec: AgentSpec) -> None:
    _check_wanted(agent.runtime, spec)
    if agent.closing:
        raise SessionError(
            f"agent {agent.id} was disposed while it was being announced; nothing of it is left",
            code="DISPOSED",
        )


def _forget(agent: Agent) -> None:
    """Leave nothing of an agent that was never entered."""
    agent.close()
    agent.runtime.sessions.abandon(agent.session)


def _check_wanted(host: AgentHost, spec: AgentSpec) -> None:
    if spec.signal is not None:
        spec.signal.raise_if_cancelled()
    if host.agents.closed:
        raise SessionError(
            f"agent {spec.header.id} was not made: the runtime is closing", code="CLOSED"
        )
    parent = spec.parent
    if parent is not None and (parent.closing or parent.phase == "closed"):
        raise SessionError(
            f"agent {spec.header.id} was not made: its parent {parent.id} is being disposed",
            code="PARENT_CLOSED",
        )
