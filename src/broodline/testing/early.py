"""A pytest plugin: a failing test is shown when it fails, not when all others are done.

``pytest -p broodline.testing.early``. The whole report still stands at the end. A test
that hangs is named, too: ``pytest-timeout`` tells where each thread stands, which for a
coroutine is somewhere in asyncio, so the main thread carries the name of the test.
"""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

_LINES = 12
"""Of a failure's text, its last ones; the whole of it comes at the end."""


class Early:
    """Names the test that runs, and writes a failed report to the terminal as it comes in."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Lend the thread the name of the test for as long as it runs."""
        thread = threading.current_thread()
        name = thread.name
        thread.name = f"{name} in {item.nodeid}"
        try:
            return (yield)
        finally:
            thread.name = name

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Name the test and what it said last, behind the dots so far."""
        if report.failed:
            self._terminal.write("\n")  # behind the dots
            self._terminal.write_line(f"{report.nodeid} failed in its {report.when}:", red=True)
            for line in report.longreprtext.splitlines()[-_LINES:]:
                self._terminal.write_line(f"    {line}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Follow the reports where there is a terminal to write to."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        config.pluginmanager.register(Early(terminal), "broodline-early")
