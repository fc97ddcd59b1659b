"""The report on paper: the lines that end the demo, styled on a terminal only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from .board import Board
from .check import Checks, checks_of
from .facts import Facts
from .name import shown
from .report import Report, Row, rows
from .view import outcome_lines
from .width import clipped, wrapped

TREE_LINES = 20
"""Most lines of the report that show agents."""

ENDLESS = 100_000
"""Columns of what is not a terminal."""

_WORDS = 24
"""Columns that what belongs to a number needs beside it; with fewer it stands below."""

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
        checks = checks_of(report.root, report.selection) if explain else None
        yield from _facts(report.facts, sheet, checks)
        yield Text("")
        yield from _notes(report, sheet, explain)
    yield Text(report.summary(), _STYLES[report.status])


def _head(report: Report, sheet: Sheet) -> Iterator[Text]:
    title = Text(f"Survey of {shown(report.root)}", "bold")
    if report.selection.match is not None:
        title.append(f", files named {shown(report.selection.match)}")
    if report.selection.follow:
        title.append(", links followed")
    yield title
    model = "The model of these agents is rules: plain Python functions, no key, no network."
    yield from map(Text, wrapped(model.split(), sheet.width))


def _facts(facts: Facts, sheet: Sheet, checks: Checks | None) -> Iterator[Text]:
    if checks is not None:
        yield from _commands(*checks.shared)
    told: dict[str, str] = {}
    for row in rows(facts):
        yield from _row(row, sheet)
        if checks is None:
            continue
        if not row.checks:
            yield Text("    # no command: it was so when the survey came by", "dim")
        for command in (checks.commands[check] for check in row.checks):
            if command in told:
                yield Text(f"    # the command of {told[command]!r} says this, too", "dim")
            else:
                told[command] = row.title
                yield from _commands(command)


def _row(row: Row, sheet: Sheet) -> Iterator[Text]:
    """The number and what belongs to it, on as many lines as that takes."""
    start = Text.assemble((f"{row.title:<14}", "bold"), f"{row.number:>13,}")
    indent = start.cell_len + 2
    narrow = sheet.width < indent + _WORDS
    if narrow:
        indent = 4
    lines = [
        Text(line, "dim") for line in wrapped(row.words, sheet.width - indent, sheet.ascii_only)
    ]
    if lines and not narrow:
        start.append("  ").append_text(lines.pop(0))
    for line in (start, *(Text(" " * indent).append_text(line) for line in lines)):
        yield clipped(line, sheet.width, sheet.ascii_only)


def _commands(*commands: str) -> Iterator[Text]:
    for command in commands:
        yield Text(f"    $ {command}", "cyan")


def _notes(report: Report, sheet: Sheet, explain: bool) -> Iterator[Text]:
    assert report.facts is not None
    if report.selection.match is not None and not report.facts.files:
        yield Text(f"no file is named like '{shown(report.selection.match)}'", "yellow")
    if not explain:
        hint = "Add --explain for the shell commands that check these numbers."
        yield from (Text(line, "dim") for line in wrapped(hint.split(), sheet.width))
