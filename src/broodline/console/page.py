"""The tool that shows a passage of a text file; the demo's rules need none, a model does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..actors.tools.decorator import tool
from ..actors.tools.tool import Tool, ToolContext
from ..messages.errors import ToolError
from ..survey.folder import VANISHED
from ..survey.ground import Ground
from ..survey.passage import NotSurveyedError, chunks_of

LINES = 2000
"""Most lines of one answer."""

BYTES = 64 * 1024
"""Most bytes of one answer."""


def show_tool(ground: Ground) -> Tool:
    """Make the tool. It only reads, and nothing that the list tool passes over."""

    @tool(concurrency_safe=True)
    def show(context: ToolContext, folder: str, file: str, first: int = 1) -> dict[str, Any]:
        """Show the text of a file, from a line on.

        Args:
            folder: The folder that was listed.
            file: Name as the list tool gave it.
            first: The line to begin with; the "next" of an earlier answer goes on.
        """
        if first < 1:
            raise ToolError("lines are counted from 1", code="OUTSIDE")
        try:
            return passage(ground.path_of(folder, file), first, context.signal.raise_if_cancelled)
        except NotSurveyedError as error:
            # A model may name what never was there.
            why = "there is no such file" if str(error) == VANISHED else str(error)
            raise ToolError(f"{file} is not shown: {why}", code="NOT_SHOWN") from error

    return show


def passage(path: str, first: int, check: Callable[[], None]) -> dict[str, Any]:
    """The text from line `first` on, as ``{"text", "next"}``; `next` is 0 at the file's end.

    Raises:
        NotSurveyedError: As `chunks_of`.
    """
    kept: list[bytes] = []
    size = 0
    for number, line in enumerate(_lines(path, check), start=1):
        if number < first:
            continue
        if kept and (len(kept) >= LINES or size + len(line) > BYTES):
            return _answer(kept, number)
        kept.append(line if len(line) <= BYTES else line[:BYTES] + b" [line cut]")
        size += len(line)
    return _answer(kept, 0)


def _answer(lines: list[bytes], following: int) -> dict[str, Any]:
    return {"text": b"\n".join(lines).decode("utf-8", "replace"), "next": following}


def _lines(path: str, check: Callable[[], None]) -> Iterator[bytes]:
    """The lines of a file; of a longer one than can be shown only the start is kept."""
    rest = b""
    for chunk in chunks_of(path, check):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        rest = rest[: BYTES + 1]
    if rest:
        yield rest
