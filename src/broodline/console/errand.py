"""A run as the command does it: from an order to an exit code."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import TextIO

from rich.console import Console

from ..actors.models.protocol import Model
from ..survey.errand import (
    BY_SIGNAL,
    CAUSES,
    FAILED,
    OK,
    READER_GONE,
    one_stream,
    tell,
)
from ..survey.folder import system_words
from ..survey.name import shown
from ..survey.paper import TREE_LINES, Sheet
from ..survey.progress import Progress, drawn
from ..survey.signals import caught
from ..survey.survey import Interruption
from ..survey.view import outcome_lines
from .board import RunBoard
from .lines import PlainLines
from .mission import carry_out
from .neutral import one_line
from .notes import noted
from .order import Manner, Order
from .outcome import Outcome
from .outlet import Outlet
from .pieces import Pieces
from .record import Record
from .speech import Speech
from .view import RunView
from .voice import THROWN_AWAY, Narrator

GRACE = 2.0
"""Seconds that a slow reader gets for what was said before an interruption."""


class Errand:
    """One run of ``broodline run``.

    Args:
        order: What to do.
        manner: How to speak of it.
        model: Who does it.
        record: Takes the logs.
    """

    def __init__(
        self, order: Order, manner: Manner, model: Model, record: Record | None = None
    ) -> None:
        self.order = order
        self.manner = manner
        self.model = model
        self.record = record
        self.board = RunBoard()
        self._signal: signal.Signals | None = None
        self._broken: OSError | None = None
        self._stop: Callable[[str], None] = lambda cause: None
        self._outlet = Outlet(self._lost)
        self._live = self._draws()
        streams = not manner.as_json and not (self._live and _is_terminal(_out()))
        self._speech = Speech(
            self._say if streams else None,
            plain=not _is_terminal(_out()),
            seen=streams or self._live,
        )

    def run(self) -> int:
        """Do it and return the exit code. The answer goes to stdout, everything else to stderr."""
        outcome = asyncio.run(self._work())
        self._tell(outcome)
        self._outlet.close(None if self._signal is None else GRACE)
        return self._code(outcome)

    async def _work(self) -> Outcome:
        interruption = Interruption()
        loop = asyncio.get_running_loop()

        def give_up(cause: str) -> None:
            with suppress(RuntimeError):  # the loop has just ended by itself
                loop.call_soon_threadsafe(interruption.request, cause)

        self._stop = give_up
        thinking = Pieces()
        with self._progress(thinking) as progress:

            def stop(number: signal.Signals) -> None:
                self._signal = number
                interruption.request(CAUSES.get(number.name, number.name))
                progress.say("run: stopping all agents; once more ends it at once")

            voice = Narrator(
                self._speech,
                progress,
                wordy=not (self._live or self.manner.quiet),
                thinking=thinking if self.manner.reasoning else None,
            )
            try:
                with noted(progress.say), caught(stop, progress.give_back):
                    return await carry_out(
                        self.order,
                        self.model,
                        self.board,
                        voice,
                        interruption,
                        progress.tick,
                        self.record,
                    )
            finally:
                self._stop = lambda cause: None

    # Where what goes.

    def _draws(self) -> bool:
        """Whether the tree is drawn: stderr must be a terminal, and nobody else write there.

        A pipe may end on that very terminal, as with ``| tee``.
        """
        if self.manner.quiet or not self.manner.live or not _is_terminal(_err()):
            return False
        apart = self.manner.as_json or not _is_pipe(_out())
        return apart and not Console(stderr=True).is_dumb_terminal

    @contextmanager
    def _progress(self, thinking: Pieces) -> Generator[Progress]:
        title = f"run: {one_line(self.order.model)} in {shown(self.order.path)}"
        err = _err()
        if self._live:
            console = Console(stderr=True, highlight=False)
            console.print(title, markup=False, soft_wrap=True)
            with drawn(RunView(self.board, self._speech, thinking), console) as progress:
                yield progress
            return
        shared = err is not None and _one_place(_out(), err)
        lines = PlainLines(self._outlet, err, self._speech, shared=shared)
        if not self.manner.quiet:
            lines.say(title)
        yield lines

    def _say(self, text: str) -> None:
        self._outlet.write(_out(), text)

    def _lost(self, stream: TextIO, error: OSError) -> None:
        """A stream takes no more. Without a reader there is no use in going on."""
        if stream is _out():
            self._broken = error
            gone = isinstance(error, BrokenPipeError)
            self._stop("nobody reads the answer" if gone else "the answer cannot be written")

    # What is told at the end.

    def _tell(self, outcome: Outcome) -> None:
        if self.manner.as_json:
            document = outcome.to_dict(self.order, self.board)
            self._say(json.dumps(document, indent=2) + "\n")
        elif self._live and self.board.agents:
            self._draw_outcome()
        if not self.manner.as_json:
            self._speech.deliver(self._say)
            if outcome.broke_off() and self._speech.attempt:
                self._note(THROWN_AWAY)
        for line in outcome.waits(self.board):
            self._note(f"run: {one_line(line)}")
        trouble = outcome.trouble()
        if trouble is not None:
            self._note(f"run: {one_line(trouble)}")
        if (hint := outcome.advice(self.order)) is not None:
            self._note(f"run: what to do: {hint}")
        if not self.manner.quiet or outcome.status != "completed":
            self._note(outcome.summary(self.board))

    def _draw_outcome(self) -> None:
        console = Console(stderr=True, highlight=False)
        sheet = Sheet.of(console)
        for line in outcome_lines(self.board, TREE_LINES, sheet.width, sheet.ascii_only):
            console.print(line, soft_wrap=True)
        console.print()

    def _note(self, line: str) -> None:
        self._outlet.write(_err(), line + "\n")

    def _code(self, outcome: Outcome) -> int:
        if isinstance(self._broken, BrokenPipeError):
            return READER_GONE
        if self._broken is not None:
            tell(f"run: the answer could not be written: {system_words(self._broken)}")
            return FAILED
        if outcome.status == "interrupted":
            return BY_SIGNAL + (self._signal or signal.SIGINT)
        return OK if outcome.status == "completed" else FAILED


def _out() -> TextIO | None:
    return sys.stdout


def _err() -> TextIO | None:
    return sys.stderr


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _is_pipe(stream: TextIO | None) -> bool:
    try:
        mode = os.fstat(stream.fileno()).st_mode if stream is not None else 0
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _one_place(out: TextIO | None, err: TextIO) -> bool:
    if out is None:
        return False
    return one_stream(out, err) or (_is_terminal(out) and _is_terminal(err))
