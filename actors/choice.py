"""What an agent is run with: the runtime's default, its maker's choice, its log's memory."""

from __future__ import annotations

from ..messages.options import AgentOptions
from ..messages.payload import OptionsChosen
from .models.protocol import Model


def default_options(
    default: Model | None,
    provider: str | None = None,
    model: str | None = None,
    max_tokens: int | None = None,
    reasoning_effort: str | None = None,
) -> AgentOptions:
    """What is wanted, with the default model where no provider is."""
    if default is not None and provider is None:
        provider = default.provider
        model = default.model if model is None else model
    return AgentOptions(provider, model, max_tokens, reasoning_effort)


def chosen_options(options: AgentOptions, default: Model | None) -> OptionsChosen | None:
    """What of `options` has to be written down; None where they are the default.

    Source: DESIGN section 5 (W16).
    """
    provider, model = options.provider, options.model
    if default is not None and provider == default.provider:
        provider = None
        model = None if model == default.model else model
    if not (provider or model or options.max_tokens or options.reasoning_effort):
        return None
    return OptionsChosen(
        provider or None, model or None, options.max_tokens, options.reasoning_effort or None
    )


def resumed_options(
    default: Model | None, wanted: AgentOptions, recorded: OptionsChosen
) -> AgentOptions:
    """What a resumed agent is run with: what is wanted now, else what its log says.

    Another provider than the recorded one does not have the recorded model.
    """
    provider, model = wanted.provider, wanted.model
    if provider is None or provider == recorded.provider:
        provider = recorded.provider
        model = recorded.model if model is None else model
    return default_options(
        default,
        provider,
        model,
        recorded.max_tokens if wanted.max_tokens is None else wanted.max_tokens,
        recorded.reasoning_effort if wanted.reasoning_effort is None else wanted.reasoning_effort,
    )
