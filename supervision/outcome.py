"""What a child comes to, read from its log or told by its driver: pure functions.

Source: spec providers sections 2.5 and 2.6, service section 5.
"""

from __future__ import annotations

from ..actors.stray import as_exception
from ..messages.content import content_of
from ..messages.errors import ConfigurationError
from ..messages.lossless import type_name
from ..messages.payload import TurnEnd, TurnEndReason
from ..messages.plain import name_text
from ..messages.result import SubagentResult
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


def because(result: SubagentResult, diagnostic: str | None) -> SubagentResult:
    """The result, with a diagnostic where it has none."""
    if diagnostic is None or result.diagnostic is not None:
        return result
    return SubagentResult(result.output, result.stop_reason, result.structured, diagnostic)


def sound_outcome(outcome: object) -> SubagentResult | Exception:
    """What a driver says that its child came to, fit to be told and logged.

    Returns:
        The result, its diagnostic bounded; or the exception it failed with, which is a
        `ConfigurationError` if the driver handed over neither.
    """
    if isinstance(outcome, BaseException):
        return as_exception(outcome)
    if not isinstance(outcome, SubagentResult):
        return ConfigurationError(
            f"a child ended with {type_name(outcome)}; its driver must hand over a SubagentResult "
            "or an exception"
        )
    try:
        return _sound_result(outcome)
    except ConfigurationError as error:
        return error


def _sound_result(result: SubagentResult) -> SubagentResult:
    output = content_of(result.output)
    reason = name_text(result.stop_reason, "stop_reason of a result")
    diagnostic = _sound_diagnostic(result.diagnostic)
    if output == result.output and reason is result.stop_reason and diagnostic is result.diagnostic:
        return result
    return SubagentResult(output, reason, result.structured, diagnostic)


def _sound_diagnostic(diagnostic: object) -> str | None:
    if diagnostic is None:
        return None
    if not isinstance(diagnostic, str):
        kind = type_name(diagnostic)
        raise ConfigurationError(f"diagnostic of a result must be text, not {kind}")
    # What people read is not lost over a character that cannot be written.
    text = diagnostic if diagnostic.isascii() else diagnostic.encode("utf-8", "replace").decode()
    return bounded(text, DIAGNOSTIC_LIMIT)


def said_by(error: BaseException) -> str:
    """What an exception says, as text that can be shown; never raises."""
    try:
        text = str(error)
    except Exception:
        text = ""
    text = text or type_name(error)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
