"""The report of a survey: lines for people, one document for programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .check import commands
from .facts import Facts, Noted, Place, wire_name
from .folder import Selection
from .name import shown
from .passage import NOT_TEXT

_NAMES = 3
"""How many names a line of the report shows."""

_NOTES = {
    "undocumented": "  no docstring",
    "marks": "to-do marks",
    "unparsed": "do not parse",
}
_PASSED_OVER = {
    "hidden": "names with a leading dot, or __pycache__",
    "links": "links",
    "special": "pipes, sockets or devices",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report; `checks` names the commands in `check.commands` that say the same."""

    title: str
    number: int
    detail: str
    checks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """How a survey ended.

    Attributes:
        root: Absolute path that was surveyed.
        selection: Which entries counted.
        status: ``ok``, ``failed`` or ``interrupted``.
        facts: What was found; None without an answer.
        agents: Agents that were started.
        turns: Turns they took.
        calls: Tool calls they made.
        seconds: Wall time.
        stopped: Agents that were stopped at work by an interrupt.
        left: Agents that could not be stopped; 0 unless something is wrong.
        problem: Why it failed, or what interrupted it.
    """

    root: str
    selection: Selection
    status: str
    facts: Facts | None
    agents: int = 0
    turns: int = 0
    calls: int = 0
    seconds: float = 0.0
    stopped: int = 0
    left: int = 0
    problem: str | None = None

    def summary(self) -> str:
        """The last line of the demo."""
        sums = f"demo: {self.agents} agents, {self.turns} turns, {self.calls} tool calls"
        if self.status == "ok":
            return f"{sums}, ok"
        if self.status == "interrupted":
            left = f"{self.left} are left" if self.left else "none is left"
            return f"{sums}, interrupted: {self.problem}; stopped {self.stopped} agents, {left}"
        return f"{sums}, failed: {self.problem}"

    def to_dict(self) -> dict[str, Any]:
        """The document of ``--json``."""
        return {
            "status": self.status,
            "problem": self.problem,
            "path": shown(self.root),
            "followLinks": self.selection.follow,
            "match": self.selection.match,
            "model": "rules",
            "agents": self.agents,
            "turns": self.turns,
            "toolCalls": self.calls,
            "stopped": self.stopped,
            "left": self.left,
            "seconds": round(self.seconds, 3),
            "facts": self.facts and self.facts.to_dict(),
            "checks": {
                wire_name(name): os.fsencode(command).decode("utf-8", "backslashreplace")
                for name, command in commands(self.root, self.selection).items()
            },
        }


def rows(facts: Facts) -> Iterator[Row]:
    """The facts as rows: the title, the number, what belongs to it, and the name of its check."""
    other = facts.text_files - facts.python_files
    yield Row("folders", facts.folders, "", ("folders",))
    kinds = f"{facts.python_files:,} Python, {other:,} other text"
    yield Row("files", facts.files, kinds, ("files", "python_files", "text_files"))
    yield Row("lines", facts.lines, f"{facts.bytes:,} bytes", ("lines", "bytes"))
    if (largest := facts.largest) is not None:
        where = f"bytes: {largest.path}, {largest.lines:,} lines"
        yield Row("largest file", largest.bytes, where, ("largest",))
    yield Row("functions", facts.functions, "", ("functions",))
    for check, title in _NOTES.items():
        noted: Noted = getattr(facts, check)
        if noted.count or check != "unparsed":
            yield Row(title, noted.count, named(noted), (check,))
    for reason in sorted(facts.skipped):
        noted = facts.skipped[reason]
        checks = ("not_text",) if reason == NOT_TEXT else ()
        yield Row("skipped", noted.count, f"{reason}: {named(noted)}", checks)
    for check, what in _PASSED_OVER.items():
        if count := getattr(facts, check):
            yield Row("passed over", count, what, (check,))


def named(noted: Noted) -> str:
    """The first names of a note, and how many more there are."""
    names = ", ".join(map(_place, noted.first[:_NAMES]))
    more = noted.count - min(len(noted.first), _NAMES)
    return f"{names} and {more:,} more" if more > 0 else names


def _place(place: Place) -> str:
    path, line, detail = place
    where = f"{path or '.'}:{line}" if line else path or "."
    return f"{where} {detail}" if detail else where
