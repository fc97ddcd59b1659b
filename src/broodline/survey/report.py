"""The report of a survey: lines for people, one document for programs (docs/demo.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .board import number_of
from .check import checks_of
from .facts import Facts, Noted, Place, wire_name
from .folder import LOOP, Selection
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
    "hidden": (
        "name with a leading dot, or __pycache__",
        "names with a leading dot, or __pycache__",
    ),
    "links": ("link", "links"),
    "special": ("pipe, socket or device", "pipes, sockets or devices"),
}
_SKIPPED = {NOT_TEXT: "not_text", "permission denied": "denied", LOOP: "loops"}
"""The commands that find again what was skipped for a reason. Other reasons, such as a file
that vanished meanwhile, leave nothing to find."""


@dataclass(frozen=True, slots=True)
class Row:
    """One fact of the report.

    Attributes:
        title: What was counted.
        number: How many.
        words: What belongs to it, in parts to be joined by blanks; none is to be broken.
        checks: The names of the commands in `check.Checks` that say the same.
    """

    title: str
    number: int
    words: tuple[str, ...]
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
        kept: Its sessions are in a store: the document is the same however many runs it took, so
            it leaves the seconds out.
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
    kept: bool = False

    def summary(self) -> str:
        """The last line of the demo."""
        sums = f"demo: {_plainly(self.agents, 'agent')}, {_plainly(self.turns, 'turn')}"
        sums += f", {_plainly(self.calls, 'tool call')}"
        if self.status == "ok":
            return f"{sums}, ok"
        if self.status == "interrupted":
            stopped = number_of(self.stopped, "agent")
            left = f"{self.left or 'none'} {'is' if self.left < 2 else 'are'} left"
            return f"{sums}, interrupted: {self.problem}; stopped {stopped}, {left}"
        return f"{sums}, failed: {self.problem}"

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """The document of ``--json``; with `explain`, the commands that check the facts, too."""
        document: dict[str, Any] = {
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
            "seconds": None if self.kept else round(self.seconds, 3),
            "facts": self.facts and self.facts.to_dict(),
        }
        if explain:
            document["checks"] = {
                wire_name(name): os.fsencode(command).decode("utf-8", "backslashreplace")
                for name, command in checks_of(self.root, self.selection).whole().items()
            }
        return document


def rows(facts: Facts) -> Iterator[Row]:
    """The facts as rows, in the order of the report."""
    other = facts.text_files - facts.python_files
    yield Row("folders", facts.folders, (), ("folders",))
    kinds = (f"{facts.python_files:,} Python,", f"{other:,} other text")
    yield Row("files", facts.files, kinds, ("files", "python_files", "text_files"))
    size = (f"{number_of(facts.bytes, 'byte')};", "lines as wc -l counts them")
    yield Row("lines", facts.lines, size, ("lines", "bytes"))
    if (largest := facts.largest) is not None:
        unit = "byte:" if largest.bytes == 1 else "bytes:"
        where = (unit, f"{largest.path},", number_of(largest.lines, "line"))
        yield Row("largest file", largest.bytes, where, ("largest",))
    yield Row("functions", facts.functions, (), ("functions",))
    for check, title in _NOTES.items():
        noted: Noted = getattr(facts, check)
        if noted.count or check != "unparsed":
            yield Row(title, noted.count, named(noted), (check,))
    for reason in sorted(facts.skipped):
        noted = facts.skipped[reason]
        checks = (_SKIPPED[reason],) if reason in _SKIPPED else ()
        yield Row("skipped", noted.count, (f"{reason}:", *named(noted)), checks)
    for check, (one, several) in _PASSED_OVER.items():
        if count := getattr(facts, check):
            yield Row("passed over", count, (one if count == 1 else several,), (check,))


def named(noted: Noted) -> tuple[str, ...]:
    """The first places of a note, and how many more there are."""
    places = [_place(place) for place in noted.first[:_NAMES]]
    more = noted.count - len(places)
    words = [f"{place}," for place in places[:-1]] + places[-1:]
    return (*words, f"and {more:,} more") if more > 0 else tuple(words)


def _place(place: Place) -> str:
    path, line, text = place
    where = f"{path or '.'}:{line}" if line else path or "."
    return f"{where} {text}" if text else where


def _plainly(count: int, noun: str) -> str:
    """A count with its noun; no separators, since programs read this line, too."""
    return f"{count} {noun if count == 1 else noun + 's'}"
