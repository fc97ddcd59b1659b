"""One change of an inbox, before and behind its event."""

from __future__ import annotations

from typing import TypeAlias

from ..messages.message import UserMessage
from ..messages.payload import InboxSpliced

Mark: TypeAlias = tuple[bool, "tuple[int, bool] | None"]
"""What is known of a pending message: whether it wakes; if it is held, the number of its
insert and whether it will wake."""


def normalise_splice(length: int, start: int, delete_count: int) -> tuple[int, int]:
    """Bring a splice into range: the first index and how many items go.

    A negative start counts from the end; what lies outside is clamped.
    Source: spec core section 7.
    """
    first = max(length + start, 0) if start < 0 else min(start, length)
    return first, max(0, min(delete_count, length - first))


class Splice:
    """A change, and what it takes to take it back.

    Attributes:
        event: What is logged.
        removed: The messages that leave.
        waking: Whether those that come wake the agent.
        held: Whether those that come are held.
        were: What those that leave had been.
    """

    __slots__ = ("event", "held", "removed", "waking", "were")

    def __init__(
        self, event: InboxSpliced, removed: tuple[UserMessage, ...], *, waking: bool, held: bool
    ) -> None:
        self.event = event
        self.removed = removed
        self.waking = waking
        self.held = held
        self.were: tuple[Mark, ...] = ()
