"""Models by name."""

from __future__ import annotations

from typing import Any

import pytest

from broodline import ConfigurationError, Runtime
from broodline.actors.models.naming import model_named


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai-123")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic-123")


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai:gpt-5", "openai", "gpt-5"),
        ("anthropic:claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("openai:llama3:70b", "openai", "llama3:70b"),
        ("OpenAI: gpt-5 ", "openai", "gpt-5"),
        ("openai:meta/llama", "openai", "meta/llama"),
    ],
)
def test_a_name_is_provider_and_model(name: str, provider: str, model: str) -> None:
    """core 12.1: what stands before the first colon is the provider, the rest the model."""
    made = model_named(name)
    assert (made.provider, made.model) == (provider, model)


@pytest.mark.parametrize(
    "name", ["", "gpt-5", ":gpt-5", "openai", "openai:", "openai: ", "mistral:x", 5]
)
def test_a_name_that_is_none_says_the_forms(name: Any) -> None:
    """DESIGN 8: a name that cannot be read is told how one is written."""
    with pytest.raises(ConfigurationError, match=r"openai:"):
        model_named(name)


@pytest.mark.parametrize("name", ["openai:gpt-5", "anthropic:claude"])
def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """core 12.5: each provider has its own variable; a base URL does not do without a key."""
    variable = f"{name.partition(':')[0].upper()}_API_KEY"
    monkeypatch.delenv(variable)
    with pytest.raises(ConfigurationError, match=variable) as told:
        model_named(name, base_url="http://127.0.0.1:9/v1")
    assert told.value.code == "MISSING_CREDENTIAL"


def test_a_ceiling_is_passed_on() -> None:
    """core 12.1: max_tokens is the model's own ceiling; without it each model has its default."""
    assert getattr(model_named("openai:x", max_tokens=7), "max_tokens", 0) == 7
    assert getattr(model_named("anthropic:x", max_tokens=7), "max_tokens", 0) == 7
    assert getattr(model_named("openai:x"), "max_tokens", 0) is None
    assert getattr(model_named("anthropic:x"), "max_tokens", 0) > 0


async def test_a_runtime_takes_a_name() -> None:
    """DESIGN 9: Runtime(model=...) and register(...) make the model that a name says."""
    async with Runtime(model="openai:gpt-5") as runtime:
        runtime.models.register("anthropic:claude")
        assert runtime.models.names() == ("openai", "anthropic")
        agent = (await runtime.agents.create()).agent
        assert (agent.options.provider, agent.options.model) == ("openai", "gpt-5")
