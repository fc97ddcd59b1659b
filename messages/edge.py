"""The edges of turns and steps, as objects that all logs share.

Ten thousand agents take their first turn's first step with the same three words;
one object says them for all. What is shared is frozen, so nobody can tell.
"""

from __future__ import annotations

from functools import lru_cache

from .payload import InboxSpliced, StepEnd, StepStart, TurnEnd, TurnEndReason, TurnStart

COMPLETED = TurnEndReason("completed")

PROMPT_CLAIMED = InboxSpliced("next-turn", 0, 1)
"""The claim of the prompt at the head of the line."""

_KEPT = 1024


@lru_cache(maxsize=_KEPT)
def turn_start(turn: int) -> TurnStart:
    """The start of turn `turn`."""
    return TurnStart(turn)


@lru_cache(maxsize=_KEPT)
def turn_completed(turn: int) -> TurnEnd:
    """The end of turn `turn` that owes nothing."""
    return TurnEnd(turn, COMPLETED)


def turn_end(turn: int, reason: TurnEndReason) -> TurnEnd:
    """The end of turn `turn` for `reason`."""
    return turn_completed(turn) if reason is COMPLETED else TurnEnd(turn, reason)


@lru_cache(maxsize=_KEPT)
def step_start(turn: int, step: int) -> StepStart:
    """The start of a step."""
    return StepStart(turn, step)


@lru_cache(maxsize=_KEPT)
def step_end(turn: int, step: int) -> StepEnd:
    """The end of a step."""
    return StepEnd(turn, step)
