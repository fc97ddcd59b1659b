"""Providers of installed packages."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint

import pytest

from broodline.providers.discovery import GROUP, discover
from broodline.providers.spawn import SpawnProvider


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


def test_discovers_in_order_of_names() -> None:
    """DESIGN 4: every declared provider is made, in an order that no installer decides."""
    good = "broodline.providers.spawn:SpawnProvider"
    found = discover([entry("b", good), entry("a", good)])
    assert [type(provider) for provider in found] == [SpawnProvider, SpawnProvider]


@pytest.mark.parametrize(
    "value",
    [
        "no_such_package_at_all:Provider",
        "broodline.providers.spawn:Missing",
        "builtins:dict",
        "builtins:int.from_bytes",
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
