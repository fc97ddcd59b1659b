"""Why an agent does not do what it was asked: the errors, each with what to do next."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..messages.errors import ActorDeadError, ConfigurationError, DeadlockError, SessionError

if TYPE_CHECKING:
    from .agent import Agent


def disposed_error(agent: Agent) -> ActorDeadError:
    """It is gone; its log may be there."""
    return ActorDeadError(
        f"agent {agent.id} is disposed and takes no messages; resume it from its log with "
        f"runtime.agents.resume({agent.id!r})",
        details={"agent": agent.id},
    )


def unpublished_error(agent: Agent) -> SessionError:
    """Nobody can see it yet."""
    return SessionError(
        f"agent {agent.id} is still being set up: set-up composes it, the first message "
        "can be sent when it has been created (agent/session-start)",
        code="NOT_PUBLISHED",
    )


def outside_error(agent: Agent) -> ConfigurationError:
    """It was called in another thread than its runtime's loop runs in."""
    return ConfigurationError(
        f"agent {agent.id} was used outside of its runtime's loop, such as in a plain tool; "
        "use its AgentHandle or agent.actor_ref.tell(...) there, or make the tool async"
    )


def closed_log_error(agent: Agent) -> SessionError:
    """Its log broke, so it takes no further turn."""
    return SessionError(
        f"agent {agent.id} takes no further turn: its log could not close the last one "
        f"({agent.fault}); dispose it and resume it from its log with "
        f"runtime.agents.resume({agent.id!r})",
        code="LOG_BROKEN",
        details={"agent": agent.id},
    )


def check_open(agent: Agent) -> None:
    """Do nothing while the agent takes messages.

    Raises:
        ActorDeadError: It is disposed.
        ConfigurationError: In another thread than the loop's.
        SessionError: ``NOT_PUBLISHED``, ``LOG_BROKEN``.
    """
    if agent.phase == "closed":
        raise disposed_error(agent)
    check_thread(agent)
    if not agent.published:
        raise unpublished_error(agent)
    if agent.fault is not None:
        raise closed_log_error(agent)


def check_thread(agent: Agent) -> None:
    """Do nothing on the loop's thread.

    Raises:
        ConfigurationError: In any other.
    """
    if not agent.runtime.on_loop():
        raise outside_error(agent)


def refuse_own_turn(agent: Agent, task: asyncio.Task[None] | None) -> None:
    """Do nothing outside of `task`, which runs the agent's turn.

    Raises:
        DeadlockError: In it: the turn would wait for its own end.
    """
    system = agent.runtime
    if task is not None and system.on_loop() and asyncio.current_task(system.loop) is task:
        raise DeadlockError(
            f"a turn of agent {agent.id} asked to wait until that agent is idle, which it is "
            "not before the turn has ended; let the turn end, or wait in a task of its own",
            details={"agent": agent.id},
        )
