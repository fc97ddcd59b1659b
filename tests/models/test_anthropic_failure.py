"""What Anthropic's SDK raises, as a ModelError: spec core 12.5."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import httpx2
import pytest

from broodline.actors.models.anthropic.failure import error_of_sdk, told
from broodline.messages.errors import ModelError

REQUEST = httpx2.Request("POST", "http://localhost/v1/messages")


def refused(status: int, body: Any, **headers: str) -> Exception:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx2.Response(status, headers=named, request=REQUEST)
    return anthropic.APIStatusError("Error code", response=response, body=body)


def connection_error(cause: Exception | None) -> Exception:
    error = anthropic.APIConnectionError(request=REQUEST)
    error.__cause__ = cause
    return error


def body(kind: str, message: str = "no") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_body"}


@pytest.mark.parametrize(
    ("status", "kind", "message", "code"),
    [
        (401, "authentication_error", "no", "AUTH"),
        (403, "permission_error", "no", "AUTH"),
        (404, "not_found_error", "model: x", "INVALID_REQUEST"),
        (400, "invalid_request_error", "no", "INVALID_REQUEST"),
        (400, "invalid_request_error", "prompt is too long: 9 > 8", "CONTEXT_WINDOW_EXCEEDED"),
        (400, "billing_error", "no", "QUOTA"),
        (402, "billing_error", "no", "QUOTA"),
        (408, "timeout_error", "no", "TIMEOUT"),
        (413, "request_too_large", "no", "INVALID_REQUEST"),
        (422, "", "no", "INVALID_REQUEST"),
        (429, "rate_limit_error", "no", "RATE_LIMIT"),
        (500, "api_error", "no", "SERVER"),
        (502, "", "no", "SERVER"),
        (504, "timeout_error", "no", "TIMEOUT"),
        (529, "overloaded_error", "no", "SERVER"),
        (200, "overloaded_error", "no", "SERVER"),
        (200, "rate_limit_error", "no", "RATE_LIMIT"),
        (200, "billing_error", "no", "QUOTA"),
        (200, "invalid_request_error", "prompt is too long", "CONTEXT_WINDOW_EXCEEDED"),
    ],
)
def test_each_row_of_the_table(status: int, kind: str, message: str, code: str) -> None:
    """core 12.5: status and type of an error make its code, inside a stream the type alone."""
    error = error_of_sdk(refused(status, body(kind, message)), streaming=status == 200)
    assert error.code == code
    assert error.status == (status if status >= 400 else None)
    assert message in error.message
    assert error.request_id == "req_body"


def test_what_the_headers_say() -> None:
    """core 12.5: the wait and the request's id come from the headers of the response."""
    error = error_of_sdk(
        refused(429, body("rate_limit_error"), retry_after="1.5", request_id="req_head"),
        streaming=False,
    )
    assert (error.retry_after, error.request_id) == (1.5, "req_head")
    assert error.details == {"status": 429, "retryAfter": 1.5, "requestId": "req_head"}


@pytest.mark.parametrize("odd", [None, "<html>", [], {"error": "text"}, {"error": {"type": 1}}, 5])
def test_bodies_of_any_form(odd: Any) -> None:
    """core 12.5: a body that is not of the API's form is told by its status."""
    assert error_of_sdk(refused(503, odd), streaming=False).code == "SERVER"


def test_an_error_without_a_word() -> None:
    """core 12.5: an error that says nothing is UNKNOWN and says so."""
    assert told({}).code == "UNKNOWN"
    assert "nothing" in told({}).message


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (anthropic.APITimeoutError(request=REQUEST), "TIMEOUT"),
        (connection_error(None), "TRANSPORT"),
        (connection_error(httpx2.ConnectError("refused")), "TRANSPORT"),
        (connection_error(ConnectionResetError("reset")), "TRANSPORT"),
        (connection_error(TimeoutError("late")), "TIMEOUT"),
        (httpx2.ReadError("cut"), "TRANSPORT"),
        (httpx2.ReadTimeout("late"), "TIMEOUT"),
        (httpx2.RemoteProtocolError("cut"), "TRANSPORT"),
        (httpx2.StreamClosed(), "TRANSPORT"),
        (connection_error(TypeError("the SDK was misused")), "UNKNOWN"),
        (connection_error(RuntimeError("client has been closed")), "UNKNOWN"),
        (TypeError("Could not resolve authentication method"), "UNKNOWN"),
        (anthropic.CredentialsError("no profile"), "AUTH"),
        (ZeroDivisionError(), "UNKNOWN"),
    ],
)
@pytest.mark.parametrize("streaming", [True, False])
def test_a_lost_connection(error: Exception, code: str, streaming: bool) -> None:
    """core 12.5: what breaks the connection is TIMEOUT or TRANSPORT, a bug behind it is neither."""
    assert error_of_sdk(error, streaming=streaming).code == code


@pytest.mark.parametrize(
    "error",
    [
        json.JSONDecodeError("no", "x", 0),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        RecursionError(),
        httpx2.DecodingError("bad gzip"),
    ],
)
def test_what_cannot_be_read(error: Exception) -> None:
    """core 12.5: a frame that cannot be read is MALFORMED_RESPONSE; a request is not."""
    assert error_of_sdk(error, streaming=True).code == "MALFORMED_RESPONSE"
    assert error_of_sdk(error, streaming=False).code == "UNKNOWN"


def test_an_answer_that_the_sdk_refuses() -> None:
    """core 12.5: what a client of strict validation refuses is MALFORMED_RESPONSE."""
    response = httpx2.Response(200, request=REQUEST)
    error = anthropic.APIResponseValidationError(response, None)
    assert error_of_sdk(error, streaming=True).code == "MALFORMED_RESPONSE"


def test_a_model_error_keeps_its_facts() -> None:
    """core 12.5: a ModelError of ours is passed on as it is."""
    error = ModelError("no", "UNSUPPORTED_CONTENT")
    assert error_of_sdk(error, streaming=False) is error


def test_cancellation_is_no_failure_of_the_connection() -> None:
    """core 9: a cancelled request is no TIMEOUT."""
    assert error_of_sdk(asyncio.CancelledError(), streaming=True).code == "UNKNOWN"
