"""What a delegation came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .content import Block, text_of


@dataclass(frozen=True, slots=True)
class SubagentResult:
    """The end of a one-shot run.

    Attributes:
        output: The selected answer; empty when the child said nothing.
        stop_reason: ``completed``, ``aborted``, ``error``, ``max-tokens``,
            ``refusal``, or another provider's word, which counts as a failure.
        structured: The captured value, once structured output is there.
        diagnostic: Written by the driver, at most 4096 UTF-8 bytes; never model text.
    """

    output: tuple[Block, ...]
    stop_reason: str
    structured: Any = None
    diagnostic: str | None = None

    @property
    def text(self) -> str:
        """The text blocks of `output`, joined."""
        return text_of(self.output)

    @property
    def ok(self) -> bool:
        """Whether the child completed."""
        return self.stop_reason == "completed"
