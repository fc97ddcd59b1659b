"""What an agent is run with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Settings of one agent; None means not set.

    Attributes:
        provider: Name a model is registered under.
        model: The model's own name.
        max_tokens: Ceiling of one response, a positive safe integer.
        reasoning_effort: Passed to the model as it is.
        subagent_depth: Deepens the agent's place in the tree; never lifts it.
    """

    provider: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    subagent_depth: int | None = None
