"""What every test gets, beside the plugin that looks for threads, files and processes."""

from __future__ import annotations

import asyncio
import inspect
import signal
from collections.abc import AsyncIterator

import pytest
from hypothesis import settings

# No example database: a test never writes in the checkout. No deadline: no test holds a time.
settings.register_profile("broodline", database=None, deadline=None)
settings.load_profile("broodline")

# Started by nohup, or in the background of a script, the tests would inherit what those
# ignore, and so would every process that they start and send a signal.
for _name in ("SIGHUP", "SIGINT", "SIGTERM", "SIGQUIT"):
    _number = getattr(signal, _name, None)
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        _usual = signal.default_int_handler if _name == "SIGINT" else signal.SIG_DFL
        signal.signal(_number, _usual)


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
