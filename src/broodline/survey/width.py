"""How text is made to fit the columns there are: shortened in the middle, wrapped, or cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.cells import cell_len, set_cell_size
from rich.text import Text


def shortened(text: str, width: int, plain: bool = False) -> str:
    """Leave out the middle of a text that is wider than `width` columns.

    Of a path that keeps the name at its end, and the line number behind it.
    """
    if cell_len(text) <= width:
        return text
    gap = "..." if plain else "…"
    room = width - len(gap)
    if room < 2:
        return set_cell_size(text, max(width, 0))
    head = set_cell_size(text, room // 3).rstrip(" ")
    tail = set_cell_size(text[::-1], room - room // 3)[::-1].lstrip(" ")
    return head + gap + tail


def cut(text: str, width: int, plain: bool = False) -> str:
    """Leave out the end of a text that is wider than `width` columns."""
    if cell_len(text) <= width:
        return text
    gap = "..." if plain else "…"
    return set_cell_size(text, max(width - len(gap), 0)).rstrip(" ") + gap


def wrapped(words: Iterable[str], width: int, plain: bool = False) -> Iterator[str]:
    """Join words by blanks into lines of at most `width` columns; what is wider is shortened."""
    line = ""
    for word in words:
        fitting = shortened(word, width, plain)
        if line and cell_len(line) + 1 + cell_len(fitting) > width:
            yield line
            line = fitting
        else:
            line = f"{line} {fitting}" if line else fitting
    if line:
        yield line


def clipped(text: Text, width: int, plain: bool = False) -> Text:
    """Cut a line to `width` columns; it never wraps."""
    if plain:
        text = Text(text.plain.replace("…", "...").encode("ascii", "replace").decode(), text.style)
    text.no_wrap = True
    text.truncate(max(width, 1), overflow="crop" if plain else "ellipsis")
    return text
