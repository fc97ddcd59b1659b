"""A pytest plugin: every test fails that leaves a thread, a file or a process behind.

It works once it is asked for: ``pytest -p broodline.testing.plugin``, or the same
two words in pytest's ``addopts``.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from .leftover import Belongings

_before = pytest.StashKey[Belongings]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Count what the process holds before a fixture of the test runs."""
    item.stash[_before] = Belongings.now()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Compare once the test's own fixtures are gone."""
    result = yield
    left = item.stash[_before].left_over()
    if left:
        pytest.fail("the test left behind:\n  " + "\n  ".join(left), pytrace=False)
    return result
