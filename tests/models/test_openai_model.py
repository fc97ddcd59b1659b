"""Making an `OpenAIModel`: whom it asks, with which key, and what it refuses."""

from __future__ import annotations

import sys
from typing import Any

import openai
import pytest

from broodline.actors.models.openai.model import OpenAIModel
from broodline.actors.models.openai.server import is_official, server_of
from broodline.messages.errors import ConfigurationError

KEY = "sk-live-0123456789"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def refused(**settings: Any) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        made: dict[str, Any] = {"model": "m", "api_key": KEY} | settings
        OpenAIModel(**made)
    assert KEY not in str(caught.value)
    return caught.value


def test_a_missing_key_says_what_to_do() -> None:
    """DESIGN 8: without a key the text names the variable and the argument."""
    error = refused(api_key=None)
    assert error.code == "MISSING_CREDENTIAL"
    assert "OPENAI_API_KEY" in str(error)


def test_a_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN 6: without the extra the text is the command that installs it."""
    monkeypatch.setitem(sys.modules, "openai", None)
    error = refused()
    assert error.code == "MISSING_EXTRA"
    assert 'pip install "broodline[openai]"' in str(error)


@pytest.mark.parametrize(
    "settings",
    [
        {"model": ""},
        {"provider": ""},
        {"max_tokens": 0},
        {"max_tokens": True},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": "1"},
    ],
    ids=repr,
)
def test_wrong_settings_are_refused(settings: dict[str, Any]) -> None:
    """DESIGN 8: a setting that no request could have is refused when the model is made."""
    (name,) = settings
    assert name in str(refused(**settings))


@pytest.mark.parametrize(
    "url", ["", "server/v1", "ftp://server", "http://", "http://user:pw@", "http://[", 7]
)
def test_what_is_no_url_is_refused(url: Any) -> None:
    """DESIGN 8: a base URL that names no server is refused, without being shown."""
    error = refused(base_url=url)
    assert error.code == "INVALID_BASE_URL"
    assert "pw" not in str(error)


def test_its_repr_shows_no_secret() -> None:
    """DESIGN 8: provider, model and URL are shown; key, user, password and query are not."""
    model = OpenAIModel("gpt-x", api_key=KEY, base_url="https://user:pw1@server:8/v1/?tag=abc#x")
    assert repr(model) == (
        "OpenAIModel('gpt-x', provider='openai', base_url='https://server:8/v1')"
    )
    assert "pw1" not in repr(vars(model))
    assert KEY not in repr(vars(model))


def test_the_environment_may_name_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN 9: OPENAI_BASE_URL counts where no base_url is given, as with the SDK itself."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://server/v1")
    assert "http://server/v1" in repr(OpenAIModel("m", api_key=KEY))
    assert "http://other/v1" in repr(OpenAIModel("m", api_key=KEY, base_url="http://other/v1"))


@pytest.mark.parametrize(
    ("url", "official"),
    [
        (None, True),
        ("https://eu.api.openai.com/v1", True),
        ("https://mine.openai.azure.com/openai/v1", True),
        ("http://127.0.0.1:8000/v1", False),
        ("https://notapi.openai.com.evil.test/v1", False),
        ("https://evil-api.openai.com/v1", False),
        ("https://openrouter.ai/api/v1", False),
    ],
)
def test_the_official_server_is_told_by_its_host(url: str | None, official: bool) -> None:
    """core 12.2: only OpenAI's and Azure's hosts get the fields that other servers do not know."""
    assert is_official(server_of(url)) is official


def test_a_callers_client_is_asynchronous_and_alone() -> None:
    """DESIGN 9: client= takes the SDK's asynchronous clients and excludes a key and a URL."""
    ours = openai.AsyncOpenAI(api_key=KEY, base_url="http://server/v1")
    for settings in (
        {"client": openai.OpenAI(api_key=KEY)},
        {"client": object()},
        {"client": ours},
        {"client": ours, "api_key": None, "base_url": "http://other/v1"},
    ):
        assert "client" in str(refused(**settings))
    assert "http://server/v1" in repr(OpenAIModel("m", client=ours))


def test_an_azure_client_is_taken() -> None:
    """DESIGN 9: Azure is asked through a client of the caller's."""
    client = openai.AsyncAzureOpenAI(
        api_key=KEY, azure_endpoint="https://mine.openai.azure.com", api_version="2025-01-01"
    )
    assert "https://mine.openai.azure.com/openai" in repr(OpenAIModel("m", client=client))
