"""Models by name: ``openai:NAME`` and ``anthropic:NAME``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...messages.errors import ConfigurationError
from ...messages.plain import quoted
from .protocol import Model


def _openai(name: str, settings: dict[str, Any]) -> Model:
    from .openai.model import OpenAIModel

    return OpenAIModel(name, **settings)


def _anthropic(name: str, settings: dict[str, Any]) -> Model:
    from .anthropic.model import AnthropicModel

    return AnthropicModel(name, **settings)


_MAKERS: dict[str, Callable[[str, dict[str, Any]], Model]] = {
    "openai": _openai,
    "anthropic": _anthropic,
}

PROVIDERS = tuple(_MAKERS)
"""The providers that `model_named` knows."""


def model_named(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    max_tokens: int | None = None,
    timeout: float | None = 600.0,
) -> Model:
    """Make the model of a provider: ``model_named("anthropic:claude-sonnet-4-5")``.

    Args:
        name: Provider and model, with a colon between them.
        base_url: Another server that speaks the provider's format.
        api_key: The key; default the provider's environment variable.
        max_tokens: Ceiling of one response where nobody sets one; None leaves it to
            the model.
        timeout: Seconds that the connection may be silent; None is no bound.

    Raises:
        ConfigurationError: ``UNKNOWN_PROVIDER`` for a name that is not of this form,
            ``MISSING_EXTRA``, ``MISSING_CREDENTIAL``, or what the model refuses.
    """
    make, model = _parse(name)
    settings: dict[str, Any] = {"base_url": base_url, "api_key": api_key, "timeout": timeout}
    if max_tokens is not None:
        settings["max_tokens"] = max_tokens
    return make(model, settings)


def _parse(name: object) -> tuple[Callable[[str, dict[str, Any]], Model], str]:
    forms = " or ".join(f"{provider}:NAME" for provider in PROVIDERS)
    if not isinstance(name, str):
        raise ConfigurationError(f"a model's name must be text of the form {forms}")
    provider, colon, model = name.partition(":")
    make = _MAKERS.get(provider.strip().lower())
    if make is None:
        raise ConfigurationError(
            f"{quoted(name)} names no model that is known here; write {forms}",
            code="UNKNOWN_PROVIDER",
            details={"name": name, "providers": list(PROVIDERS)},
        )
    if not colon or not model.strip():
        raise ConfigurationError(
            f"{quoted(name)} says no model; write {provider}: and the model's name behind it",
            code="UNKNOWN_PROVIDER",
            details={"name": name, "providers": list(PROVIDERS)},
        )
    return make, model.strip()
