"""What a log says when it is read from its start: pure functions over events.

Source: spec core 1.5, 7, 8; spec service 6 (LC-15 to LC-29).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..messages.chunk import TextDelta, Usage, UsageChunk
from ..messages.content import Block, Text
from ..messages.errors import SessionCorruptError
from ..messages.event import Event
from ..messages.header import SessionHeader
from ..messages.message import UserMessage
from ..messages.payload import (
    AssistantReplied,
    ChunkReceived,
    DeliveryRefused,
    EndSeed,
    InboxSpliced,
    InboxTarget,
    OptionsChosen,
    StepStart,
    TurnEnd,
    TurnStart,
)


@dataclass(frozen=True, slots=True)
class ConsumedWork:
    """Which turn answers for the work a log took in.

    Attributes:
        end: The end of the latest turn that accounts for work, or None.
        dropped_unrun: Accepted work was cancelled out of the inbox after it.
    """

    end: TurnEnd | None = None
    dropped_unrun: bool = False


class ConsumedWorkFold:
    """The fold behind `consumed_work`, for feeding it event by event."""

    __slots__ = ("_claimed", "_dropped", "_open", "_stepped", "end")

    def __init__(self) -> None:
        self.end: TurnEnd | None = None
        # Numbers of the splices that dropped work.
        self._dropped: set[int] = set()
        self._open = self._stepped = self._claimed = False

    def feed(self, event: Event) -> None:
        """Take in the next event of the log."""
        data = event.data
        kind = type(data)
        if kind is TurnStart:
            self._open, self._stepped, self._claimed = True, False, False
        elif kind is StepStart:
            self._stepped = self._open
        elif type(data) is InboxSpliced:
            self._spliced(event.seq, data)
        elif type(data) is TurnEnd:
            self._ended(data)
        elif type(data) is DeliveryRefused:
            self._dropped.discard(data.seq)  # it had never been accepted

    def result(self) -> ConsumedWork:
        """What the events so far come to."""
        return ConsumedWork(self.end, self.dropped_unrun)

    @property
    def dropped_unrun(self) -> bool:
        """Whether accepted work was cancelled out of the inbox after `end`."""
        return bool(self._dropped)

    def _spliced(self, seq: int, data: InboxSpliced) -> None:
        if not data.removed_count:
            return
        if data.outcome != "canceled":
            self._claimed = self._claimed or self._open
        elif not data.inserted:
            self._dropped.add(seq)

    def _ended(self, data: TurnEnd) -> None:
        if self._stepped or (self._claimed and data.reason.kind != "completed"):
            self.end = data
            self._dropped.clear()
        self._open = self._stepped = self._claimed = False


def consumed_work(events: Iterable[Event]) -> ConsumedWork:
    """Fold a log, or its own part, to the turn that accounts for its work."""
    fold = ConsumedWorkFold()
    for event in events:
        fold.feed(event)
    return fold.result()


def select_output(events: Sequence[Event], start: int = 0) -> tuple[Block, ...]:
    """The answer in a log: its last message with content, else all streamed text.

    Args:
        events: A log.
        start: Position of the first event that counts, such as the seed's length.

    Returns:
        The blocks of the answer; empty when nothing was said.
    """
    for index in range(len(events) - 1, start - 1, -1):
        data = events[index].data
        if type(data) is AssistantReplied and data.message.content:
            return data.message.content
    pieces: list[str] = []
    for index in range(start, len(events)):
        data = events[index].data
        if type(data) is ChunkReceived and type(data.chunk) is TextDelta:
            pieces.append(data.chunk.text)
    text = "".join(pieces)
    return (Text(text),) if text else ()


def completed_turn_prefix(events: Sequence[Event]) -> Sequence[Event]:
    """All events up to the last ``turn/end``; empty when no turn has ended."""
    for index in range(len(events) - 1, -1, -1):
        if type(events[index].data) is TurnEnd:
            return events[: index + 1]
    return ()


def open_bracket(events: Sequence[Event], opening: str, closing: str) -> Event | None:
    """The event that opened a bracket which a live writer still holds.

    A bracket before the last ``session/end-seed`` belongs to a lifecycle that is
    over: it locks nothing. Source: spec core 1.4.

    Args:
        events: The whole log.
        opening: Type that opens, such as ``compaction/start``.
        closing: Type that closes.
    """
    for event in reversed(events):
        if type(event.data) is EndSeed or event.type == closing:
            return None
        if event.type == opening:
            return event
    return None


def replay_inbox(
    header: SessionHeader, events: Sequence[Event]
) -> tuple[list[UserMessage], list[UserMessage]]:
    """The pending inbox: what the log's own splices leave.

    Args:
        header: Tells which events are inherited; their splices do not count.
        events: The whole log.

    Returns:
        The next-turn and the next-step list.

    Raises:
        SessionCorruptError: If a splice is out of range, naming its seq.
    """
    lists: dict[InboxTarget, list[UserMessage]] = {"next-turn": [], "next-step": []}
    for index in range(header.seed_length or 0, len(events)):
        data = events[index].data
        if type(data) is not InboxSpliced:
            continue
        items = lists[data.target]
        end = data.start + data.removed_count
        if data.start < 0 or data.removed_count < 0 or end > len(items):
            raise SessionCorruptError(
                f"event {index} of session {header.id!r} splices {data.target} at {data.start} and "
                f"removes {data.removed_count}, but {len(items)} are pending",
                details={"session": header.id, "seq": index},
            )
        items[data.start : end] = data.inserted
    return lists["next-turn"], lists["next-step"]


def options_of(header: SessionHeader, events: Sequence[Event]) -> OptionsChosen:
    """What the latest own ``agent/options`` of a log says; all None where there is none."""
    for index in range(len(events) - 1, (header.seed_length or 0) - 1, -1):
        data = events[index].data
        if type(data) is OptionsChosen:
            return data
    return OptionsChosen()


def usage_of(header: SessionHeader, events: Sequence[Event]) -> Usage | None:
    """The tokens reported in a session's own events, of failed requests too; None for no report."""
    total: Usage | None = None
    for event in events[header.seed_length or 0 :]:
        data = event.data
        if type(data) is ChunkReceived and type(data.chunk) is UsageChunk:
            usage = data.chunk.usage
            total = usage if total is None else total + usage
    return total
