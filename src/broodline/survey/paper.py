"""The report on paper: the lines that end the demo, styled on a terminal only."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from .board import Board
from .check import commands
from .name import shown
from .report import Report, Row, rows
from .view import clipped, outcome_lines

TREE_LINES = 20
"""Most lines of the report that show agents."""

_STYLES = {"ok": "bold green", "failed": "bold red", "interrupted": "bold yellow"}


def paper(report: Report, board: Board, console: Console, *, explain: bool) -> Iterator[Text]:
    """The lines of the report; on a terminal none is wider than it.

    Args:
        report: What to tell.
        board: Its agents.
        console: Where it goes: decides on width, colour and ASCII.
        explain: Put the command that checks a fact below it.
    """
    if report.facts is not None:
        yield from _head(report)
        yield Text("")
        yield from outcome_lines(board, TREE_LINES, _width(console), console.options.ascii_only)
        yield Text("")
        checks = commands(report.root, report.selection) if explain else {}
        told: set[str] = set()
        for row in rows(report.facts):
            yield _row(row, console)
            command = checks.get(row.check or "")
            if command is not None and command not in told:
                told.add(command)
                yield from _explained(command)
        yield Text("")
        if not explain:
            yield Text("One shell command checks each number: add --explain to see them.", "dim")
    yield Text(report.summary(), _STYLES[report.status])


def _head(report: Report) -> Iterator[Text]:
    matching = f", files named {shown(report.selection.match)}" if report.selection.match else ""
    links = ", links followed" if report.selection.follow else ""
    yield Text(f"Survey of {shown(report.root)}{matching}{links}", "bold")
    yield Text("The model of these agents is rules: plain Python functions, no key, no network.")


def _row(row: Row, console: Console) -> Text:
    text = Text.assemble((f"{row.title:<14}", "bold"), f"{row.number:>13,}  ", (row.detail, "dim"))
    return clipped(text, _width(console), console.options.ascii_only)


def _explained(command: str) -> Iterator[Text]:
    for number, line in enumerate(command.splitlines()):
        yield Text(("    $ " if number == 0 else "") + line, "cyan")


def _width(console: Console) -> int:
    return console.width if console.is_terminal else 10_000
