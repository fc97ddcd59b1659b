"""Closing the log of a turn that did not do so itself.

Its code ignored its end, or the log refused its last events. The log must be
whole without it, so that the agent can be resumed. What its tools did is not
known: the model is told so.

Source: DESIGN section 4 (W3); the results are those of a repair, spec core 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..messages.content import Text, ToolCall, ToolResult
from ..messages.event import Event
from ..messages.lossless import FrozenDict
from ..messages.message import ToolMessage
from ..messages.payload import (
    AbortCause,
    AssistantReplied,
    ErrorInfo,
    StepEnd,
    StepStart,
    ToolAnswered,
    ToolCalled,
    TurnEnd,
    TurnEndReason,
)

if TYPE_CHECKING:
    from .session import Session

_NOT_STARTED = (
    ErrorInfo("ToolNotStartedError", "TOOL_NOT_STARTED"),
    "Error: the call was never started, because the agent was stopped before; it may be made again",
)
_UNKNOWN = (
    ErrorInfo("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN"),
    "Error: the agent was stopped during this call. Repeat it only if it cannot do harm twice.",
)


def abandon(session: Session, cause: AbortCause) -> None:
    """Answer what is unanswered, close step and turn. Nothing to do in a closed log.

    Raises:
        Exception: What the log refused with.
    """
    turn, step = session.open_turn, session.open_step
    if not turn:
        return
    if step:
        for call_id, started in unanswered(session.log):
            _answer(session, call_id, started)
        session.append(StepEnd(turn, step))
    session.append(TurnEnd(turn, TurnEndReason("aborted", reason=cause)))


def unanswered(log: Sequence[Event]) -> list[tuple[str, int | None]]:
    """Ids of the calls of the last step without a result, each with the seq of its start."""
    start = len(log)
    while start and type(log[start - 1].data) is not StepStart:
        start -= 1
    pending: list[tuple[str, int | None]] = []
    for event in log[start:]:
        data = event.data
        if isinstance(data, AssistantReplied):
            calls = [block for block in data.message.content if isinstance(block, ToolCall)]
            pending += [(call.id, None) for call in calls]
        elif isinstance(data, ToolCalled) and (data.call_id, None) in pending:
            pending[pending.index((data.call_id, None))] = (data.call_id, event.seq)
        elif isinstance(data, ToolAnswered):
            _strike(pending, data.message.source["callId"])
    return pending


def _strike(pending: list[tuple[str, int | None]], call_id: str) -> None:
    for index, (known, _started) in enumerate(pending):
        if known == call_id:
            del pending[index]
            return


def _answer(session: Session, call_id: str, started: int | None) -> None:
    error, text = _NOT_STARTED if started is None else _UNKNOWN
    message = ToolMessage(
        f"interrupted-tool-result-{call_id}-{session.seq}",
        (ToolResult(call_id, (Text(text),), is_error=True),),
        FrozenDict({"kind": "tool", "callId": call_id}),
    )
    session.append(
        ToolAnswered(session.open_turn, session.open_step, message, error),
        surface="append",
        sources=None if started is None else (started,),
    )
