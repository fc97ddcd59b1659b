"""What an agent is run with."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ConfigurationError
from .lossless import SAFE_INTEGER
from .plain import name_text, plain_text, quoted


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


def check_options(
    provider: object, model: object, max_tokens: object, reasoning_effort: object
) -> None:
    """Refuse settings of a request that nobody could ask with; None and "" are not set.

    Raises:
        ConfigurationError: Naming the setting and what it may be.
    """
    for value, name in ((provider, "provider"), (model, "model")):
        if value is not None:
            plain_text(value, name)
    if reasoning_effort is not None:
        name_text(reasoning_effort, "reasoning_effort")
    if max_tokens is not None:
        _check_max_tokens(max_tokens)


def _check_max_tokens(max_tokens: object) -> None:
    if type(max_tokens) is not int or not 0 < max_tokens <= SAFE_INTEGER:
        raise ConfigurationError(
            f"max_tokens={quoted(max_tokens)} must be a whole number from 1 to 2**53-1"
        )
