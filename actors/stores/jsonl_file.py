"""The file of one log: how it appears, grows and is cut, each in durable steps.

Everything here happens under the lock of the session's folder.
"""

from __future__ import annotations

import os
import zlib

from .jsonl_fault import not_undone, unavailable
from .jsonl_lock import remove, sync_folder

LOG = "session.jsonl"
DRAFT = "session.new"
"""A log that is not published yet; one that a dead process left behind is overwritten."""
LOCK = "session.lock"

_TAIL = 256
"""Bytes at the end of a log that its revision looks at."""


def revision_of(descriptor: int) -> str:
    """What identifies a file and its content: it stays unless the log is changed.

    Device and file tell stores apart, size and end the states of one log: it only grows,
    or loses an end that is no whole line.
    """
    state = os.fstat(descriptor)
    tail = os.pread(descriptor, _TAIL, max(0, state.st_size - _TAIL))
    return f"{state.st_dev:x}-{state.st_ino:x}-{state.st_size:x}-{zlib.crc32(tail):08x}"


def write_draft(folder: str, data: bytes) -> None:
    """Write a whole log where nobody takes it for one, and wait for the disk.

    Raises:
        SessionError: ``STORE_UNAVAILABLE``; nothing is left then.
    """
    draft = os.path.join(folder, DRAFT)
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        remove(draft)
        raise unavailable(draft, error, "written") from error


def publish(folder: str) -> None:
    """Give a draft the name of a log, unless there is one; never overwrites.

    Raises:
        FileExistsError: If there is one.
        OSError: If the system refuses.
    """
    os.link(os.path.join(folder, DRAFT), os.path.join(folder, LOG))


def confirm(folder: str, root: str) -> None:
    """Wait until the names that lead to a new log are on disk; without that, take it back.

    Raises:
        SessionError: ``STORE_UNAVAILABLE``; the log is not there then. If it could not be
            taken back, `details` has a ``rollback``.
    """
    try:
        for each in (folder, os.path.dirname(folder), root):
            sync_folder(each)
    except OSError as error:
        log = os.path.join(folder, LOG)
        refusal = unavailable(log, error, "written")
        try:
            os.unlink(log)
        except OSError as second:
            raise not_undone(refusal, log, second) from error
        raise refusal from error


def append(path: str, size: int, data: bytes) -> None:
    """Write behind the first `size` bytes, and wait for the disk; all of it or nothing.

    Raises:
        SessionError: ``STORE_UNAVAILABLE``; the log is as it was. If it could not be taken
            back, `details` has a ``rollback``.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY)
    except OSError as error:
        raise unavailable(path, error, "written") from error
    try:
        os.lseek(descriptor, size, os.SEEK_SET)
        _write_all(descriptor, data)
        os.fsync(descriptor)
    except OSError as error:
        refusal = unavailable(path, error, "written")
        try:
            os.ftruncate(descriptor, size)
            os.fsync(descriptor)
        except OSError as second:
            raise not_undone(refusal, path, second) from error
        raise refusal from error
    finally:
        os.close(descriptor)


def truncate(path: str, size: int) -> None:
    """Cut a log to its first `size` bytes, and wait for the disk.

    Raises:
        SessionError: ``STORE_UNAVAILABLE``.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.ftruncate(descriptor, size)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unavailable(path, error, "cut") from error


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
