"""How a survey is followed while it runs: a live tree on a terminal, else a few plain lines."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console, RenderableType
from rich.live import Live

from .board import Board, Node
from .view import LiveView, counts, work

CHILDREN_TOLD = 500
"""How many folders directly below the top get a line of their own when they are done."""

EVERY = 2.0
"""Seconds between two lines with the sums."""


class Progress(Protocol):
    """Something that looks at the board now and then."""

    def tick(self) -> None:
        """Look at the board."""
        ...

    def say(self, line: str) -> None:
        """Tell the person one line."""
        ...

    def give_back(self) -> None:
        """Leave the terminal as it was: the process is about to end."""
        ...


class Silence:
    """Tells nothing."""

    def tick(self) -> None:
        """Look away."""

    def say(self, line: str) -> None:
        """Keep it."""

    def give_back(self) -> None:
        """There is nothing to give back."""


class PlainProgress:
    """Lines for a log: the start, each folder of the top that is done, the sums now and then.

    A stream that breaks (a closed pipe) silences it; the survey goes on.
    """

    def __init__(self, board: Board, stream: TextIO, title: str) -> None:
        self._board = board
        self._title = title
        self._stream: TextIO | None = stream
        self._told = 0
        self._read = 0
        self._due = time.monotonic() + EVERY

    def tick(self) -> None:
        """Write what is new."""
        if self._title:
            self.say(self._title)
            self._title = ""
        for node in self._board.finished[self._read :]:
            self._folder(node)
        self._read = len(self._board.finished)
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + EVERY
            self.say(f"demo: {work(self._board)}; {counts(self._board)}")

    def _folder(self, node: Node) -> None:
        self._told += 1
        if self._told <= CHILDREN_TOLD:
            self.say(f"demo: {node.label}: {node.note()}")
        elif self._told == CHILDREN_TOLD + 1:
            self.say(f"demo: no line for each folder after the first {CHILDREN_TOLD}")

    def say(self, line: str) -> None:
        """Write one line at once."""
        if self._stream is None:
            return
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None

    def give_back(self) -> None:
        """There is nothing to give back."""


class LiveProgress:
    """The tree of agents, drawn in place. No thread of its own: every tick draws."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def tick(self) -> None:
        """Draw the board as it is now."""
        self._live.refresh()

    def say(self, line: str) -> None:
        """Write one line above the tree."""
        self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def give_back(self) -> None:
        """Wipe the tree and show the cursor again."""
        self._live.stop()


@contextmanager
def live_progress(board: Board, console: Console, title: str) -> Generator[Progress]:
    """Show the live tree on a terminal; at the end it is wiped, to make room for the report."""
    with drawn(LiveView(board, title), console) as progress:
        yield progress


@contextmanager
def drawn(view: RenderableType, console: Console) -> Generator[LiveProgress]:
    """Draw `view` in place at every tick, and wipe it at the end."""
    live = Live(
        view,
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        vertical_overflow="crop",
    )
    with live:
        yield LiveProgress(live)
