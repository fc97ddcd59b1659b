"""What a runtime is made with, looked at before anything is started."""

from __future__ import annotations

import random as randomness
from collections.abc import Sequence
from typing import cast, get_args

from ..actors.models.retry import RetryPolicy
from ..actors.store import Durability, Store
from ..actors.stores.memory import MemoryStore
from ..messages.errors import ConfigurationError
from ..messages.lossless import type_name

_SEAMS = {
    "clock": ("time_ms", "monotonic", "sleep"),
    "ids": ("new",),
    "executor": ("run",),
}
_STORE = ("open", "create", "prepare", "lease", "attach", "inspect", "close")
_FORMS = "'memory', 'sqlite:PATH', 'jsonl:FOLDER'"


def store_named(text: str, *, durability: Durability = "accepted", create: bool = True) -> Store:
    """The store that a text names: ``sqlite:PATH``, ``jsonl:FOLDER`` or ``memory``.

    Args:
        text: A path is taken as it is, relative ones from the current folder.
        durability: What waits for the disk; a store in memory has none.
        create: Whether what is not there may be made.

    Raises:
        ConfigurationError: If it names none.
    """
    kind, colon, place = text.partition(":")
    if text == "memory":
        return MemoryStore()
    if not colon or not place or kind not in ("sqlite", "jsonl"):
        raise ConfigurationError(
            f"store={text!r} is not known; use {_FORMS}, or pass a store of your own"
        )
    if kind == "sqlite":
        from ..actors.stores.sqlite import SqliteStore

        return SqliteStore(place, durability=durability, create=create)
    from ..actors.stores.jsonl import JsonlStore

    return JsonlStore(place, durability=durability, create=create)


def store_of(store: object, durability: Durability | None) -> Store:
    """The store that an argument names or is.

    Raises:
        ConfigurationError: If it is neither, or `durability` is given beside a store in
            memory, or one that has its own.
    """
    if durability is not None and durability not in get_args(Durability):
        known = ", ".join(get_args(Durability))
        raise ConfigurationError(f"durability={durability!r} must be one of {known}")
    if store == "memory" and durability is not None:
        raise ConfigurationError(
            f"durability={durability!r} needs a disk, and the store is in memory; give "
            "store='sqlite:PATH' or store='jsonl:FOLDER' beside it"
        )
    if isinstance(store, str):
        return store_named(store, durability=durability or "accepted")
    _check_members("store", store, _STORE)
    if durability is not None:
        raise ConfigurationError(
            f"durability={durability!r} belongs to a store named by text; give it to "
            f"{type_name(store)}(...) itself"
        )
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
