"""How a child is put together: header, options, and what it is told and may use.

Source: spec service section 10, providers sections 2.2 and 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ..actors.scope import Scope
from ..messages.header import SessionHeader
from ..messages.options import AgentOptions

if TYPE_CHECKING:
    from ..actors.agent import Agent
    from ..actors.prompt import PromptRegistry
    from ..actors.tools.registry import ToolRegistry
    from ..providers.contract import ResolvedRequest

T = TypeVar("T")

STATEMENT = "subagent:delegation"
"""Name of the runtime context that every child has and no root."""

STATEMENT_ORDER = 120

STATEMENT_TEXT = (
    "You are a subagent: another agent gave you this task and gets your last message as the "
    "answer. Your scope is fixed by that delegation and nobody can widen it while you work: an "
    "operation that needs an approval is refused. Do not try a refused operation again; say in "
    "your answer what you could not do and what it would have needed."
)


def delegation_scope(prompts: PromptRegistry) -> Scope:
    """The scope that all children hang under, with what every child is told.

    It holds one shared text, so a child costs no registration, and its prompt is
    rendered once for all children that add nothing of their own.
    """
    scope = Scope("delegation")
    prompts.context(STATEMENT, STATEMENT_TEXT, order=STATEMENT_ORDER, scope=scope)
    return scope


def child_header(
    child_id: str, now: int, parent: Agent, depth: int, seed_length: int
) -> SessionHeader:
    """The header of a child.

    Args:
        child_id: Its id.
        now: Epoch milliseconds.
        parent: The delegating agent.
        depth: The child's place in the tree.
        seed_length: How many events of its log come from its parent's.
    """
    return SessionHeader(
        child_id,
        now,
        parent.session.header.cwd,
        parent.id,
        seed_length or None,
        "subagent",
        depth,
    )


def child_options(parent: AgentOptions, asked: AgentOptions | None, depth: int) -> AgentOptions:
    """The parent's route and limits, overridden field by field; nothing is invented."""
    if asked is None:
        return AgentOptions(
            parent.provider, parent.model, parent.max_tokens, parent.reasoning_effort, depth
        )
    return AgentOptions(
        _first(asked.provider, parent.provider),
        _first(asked.model, parent.model),
        _first(asked.max_tokens, parent.max_tokens),
        _first(asked.reasoning_effort, parent.reasoning_effort),
        depth,
    )


def compose(
    agent: Agent,
    request: ResolvedRequest,
    shared: Scope,
    prompts: PromptRegistry,
    tools: ToolRegistry,
) -> None:
    """Give an unpublished child its scope's content: statement, persona, tool filter.

    Raises:
        ConfigurationError: If the tool filter is empty or names what the child would
            not have anyway.
    """
    scope = agent.scope
    scope.bind(shared)
    if request.persona is not None:
        prompts.persona(request.persona, scope=scope)
    chosen = request.tool_filter
    if chosen is not None:
        tools.restrict(scope, allow=chosen.allow, deny=chosen.deny)


def _first(value: T | None, fallback: T | None) -> T | None:
    return fallback if value is None else value
