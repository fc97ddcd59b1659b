"""Locks on files, between threads as between processes, and small files that change whole.

A lock belongs to the descriptor it was taken with, which is open for one operation
only: thousands of live sessions need no descriptor, and a process that dies leaves no
lock behind. A file of locks is never removed: who waits for it would wait for another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager

from .jsonl_fault import locked_too_long

_PAUSES = [0.001] * 20 + [0.005] * 36 + [0.02] * 240
"""Seconds between the tries, five in all; a lock is held for the time of one write."""


@contextmanager
def locked(
    path: str,
    session_id: str | None,
    pause: Callable[[float], None],
    *,
    shared: bool = False,
) -> Generator[int]:
    """Hold the lock of a file; the file is made if it is to be held alone.

    Blocks its thread. Yields the file's descriptor.

    Args:
        path: Of the file of the lock.
        session_id: Whose it is, for the error.
        pause: Blocks for some seconds.
        shared: Together with others that share it; the file must be there.

    Raises:
        OSError: If the file cannot be opened.
        SessionError: ``STORE_UNAVAILABLE`` if others keep it for five seconds.
    """
    import fcntl

    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    access = os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, access, 0o666)
    try:
        for seconds in [*_PAUSES, None]:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if seconds is None:
                    raise locked_too_long(path, session_id) from None
                pause(seconds)
        yield descriptor
    finally:
        os.close(descriptor)


def replace_file(path: str, text: str) -> None:
    """Write a small file so that others see the old one or the new one, never a part.

    Not synced: it says nothing that outlives a power cut. One writer at a time.

    Raises:
        OSError: If that is refused; the old file is still there then.
    """
    draft = f"{path}.new"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, path)
    except OSError:
        remove(draft)
        raise


def remove(path: str) -> bool:
    """Remove a file if it is there and that is allowed; whether it is gone."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def sync_folder(path: str) -> None:
    """Wait until the names in a folder are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: str) -> None:
    """Make a folder in one that is there; nothing if it is there itself."""
    try:
        os.mkdir(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
