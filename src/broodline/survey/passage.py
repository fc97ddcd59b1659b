"""Reading one file: is it text, how long is it, where are its to-do marks.

Files are read in chunks, so size is no limit. A file with a NUL byte anywhere is
not text. Lines are newline bytes, as ``wc -l`` counts; a mark is a line that
``grep -w`` finds in the C locale.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .folder import reason_of

CHUNK = 1 << 20
MARK_WORDS = ("TODO", "FIXME", "XXX", "HACK")
NOT_TEXT = "not text"

_MARK = re.compile(rb"(?<![0-9A-Za-z_])(?:%b)(?![0-9A-Za-z_])" % "|".join(MARK_WORDS).encode())
_TAIL = 1 + max(map(len, MARK_WORDS))
"""Bytes to keep between chunks: a whole mark and the byte before it."""


class NotSurveyedError(Exception):
    """A file was passed over; the text says why."""


@dataclass(frozen=True, slots=True)
class Size:
    """Length of a text file: bytes, and newline bytes."""

    bytes: int
    lines: int


@dataclass(frozen=True, slots=True)
class Marks:
    """Lines with a to-do mark: how many, and of the first ones the number and the first mark."""

    count: int
    first: tuple[tuple[int, str], ...] = ()


def chunks_of(path: str, check: Callable[[], None]) -> Iterator[bytes]:
    """Yield the bytes of a text file.

    Raises:
        NotSurveyedError: It is not a regular file, holds a NUL byte, or the system refuses it.
    """
    try:
        # Without blocking: a pipe put in the file's place meanwhile must not hold the thread.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotSurveyedError("not a file")
            while chunk := os.read(descriptor, CHUNK):
                if b"\0" in chunk:
                    raise NotSurveyedError(NOT_TEXT)
                yield chunk
                check()
        finally:
            os.close(descriptor)
    except OSError as error:
        raise NotSurveyedError(reason_of(error)) from error


def measure(path: str, check: Callable[[], None] = lambda: None) -> Size:
    """Count bytes and lines of a text file; raises as `chunks_of`."""
    size = lines = 0
    for chunk in chunks_of(path, check):
        size += len(chunk)
        lines += chunk.count(b"\n")
    return Size(size, lines)


def find_marks(path: str, most: int = 10, check: Callable[[], None] = lambda: None) -> Marks:
    """Count the lines of a text file that hold a to-do mark; raises as `chunks_of`.

    `most` bounds the lines that are kept.
    """
    counter = MarkCounter(most)
    for chunk in chunks_of(path, check):
        counter.feed(chunk)
    return counter.finish()


class MarkCounter:
    """Counts marked lines in chunks cut anywhere, even inside a mark."""

    __slots__ = ("_count", "_counted", "_first", "_lines", "_most", "_start", "_tail")

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._first: list[tuple[int, str]] = []
        self._lines = 0  # newlines before the tail
        self._tail = b""  # end of the line in progress, without a newline
        self._start = 0  # where in the tail a mark may start: 1 if the line began before it
        self._counted = False  # the line in progress is counted already

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; a mark that touches their end waits for what follows."""
        data = self._tail + chunk
        self._take(data, len(data))
        self._lines += data.count(b"\n")
        line = data.rfind(b"\n") + 1
        cut = max(len(data) - _TAIL, line)
        if cut:
            self._start = int(cut > line)
        self._tail = data[cut:]

    def finish(self) -> Marks:
        """The result, once the last chunk is in."""
        self._take(self._tail, len(self._tail) + 1)
        return Marks(self._count, tuple(self._first))

    def _take(self, data: bytes, end: int) -> None:
        covered = _line_end(data, 0) if self._counted else 0
        counted = self._counted
        for mark in _MARK.finditer(data, self._start):
            if mark.start() < covered or mark.end() >= end:
                continue
            self._count += 1
            if len(self._first) < self._most:
                line = self._lines + data.count(b"\n", 0, mark.start()) + 1
                self._first.append((line, mark[0].decode()))
            covered = _line_end(data, mark.end())
            counted = True
        self._counted = counted and covered == len(data)


def _line_end(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return len(data) if end < 0 else end
