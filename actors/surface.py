"""The surface: which events of a log a model is shown, and the history they make.

Appends extend the derived history in place; only a replace rebuilds it.
Positions count, not sequence numbers: after a replace the numbers on the
surface are no longer ascending. Source: spec core 1.8.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias, cast

from ..messages.content import ToolResult
from ..messages.errors import ConfigurationError
from ..messages.event import Event, Replace
from ..messages.lossless import type_name
from ..messages.message import AssistantMessage, Message
from ..messages.payload import AssistantReplied, ToolAnswered, UserMessageLogged
from ..messages.plain import quoted

Shown: TypeAlias = UserMessageLogged | AssistantReplied | ToolAnswered

SURFACE_TYPES: frozenset[type] = frozenset({UserMessageLogged, AssistantReplied, ToolAnswered})
"""The three payloads that a model sees."""


class Surface:
    """The nodes of one session's surface and the messages they stand for.

    Attributes:
        nodes: Sequence numbers of the events shown, in order.
    """

    __slots__ = ("_anchors", "_messages", "_standing", "nodes")

    def __init__(self) -> None:
        self.nodes: list[int] = []
        self._messages: list[Message] | None = []
        # What was put in the place of others keeps the number of the first of them as its
        # anchor, so anchors ascend where nodes no longer do. None while no replace has come:
        # then the nodes are their own anchors.
        self._anchors: list[int] | None = None
        self._standing: dict[int, int] = {}

    def messages(self, log: list[Event]) -> list[Message]:
        """A fresh list of the shared messages that `log` shows."""
        derived = self._messages
        if derived is None:
            derived = self._messages = shown_messages(self.nodes, log)
        return derived.copy()

    def position(self, seq: int) -> int | None:
        """Where on the surface an event stands, or None where it does not; takes no walk."""
        anchors = self.nodes if self._anchors is None else self._anchors
        place = bisect_left(anchors, self._standing.get(seq, seq))
        return place if place < len(anchors) and self.nodes[place] == seq else None

    def check(self, event: Event, log: list[Event]) -> None:
        """Refuse an event that may not join the surface; changes nothing.

        Args:
            event: Carries a surface operation or citations, or is of a surface type.
            log: Everything before it.

        Raises:
            ConfigurationError: Naming the event and the rule.
        """
        operation = event.surface_op
        if type(event.data) not in SURFACE_TYPES:
            raise _refusal(event, "is log-only: it takes no surface operation and no sources")
        if event.source_event_seqs is not None:
            _check_sources(event, event.source_event_seqs)
        if operation == "append":
            return
        if operation is None:
            raise _refusal(event, 'needs a surface operation: "append" or Replace')
        if type(operation) is not Replace:
            raise _refusal(event, f"has the unknown surface operation {quoted(operation)}")
        first, last = self._span(event, operation)
        self._check_replace(event, self.nodes[first : last + 1], log)

    def apply(self, event: Event) -> None:
        """Take in a committed surface event that `check` let pass."""
        operation = event.surface_op
        if operation == "append":
            self.nodes.append(event.seq)
            if self._anchors is not None:
                self._anchors.append(event.seq)
            message = cast(Shown, event.data).message
            if self._messages is not None and _is_shown(message):
                self._messages.append(message)
            return
        assert type(operation) is Replace
        first, last = self._span(event, operation)
        if self._anchors is None:
            self._anchors = self.nodes.copy()
        anchor = self._anchors[first]
        for seq in self.nodes[first : last + 1]:
            self._standing.pop(seq, None)
        self._standing[event.seq] = anchor
        self._anchors[first : last + 1] = [anchor]
        self.nodes[first : last + 1] = [event.seq]
        self._messages = None

    def _span(self, event: Event, operation: Replace) -> tuple[int, int]:
        """Positions of the first and last node of a replace."""
        positions: list[int] = []
        for seq in (operation.start, operation.end):
            place = self.position(seq) if type(seq) is int else None
            if place is None:
                raise _refusal(event, f"replaces {quoted(seq)}, which is not on the surface")
            positions.append(place)
        if positions[0] > positions[1]:
            raise _refusal(
                event,
                f"replaces from {operation.start} to {operation.end}, but the surface shows the "
                "start after the end",
            )
        return positions[0], positions[1]

    def _check_replace(self, event: Event, shadowed: list[int], log: list[Event]) -> None:
        cited = frozenset(event.source_event_seqs or ())
        missing = [seq for seq in shadowed if seq not in cited]
        if missing:
            raise _refusal(event, f"replaces {missing} without citing them as sources")
        if type(event.data) is ToolAnswered:
            _check_result_replace(event, event.data, shadowed, log)


def shown_messages(nodes: Sequence[int], log: Sequence[Event]) -> list[Message]:
    """The messages that a model sees of these nodes of `log`."""
    messages = [cast(Shown, log[seq].data).message for seq in nodes]
    return [message for message in messages if _is_shown(message)]


def _is_shown(message: Message) -> bool:
    """An assistant message without content hosts usage only; a model never sees it."""
    return bool(message.content) or type(message) is not AssistantMessage


def _refusal(event: Event, text: str) -> ConfigurationError:
    return ConfigurationError(
        f"event {event.seq} ({event.type}) {text}", details={"seq": event.seq, "type": event.type}
    )


def _check_sources(event: Event, sources: tuple[int, ...]) -> None:
    if type(sources) is not tuple:  # a list could still be changed
        raise _refusal(event, f"has sources of type {type_name(sources)}; give a tuple")
    if not sources:
        if type(event.data) is not AssistantReplied:
            raise _refusal(event, "cites nothing: leave sources out, or name at least one")
        return
    for seq in sources:
        if type(seq) is not int:
            raise _refusal(event, f"cites {quoted(seq)}, which is not an integer")
    if min(sources) < 0 or max(sources) >= event.seq:
        raise _refusal(event, "cites events that are not before it")
    if len(frozenset(sources)) != len(sources):
        raise _refusal(event, "cites an event twice")


def _check_result_replace(
    event: Event, data: ToolAnswered, shadowed: list[int], log: list[Event]
) -> None:
    """A result may be rewritten alone, and only what stands inside the result."""
    old = log[shadowed[0]].data
    if len(shadowed) != 1 or type(old) is not ToolAnswered:
        raise _refusal(event, "may replace exactly one tool/result and nothing else")
    before = cast(ToolResult, old.message.content[0])
    after = cast(ToolResult, data.message.content[0])
    message = replace(old.message, content=(replace(before, content=after.content),))
    if data != replace(old, message=message):
        raise _refusal(event, "may change the inner content of the result only")
