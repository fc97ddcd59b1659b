"""What a runtime is made with, looked at before anything is started."""

from __future__ import annotations

import random as randomness
from collections.abc import Sequence
from typing import cast

from ..actors.models.retry import RetryPolicy
from ..actors.store import Store
from ..actors.stores.memory import MemoryStore
from ..messages.errors import ConfigurationError
from ..messages.lossless import type_name

_SEAMS = {
    "clock": ("time_ms", "monotonic", "sleep"),
    "ids": ("new",),
    "executor": ("run",),
}
_STORE = ("attach", "lease", "load", "close")


def store_of(store: object) -> Store:
    """The store that an argument names or is.

    Raises:
        ConfigurationError: If it is neither.
    """
    if store == "memory":
        return MemoryStore()
    if isinstance(store, str):
        raise ConfigurationError(
            f"store={store!r} is not known; use 'memory', or pass a store of your own"
        )
    _check_members("store", store, _STORE)
    return cast("Store", store)


def check_seams(**seams: object) -> None:
    """Refuse a seam of time or chance that cannot serve; None is the default one.

    Raises:
        ConfigurationError: Naming the argument and what it lacks.
    """
    for name, seam in seams.items():
        if seam is None:
            continue
        if name == "random" and not isinstance(seam, randomness.Random):
            raise ConfigurationError(f"random={seam!r} must be a random.Random")
        if name == "retry" and not isinstance(seam, RetryPolicy):
            raise ConfigurationError(f"retry={seam!r} must be a RetryPolicy")
        _check_members(name, seam, _SEAMS.get(name, ()))


def check_list(name: str, value: object) -> None:
    """Refuse what is not a list or tuple where several things are asked for.

    Raises:
        ConfigurationError: Naming the argument.
    """
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ConfigurationError(
            f"{name}= takes a list, not {type_name(value)}; write {name}=[...]"
        )


def _check_members(name: str, value: object, members: Sequence[str]) -> None:
    missing = [member for member in members if not hasattr(value, member)]
    if missing:
        raise ConfigurationError(
            f"{name}={value!r} cannot serve: it has no {', '.join(missing)}; leave {name}= out for "
            "the usual one"
        )
