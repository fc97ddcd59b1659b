"""What a finished child's log comes to: pure functions.

Source: spec providers sections 2.5 and 2.6, service section 5.
"""

from __future__ import annotations

from ..messages.payload import TurnEnd, TurnEndReason
from .truncation import DIAGNOSTIC_LIMIT, bounded

_STOP_REASONS = {
    "completed": "completed",
    "max-tokens": "max-tokens",
    "aborted": "aborted",
    "blocked": "refusal",
}


def stop_reason(end: TurnEnd | None, *, cancelled: bool) -> str:
    """The stop reason of a one-shot run.

    Args:
        end: End of the accounting turn, or None when no turn consumed work.
        cancelled: Whether the run was cancelled; a recorded ``completed`` stands all the
            same, anything else becomes ``aborted``.

    Returns:
        ``completed``, ``max-tokens``, ``aborted``, ``refusal``, or ``error`` for all others.
    """
    reason = "error" if end is None else _STOP_REASONS.get(end.reason.kind, "error")
    return "aborted" if cancelled and reason != "completed" else reason


def diagnostic_of(reason: TurnEndReason | None) -> str | None:
    """What went wrong, for people, bounded; None when the turn did not fail by an error."""
    if reason is None or reason.error is None:
        return None
    return bounded(f"{reason.error.code}: {reason.error.message}", DIAGNOSTIC_LIMIT)
