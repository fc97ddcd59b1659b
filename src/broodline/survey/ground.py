"""The ground that a survey may touch: one folder, and the pure work of its tools on it.

Each method answers with JSON values; what cannot be read is part of the answer,
with its reason. Paths come and go as `shown` names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..messages.errors import ToolError
from .facts import Largest, Noted, Place
from .folder import EVERYTHING, PASSED_OVER, Selection, read_page
from .name import actual, shown
from .outline import NotParsedError, read_outline
from .passage import NotSurveyedError, find_marks, measure

PAGE = 1000
"""Most names in one answer of `Ground.list_page`."""

Names: TypeAlias = list[str]
"""Paths as `shown`, relative to the folder they are named with."""

Check: TypeAlias = Callable[[], None]
"""Called between two files or chunks; raises when the work is to stop."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A folder to survey.

    Attributes:
        root: Its absolute path.
        selection: Which entries in it count.
        page: Most names in one listing.
    """

    root: str
    selection: Selection = EVERYTHING
    page: int = PAGE

    def list_page(self, folder: str, deep: bool, after: str, check: Check) -> dict[str, Any]:
        """One page of the files and folders in `folder`, or of all below it when `deep`."""
        inside = _inside(folder)
        self._stay_inside(os.path.join(self.root, inside), folder)
        page = read_page(
            self.root,
            inside,
            self.selection,
            deep=deep,
            after=actual(after) or None,
            limit=self.page,
            check=check,
        )
        return {
            "files": [shown(path) for path in page.files],
            "folders": [shown(path) for path in page.folders],
            "skipped": [[shown(path), reason] for path, reason in page.skipped],
            "hidden": page.hidden,
            "links": page.links,
            "special": page.special,
            "after": shown(page.after or ""),
        }

    def count(self, folder: str, files: Names, check: Check) -> dict[str, Any]:
        """Bytes, lines and the largest of the text files named."""
        skipped: list[Names] = []
        total_bytes = total_lines = 0
        largest: Largest | None = None
        for name, path in self._paths(folder, files, check):
            try:
                size = measure(path, check)
            except NotSurveyedError as error:
                skipped.append([name, str(error)])
                continue
            total_bytes += size.bytes
            total_lines += size.lines
            rival = Largest(name, size.bytes, size.lines)
            if largest is None or rival.rank() < largest.rank():
                largest = rival
        return {
            "bytes": total_bytes,
            "lines": total_lines,
            "largest": largest and largest.to_dict(),
            "skipped": skipped,
        }

    def find(self, folder: str, files: Names, check: Check) -> dict[str, Any]:
        """Lines with a to-do mark in the text files named."""
        skipped: list[Names] = []
        found = Noted()
        for name, path in self._paths(folder, files, check):
            try:
                marks = find_marks(path, check=check)
            except NotSurveyedError as error:
                skipped.append([name, str(error)])
                continue
            found += Noted(marks.count, tuple((name, line, word) for line, word in marks.first))
        return {"marks": found.to_dict(), "skipped": skipped}

    def read(self, folder: str, files: Names, check: Check) -> dict[str, Any]:
        """Functions of the Python files named, and those without a docstring."""
        skipped: list[Names] = []
        unparsed: list[Place] = []
        functions = 0
        bare = Noted()
        for name, path in self._paths(folder, files, check):
            try:
                outline = read_outline(path, check)
            except NotSurveyedError as error:
                skipped.append([name, str(error)])
                continue
            except NotParsedError as error:
                unparsed.append((name, error.line, shown(str(error))))
                continue
            functions += outline.functions
            bare += Noted.of((name, line, function) for line, function in outline.undocumented)
        return {
            "functions": functions,
            "undocumented": bare.to_dict(),
            "unparsed": Noted.of(unparsed).to_dict(),
            "skipped": skipped,
        }

    def path_of(self, folder: str, file: str) -> str:
        """The real path of a file named as the tools name it.

        Raises:
            ToolError: ``OUTSIDE`` if it is not below the top, ``HIDDEN`` if it is, or lies
                below, what no listing names.
        """
        path = os.path.join(self.root, _inside(folder), _inside(file))
        self._stay_inside(path, file)
        return path

    def _paths(self, folder: str, files: Names, check: Check) -> Iterator[tuple[str, str]]:
        for name in files:
            check()
            yield name, self.path_of(folder, name)

    def _stay_inside(self, path: str, named: str) -> None:
        """Refuse what a link leads out of the folder, or to what is hidden in it.

        Where links are followed, they may.
        """
        if self.selection.follow:
            return
        top = os.path.realpath(self.root)
        real = os.path.realpath(path)
        if os.path.commonpath((top, real)) != top:
            raise _outside(named)
        _refuse_hidden(os.path.relpath(real, top), named)


def _inside(path: str) -> str:
    """The real name of a shown path, if it stays below the survey's top."""
    name = actual(path)
    if name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise _outside(path)
    _refuse_hidden(name, path)
    return name


def _refuse_hidden(name: str, named: str) -> None:
    """Refuse what a listing passes over, by the real name: `shown` can write one in many ways."""
    for part in name.split("/"):
        if part == PASSED_OVER or (part.startswith(".") and part != "."):
            raise ToolError(f"{named} is hidden; what is hidden is not read", code="HIDDEN")


def _outside(path: str) -> ToolError:
    return ToolError(
        f"{path} is outside the survey; name a path as the list tool does", code="OUTSIDE"
    )
