"""The tokens of one response of Anthropic's API, as disjoint counts.

Pure. Source: spec core 12.3 (usage).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ....messages.chunk import Usage
from ....messages.lossless import SAFE_INTEGER

_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


class UsageCount:
    """Adds up what the start and the end of a message say; the latest word on a count holds."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, usage: object) -> None:
        """Take in a ``usage`` object; what is no count of tokens in it is left out."""
        if not isinstance(usage, Mapping):
            return
        said = cast("Mapping[str, object]", usage)
        self._take(said, _COUNTS)
        details = said.get("output_tokens_details")
        if isinstance(details, Mapping):
            self._take(cast("Mapping[str, object]", details), ("thinking_tokens",))

    def total(self) -> Usage | None:
        """The counts, or None when nothing was said about them.

        The API's input count is without the cached tokens already; its output count
        holds the thinking tokens, which are taken out here.
        """
        if not self._counts:
            return None
        thinking = self._counts.get("thinking_tokens")
        output = self._counts.get("output_tokens", 0)
        return Usage(
            input_tokens=self._counts.get("input_tokens", 0),
            output_tokens=max(output - (thinking or 0), 0),
            cache_read_tokens=self._counts.get("cache_read_input_tokens"),
            cache_write_tokens=self._counts.get("cache_creation_input_tokens"),
            reasoning_tokens=thinking,
        )

    def _take(self, said: Mapping[str, object], names: tuple[str, ...]) -> None:
        for name in names:
            count = said.get(name)
            if type(count) is int and 0 <= count <= SAFE_INTEGER:
                self._counts[name] = count
