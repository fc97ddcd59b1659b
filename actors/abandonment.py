"""Closing the log of a turn that did not do so itself.

Its code ignored its end, or the log refused its last events. The log must be
whole without it, so that the agent can be resumed. What its tools did is not
known: the model is told so.

Source: DESIGN section 4 (W3); the results are those of a repair, spec core 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..messages.payload import AbortCause, StepEnd, TurnEnd, TurnEndReason
from .repair import closing_answer, open_turn

if TYPE_CHECKING:
    from .session import Session


def abandon(session: Session, cause: AbortCause) -> None:
    """Answer what is unanswered, close step and turn. Nothing to do in a closed log.

    Raises:
        Exception: What the log refused with.
    """
    found = open_turn(session.log) if session.open_turn else None
    if found is None:
        return
    turn, step = found.turn, found.step
    if step:
        for call in found.unanswered:
            answer, sources = closing_answer(turn, step, call, session.seq)
            session.append(answer, surface="append", sources=sources)
        session.append(StepEnd(turn, step))
    session.append(TurnEnd(turn, TurnEndReason("aborted", reason=cause)))
