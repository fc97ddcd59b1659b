"""What a failed chat completion is told as."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest

from broodline.actors.models.credential import Credential
from broodline.actors.models.openai.failure import OpenAIFailures
from broodline.actors.models.openai.server import server_of
from broodline.messages.errors import ModelError

KEY = "sk-live-0123456789"
REQUEST = httpx2.Request("POST", "http://server/v1/chat/completions")


def told(error: Exception, base_url: str = "http://server/v1", id: str | None = None) -> ModelError:
    return OpenAIFailures("openai", server_of(base_url), Credential(KEY)).of(error, "m", id)


def answered(code: int, body: Any = None, **headers: str) -> openai.APIStatusError:
    """What the SDK raises for an HTTP error, made by the SDK itself."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, str) else json.dumps(body)
    response = httpx2.Response(code, headers=sent, content=content, request=REQUEST)
    client = openai.AsyncOpenAI(api_key=KEY)
    error = client._make_status_error_from_response(response)  # pyright: ignore[reportPrivateUsage]
    assert isinstance(error, openai.APIStatusError)
    return error


@pytest.mark.parametrize(
    ("code", "error", "expected"),
    [
        (400, {"type": "invalid_request_error"}, "INVALID_REQUEST"),
        (400, {"code": "context_length_exceeded"}, "CONTEXT_WINDOW_EXCEEDED"),
        (400, {"code": "content_filter"}, "REFUSAL"),
        (401, {"type": "invalid_request_error", "code": "invalid_api_key"}, "AUTH"),
        (402, {}, "QUOTA"),
        (403, {}, "AUTH"),
        (404, {"code": "model_not_found"}, "INVALID_REQUEST"),
        (408, {}, "TIMEOUT"),
        (413, {}, "INVALID_REQUEST"),
        (422, {}, "INVALID_REQUEST"),
        (429, {"type": "requests", "code": "rate_limit_exceeded"}, "RATE_LIMIT"),
        (429, {"type": "insufficient_quota", "code": "insufficient_quota"}, "QUOTA"),
        (429, {"type": "insufficient_quota"}, "QUOTA"),
        (500, {"type": "server_error"}, "SERVER"),
        (503, {}, "SERVER"),
        (504, {}, "TIMEOUT"),
        (529, {}, "SERVER"),
    ],
)
def test_a_status_has_its_code(code: int, error: dict[str, Any], expected: str) -> None:
    """core 12.5: the status and the error's own name decide on the code, the status is kept."""
    found = told(answered(code, {"error": error | {"message": "because"}}))
    assert (found.code, found.status) == (expected, code)
    assert f"{code}: because" in found.message


def test_the_facts_of_the_answer_are_kept() -> None:
    """core 12.5: the wait that a server asks for and its id of the request leave with the error."""
    found = told(answered(429, {}, retry_after_ms="1500", x_request_id="req_1"))
    assert (found.retry_after, found.request_id) == (1.5, "req_1")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "a"}}, "a"),
        ({"error": "b"}, "b"),
        ({"message": "c"}, "c"),
        ({"detail": "d"}, "d"),
        ([{"error": {"message": "e"}}], "e"),
        ("<h1>bad\n gateway</h1>", "<h1>bad gateway</h1>"),
    ],
)
def test_the_server_is_quoted_whatever_form_it_answers_in(body: Any, said: str) -> None:
    """DESIGN 8: what the server said stands in the text, also when it is no error of the format."""
    assert f"502: {said}" in told(answered(502, body)).message


def test_a_long_page_is_cut() -> None:
    """DESIGN 8: a page of HTML in place of an error does not fill the log."""
    assert len(told(answered(502, "<p>" + "x " * 5000)).message) < 800


def test_a_missing_page_hints_at_the_base_url() -> None:
    """DESIGN 8: a 404 says that a base URL mostly ends in /v1, but only when this one does not."""
    hinted = told(answered(404, {}), "http://server:8000/api").message
    assert "http://server:8000/api does not end in /v1" in hinted
    for right in ("http://server/v1/", "https://api.openai.com/v1"):
        assert told(answered(404, {}), right).message.endswith(
            "check the model's name and the base URL"
        )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (openai.APITimeoutError(REQUEST), "TIMEOUT"),
        (openai.APIConnectionError(request=REQUEST), "TRANSPORT"),
        (httpx2.ReadTimeout(""), "TIMEOUT"),
        (httpx2.RemoteProtocolError("peer closed"), "TRANSPORT"),
        (ConnectionResetError("reset"), "TRANSPORT"),
        (json.JSONDecodeError("bad", "", 0), "MALFORMED_RESPONSE"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "MALFORMED_RESPONSE"),
        (RecursionError(), "MALFORMED_RESPONSE"),
        (openai.APIError("x", REQUEST, body={"type": "server_error"}), "SERVER"),
        (openai.APIError("x", REQUEST, body={"code": "invalid_api_key"}), "AUTH"),
        (
            openai.APIResponseValidationError(httpx2.Response(200, request=REQUEST), None),
            "MALFORMED_RESPONSE",
        ),
        (openai.OpenAIError("odd"), "UNKNOWN"),
        (ValueError("odd"), "UNKNOWN"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_of_the_sdk_has_a_code(error: Exception, code: str) -> None:
    """core 12.5: lost connections, unreadable frames, error frames and the rest are told apart."""
    assert told(error).code == code


def test_a_lost_connection_says_what_lies_below() -> None:
    """DESIGN 8: the innermost cause says why; the SDK only says that there was an error."""
    error = openai.APIConnectionError(request=REQUEST)
    error.__cause__ = httpx2.ConnectError("All connection attempts failed")
    error.__cause__.__cause__ = ConnectionRefusedError(111, "Connection refused")
    assert "Connection refused" in told(error).message


def test_the_id_of_a_begun_answer_is_kept() -> None:
    """core 12.5: an error inside a stream keeps the id that the response's headers had."""
    assert told(ModelError("x", "TRANSPORT"), id="req_2").request_id == "req_2"


@pytest.mark.parametrize("text", [f"no such key: {KEY}", f"Bearer {KEY}", f"url ?k={KEY}&x"])
def test_no_key_is_told(text: str) -> None:
    """DESIGN 8: a server that echoes the key, the header or a URL does not put it into the log."""
    for error in (answered(401, {"error": {"message": text}}), ValueError(text)):
        found = told(error)
        assert KEY not in found.message + repr(found) + json.dumps(found.to_dict())


def test_no_password_of_the_url_is_told() -> None:
    """DESIGN 8: user:password@ and the query of a base URL stay out of every text."""
    url = "http://user:hunter2@server/v1?tenant=t0psecret"
    echo = "hunter2 dXNlcjpodW50ZXIy t0psecret"
    found = told(answered(403, {"error": {"message": echo}}), url)
    for secret in ("hunter2", "dXNlcjpodW50ZXIy", "t0psecret"):
        assert secret not in found.message
