"""Which model answers for which provider name.

Source: spec core 12.1.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from dataclasses import dataclass

from ...messages.errors import ConfigurationError, ModelError
from ...messages.options import check_options
from ..registration import Registration
from .naming import model_named
from .protocol import ClosableModel, Model
from .retry import RetryPolicy

NORMAL_RETRY = RetryPolicy()


@dataclass(frozen=True, slots=True)
class _Entry:
    model: Model
    retry: RetryPolicy


class ModelRegistry:
    """The models of one runtime. Use it on the runtime's loop, or before it starts."""

    __slots__ = ("_entries", "_to_close")

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._to_close: dict[int, ClosableModel] = {}

    def register(
        self,
        model: Model | str,
        *,
        providers: Sequence[str] | None = None,
        retry: RetryPolicy | None = None,
    ) -> Registration:
        """Serve `model` under its own provider name, or under `providers`.

        All of the names or none: nothing is registered when one of them is refused.
        Disposing of the registration frees all of them.

        Args:
            model: What answers; text such as ``"openai:gpt-5"`` is given to `model_named`.
            providers: One or more names, not empty; default ``[model.provider]``.
            retry: How its failures are met; default the normal policy.

        Raises:
            ConfigurationError: ``DUPLICATE_ADAPTER`` when a name is served already
                or listed twice; else when a name or the model is not usable.
        """
        if isinstance(model, str):
            model = model_named(model)
        _check_model(model)
        names = _names(model, providers)
        for name in names:
            if name in self._entries or names.count(name) > 1:
                raise ConfigurationError(
                    f"provider {name!r} is served already; none of {names!r} was registered. "
                    "Dispose of the other registration, or pass providers=[...] with another name",
                    code="DUPLICATE_ADAPTER",
                    details={"provider": name},
                )
        entry = _Entry(model, retry if retry is not None else NORMAL_RETRY)
        self._entries.update(dict.fromkeys(names, entry))
        if isinstance(model, ClosableModel):
            self._to_close[id(model)] = model
        return Registration(lambda: self._remove(names, entry))

    def get(self, provider: str) -> Model | None:
        """The model that answers for `provider`, or None."""
        entry = self._entries.get(provider)
        return None if entry is None else entry.model

    def require(self, provider: str) -> Model:
        """The model that answers for `provider`.

        Raises:
            ModelError: ``NO_ADAPTER``, a failure that is not tried again.
        """
        entry = self._entries.get(provider)
        if entry is None:
            known = ", ".join(sorted(self._entries)) or "none"
            raise ModelError(
                f"provider {provider!r} has no model here (registered: {known}); "
                "register one with runtime.models.register(...)",
                "NO_ADAPTER",
            )
        return entry.model

    def retry_policy(self, provider: str) -> RetryPolicy:
        """How failures of `provider` are met; the normal policy when it is not registered."""
        entry = self._entries.get(provider)
        return NORMAL_RETRY if entry is None else entry.retry

    def names(self) -> tuple[str, ...]:
        """Every name that is served, in order of registration."""
        return tuple(self._entries)

    async def close(self) -> None:
        """Close what the models hold on this loop, all of them whatever one does.

        Raises:
            ExceptionGroup: With what they raised.
        """
        closing = [model.aclose() for model in self._to_close.values()]
        self._to_close.clear()
        outcomes = await asyncio.gather(*closing, return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if failures:
            raise ExceptionGroup("models could not be closed", failures)

    def _remove(self, names: Sequence[str], entry: _Entry) -> None:
        for name in names:
            if self._entries.get(name) is entry:
                del self._entries[name]


def _names(model: Model, providers: Sequence[str] | None) -> list[str]:
    if isinstance(providers, str):
        raise ConfigurationError(f"providers must be a list of names, not the string {providers!r}")
    names = [model.provider] if providers is None else list(providers)
    if not names or not all(map(_is_name, names)):
        raise ConfigurationError(
            f"a model needs at least one provider name, and no empty one: {names!r}"
        )
    return names


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name.strip())


async def _no_close() -> None:
    """What a model has that holds nothing open."""


def _check_model(model: object) -> None:
    if isinstance(model, type):
        raise ConfigurationError(f"register an instance: {model.__name__}(...), not the class")
    if inspect.isroutine(model):
        raise ConfigurationError(
            f"{getattr(model, '__name__', 'a function')} is a function, not a model; wrap a rule "
            "in RuleModel(...)"
        )
    for member in ("provider", "model", "stream"):
        if not hasattr(model, member):
            raise ConfigurationError(
                f"{type(model).__name__} is no model: it has no {member!r}; "
                "see broodline.actors.models.Model"
            )
    if not inspect.iscoroutinefunction(getattr(model, "aclose", _no_close)):
        raise ConfigurationError(
            f"aclose of {type(model).__name__} must be an async function without arguments"
        )
    check_options(None, None, getattr(model, "max_tokens", None), None)
