"""What a failed request of a provider means: the code, and how long to wait.

Pure; the same for every provider. Source: spec core 12.5; RFC 9110 sections 10.2.3
and 15 (status codes, Retry-After).
"""

from __future__ import annotations

import math
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from .redaction import error_text

_KINDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("invalid_api_key", "authentication_error", "permission_error", "permission_denied"),
        "AUTH",
    ),
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", "rate_limit"), "RATE_LIMIT"),
    **dict.fromkeys(
        (
            "insufficient_quota",
            "billing_error",
            "billing_not_active",
            "billing_hard_limit_reached",
            "insufficient_balance",
        ),
        "QUOTA",
    ),
    **dict.fromkeys(
        (
            "server_error",
            "api_error",
            "internal_error",
            "internal_server_error",
            "overloaded_error",
            "overloaded",
            "service_unavailable",
            "service_unavailable_error",
        ),
        "SERVER",
    ),
    **dict.fromkeys(("timeout_error", "timeout", "request_timeout"), "TIMEOUT"),
    **dict.fromkeys(
        ("context_length_exceeded", "context_window_exceeded", "string_above_max_length"),
        "CONTEXT_WINDOW_EXCEEDED",
    ),
    **dict.fromkeys(
        (
            "invalid_request_error",
            "not_found_error",
            "model_not_found",
            "request_too_large",
            "invalid_request",
            "unsupported_parameter",
            "unsupported_value",
        ),
        "INVALID_REQUEST",
    ),
    **dict.fromkeys(("content_filter", "content_policy_violation", "refusal"), "REFUSAL"),
}
"""What providers call an error, in its ``type`` or its ``code``."""

_OUTRANK_STATUS = frozenset({"QUOTA", "CONTEXT_WINDOW_EXCEEDED", "REFUSAL"})
"""What no status tells: it comes as a 400, a 403 or a 429."""

_STATUSES: Mapping[int, str] = {
    401: "AUTH",
    402: "QUOTA",
    403: "AUTH",
    408: "TIMEOUT",
    409: "SERVER",
    425: "SERVER",
    429: "RATE_LIMIT",
    504: "TIMEOUT",
    524: "TIMEOUT",
}

_TOO_LONG = (
    "prompt is too long",
    "input is too long",
    "maximum context length",
    "context length exceeded",
    "context window",
    "exceed context limit",
)

_LOST_CONNECTION: Mapping[str, str] = {
    # The SDKs, then httpx and its successors, by name: which of them is installed is theirs.
    "APITimeoutError": "TIMEOUT",
    "TimeoutException": "TIMEOUT",
    "APIConnectionError": "TRANSPORT",
    "TransportError": "TRANSPORT",
    "StreamError": "TRANSPORT",
}


def code_of(status: int | None, kind: str | None = None, text: str = "") -> str:
    """The code of a failure that a server told of.

    Args:
        status: Of the HTTP response; one below 300 says nothing, as an error inside a
            stream has it. A redirection is not followed: key and prompt are for the
            server that was named.
        kind: The error's own type or code, as the provider names it.
        text: Its message; looked at only for a prompt that is too long, which some
            servers tell in no other way.

    Returns:
        One of the codes of spec core 12.5, ``REFUSAL``, or ``UNKNOWN``.
    """
    named = _KINDS.get((kind or "").strip().lower())
    if named in _OUTRANK_STATUS:
        return named
    code = _code_of_status(status) or named or "UNKNOWN"
    if code in ("INVALID_REQUEST", "UNKNOWN") and _is_too_long(text):
        return "CONTEXT_WINDOW_EXCEEDED"
    return code


def _code_of_status(status: int | None) -> str | None:
    if status is None or status < 300:
        return None
    known = _STATUSES.get(status)
    if known is not None:
        return known
    return "SERVER" if status >= 500 else "INVALID_REQUEST"


def _is_too_long(text: str) -> bool:
    lower = text[:2000].lower()
    return any(phrase in lower for phrase in _TOO_LONG)


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait, or None when it does not say.

    ``retry-after-ms`` goes before ``retry-after``, which is a number of seconds or a
    date; a date counts from the response's own ``date``, so no clock is read.

    Args:
        headers: Of the response; names in any case.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    milliseconds = _seconds(lower.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = lower.get("retry-after")
    seconds = _seconds(asked)
    return seconds if seconds is not None else _until(asked, lower.get("date"))


def _seconds(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _until(moment: str | None, now: str | None) -> float | None:
    if moment is None or now is None:
        return None
    try:
        wait = parsedate_to_datetime(moment) - parsedate_to_datetime(now)
    except (TypeError, ValueError, OverflowError):
        return None  # no date, or one that no calendar has
    return max(wait.total_seconds(), 0.0)


def lost(error: BaseException) -> str | None:
    """``TIMEOUT`` or ``TRANSPORT`` when the connection failed, else None.

    Told by the names of an error's classes: an SDK lets errors of the HTTP library
    below it through while a stream is read, and which library that is changes.
    """
    for kind in type(error).__mro__:
        code = _LOST_CONNECTION.get(kind.__name__)
        if code is not None:
            return code
    if isinstance(error, TimeoutError):
        return "TIMEOUT"
    return "TRANSPORT" if isinstance(error, OSError | ssl.SSLError | EOFError) else None


def root_text(error: BaseException) -> str:
    """What the innermost cause of an error that has words says."""
    said, link = error_text(error), error
    for _ in range(8):
        inner = link.__cause__ or link.__context__
        if inner is None or type(inner).__name__ == "CancelledError":
            break  # how the libraries below end what takes too long: of use to nobody
        link = inner
        if str(link).strip():
            said = f"{type(link).__name__}: {error_text(link)}"
    return said
