"""Which providers a runtime knows, by name."""

from __future__ import annotations

import threading
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING

from ..actors.registration import Registration
from ..messages.errors import BroodlineError, ConfigurationError, SubagentError, SubagentErrorCode
from ..messages.lossless import type_name
from ..messages.plain import plain_text, quoted
from ..providers.contract import ProviderCapabilities, SubagentProvider
from .lifecycle import PROVIDER_ADDED, PROVIDER_REMOVED

if TYPE_CHECKING:
    from ..actors.host import AgentHost


class ProviderRoster:
    """Providers in the order they were registered. Any thread.

    Args:
        host: Whose listeners are told of additions and removals, on its loop once it is
            open; failing ones are contained.
    """

    __slots__ = ("_host", "_lock", "_providers")

    def __init__(self, host: AgentHost) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._providers: dict[str, SubagentProvider] = {}

    def register(self, provider: SubagentProvider) -> Registration:
        """Make a provider available; disposing the registration stops new starts only.

        Raises:
            SubagentError: ``DUPLICATE_PROVIDER`` if its name is taken; nothing changes then.
            ConfigurationError: If it is no provider.
        """
        check_provider(provider)
        name = plain_text(provider.name, "name of a provider")
        with self._lock:
            if name in self._providers:
                raise _taken(name)
            self._providers[name] = provider
        registration = Registration(partial(self._remove, name))
        self._tell(PROVIDER_ADDED, provider)
        return registration

    def _remove(self, name: str) -> None:
        del self._providers[name]
        self._tell(PROVIDER_REMOVED, name)

    def _tell(self, event: str, payload: object) -> None:
        hooks = self._host.hooks
        try:
            self._host.call(partial(hooks.emit, event), payload)
        except BroodlineError:
            hooks.emit(event, payload)  # there is no loop yet, or none any more

    def get(self, name: object) -> SubagentProvider | None:
        """The provider of that name, or None; also for what can be no name."""
        return self._providers.get(name) if isinstance(name, str) else None

    def names(self) -> tuple[str, ...]:
        """All names, oldest first."""
        return tuple(self._providers)

    def require(self, name: object) -> SubagentProvider:
        """The provider of that name.

        Raises:
            SubagentError: ``NO_PROVIDER``.
        """
        provider = self.get(name)
        if provider is None:
            known = ", ".join(map(repr, self._providers)) or "none"
            raise SubagentError(
                f"no provider named {quoted(name)} is registered (there are: {known}); "
                "register it with runtime.subagents.register(...)",
                code=SubagentErrorCode.NO_PROVIDER,
                details={"provider": name if isinstance(name, str) else quoted(name)},
            )
        return provider


def _taken(name: str) -> SubagentError:
    return SubagentError(
        f"a provider named {name!r} is registered already; "
        "remove it first or give this one another name",
        code=SubagentErrorCode.DUPLICATE_PROVIDER,
        details={"provider": name},
    )


def check_provider(provider: object) -> None:
    """Refuse what cannot work as a provider.

    Raises:
        ConfigurationError: Naming what it lacks.
    """
    try:
        lacking = _lack_of(provider)
    except Exception as error:
        raise ConfigurationError(
            f"{type_name(provider)} is not a provider: it fails to say what it is ({quoted(error)})"
        ) from error
    if lacking is not None:
        raise ConfigurationError(f"{type_name(provider)} is not a provider: {lacking}")


def _lack_of(provider: object) -> str | None:
    if not isinstance(provider, SubagentProvider):
        return "it needs name, capabilities, inherits_parent_context and prepare_one_shot"
    plain_text(provider.name, "its name")
    if not callable(provider.prepare_one_shot):
        return "its prepare_one_shot must be an async method"
    for flag in fields(ProviderCapabilities):
        if type(getattr(provider.capabilities, flag.name, None)) is not bool:
            return f"its capabilities must hold {flag.name} as True or False"
    return None
