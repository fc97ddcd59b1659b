"""What every test gets: a check that it leaves nothing behind."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Generator

import pytest
from hypothesis import settings

from broodline.testing import Belongings

# No example database: a test never writes in the checkout. No deadline: no test holds a time.
settings.register_profile("broodline", database=None, deadline=None)
settings.load_profile("broodline")

_before = pytest.StashKey[Belongings]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Check for unfinished tasks inside the loop of every asynchronous test."""
    for item in items:
        if inspect.iscoroutinefunction(getattr(item, "function", None)):
            fixtures: list[str] = getattr(item, "fixturenames", [])
            fixtures.insert(0, "no_task_left")  # first set up, so last torn down


@pytest.fixture
async def no_task_left() -> AsyncIterator[None]:
    """Fail when a task is unfinished after the test and after its other fixtures."""
    before = asyncio.all_tasks()
    yield
    await asyncio.sleep(0)
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    if left:
        names = sorted(f"{task.get_name()}: {task.get_coro()!r}" for task in left)
        pytest.fail("the test left tasks unfinished:\n  " + "\n  ".join(names), pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Count what the process holds before a fixture of the test runs."""
    item.stash[_before] = Belongings.now()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Fail when threads, files or processes came and did not go; its fixtures are gone now."""
    result = yield
    left = item.stash[_before].left_over()
    if left:
        pytest.fail("the test left behind:\n  " + "\n  ".join(left), pytrace=False)
    return result
