"""Tokens, summed over requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..messages.chunk import Usage


@dataclass(slots=True)
class Tokens:
    """Sums of what models reported; the counts are disjoint.

    Attributes:
        input: Read, without those that a cache gave or took.
        cached: Read from a cache.
        stored: Read and put into a cache.
        output: Written, without the thinking.
        reasoning: Thought.
        reports: Requests that reported anything.
    """

    input: int = 0
    cached: int = 0
    stored: int = 0
    output: int = 0
    reasoning: int = 0
    reports: int = 0

    def add(self, usage: Usage) -> None:
        """Take in the report of one request."""
        self.input += usage.input_tokens
        self.cached += usage.cache_read_tokens or 0
        self.stored += usage.cache_write_tokens or 0
        self.output += usage.output_tokens
        self.reasoning += usage.reasoning_tokens or 0
        self.reports += 1

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.cached + self.stored + self.output + self.reasoning

    def __str__(self) -> str:
        """``1,234 tokens in (500 cached), 300 out (40 reasoning)``."""
        if not self.reports:
            return "tokens not reported"
        read = self.input + self.cached + self.stored
        cached = f" ({self.cached:,} cached)" if self.cached else ""
        thought = f" ({self.reasoning:,} reasoning)" if self.reasoning else ""
        written = self.output + self.reasoning
        return f"{read:,} {'token' if read == 1 else 'tokens'} in{cached}, {written:,} out{thought}"

    def to_dict(self) -> dict[str, Any] | None:
        """JSON-ready form; None when no request reported anything."""
        if not self.reports:
            return None
        return {
            "inputTokens": self.input,
            "cacheReadTokens": self.cached,
            "cacheWriteTokens": self.stored,
            "outputTokens": self.output,
            "reasoningTokens": self.reasoning,
        }
