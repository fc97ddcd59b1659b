"""Base URLs, and the bounds of a provider's model."""

from __future__ import annotations

from typing import Any

import pytest

from broodline import AnthropicModel, ConfigurationError, OpenAIModel
from broodline.actors.models.bounds import sound_ceiling, sound_timeout
from broodline.actors.models.endpoint import endpoint_of, refuse_key


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://h", "http://h"),
        (" http://h/ ", "http://h"),
        ("https://h/a/v1/", "https://h/a/v1"),
        ("http://[::1]:8/v1", "http://[::1]:8/v1"),
        ("http://u:p@h/v1?a=b#c", "http://h/v1"),
    ],
)
def test_a_url_is_shown_without_its_secrets(given: str, url: str) -> None:
    """DESIGN 8: what is shown and logged has no user, password, query or fragment."""
    assert endpoint_of(given, "here").url == url


def test_what_is_hidden_is_still_sent() -> None:
    """DESIGN 8: user, password and query are sent, and known as secrets in either writing."""
    server = endpoint_of("https://us%40er:pa%20ss@h/?a=secret&b=", "here")
    assert server.basic == "Basic dXNAZXI6cGEgc3M="
    assert server.query == {"a": "secret", "b": ""}
    assert server.secrets == ("pa%20ss", "pa ss", "dXNAZXI6cGEgc3M=", "secret")
    assert "ss" not in repr(server)


@pytest.mark.parametrize(
    "name", ["key", "api-key", "apikey", "x_api_key", "access_token", "sig", "Secret", "auth"]
)
def test_a_key_in_the_query_is_refused(name: str) -> None:
    """DESIGN 8: a key that every HTTP library would log with the URL is refused, unshown."""
    with pytest.raises(ConfigurationError, match="api_key=") as told:
        refuse_key(endpoint_of(f"https://h/v1?api-version=1&{name}=hunter2", "here"), "here")
    assert told.value.code == "INVALID_BASE_URL"
    assert "hunter2" not in str(told.value)
    refuse_key(endpoint_of("https://h/v1?api-version=1", "here"), "here")


@pytest.mark.parametrize("make", [OpenAIModel, AnthropicModel])
def test_both_models_refuse_a_key_in_the_query(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN 8: a key in the query of base_url, or of the environment's, makes no model."""
    with pytest.raises(ConfigurationError, match="in its query"):
        make("m", api_key="any", base_url="http://h/v1?token=hunter2")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://h/v1?token=hunter2")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://h/v1?token=hunter2")
    with pytest.raises(ConfigurationError, match="in its query"):
        make("m", api_key="any")


def test_a_user_alone_may_be_a_key() -> None:
    """DESIGN 8: the user of a URL without a password is hidden too."""
    assert "token123" in endpoint_of("https://token123@h", "here").secrets


@pytest.mark.parametrize(
    "given",
    ["", "h/v1", "ftp://h", "http://", "http://u:pw@", "http://[", "http://h:x", "http://h:0",
     "http://h h", "http://h\n.x", "http://hö", 7, None],
)  # fmt: skip
def test_what_is_no_url(given: Any) -> None:
    """DESIGN 8: what names no server is refused, says where it came from, and is not shown."""
    with pytest.raises(ConfigurationError, match=r"^here is no URL") as told:
        endpoint_of(given, "here")
    assert told.value.code == "INVALID_BASE_URL"
    assert "pw" not in str(told.value)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "9", 2**53])
def test_a_ceiling_that_is_none(value: Any) -> None:
    """core 12.1: a ceiling is a positive safe integer or None."""
    with pytest.raises(ConfigurationError, match=r"Model\(max_tokens="):
        sound_ceiling(value, "Model")
    assert (sound_ceiling(None, "Model"), sound_ceiling(1, "Model")) == (None, 1)


@pytest.mark.parametrize("value", [0, -1.0, True, "9", float("nan"), float("inf")])
def test_a_timeout_that_is_none(value: Any) -> None:
    """DESIGN 8: a time-out is finite seconds above 0 or None."""
    with pytest.raises(ConfigurationError, match=r"Model\(timeout="):
        sound_timeout(value, "Model")
    assert (sound_timeout(None, "Model"), sound_timeout(2, "Model")) == (None, 2.0)
