"""What interceptors of a turn may answer, checked before it counts.

An answer is written into the log or decides what is asked next, so one that is
none ends the turn with an error that says what was expected.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..messages.errors import ConfigurationError, SessionError
from ..messages.lossless import SAFE_INTEGER, type_name
from ..messages.message import UserMessage, sound_message
from ..messages.options import check_options
from ..messages.payload import CallConfig
from ..messages.plain import is_finite, quoted
from .notice import Enter, Reject, Retry

_LONGEST = SAFE_INTEGER // 1000  # seconds whose milliseconds a log can hold


def entered(
    answer: object, messages: tuple[UserMessage, ...], agent_id: str
) -> tuple[UserMessage, ...] | None:
    """What an ``agent/pre-step`` interceptor lets in of `messages`; None is a rejection.

    Raises:
        SessionError: ``INVALID_DECISION``.
    """
    if answer is None:
        return messages
    if isinstance(answer, Reject):
        return None
    if not isinstance(answer, Enter):
        _refuse("agent/pre-step", agent_id, type_name(answer), "Enter(messages), Reject(reason)")
    known = {id(message) for message in messages}
    let_in: Any = answer.messages
    try:
        return tuple([one if id(one) in known else sound_message(one) for one in let_in])
    except (ConfigurationError, TypeError) as error:
        _refuse("agent/pre-step", agent_id, f"Enter with what is no message ({error})", "messages")


def proposed(answer: object, config: CallConfig, agent_id: str) -> CallConfig:
    """The configuration that an ``agent/request`` interceptor leaves.

    Raises:
        SessionError: ``INVALID_DECISION``.
    """
    if answer is None:
        return config
    if not isinstance(answer, CallConfig):
        _refuse("agent/request", agent_id, type_name(answer), "a CallConfig")
    try:
        check_options(answer.provider, answer.model, answer.max_tokens, answer.reasoning_effort)
    except ConfigurationError as error:
        _refuse("agent/request", agent_id, f"a CallConfig that cannot be ({error})", "a whole one")
    return answer


def delay_of(answer: object, agent_id: str) -> float | None:
    """Seconds until the retry that an ``agent/request-error`` interceptor wants, or None.

    Raises:
        SessionError: ``INVALID_DECISION``.
    """
    if answer is None:
        return None
    if not isinstance(answer, Retry):
        _refuse("agent/request-error", agent_id, type_name(answer), "Retry(delay)")
    delay: object = answer.delay
    if not is_finite(delay) or not 0 <= delay <= _LONGEST:  # type: ignore[operator]
        got = f"Retry({quoted(delay)})"
        _refuse("agent/request-error", agent_id, got, "Retry with seconds from 0 on")
    return float(answer.delay)


def _refuse(event: str, agent_id: str, got: str, wanted: str) -> NoReturn:
    raise SessionError(
        f"an {event} interceptor of agent {agent_id} answered {got}; answer {wanted} or None",
        code="INVALID_DECISION",
        details={"event": event, "agent": agent_id},
    )
