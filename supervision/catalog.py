"""The catalogue of a parent: which direct children it has, folded from its own log.

Source: DESIGN section 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..messages.event import Event
from ..messages.header import SessionHeader, is_own_seq
from ..messages.payload import CatalogChanged


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One direct child, as its parent's log tells it."""

    id: str
    mode: Literal["one-shot", "continuable"]
    provider: str
    label: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Wire form: ``{id, mode, label?, provider}``."""
        label = {} if self.label is None else {"label": self.label}
        return {"id": self.id, "mode": self.mode, **label, "provider": self.provider}


class CatalogFold:
    """The projection ``subagentCatalog``: feed it a log's events in order, any number at a time.

    Facts that came in through a fork seed are not this session's children.

    Args:
        header: Of the session whose events are fed.

    Attributes:
        next_seq: The first event not folded yet.
    """

    __slots__ = ("_entries", "_header", "next_seq")

    def __init__(self, header: SessionHeader) -> None:
        self._header = header
        self._entries: dict[str, CatalogEntry] = {}
        self.next_seq = 0

    def advance(self, events: Iterable[Event]) -> tuple[CatalogEntry, ...]:
        """Fold more events; those before `next_seq` are passed over.

        Returns:
            The children there are now, oldest first.
        """
        for event in events:
            if event.seq >= self.next_seq:
                self.next_seq = event.seq + 1
                if type(event.data) is CatalogChanged and is_own_seq(self._header, event.seq):
                    self._apply(event.data)
        return tuple(self._entries.values())

    def _apply(self, change: CatalogChanged) -> None:
        if change.change == "removed":
            self._entries.pop(change.id, None)
        else:
            entry = CatalogEntry(change.id, change.mode, change.provider, change.label)
            self._entries[change.id] = entry


def subagent_catalog(header: SessionHeader, events: Iterable[Event]) -> tuple[CatalogEntry, ...]:
    """The children that a whole log tells of, oldest first."""
    return CatalogFold(header).advance(events)
