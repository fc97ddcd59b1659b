"""The pair of events that frames every run: ``subagent/start`` and ``subagent/end``.

Both go out with the delegating parent's scope, so a listener registered in one
agent's scope hears that agent's delegations only. Source: spec service section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..messages.content import Block

if TYPE_CHECKING:
    from ..actors.hooks import Hooks
    from ..messages.result import SubagentResult
    from .run import SubagentRun

PROVIDER_ADDED = "subagent/provider-added"
"""Emitted with the provider, once it can be used."""

PROVIDER_REMOVED = "subagent/provider-removed"
"""Emitted with the provider's name, once it cannot be used any more."""

START = "subagent/start"
END = "subagent/end"


@dataclass(frozen=True, slots=True)
class SubagentStarted:
    """``subagent/start``: a child is published; nothing of its work has begun.

    Attributes:
        parent: The delegating agent.
        run_id: Unique to this run, also among runs of one child.
        provider: The provider's name at creation; it may be gone by now.
        id: The child's id.
        local: Whether the child is an agent of this runtime.
    """

    parent: Any
    run_id: str
    provider: str
    id: str
    local: bool


@dataclass(frozen=True, slots=True)
class SubagentEnded:
    """``subagent/end``: the run has its result; the child is not disposed yet.

    Attributes:
        parent: See `SubagentStarted`, as the fields up to `local`.
        stop_reason: As in the result; ``error`` when the result is an exception.
        last_assistant_message: The output, or None when it is empty or failed.
    """

    parent: Any
    run_id: str
    provider: str
    id: str
    local: bool
    stop_reason: str
    last_assistant_message: tuple[Block, ...] | None = None


def emit_start(hooks: Hooks, run: SubagentRun) -> None:
    """Tell the listeners that `run` exists; their failures are contained."""
    if hooks.has(START):
        started = SubagentStarted(
            run.parent, run.run_id, run.provider, run.id, run.local_agent is not None
        )
        hooks.emit(START, started, scope=run.parent.scope)


def emit_end(hooks: Hooks, run: SubagentRun, result: SubagentResult | None) -> None:
    """Tell the listeners how `run` ended; None is a result that could not be had."""
    if not hooks.has(END):
        return
    ended = SubagentEnded(
        run.parent,
        run.run_id,
        run.provider,
        run.id,
        run.local_agent is not None,
        "error" if result is None else result.stop_reason,
        (result.output or None) if result is not None else None,
    )
    hooks.emit(END, ended, scope=run.parent.scope)
