"""Closing a turn that was cut off: what a log lacks to be balanced.

Pure: from the events there are, the events that must follow. The one who reads a log of
a dead process closes it as ``interrupted``; the one who lets go of a live turn closes it
as ``aborted`` (`abandonment`). Both answer the calls that have no result with what is
known of them: not started, or started and of unknown outcome. The model is shown that.

Source: spec core 4.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..messages.content import Text, ToolCall, ToolResult
from ..messages.event import Event
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

_NOT_STARTED = ErrorInfo("ToolNotStartedError", "TOOL_NOT_STARTED")
_UNKNOWN = ErrorInfo("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN")

_SAID = {
    _NOT_STARTED.code: (
        "Error: the call was never started, because the agent was stopped before; "
        "it may be made again."
    ),
    _UNKNOWN.code: (
        "Error: the agent was stopped during this call, so its outcome is not known. Repeat it "
        "only if it just reads or cannot do harm twice; otherwise look at what it has done, or ask."
    ),
}

INTERRUPTED = TurnEndReason("interrupted")


def closers(events: Sequence[Event]) -> tuple[Event, ...]:
    """The events that close a log which ends inside a turn.

    Args:
        events: A log, contiguous from 0, or the whole of it from its last ``turn/start``.

    Returns:
        Results, the end of the step, the end of the turn; numbered on, all with the last
        event's time. Empty when no turn is open: a repaired log needs no repair.
    """
    start = _open_turn(events)
    if start is None:
        return ()
    turn, step = _where(events, start)
    last = events[-1]
    made: list[Event] = []
    seq = last.seq + 1
    if step:
        for call_id, started in unanswered(events):
            answer, sources = closing_answer(turn, step, call_id, started, seq)
            made.append(Event(seq, last.time, answer, "append", sources))
            seq += 1
        made.append(Event(seq, last.time, StepEnd(turn, step)))
        seq += 1
    made.append(Event(seq, last.time, TurnEnd(turn, INTERRUPTED)))
    return tuple(made)


def _open_turn(events: Sequence[Event]) -> int | None:
    """Position of the ``turn/start`` that nothing has ended, or None."""
    for index in range(len(events) - 1, -1, -1):
        kind = type(events[index].data)
        if kind is TurnEnd:
            return None
        if kind is TurnStart:
            return index
    return None


def _where(events: Sequence[Event], start: int) -> tuple[int, int]:
    """The open turn, and the open step or 0."""
    opening = events[start].data
    assert isinstance(opening, TurnStart)
    for index in range(len(events) - 1, start, -1):
        data = events[index].data
        if isinstance(data, StepEnd):
            break
        if isinstance(data, StepStart):
            return opening.turn, data.step
    return opening.turn, 0


def unanswered(events: Sequence[Event]) -> list[tuple[str, int | None]]:
    """The calls of the step at the end of a log that have no result, in the model's order.

    Returns:
        Each id with the number of its ``tool/call``, or None if it was not started. Of calls
        whose step is over nothing is said.
    """
    start = len(events)
    while start and not isinstance(events[start - 1].data, StepStart | StepEnd | TurnEnd):
        start -= 1
    pending: dict[str, int | None] = {}
    for index in range(start, len(events)):
        event = events[index]
        data = event.data
        if isinstance(data, AssistantReplied):
            for block in data.message.content:
                if isinstance(block, ToolCall):
                    pending.setdefault(block.id, None)
        elif isinstance(data, ToolCalled) and data.call_id in pending:
            pending[data.call_id] = event.seq
        elif isinstance(data, ToolAnswered):
            pending.pop(data.message.source["callId"], None)
    return list(pending.items())


def closing_answer(
    turn: int, step: int, call_id: str, started: int | None, seq: int
) -> tuple[ToolAnswered, tuple[int, ...] | None]:
    """The result of a call that will never have one, and what it cites.

    Args:
        turn: The open turn.
        step: The open step.
        call_id: The call's.
        started: Number of its ``tool/call``; None if there is none.
        seq: Number of the result's event.
    """
    error = _NOT_STARTED if started is None else _UNKNOWN
    message = ToolMessage(
        f"interrupted-tool-result-{call_id}-{seq}",
        (ToolResult(call_id, (Text(_SAID[error.code]),), is_error=True),),
        FrozenDict({"kind": "tool", "callId": call_id}),
    )
    return ToolAnswered(turn, step, message, error), None if started is None else (started,)
