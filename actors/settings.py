"""The bounds an agent host runs its agents under."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..messages.errors import ConfigurationError
from ..messages.plain import is_finite, quoted


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Bounds on what one agent may use; None lifts a bound.

    Attributes:
        max_pending: Messages pending in one inbox, at least 1.
        max_steps: Steps of one turn, at least 1.
        max_response_chars: Characters of one model response, at least 1.
        request_timeout: Seconds a model may be silent during a request.
        dispose_timeout: Seconds a disposal waits for work that ignores its
            cancellation; past them the agent is detached.
        tool_parallelism: Tool bodies of one message that may overlap, at least 1.
        check_invariants: Whether every append is checked against the balance rules.
    """

    max_pending: int | None = 10_000
    max_steps: int | None = 1_000
    max_response_chars: int | None = 16_000_000
    request_timeout: float | None = 600.0
    dispose_timeout: float = 10.0
    tool_parallelism: int = 10
    check_invariants: bool = False

    def __post_init__(self) -> None:
        if type(self.check_invariants) is not bool:
            raise ConfigurationError(
                f"check_invariants={quoted(self.check_invariants)} must be True or False"
            )
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "check_invariants" or (value is None and "None" in str(field.type)):
                continue
            whole = "int" in str(field.type)
            _check(field.name, value, whole=whole)


def _check(name: str, value: object, *, whole: bool) -> None:
    good = type(value) is int if whole else is_finite(value)
    if not good or value <= 0:  # type: ignore[operator]
        kind = "whole number of at least 1" if whole else "positive, finite number of seconds"
        raise ConfigurationError(f"{name}={quoted(value)} must be a {kind}")
