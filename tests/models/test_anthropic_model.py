"""AnthropicModel before it is asked: arguments, keys, addresses."""

from __future__ import annotations

import copy
import pickle
import sys
from typing import Any

import anthropic
import pytest

from broodline.actors.models.anthropic.model import AnthropicModel
from broodline.messages.errors import ConfigurationError

KEY = "sk-ant-very-secret-key"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address from the environment of whoever runs the tests."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def test_names_and_ceiling() -> None:
    """core 12.1: provider, model and the default ceiling are attributes."""
    model = AnthropicModel("claude-x", api_key=KEY)
    assert (model.provider, model.model, model.max_tokens) == ("anthropic", "claude-x", 8192)
    other = AnthropicModel("claude-x", api_key=KEY, provider="mine", max_tokens=5)
    assert (other.provider, other.max_tokens) == ("mine", 5)


def test_a_missing_key() -> None:
    """core 12.5: without a key the error is MISSING_CREDENTIAL and says where to put one."""
    with pytest.raises(ConfigurationError, match=r"ANTHROPIC_API_KEY.*api_key=") as caught:
        AnthropicModel("claude-x", base_url="http://localhost:1")
    assert caught.value.code == "MISSING_CREDENTIAL"


def test_a_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """core 12.5: the environment's key and address serve where none are passed."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://proxy:1/v1")
    assert "http://proxy:1" in repr(AnthropicModel("claude-x"))


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN 6: without the SDK the error is MISSING_EXTRA and says how to install it."""
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(ConfigurationError, match=r"broodline\[anthropic\]") as caught:
        AnthropicModel("claude-x", api_key=KEY)
    assert caught.value.code == "MISSING_EXTRA"


@pytest.mark.parametrize(
    "settings",
    [
        {"max_tokens": 0},
        {"max_tokens": True},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"timeout": "1"},
        {"model": ""},
        {"provider": ""},
        {"base_url": ""},
        {"base_url": "localhost:8080"},
        {"base_url": "ftp://host"},
        {"base_url": "http://host:port"},
        {"base_url": 5},
        {"api_key": "line\nend"},
        {"client": object()},
    ],
)
def test_wrong_arguments(settings: dict[str, Any]) -> None:
    """DESIGN 8: a wrong argument is a ConfigurationError that shows no key."""
    key: dict[str, Any] = {} if "client" in settings else {"api_key": KEY}
    given: dict[str, Any] = {"model": "claude-x", **key, **settings}
    with pytest.raises(ConfigurationError) as caught:
        AnthropicModel(**given)
    assert KEY not in str(caught.value)


def test_a_repr_shows_no_secret() -> None:
    """core 12.5: provider, model and address are shown, neither key, password nor query."""
    model = AnthropicModel(
        "claude-x", api_key=KEY, base_url="https://user:hunter2pass@host:8/v1?tenant=abcdefgh"
    )
    shown = repr(model)
    assert shown == "AnthropicModel('claude-x', provider='anthropic', base_url='https://host:8')"
    for part in (*vars(model).values(), vars(model)):
        assert KEY not in repr(part)
        assert "hunter2pass" not in repr(part)


def test_a_model_with_a_key_is_not_written_anywhere() -> None:
    """core 12.5: neither a pickle nor a deep copy takes the key along."""
    model = AnthropicModel("claude-x", api_key=KEY)
    with pytest.raises(TypeError):
        pickle.dumps(model)
    with pytest.raises(TypeError):
        copy.deepcopy(model)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://h", "http://h"),
        ("http://h:1/v1", "http://h:1"),
        ("https://h/a/v1/", "https://h/a"),
        ("https://h/v1beta", "https://h/v1beta"),
    ],
)
def test_addresses(given: str, url: str) -> None:
    """DESIGN 6: a base_url works with and without the /v1 that the SDK puts there itself."""
    assert f"base_url={url!r}" in repr(AnthropicModel("claude-x", api_key=KEY, base_url=given))


async def test_a_client_of_the_callers() -> None:
    """DESIGN 6: a caller's client is shown by its address, and not taken beside a key."""
    client = anthropic.AsyncAnthropic(api_key=KEY, base_url="http://u:hunter2pass@h/")
    try:
        shown = repr(AnthropicModel("claude-x", client=client))
        assert "'http://h'" in shown
        assert "hunter2pass" not in shown
        with pytest.raises(ConfigurationError, match="not both"):
            AnthropicModel("claude-x", client=client, api_key=KEY)
    finally:
        await client.close()


def test_a_client_without_an_address_shows_none() -> None:
    """core 12.5: what is no address that can be read is not shown either."""

    class Odd:
        base_url = f"odd:{KEY}"

        def with_options(self, max_retries: int) -> Odd:
            return self

        async def close(self) -> None:
            return

    assert KEY not in repr(AnthropicModel("claude-x", client=Odd()))


def test_a_time_out_may_be_left_out() -> None:
    """core 12.5: None bounds no silence of the connection."""
    assert AnthropicModel("claude-x", api_key=KEY, timeout=None).max_tokens == 8192


def test_a_blocking_client_is_refused() -> None:
    """DESIGN 2: a client that would block the loop is no client for a model."""
    with anthropic.Anthropic(api_key=KEY) as client, pytest.raises(ConfigurationError):
        AnthropicModel("claude-x", client=client)
