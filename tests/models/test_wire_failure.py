"""What a failed request means: code, wait, lost connection."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from broodline.actors.models.retry import RETRYABLE_CODES
from broodline.actors.models.wire_failure import code_of, lost, retry_after_of


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "INVALID_REQUEST"),
        (401, "AUTH"),
        (402, "QUOTA"),
        (403, "AUTH"),
        (404, "INVALID_REQUEST"),
        (408, "TIMEOUT"),
        (409, "SERVER"),
        (413, "INVALID_REQUEST"),
        (422, "INVALID_REQUEST"),
        (429, "RATE_LIMIT"),
        (500, "SERVER"),
        (502, "SERVER"),
        (503, "SERVER"),
        (504, "TIMEOUT"),
        (524, "TIMEOUT"),
        (529, "SERVER"),
        (200, "UNKNOWN"),
        (None, "UNKNOWN"),
    ],
)
def test_a_status_is_a_code(status: int | None, code: str) -> None:
    """core 12.5: the status tells the code; one that is no failure tells nothing."""
    assert code_of(status) == code


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("authentication_error", "AUTH"),
        ("permission_error", "AUTH"),
        ("rate_limit_error", "RATE_LIMIT"),
        ("insufficient_quota", "QUOTA"),
        ("billing_error", "QUOTA"),
        ("overloaded_error", "SERVER"),
        ("api_error", "SERVER"),
        ("server_error", "SERVER"),
        ("timeout_error", "TIMEOUT"),
        ("context_length_exceeded", "CONTEXT_WINDOW_EXCEEDED"),
        ("invalid_request_error", "INVALID_REQUEST"),
        ("content_filter", "REFUSAL"),
        (" Overloaded_Error ", "SERVER"),
        ("something_new", "UNKNOWN"),
        ("", "UNKNOWN"),
    ],
)
@pytest.mark.parametrize("status", [None, 200])
def test_an_error_inside_a_stream_goes_by_its_kind(
    kind: str, code: str, status: int | None
) -> None:
    """core 12.5: behind a good status the provider's own word tells the code."""
    assert code_of(status, kind) == code


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (429, "insufficient_quota", "QUOTA"),
        (400, "context_length_exceeded", "CONTEXT_WINDOW_EXCEEDED"),
        (400, "content_filter", "REFUSAL"),
        (403, "billing_error", "QUOTA"),
        (401, "invalid_request_error", "AUTH"),
        (429, "invalid_request_error", "RATE_LIMIT"),
        (500, "invalid_request_error", "SERVER"),
    ],
)
def test_status_and_kind_together(status: int, kind: str, code: str) -> None:
    """core 12.5: quota, context and refusal outrank the status; nothing else does."""
    assert code_of(status, kind) == code


@pytest.mark.parametrize(
    ("status", "text", "code"),
    [
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "CONTEXT_WINDOW_EXCEEDED"),
        (400, "This model's MAXIMUM CONTEXT LENGTH is 8192 tokens", "CONTEXT_WINDOW_EXCEEDED"),
        (None, "prompt is too long", "CONTEXT_WINDOW_EXCEEDED"),
        (500, "prompt is too long", "SERVER"),
        (400, "max_tokens is too large", "INVALID_REQUEST"),
    ],
)
def test_a_prompt_that_is_too_long_is_told_by_its_text(
    status: int | None, text: str, code: str
) -> None:
    """core 12.5: servers that have no word for it say it in a sentence."""
    assert code_of(status, None, text) == code


@pytest.mark.parametrize("code", ["QUOTA", "AUTH", "REFUSAL", "INVALID_REQUEST"])
def test_what_would_fail_again_is_not_tried_again(code: str) -> None:
    """core #272: none of these codes is among those of the normal policy."""
    assert code not in RETRYABLE_CODES


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "150", "retry-after": "2"}, 0.15),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT",
                "date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            30.0,
        ),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:27:00 GMT",
                "date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            0.0,
        ),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "today"}, None),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT",
                "date": "Wed, 21 Oct 2026 07:28:00 -0000",
            },
            None,
        ),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    """RFC 9110 10.2.3: seconds, milliseconds or a date counted from the response's own."""
    assert retry_after_of(headers) == seconds


class APITimeoutError(ConnectionError):
    """Named as the SDKs name theirs."""


class Dropped(ConnectionResetError):
    pass


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (APITimeoutError(), "TIMEOUT"),
        (Dropped(), "TRANSPORT"),
        (ssl.SSLError("handshake"), "TRANSPORT"),
        (TimeoutError(), "TIMEOUT"),
        (EOFError(), "TRANSPORT"),
        (ValueError(), None),
        (asyncio.CancelledError(), None),
    ],
)
def test_a_lost_connection_is_told_from_a_fault(error: BaseException, code: str | None) -> None:
    """core 12.5: time-outs and broken connections are retried; anything else is not called one."""
    assert lost(error) == code
