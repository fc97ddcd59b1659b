"""Providers that installed packages add under an entry point."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from ..actors.stray import is_stray
from .contract import SubagentProvider

GROUP = "broodline.providers"
"""The entry-point group; each entry is a provider class or a function that makes one."""

_logger = logging.getLogger(__name__)


def discover(entries: Iterable[EntryPoint] | None = None) -> tuple[SubagentProvider, ...]:
    """Make every provider that installed packages declare, in the order of the entries' names.

    An entry that cannot be imported, fails, or is no provider is logged and passed
    over: a broken package of somebody else never keeps a runtime from starting.

    Args:
        entries: What to load instead of the installed entry points.
    """
    declared = entry_points(group=GROUP) if entries is None else entries
    ordered = sorted(declared, key=lambda entry: (entry.name, entry.value))
    made = (_make(entry) for entry in ordered)
    return tuple(provider for provider in made if provider is not None)


def _make(entry: EntryPoint) -> SubagentProvider | None:
    try:
        provider = entry.load()()
        if not isinstance(provider, SubagentProvider):
            raise TypeError(f"{type(provider).__name__} is not a SubagentProvider")
    except BaseException as error:
        if not is_stray(error, None):
            raise
        _logger.exception(
            "provider entry point %r (%s) is broken and was passed over", entry.name, entry.value
        )
        return None
    return provider
