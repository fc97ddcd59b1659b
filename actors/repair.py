"""Closing a turn that was cut off: what a log lacks to be balanced.

Pure: from the events there are, the events that must follow. The one who reads a log of
a dead process closes it as ``interrupted``; the one who lets go of a live turn closes it
as ``aborted`` (`abandonment`). Both answer the calls that have no result with what is
known of them: not started, or started and of unknown outcome. The model is shown that.

Source: spec core 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..messages.content import Text, ToolCall, ToolResult
from ..messages.event import Event, Replace
from ..messages.lossless import FrozenDict
from ..messages.message import ToolMessage
from ..messages.payload import (
    AssistantReplied,
    ErrorInfo,
    StepEnd,
    StepStart,
    ToolAnswered,
    ToolCalled,
    TurnEnd,
    TurnEndReason,
    TurnStart,
)
from .invariants import NOT_STARTED

INTERRUPTED = TurnEndReason("interrupted")

CLOSED_RESULT = "interrupted-tool-result-"
"""How the id of a result begins that a log was closed with."""

_NOT_STARTED = ErrorInfo("ToolNotStartedError", NOT_STARTED)
_UNKNOWN = ErrorInfo("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN")

_NOT_STARTED_TEXT = (
    "Error: this call was never started: the agent was stopped before it came to it. "
    "Nothing has been done; the call may be made again."
)
_UNKNOWN_TEXT = (
    "Error: the agent was stopped during this call, so its outcome is not known: it may have "
    "been done in whole, in part or not at all. Repeat it only if it is read-only or "
    "idempotent; otherwise verify what it has done first, or ask."
)


@dataclass(slots=True)
class OpenCall:
    """A call that a model asked for.

    Attributes:
        id: Models do give the same to several calls of one message.
        started: Number of its ``tool/call``; None without one.
        answered: Whether its result stands in the log.
    """

    id: str
    started: int | None = None
    answered: bool = False


class OpenTurn:
    """Where the open turn of a log stands.

    Attributes:
        turn: Its number.
        step: Number of its open step; 0 when none is.
    """

    __slots__ = ("_alike", "_calls", "step", "turn")

    def __init__(self, turn: int) -> None:
        self.turn = turn
        self.step = 0
        self._calls: list[OpenCall] = []
        self._alike: dict[str, list[OpenCall]] = {}

    @property
    def unanswered(self) -> list[OpenCall]:
        """The calls of the open step that have no result, in the order of the model."""
        return [call for call in self._calls if not call.answered]

    def take(self, event: Event) -> None:
        """Take in the next event of the turn."""
        data = event.data
        if isinstance(data, StepStart):
            self.step = data.step
        elif isinstance(data, StepEnd):
            self.step = 0
            self._calls.clear()
            self._alike.clear()
        elif isinstance(data, ToolCalled):
            self._started(data.call_id, event.seq)
        elif isinstance(event.surface_op, Replace):
            return  # a rewrite of what stands further up asks for nothing and answers nothing
        elif isinstance(data, AssistantReplied):
            for block in data.message.content:
                if isinstance(block, ToolCall):
                    self._asked(OpenCall(block.id))
        elif isinstance(data, ToolAnswered):
            self._answered(data.message.source["callId"], event.source_event_seqs or ())

    def _asked(self, call: OpenCall) -> None:
        self._calls.append(call)
        self._alike.setdefault(call.id, []).append(call)

    def _started(self, call_id: str, seq: int) -> None:
        alike = self._alike.get(call_id)
        if alike:
            next((call for call in alike if call.started is None), alike[-1]).started = seq

    def _answered(self, call_id: str, sources: Sequence[int]) -> None:
        alike = self._alike.get(call_id)
        if alike:
            cited = (call for call in alike if call.started in sources)
            call = next(cited, alike[0])
            call.answered = True
            alike.remove(call)


def open_turn(events: Sequence[Event]) -> OpenTurn | None:
    """Where a log's open turn stands; None when none is open. Reads that turn only.

    Args:
        events: A log, or the end of one from its last ``turn/start`` on.
    """
    for start in range(len(events) - 1, -1, -1):
        opening = events[start].data
        if isinstance(opening, TurnEnd):
            return None
        if isinstance(opening, TurnStart):
            found = OpenTurn(opening.turn)
            for index in range(start + 1, len(events)):
                found.take(events[index])
            return found
    return None


def closers(events: Sequence[Event]) -> tuple[Event, ...]:
    """The events that close a log which ends inside a turn.

    What stands in the log is never changed or dropped, so chunks without their message
    stay; nor is any step or turn that has ended looked at.

    Args:
        events: A log, contiguous from 0, or the end of one from its last ``turn/start`` on.

    Returns:
        Results, the end of the step, the end of the turn; numbered on, all with the last
        event's time. Empty when no turn is open: a repaired log needs no repair.
    """
    found = open_turn(events)
    if found is None:
        return ()
    turn, step, last = found.turn, found.step, events[-1]
    made: list[Event] = []
    seq = last.seq + 1
    if step:
        for call in found.unanswered:
            answer, sources = closing_answer(turn, step, call, seq)
            made.append(Event(seq, last.time, answer, "append", sources))
            seq += 1
        made.append(Event(seq, last.time, StepEnd(turn, step)))
        seq += 1
    made.append(Event(seq, last.time, TurnEnd(turn, INTERRUPTED)))
    return tuple(made)


def closing_answer(
    turn: int, step: int, call: OpenCall, seq: int
) -> tuple[ToolAnswered, tuple[int, ...] | None]:
    """The result of a call that will never have one, and what it cites.

    Args:
        turn: The open turn.
        step: The open step.
        call: Which call.
        seq: Number of the result's event.
    """
    started = call.started
    error, text = (
        (_NOT_STARTED, _NOT_STARTED_TEXT) if started is None else (_UNKNOWN, _UNKNOWN_TEXT)
    )
    message = ToolMessage(
        f"{CLOSED_RESULT}{call.id}-{seq}",
        (ToolResult(call.id, (Text(text),), is_error=True),),
        FrozenDict({"kind": "tool", "callId": call.id}),
    )
    return ToolAnswered(turn, step, message, error), None if started is None else (started,)
