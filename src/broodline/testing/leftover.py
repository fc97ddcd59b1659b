"""What a piece of work leaves behind in its process: threads, files, child processes."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

_PROC = Path("/proc/self")


@dataclass(frozen=True, slots=True)
class Belongings:
    """What this process holds at one moment.

    Open files and child processes are read from ``/proc``; where there is none
    (macOS, Windows) both are empty and only threads are compared.

    Attributes:
        threads: Every thread that is alive, daemons too.
        files: What each open descriptor points at, by descriptor; devices are left out.
        children: Process ids of the direct children, zombies too.
    """

    threads: tuple[threading.Thread, ...]
    files: dict[int, str]
    children: tuple[int, ...]

    @classmethod
    def now(cls) -> Belongings:
        """Count them; about 0.1 ms. Callable from any thread."""
        return cls(tuple(threading.enumerate()), _open_files(), _child_processes())

    def left_over(self, *, grace: float = 1.0) -> list[str]:
        """What has come since and is still there, one line each; empty when nothing is.

        Args:
            grace: Seconds, in all, that threads get which are just about to end.
        """
        lines = self._new_threads(grace)
        if self._new_files():
            gc.collect()  # what only a cycle keeps open warns about itself and is gone
        lines += [f"open file {fd}: {target}" for fd, target in self._new_files()]
        return lines + [
            f"child process {pid}: {_command_of(pid)}"
            for pid in _child_processes()
            if pid not in self.children
        ]

    def _new_threads(self, grace: float) -> list[str]:
        deadline = monotonic() + grace
        new = [thread for thread in threading.enumerate() if thread not in self.threads]
        for thread in new:
            thread.join(max(0.0, deadline - monotonic()))
        return [f"thread {thread.name}" for thread in new if thread.is_alive()]

    def _new_files(self) -> list[tuple[int, str]]:
        return [item for item in _open_files().items() if self.files.get(item[0]) != item[1]]


@contextmanager
def nothing_left(*, grace: float = 1.0) -> Generator[None]:
    """Fail when the block leaves a thread, an open file or a child process behind.

    Args:
        grace: Seconds, in all, that threads get which are just about to end.

    Raises:
        AssertionError: Something was left; the text names each piece. Not raised
            when the block itself fails.
    """
    before = Belongings.now()
    yield
    lines = before.left_over(grace=grace)
    if lines:
        raise AssertionError("left behind:\n  " + "\n  ".join(lines))


def _open_files() -> dict[int, str]:
    files: dict[int, str] = {}
    if not _PROC.exists():
        return files
    for name in os.listdir(_PROC / "fd"):
        try:
            target = os.readlink(_PROC / "fd" / name)
        except OSError:  # closed meanwhile; the listing's own descriptor always is
            continue
        if not target.startswith("/dev/"):
            files[int(name)] = target
    return files


def _child_processes() -> tuple[int, ...]:
    pids: list[int] = []
    for path in _PROC.glob("task/*/children"):
        try:
            pids += [int(pid) for pid in path.read_text().split()]
        except OSError:  # that thread has ended; its children went to another one
            continue
    return tuple(pids)


def _command_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    return b" ".join(words).decode(errors="replace").strip() or "(ended, not waited for)"
