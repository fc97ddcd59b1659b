"""How this command speaks: the outcome to stdout, the rest to stderr, and its exit codes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TextIO

from rich.cells import cell_len

from ..messages.errors import BroodlineError
from ..survey.errand import tell
from ..survey.name import shown
from .place import StorePlace

OK, UNSOUND, USAGE, INTERRUPTED, READER_GONE = 0, 1, 2, 130, 141

_PIECE = 1000
"""Lines that are written at once."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def put(lines: Iterable[str]) -> bool:
    """Write lines to stdout, each with its line end; False once the reader has gone away."""
    rest = iter(lines)
    try:
        while piece := list(islice(rest, _PIECE)):
            sys.stdout.write("".join(f"{line}\n" for line in piece))
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered must not break again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def say(line: str) -> None:
    """Write a line to stderr that tells what the command does, or why it does not."""
    tell(f"broodline sessions: {line}")


def say_guess(*places: object) -> None:
    """Tell of every store whose kind was not said how it is taken."""
    for place in places:
        if isinstance(place, StorePlace) and place.guessed:
            say(f"{shown(place.path)} is taken as {place.kind}:{shown(place.path)}")


def code_for(error: BroodlineError) -> int:
    """The exit code of a command that an error ended: 2 where nothing is there to work on."""
    nothing = ("CONFIGURATION", "SESSION_NOT_FOUND", "SESSION_ALREADY_EXISTS")
    return USAGE if error.code in nothing else UNSOUND


def on_terminal() -> bool:
    """Whether a person reads what is written to stdout, line by line."""
    return sys.stdout.isatty()


def table(rows: Iterable[tuple[str, ...]], right: frozenset[int] = frozenset()) -> Iterator[str]:
    """Rows of cells as lines whose columns stand below each other.

    Args:
        rows: The first is the heading; all of one length.
        right: Columns of numbers.
    """
    held = list(rows)
    widths = [max(map(cell_len, column)) for column in zip(*held, strict=True)]
    for row in held:
        cells = [
            f"{' ' * (width - cell_len(cell))}{cell}"
            if place in right
            else f"{cell}{' ' * (width - cell_len(cell))}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip(" ")


def moment(milliseconds: int) -> str:
    """A time of the log for people: ``2026-07-09 12:37:09Z``."""
    try:
        return f"{_EPOCH + timedelta(seconds=milliseconds // 1000):%Y-%m-%d %H:%M:%SZ}"
    except OverflowError:
        return str(milliseconds)


def counted(number: int, noun: str) -> str:
    """``1 event``, ``2,000 events``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Ticker:
    """Counts on one line of a terminal how far long work has come; elsewhere it is silent.

    Args:
        what: Done, such as ``verifying``.
        total: How many there are.
    """

    def __init__(self, what: str, total: int) -> None:
        stream: TextIO | None = sys.stderr
        self._stream = stream if stream is not None and stream.isatty() else None
        self._what = what
        self._total = total
        self._done = 0
        self._step = max(total // 200, 1)

    def tick(self) -> None:
        """One more is done."""
        self._done += 1
        if self._stream is not None and self._total > 1 and self._done % self._step == 0:
            self._write(f"\r{self._what}: {self._done:,} of {self._total:,}")

    def end(self) -> None:
        """Take the line away."""
        if self._stream is not None and self._total > 1:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        assert self._stream is not None
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._stream = None


@contextmanager
def interruptible() -> Generator[None]:
    """Within the block Ctrl-C is an exception, so that what is open is closed. Main thread.

    Raises:
        KeyboardInterrupt: It came.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_IGN, None):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
