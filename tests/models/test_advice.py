"""What to do about a failed request."""

from __future__ import annotations

import pytest

from broodline.actors.models.advice import MARK, advised, unadvised, url_hint
from broodline.actors.models.endpoint import endpoint_of


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("AUTH", 401, "THE_KEY"),
        ("QUOTA", 429, "billing"),
        ("CONTEXT_WINDOW_EXCEEDED", 400, "shorten"),
        ("INVALID_REQUEST", 400, "settings"),
        ("INVALID_REQUEST", 404, "base URL"),
        ("INVALID_REQUEST", 307, "base_url="),
        ("REFUSAL", None, "prompt"),
        ("TRANSPORT", None, "server"),
    ],
)
def test_what_can_be_done_is_said(code: str, status: int | None, said: str) -> None:
    """DESIGN 8: an error says what to do next, behind what happened."""
    text = advised("p:m at url: it failed.", code, status, "THE_KEY")
    assert said in text.partition(MARK)[2]
    assert unadvised(text) == "p:m at url: it failed"


@pytest.mark.parametrize("code", ["RATE_LIMIT", "SERVER", "TIMEOUT", "EMPTY_RESPONSE", "UNKNOWN"])
def test_where_nothing_is_known_nothing_is_said(code: str) -> None:
    """core 12.6: what is simply tried again needs no advice."""
    assert advised("it failed.", code, None, "THE_KEY", "hint") == "it failed."
    assert unadvised("it failed.") == "it failed."


@pytest.mark.parametrize(
    ("code", "status"), [("INVALID_REQUEST", 404), ("MALFORMED_RESPONSE", None)]
)
def test_a_wrong_base_url_is_the_first_guess(code: str, status: int | None) -> None:
    """DESIGN 8: where nothing or something else is served, the URL is what to look at."""
    assert advised("no", code, status, "THE_KEY", "mend the URL").endswith(f"{MARK}mend the URL")


@pytest.mark.parametrize(
    ("url", "version", "hint"),
    [
        ("http://h/v1", True, ""),
        ("http://h", False, ""),
        ("http://h", True, "does not end in /v1"),
        ("http://h/v1/chat/completions", True, "leave /chat/completions off"),
        ("http://h/chat/completions/", False, "leave /chat/completions off"),
    ],
)
def test_what_may_be_wrong_with_a_base_url(url: str, version: bool, hint: str) -> None:
    """DESIGN 8: a whole address in place of the base URL, or one without /v1, is told."""
    found = url_hint(endpoint_of(url, "here"), "/chat/completions", version=version)
    assert hint in found
    assert bool(hint) is bool(found)
