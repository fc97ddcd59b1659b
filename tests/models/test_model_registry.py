"""Which model answers for which provider: spec core 12.1 and 18.12."""

from __future__ import annotations

from typing import Any

import pytest

from broodline.actors.models import ModelRegistry, RetryPolicy, ScriptedModel, failure_of
from broodline.messages.errors import ConfigurationError, ModelError


def scripted(provider: str = "scripted") -> ScriptedModel:
    return ScriptedModel(each=["hello"], provider=provider)


def test_a_model_answers_for_its_own_provider() -> None:
    """core 12.1: without names a model is served under its own provider."""
    registry, model = ModelRegistry(), scripted("a")
    registry.register(model)
    assert registry.get("a") is model
    assert registry.require("a") is model
    assert registry.get("b") is None
    assert registry.names() == ("a",)


def test_a_model_may_answer_for_several() -> None:
    """core 12.1: one model may serve several providers, and then not its own name."""
    registry, model = ModelRegistry(), scripted("a")
    registry.register(model, providers=["b", "c"])
    assert registry.names() == ("b", "c")
    assert registry.get("b") is registry.get("c") is model
    assert registry.get("a") is None


def test_a_taken_name_refuses_all() -> None:
    """core 18.12 #260: [a, b] with b taken raises DUPLICATE_ADAPTER and leaves a unregistered."""
    registry, first = ModelRegistry(), scripted()
    registry.register(first, providers=["b"])
    with pytest.raises(ConfigurationError, match="'b'") as caught:
        registry.register(scripted(), providers=["a", "b"])
    assert caught.value.code == "DUPLICATE_ADAPTER"
    assert registry.get("a") is None
    assert registry.get("b") is first


def test_a_name_listed_twice_refuses_all() -> None:
    """core 12.1: a provider listed twice raises DUPLICATE_ADAPTER."""
    registry = ModelRegistry()
    with pytest.raises(ConfigurationError) as caught:
        registry.register(scripted(), providers=["a", "b", "a"])
    assert caught.value.code == "DUPLICATE_ADAPTER"
    assert registry.names() == ()


@pytest.mark.parametrize("providers", [[], [""], ["a", " "], [None], "ab"])
def test_names_must_be_names(providers: Any) -> None:
    """core 12.1: at least one provider, none of them empty; a bare string is no list."""
    registry = ModelRegistry()
    with pytest.raises(ConfigurationError):
        registry.register(scripted(), providers=providers)
    assert registry.names() == ()


def test_disposing_frees_all_names() -> None:
    """core 12.1: the registration's disposal frees every name, once."""
    registry = ModelRegistry()
    registration = registry.register(scripted(), providers=["a", "b"])
    registration.dispose()
    assert registry.names() == ()
    other = scripted()
    registry.register(other, providers=["a"])
    registration.dispose()
    assert registry.get("a") is other


def test_an_unregistered_provider_is_a_failure() -> None:
    """core 18.12 #261: an unregistered provider is a terminal NO_ADAPTER failure with advice."""
    registry = ModelRegistry()
    registry.register(scripted("b"))
    registry.register(scripted("a"))
    with pytest.raises(ModelError, match=r"'gone' .* \(registered: a, b\)") as caught:
        registry.require("gone")
    failure = failure_of(caught.value)
    assert failure.code == "NO_ADAPTER"
    assert registry.retry_policy("gone").decide(failure, 1, None) is None  # type: ignore[arg-type]  # pyright: ignore


def test_nothing_registered_says_so() -> None:
    """DESIGN section 8: the message for an empty registry says that nothing is registered."""
    with pytest.raises(ModelError, match="registered: none"):
        ModelRegistry().require("gone")


def test_the_retry_policy_belongs_to_the_registration() -> None:
    """core 12.6: each registration has its own policy; without one it is the normal one."""
    registry, policy = ModelRegistry(), RetryPolicy(mode="always")
    registry.register(scripted("a"), retry=policy)
    registry.register(scripted("b"))
    assert registry.retry_policy("a") is policy
    assert registry.retry_policy("b") == RetryPolicy()


@pytest.mark.parametrize("model", [object(), "gpt", ScriptedModel, None])
def test_what_is_no_model_is_refused(model: Any) -> None:
    """DESIGN section 8: something that is no model, or a class of one, is refused at once."""
    with pytest.raises(ConfigurationError):
        ModelRegistry().register(model)
