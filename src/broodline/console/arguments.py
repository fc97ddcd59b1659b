"""A tool call's arguments in a line of progress: whole, or visibly a part of them."""

from __future__ import annotations

import json
from typing import Any

from rich.cells import cell_len

from ..survey.width import cut
from .neutral import one_line

_READ = 64 * 1024
"""Characters of arguments that are looked into; longer ones only show their start."""

_LEVELS = 3
"""Levels of lists and objects whose members are shown."""


def arguments_shown(arguments: str, width: int) -> str:
    """The arguments on one line of at most `width` columns.

    Lists lose elements at their end and say how many; a text that stands for itself is
    cut at its end, behind which stands ``…``. A name in a list is shown whole or not at all.
    """
    whole = one_line(arguments[:_READ])
    if cell_len(whole) <= width and len(arguments) <= _READ:
        return whole
    try:
        value = json.loads(arguments) if len(arguments) <= _READ else None
    except (ValueError, RecursionError):
        value = None
    least = one_line(_part(value, 0, width // 8, _LEVELS)) if isinstance(value, dict) else None
    if least is not None and cell_len(least) <= width:
        for text in (width, width // 2, width // 4, width // 8):
            # Each element takes at least two columns, so more of them could not fit.
            for most in range(width // 2, -1, -1):
                line = one_line(_part(value, most, text, _LEVELS))
                if cell_len(line) <= width:
                    return line
    return cut(whole, width)


def _part(value: Any, most: int, text: int, levels: int) -> str:
    """JSON with `most` elements of each list and `text` characters of each text."""
    if isinstance(value, str):
        return _quoted(value) if len(value) <= text else f"{_quoted(value[:text])}…"
    inside: Any = value
    if isinstance(value, list):
        return _list(inside, most, text, levels - 1)
    if not isinstance(value, dict):
        return json.dumps(value)
    if levels == 0:
        return "{…}" if value else "{}"
    members = inside.items()
    pairs = (f"{_quoted(name)}:{_part(one, most, text, levels - 1)}" for name, one in members)
    return f"{{{','.join(pairs)}}}"


def _list(values: list[Any], most: int, text: int, levels: int) -> str:
    if not values:
        return "[]"
    shown = values[:most] if levels > 0 else []
    # An element that is cut would look like one of another name.
    if len(values) > 1:
        whole = next((at for at, one in enumerate(shown) if _is_long(one, text)), len(shown))
        shown = shown[:whole]
    parts = ",".join(_part(one, most, text, levels) for one in shown)
    if (left := len(values) - len(shown)) == 0:
        return f"[{parts}]"
    return f"[{parts}, … {left:,} more]" if shown else f"[… {left:,}]"


def _is_long(value: Any, text: int) -> bool:
    return isinstance(value, str) and len(value) > text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
