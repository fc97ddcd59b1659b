"""The report on paper: the lines that end the demo, styled on a terminal only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from .board import Board
from .check import commands
from .name import shown
from .report import Report, rows
from .view import clipped, outcome_lines

TREE_LINES = 20
"""Most lines of the report that show agents."""

ENDLESS = 100_000
"""Columns of what is not a terminal."""

_STYLES = {"ok": "bold green", "failed": "bold red", "interrupted": "bold yellow"}


@dataclass(frozen=True, slots=True)
class Sheet:
    """What the report is written on: its width in columns, and whether it takes ASCII only."""

    width: int
    ascii_only: bool = False

    @classmethod
    def of(cls, console: Console) -> Sheet:
        """A terminal is as wide as it is; a file is endless."""
        # Not `console.is_terminal`: variables of the environment may ask for colour in a file.
        width = console.width if console.file.isatty() else ENDLESS
        return cls(width, console.options.ascii_only)


def paper(report: Report, board: Board, sheet: Sheet, *, explain: bool) -> Iterator[Text]:
    """The lines of the report, none wider than the sheet but the commands of `explain`.

    Args:
        report: What to tell.
        board: Its agents.
        sheet: What it is written on.
        explain: Put the commands that check a fact below it.
    """
    if report.facts is not None:
        yield from _head(report, sheet)
        yield Text("")
        yield from outcome_lines(board, TREE_LINES, sheet.width, sheet.ascii_only)
        yield Text("")
        yield from _facts(report, sheet, explain)
        yield Text("")
    if report.facts is not None and not explain:
        yield Text("One shell command checks each number: add --explain to see them.", "dim")
    yield Text(report.summary(), _STYLES[report.status])


def _head(report: Report, sheet: Sheet) -> Iterator[Text]:
    title = Text(f"Survey of {shown(report.root)}", "bold")
    if report.selection.match is not None:
        title.append(f", files named {shown(report.selection.match)}")
    if report.selection.follow:
        title.append(", links followed")
    yield title
    model = "The model of these agents is rules: plain Python functions, no key, no network."
    yield clipped(Text(model), sheet.width)


def _facts(report: Report, sheet: Sheet, explain: bool) -> Iterator[Text]:
    assert report.facts is not None
    commands_ = commands(report.root, report.selection) if explain else {}
    told: set[str] = set()
    for row in rows(report.facts):
        line = Text.assemble((f"{row.title:<14}", "bold"), f"{row.number:>13,}")
        if row.detail:
            line.append(f"  {row.detail}", "dim")
        yield clipped(line, sheet.width, sheet.ascii_only)
        for command in (commands_[check] for check in row.checks if commands_):
            if command not in told:
                told.add(command)
                yield Text(f"    $ {command}", "cyan")
