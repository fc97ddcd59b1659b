"""Which providers a runtime knows, by name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..actors.registration import Registration
from ..messages.errors import ConfigurationError, SubagentError, SubagentErrorCode
from ..providers.contract import SubagentProvider
from .lifecycle import PROVIDER_ADDED, PROVIDER_REMOVED

if TYPE_CHECKING:
    from ..actors.hooks import Hooks


class ProviderRoster:
    """Providers in the order they were registered. Changed on the loop, read from any thread.

    Args:
        hooks: Where additions and removals are told; failing listeners are contained.
    """

    __slots__ = ("_hooks", "_providers")

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._providers: dict[str, SubagentProvider] = {}

    def register(self, provider: SubagentProvider) -> Registration:
        """Make a provider available; disposing the registration stops new starts only.

        Raises:
            SubagentError: ``DUPLICATE_PROVIDER`` if its name is taken; nothing changes then.
            ConfigurationError: If it is no provider.
        """
        _check_kind(provider)
        name = provider.name
        if name in self._providers:
            raise SubagentError(
                f"a provider named {name!r} is registered already; "
                "remove it first or give this one another name",
                code=SubagentErrorCode.DUPLICATE_PROVIDER,
                details={"provider": name},
            )
        self._providers[name] = provider
        registration = Registration(partial(self._remove, name))
        self._hooks.emit(PROVIDER_ADDED, provider)
        return registration

    def _remove(self, name: str) -> None:
        del self._providers[name]
        self._hooks.emit(PROVIDER_REMOVED, name)

    def get(self, name: str) -> SubagentProvider | None:
        """The provider of that name, or None."""
        return self._providers.get(name)

    def names(self) -> tuple[str, ...]:
        """All names, oldest first."""
        return tuple(self._providers)

    def require(self, name: str) -> SubagentProvider:
        """The provider of that name.

        Raises:
            SubagentError: ``NO_PROVIDER``.
        """
        provider = self._providers.get(name)
        if provider is None:
            known = ", ".join(map(repr, self._providers)) or "none"
            raise SubagentError(
                f"no provider named {name!r} is registered (there are: {known}); "
                "register it with runtime.subagents.register(...)",
                code=SubagentErrorCode.NO_PROVIDER,
                details={"provider": name},
            )
        return provider


def _check_kind(provider: object) -> None:
    if not isinstance(provider, SubagentProvider):
        raise ConfigurationError(
            f"{type(provider).__name__} is not a provider: it needs name, capabilities, "
            "inherits_parent_context and prepare_one_shot"
        )
