"""Providers of installed packages."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from broodline.providers.discovery import GROUP, discover
from broodline.providers.spawn import SpawnProvider


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


class Named(EntryPoint):
    """Makes a spawn provider of the entry's own name."""

    def load(self) -> Any:
        return lambda: SpawnProvider(name=self.name)


def test_discovers_in_order_of_names() -> None:
    """DESIGN 4: every declared provider is made, in an order that no installer decides."""
    found = discover([Named(name, "x:y", GROUP) for name in ("b", "c", "a")])
    assert [provider.name for provider in found] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "value",
    [
        "no_such_package_at_all:Provider",
        "broodline.providers.spawn:Missing",
        "builtins:dict",
        "builtins:int.from_bytes",
        "sys:exit",
    ],
)
def test_broken_ones_are_passed_over(value: str, caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 4: a broken third-party provider is logged and costs nobody else anything."""
    with caplog.at_level(logging.ERROR):
        found = discover(
            [entry("broken", value), entry("good", "broodline.providers.spawn:SpawnProvider")]
        )
    assert len(found) == 1
    assert "'broken'" in caplog.text


def test_installed_entries_load() -> None:
    """DESIGN 4: without arguments the installed entry points are looked at."""
    discover()
