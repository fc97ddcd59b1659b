"""The leak check that every test gets: it must see each kind of thing that can be left."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from broodline.testing import nothing_left

pytest_plugins = ["pytester"]


def test_nothing_is_found_where_nothing_is_left(tmp_path: Path) -> None:
    """Threads, files and processes that came and went are no finding."""
    with nothing_left():
        thread = threading.Thread(target=int)
        thread.start()
        (tmp_path / "note").write_text("closed again")
        subprocess.run([sys.executable, "-c", ""], check=True)


def test_a_thread_is_named() -> None:
    """A thread that goes on, a daemon too, is named once its grace is over."""
    gate = threading.Event()
    thread = threading.Thread(target=gate.wait, name="lingerer", daemon=True)
    with pytest.raises(AssertionError, match="thread lingerer"), nothing_left(grace=0):
        thread.start()
    gate.set()
    thread.join()


def test_a_thread_about_to_end_is_waited_for() -> None:
    """A thread that ends within the grace is not left over."""
    gate = threading.Event()
    with nothing_left(grace=60):
        threading.Thread(target=gate.wait).start()
        gate.set()


def open_a_file(folder: Path) -> int:
    """A descriptor of a file."""
    return os.open(folder / "note", os.O_CREAT)


def open_a_socket(_folder: Path) -> int:
    """A descriptor of a socket."""
    return socket.socket().detach()


@pytest.mark.parametrize(
    ("opened", "told"), [(open_a_file, "note"), (open_a_socket, "socket:")], ids=["file", "socket"]
)
def test_an_open_file_is_named(opened: Callable[[Path], int], told: str, tmp_path: Path) -> None:
    """A file or a socket that stays open is named by what it points at."""
    descriptors: list[int] = []
    with pytest.raises(AssertionError, match=told), nothing_left():
        descriptors.append(opened(tmp_path))
    os.close(descriptors[0])


def test_a_child_process_is_named() -> None:
    """A process that nobody waited for is named by its command."""
    child: list[subprocess.Popen[bytes]] = []
    with pytest.raises(AssertionError, match="lingering"), nothing_left():
        child.append(
            subprocess.Popen([sys.executable, "-c", "input() # lingering"], stdin=subprocess.PIPE)
        )
    child[0].communicate(b"\n")


def test_a_failure_of_the_block_itself_comes_through() -> None:
    """The check does not cover up what the block raised."""
    with pytest.raises(ZeroDivisionError), nothing_left():
        _ = 1 // 0


def test_plugin_and_conftest_fail_a_test_that_leaves_something(pytester: pytest.Pytester) -> None:
    """A task and an event loop each fail exactly the test that left them."""
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    pytester.makeini("[pytest]\nasyncio_mode = auto\n")
    pytester.makepyfile(
        """
        import asyncio

        kept = []

        async def test_task():
            kept.append(asyncio.create_task(asyncio.Event().wait(), name="forgotten"))

        def test_loop():
            kept.append(asyncio.new_event_loop())

        async def test_clean():
            await asyncio.create_task(asyncio.sleep(0))
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:randomly", "-p", "broodline.testing.plugin")
    result.assert_outcomes(passed=3, errors=2)
    result.stdout.fnmatch_lines(["*tasks unfinished:*", "*forgotten*", "*open file*eventpoll*"])


async def test_a_finished_task_is_no_finding() -> None:
    """A task that ended in the test's last tick passes the check for tasks."""
    task = asyncio.get_running_loop().create_task(asyncio.sleep(0))
    task.cancel()
