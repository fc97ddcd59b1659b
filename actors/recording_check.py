"""Whether a recorded log keeps the rules of a log.

It drives what guards a live log (balance, surface, inbox, grammar, assembler) and
goes on where that would stop, so that all faults are told at once.
Source: spec core 3, 15.6, 18.14.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from ..messages.errors import BroodlineError, ConfigurationError, ModelError
from ..messages.event import Event, Replace
from ..messages.lossless import type_name
from ..messages.message import Message
from ..messages.payload import AssistantReplied, EndSeed, ToolAnswered
from .fold import replay_inbox
from .invariants import RULES, Balance
from .models.recorded_script import entries_of
from .recording import RecordedLog
from .recording_message import StepOrder, assembled, history_faults, reply_fault
from .seed import ends_in_open_turn
from .surface import SURFACE_TYPES, Shown, Surface, shown_messages


@dataclass(frozen=True, slots=True)
class Fault:
    """One way in which a log breaks the rules.

    Attributes:
        seq: Number of the event that it shows at; None if it is of no single one.
        rule: Which rule: ``I1`` to ``I8``, ``type``, ``surface``, ``inbox``, ``message`` (a message
            and its chunks), ``order`` (of a response, its calls and results), ``history``,
            ``seed``, ``grammar`` (of a script).
        text: What is wrong, with the number of the event.
    """

    seq: int | None
    rule: str
    text: str


def check_log(log: RecordedLog, *, parent: RecordedLog | None = None) -> tuple[str, ...]:
    """Every way in which a log breaks the rules; empty when it is sound.

    - numbers, turns and steps (I1 to I8 of spec core 3)
    - the surface, replaced parts of it too
    - the log's own inbox splices
    - every message is what the chunks that it cites make, under the stream grammar
    - results stand in the order of the calls, cite theirs, and directly follow their
      message in the history that the log shows
    - a fork's seed ends at a turn's end, marked by ``session/end-seed``

    A log that ends in the middle of a turn is sound as far as it goes. A script
    (`RecordedLog.is_script`) is checked for its grammar only.

    Args:
        log: What `read_log` gave.
        parent: The log that a fork's seed was taken from; its events must be the same.

    Returns:
        One text a fault, with the number of its event, in the order of the log.
    """
    return tuple(fault.text for fault in log_faults(log, parent=parent))


def log_faults(log: RecordedLog, *, parent: RecordedLog | None = None) -> tuple[Fault, ...]:
    """The same with the number of the event and the rule apart; see `check_log`."""
    if not isinstance(log, RecordedLog):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(
            f"check_log takes what read_log gave, not {type_name(log)}; write "
            "check_log(read_log(...)), which takes a path, rows and a live session"
        )
    events = log.events
    for position, event in enumerate(events):
        if event.seq != position:
            text = f"event {event.seq} stands at position {position} (I1)"
            return (Fault(position, "I1", text),)
    if log.is_script:
        return tuple(_script_faults(log))
    walk = _Walk(log)
    return (*_seed_faults(log, parent), *walk.faults(), *_inbox_faults(log))


def first_fault(faults: Sequence[Fault]) -> Fault | None:
    """The one that shows first in the log; None if there are none."""
    return min(faults, key=lambda fault: -1 if fault.seq is None else fault.seq, default=None)


def _script_faults(log: RecordedLog) -> Iterator[Fault]:
    for number, entry in enumerate(entries_of(event.data for event in log.own_events)):
        try:
            assembled(entry.verbatim or ()).message_content()
        except ModelError as error:
            yield Fault(None, "grammar", f"response {number}: {error.message}")


def _seed_faults(log: RecordedLog, parent: RecordedLog | None) -> Iterator[Fault]:
    events, length = log.events, log.header.seed_length or 0
    if not length:
        return
    if length > len(events):
        text = f"the header has seedLength {length}, but the log has {len(events)} events"
        yield Fault(None, "seed", text)
        return
    if ends_in_open_turn(events[:length]):
        yield _seed_fault(length, "seedLength cuts the parent's log inside a turn")
    marks = [type(event.data) is EndSeed for event in events[length - 1 : length + 1]]
    if len(events) > length and not any(marks):
        text = "the seed ends here, but no session/end-seed stands at its end"
        yield _seed_fault(length, text)
    if parent is not None:
        yield from _inheritance_faults(events[:length], parent)


def _seed_fault(seq: int, what: str) -> Fault:
    return Fault(seq, "seed", f"event {seq}: {what}")


def _inheritance_faults(seed: tuple[Event, ...], parent: RecordedLog) -> Iterator[Fault]:
    there = len(parent.events)
    if there < len(seed):
        text = f"the seed has {len(seed)} events, but the parent's log {parent.name} only {there}"
        yield Fault(there, "seed", text)
    for mine, theirs in zip(seed, parent.events, strict=False):
        if _said(mine) != _said(theirs):
            yield _seed_fault(
                mine.seq, f"the seed differs here from the parent's log {parent.name}"
            )
            return


def _said(event: Event) -> tuple[object, ...]:
    """An event without its time, which one of the two forms does not have."""
    return event.data, event.surface_op, event.source_event_seqs, event.ignorable


def _inbox_faults(log: RecordedLog) -> Iterator[Fault]:
    try:
        replay_inbox(log.header, log.events)
    except BroodlineError as error:
        yield Fault(error.details.get("seq"), "inbox", error.message)


class _Walk:
    """One pass over the events of a log, from the first to the last."""

    def __init__(self, log: RecordedLog) -> None:
        self._events = list(log.events)
        self._balance = Balance()
        self._surface = Surface()
        self._order = StepOrder()
        self._looked = 0

    def faults(self) -> Iterator[Fault]:
        """Every fault, in the order of the events; for one call only."""
        told: set[str] = set()
        for event in self._events:
            for rule, fault in self._event_faults(event):
                told.add(fault)
                yield Fault(event.seq, rule, f"event {event.seq}: {fault}")
        ended = not self._balance.open_step
        for message, fault in history_faults(self._surface.messages(self._events), ended=ended):
            if fault not in told:
                yield Fault(self._seq_of(message), "history", fault)

    def _seq_of(self, message: Message) -> int | None:
        """Number of the event on the surface that shows a message."""
        shown = (
            seq
            for seq in self._surface.nodes
            if cast(Shown, self._events[seq].data).message is message
        )
        return next(shown, None)

    def _event_faults(self, event: Event) -> Iterator[tuple[str, str]]:
        """The rule and what is wrong, for every fault that shows at an event."""
        yield from self._balance_faults(event)
        yield from self._surface_faults(event)
        if type(event.data) is AssistantReplied:
            fault = reply_fault(event, event.data, self._events)
            if fault is not None:
                yield "message", fault
        fault = self._order.fault(event)
        if fault is not None:
            yield "order", fault

    def _balance_faults(self, event: Event) -> Iterator[tuple[str, str]]:
        check, advance = RULES[type(event.data)]
        if check is not None:
            try:
                check(self._balance, event.data, event.surface_op)
            except BroodlineError as error:
                yield str(error.details.get("rule", "type")), error.message
        if advance is not None:
            # Also behind a fault: else every event after it would be one more.
            advance(self._balance, event.data)

    def _surface_faults(self, event: Event) -> Iterator[tuple[str, str]]:
        shown = type(event.data) in SURFACE_TYPES
        if not shown and event.surface_op is None and event.source_event_seqs is None:
            return
        try:
            self._surface.check(event, self._events)
        except BroodlineError as error:
            yield "surface", error.message.removeprefix(f"event {event.seq} ")
            return
        if type(event.surface_op) is Replace and type(event.data) is not ToolAnswered:
            yield from (("history", fault) for fault in self._torn(event, event.surface_op))
        else:  # a rewritten result stays where it was
            self._surface.apply(event)

    def _torn(self, event: Event, operation: Replace) -> Iterator[str]:
        """What a replace leaves torn: looks where it cut, and at what came since the last one."""
        nodes, cut = self._surface.nodes, self._surface.position(operation.start) or 0
        before = len(nodes)
        self._surface.apply(event)
        new = self._looked if self._looked <= cut else max(cut, self._looked - before + len(nodes))
        self._looked = len(nodes)
        end = cut + 1
        while end < len(nodes) and not self._leads(nodes[end]):
            end += 1
        if end < self._lead_before(new):
            yield from self._history_part(self._lead_before(cut), end + 1)
            yield from self._history_part(self._lead_before(new), len(nodes))
        else:
            yield from self._history_part(self._lead_before(min(cut, new)), len(nodes))

    def _history_part(self, first: int, end: int) -> Iterator[str]:
        shown = shown_messages(self._surface.nodes[first:end], self._events)
        return (fault for _, fault in history_faults(shown, ended=False))

    def _lead_before(self, place: int) -> int:
        """The last place before one from which on a history can be looked at by itself."""
        while place > 0:
            place -= 1
            if self._leads(self._surface.nodes[place]):
                break
        return place

    def _leads(self, seq: int) -> bool:
        """Whether results behind this one are for it or for nothing."""
        data = self._events[seq].data
        if type(data) is AssistantReplied:
            return bool(data.message.content)
        return type(data) is not ToolAnswered
