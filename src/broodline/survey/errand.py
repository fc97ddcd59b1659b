"""The demo as the command runs it: from a path to an exit code."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console

from .board import Board, number_of
from .folder import reason_of
from .name import shown
from .paper import Sheet, paper
from .progress import PlainProgress, Progress, Silence, live_progress
from .report import Report
from .signals import caught
from .survey import Interruption, Order, survey

OK, FAILED, USAGE = 0, 1, 2
BY_SIGNAL = 128
"""Added to the number of the signal that ended the command: 130 for Ctrl-C."""

READER_GONE = 141
"""What a shell shows for a command that wrote into a closed pipe."""

CAUSES = {"SIGINT": "Ctrl-C"}


@dataclass(frozen=True, slots=True)
class Telling:
    """How the demo speaks.

    Attributes:
        as_json: One JSON document instead of the report.
        explain: The commands that check the facts, too.
        live: Show the tree of agents while they work, where that can be done.
        quiet: No progress.
    """

    as_json: bool = False
    explain: bool = False
    live: bool = True
    quiet: bool = False


class Errand:
    """One run of ``broodline demo``.

    Args:
        order: What to survey.
        telling: How to speak of it.
    """

    def __init__(self, order: Order, telling: Telling) -> None:
        self.order = order
        self.telling = telling
        self.board = Board()
        self._signal: signal.Signals | None = None

    def run(self) -> int:
        """Do it and return the exit code. Progress goes to stderr, the outcome to stdout."""
        problem, code = ground_problem(self.order.root)
        if problem is not None:
            return self._refuse(problem, code)
        with warnings.catch_warnings():
            # The parser's are about the code surveyed.
            warnings.simplefilter("ignore")
            report = asyncio.run(self._survey())
        if report.status == "interrupted":
            self._tell_interruption(report)
        begun = report.agents or report.status != "failed"  # else the store was of no use
        if self.order.store is not None and begun and not self.telling.quiet:
            tell(f"demo: {self._keeping(report, self.order.store)}")
        return self._code(report) if self._print(report) else READER_GONE

    def _keeping(self, report: Report, store: str) -> str:
        """What the store was good for, in one line."""
        took = f"{report.seconds:.1f} s"
        if report.status == "interrupted":
            return f"what is done is kept in {shown(store)}; the same command goes on from there"
        if (before := self.board.on_disk) is None:
            return f"{number_of(self.board.calls, 'call')} done in {took}, kept in {shown(store)}"
        # Of a survey that failed there may be no sum over all its runs.
        calls = max(report.calls, before)
        done = f"{self.board.calls:,} done now in {took}"
        return f"resumed: {before:,} of {number_of(calls, 'call')} were on disk, {done}"

    async def _survey(self) -> Report:
        interruption = Interruption()
        with self._progress() as progress:

            def stop(number: signal.Signals) -> None:
                self._signal = number
                interruption.request(CAUSES.get(number.name, number.name))
                progress.say("demo: stopping all agents; once more ends it at once")

            with caught(stop, progress.give_back):
                return await survey(
                    self.order, self.board, interruption, progress.tick, progress.say
                )

    @contextmanager
    def _progress(self) -> Generator[Progress]:
        title = f"demo: surveying {shown(self.order.root)}, the model is rules"
        console = Console(stderr=True, highlight=False)
        if self.telling.quiet or sys.stderr is None:
            yield Silence()
        elif self.telling.live and sys.stderr.isatty() and not console.is_dumb_terminal:
            with live_progress(self.board, console, title) as progress:
                yield progress
        else:
            yield PlainProgress(self.board, sys.stderr, title)

    def _code(self, report: Report) -> int:
        if report.status == "interrupted":
            return BY_SIGNAL + (self._signal or signal.SIGINT)
        return OK if report.status == "ok" else FAILED

    def _tell_interruption(self, report: Report) -> None:
        """Who pressed Ctrl-C is to see what came of it, wherever the report goes."""
        out: TextIO | None = sys.stdout
        err: TextIO | None = sys.stderr
        if out is not None and err is not None and not out.isatty() and not one_stream(out, err):
            tell(report.summary())

    def _refuse(self, problem: str, code: int) -> int:
        report = Report(self.order.root, self.order.selection, "failed", None, problem=problem)
        if self.telling.as_json:
            self._print(report)
        else:
            tell(f"demo: {shown(self.order.root)}: {problem}")
        return code

    def _print(self, report: Report) -> bool:
        if self.telling.as_json:
            return write(
                sys.stdout,
                json.dumps(report.to_dict(explain=self.telling.explain), indent=2) + "\n",
            )
        target = Console(file=sys.stdout, highlight=False)
        sheet = Sheet.of(target)
        # Rendered aside, so that one write tells whether somebody still reads.
        aside = Console(
            file=io.StringIO(),
            force_terminal=target.is_terminal,
            no_color=target.no_color,
            highlight=False,
        )
        with aside.capture() as capture:
            board = self.board.picture or self.board
            for line in paper(report, board, sheet, explain=self.telling.explain):
                aside.print(line, soft_wrap=True)
        return write(sys.stdout, capture.get())


def one_stream(first: TextIO, second: TextIO) -> bool:
    """Whether both write to the same place, as after ``2>&1``."""
    try:
        return os.path.sameopenfile(first.fileno(), second.fileno())
    except (OSError, ValueError):
        return False


def ground_problem(root: str) -> tuple[str | None, int]:
    """Why a path cannot be surveyed and the exit code for that, or None and 0."""
    try:
        with os.scandir(root):
            return None, OK
    except FileNotFoundError:
        return "there is no such folder", USAGE
    except NotADirectoryError:
        return "this is a file; name the folder that it is in", USAGE
    except ValueError as error:
        return str(error), USAGE
    except OSError as error:
        return f"the folder cannot be read: {reason_of(error)}", FAILED


def tell(line: str) -> None:
    """Write one line to stderr, if there is one that takes it."""
    stream: TextIO | None = sys.stderr
    with suppress(OSError):
        if stream is not None:
            stream.write(line + "\n")
            stream.flush()


def write(stream: TextIO | None, text: str) -> bool:
    """Write it all at once; False if the reader has gone away, quietly.

    Raises:
        SystemExit: The stream takes no more for another reason, such as a full disk.
    """
    if stream is None:
        tell("demo: the report could not be written: the standard output is closed")
        raise SystemExit(FAILED)
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        # What is still buffered must not break again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):
            return False
        tell(f"demo: the report could not be written: {reason_of(error)}")
        raise SystemExit(FAILED) from error
    return True
