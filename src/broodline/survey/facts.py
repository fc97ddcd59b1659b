"""The facts of a survey, and how those of two folders become one.

Merging is associative and gives the same in any order, so it does not matter
which agent finishes first. Counts are exact; of names only the first few are kept
(by path), so that an answer stays small however large the tree is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

NAMES_KEPT = 10

Place: TypeAlias = tuple[str, int, str]
"""Path as `shown`, line (0 for the whole file), and a text (a name or a reason; may be empty)."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A count, and the first few places of what was counted, in order."""

    count: int = 0
    first: tuple[Place, ...] = ()

    @classmethod
    def of(cls, places: Iterable[Place]) -> Noted:
        """Count all the places and keep the first."""
        every = sorted(places)
        return cls(len(every), tuple(every[:NAMES_KEPT]))

    def __add__(self, other: Noted) -> Noted:
        if not other.count or not self.count:
            return self if self.count else other
        first = sorted((*self.first, *other.first))[:NAMES_KEPT]
        return Noted(self.count + other.count, tuple(first))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `from_dict` reads it back."""
        first = [
            {"path": path, "line": line or None, "text": text} for path, line, text in self.first
        ]
        return {"count": self.count, "first": first}

    @classmethod
    def from_dict(cls, document: Any) -> Noted:
        """Read what `to_dict` wrote; raises TypeError, KeyError or ValueError on anything else."""
        first = [
            (str(place["path"]), int(place["line"] or 0), str(place["text"]))
            for place in document["first"]
        ]
        return cls(int(document["count"]), tuple(first))


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest text file; of equal ones the first by path."""

    path: str
    bytes: int
    lines: int

    def rank(self) -> tuple[int, str, int]:
        """Sorts the largest first."""
        return (-self.bytes, self.path, self.lines)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: path, bytes, lines."""
        return {"path": self.path, "bytes": self.bytes, "lines": self.lines}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a survey found. How each is checked by hand stands in ``check.py``.

    Attributes:
        folders: Folders below the one surveyed.
        files: Regular files.
        text_files: Files without a NUL byte that could be read.
        python_files: Text files named ``*.py``.
        lines: Newline bytes of the text files.
        bytes: Bytes of the text files.
        functions: ``def`` statements of the Python files that parse.
        hidden: Names passed over: those with a leading dot, and ``__pycache__``.
        links: Links not followed; when links are followed, those that lead nowhere.
        special: Pipes, sockets and devices.
        largest: The largest text file.
        undocumented: Functions without a docstring.
        marks: Lines with a to-do mark.
        unparsed: Python files that do not parse.
        skipped: Files and folders passed over, by reason.
        failed: Folders whose agent failed, with what it said.
    """

    folders: int = 0
    files: int = 0
    text_files: int = 0
    python_files: int = 0
    lines: int = 0
    bytes: int = 0
    functions: int = 0
    hidden: int = 0
    links: int = 0
    special: int = 0
    largest: Largest | None = None
    undocumented: Noted = Noted()
    marks: Noted = Noted()
    unparsed: Noted = Noted()
    skipped: Mapping[str, Noted] = field(default_factory=dict[str, Noted])
    failed: Noted = Noted()

    def __add__(self, other: Facts) -> Facts:
        counts = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS + _NOTED}
        return Facts(
            **counts,
            largest=_larger(self.largest, other.largest),
            skipped=_merged(self.skipped, other.skipped),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `from_dict` reads it back."""
        document: dict[str, Any] = {wire_name(name): getattr(self, name) for name in _COUNTS}
        largest = self.largest
        document["largest"] = largest and largest.to_dict()
        for name in _NOTED:
            document[name] = getattr(self, name).to_dict()
        document["skipped"] = {
            reason: self.skipped[reason].to_dict() for reason in sorted(self.skipped)
        }
        return document

    @classmethod
    def from_dict(cls, document: Any) -> Facts:
        """Read what `to_dict` wrote.

        Raises:
            ValueError: It is something else.
        """
        try:
            largest = document["largest"]
            parts: dict[str, Any] = {name: int(document[wire_name(name)]) for name in _COUNTS}
            parts |= {name: Noted.from_dict(document[name]) for name in _NOTED}
            return cls(
                **parts,
                largest=Largest(**largest) if largest else None,
                skipped={
                    reason: Noted.from_dict(noted) for reason, noted in document["skipped"].items()
                },
            )
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not the facts of a survey: {error!r}") from error

    def to_json(self) -> str:
        """One line of JSON, as an agent answers."""
        return json.dumps(self.to_dict(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Facts:
        """Read an agent's answer; raises ValueError if it is none."""
        return cls.from_dict(json.loads(text))


def wire_name(name: str) -> str:
    """What an attribute is called in JSON: ``text_files`` is ``textFiles``."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


_NOTED = ("undocumented", "marks", "unparsed", "failed")
_COUNTS = tuple(
    item.name for item in fields(Facts) if item.name not in (*_NOTED, "largest", "skipped")
)


def _larger(one: Largest | None, other: Largest | None) -> Largest | None:
    if one is None or other is None:
        return one or other
    return min(one, other, key=Largest.rank)


def _merged(one: Mapping[str, Noted], other: Mapping[str, Noted]) -> Mapping[str, Noted]:
    if not other or not one:
        return one or other
    reasons = sorted({*one, *other})
    return {reason: one.get(reason, Noted()) + other.get(reason, Noted()) for reason in reasons}
