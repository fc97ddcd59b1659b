"""What a Google-style docstring tells a model."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?|Attributes|Source|"
    r"See Also|Warnings?|Todo):\s*"
)
_ARGUMENTS = ("Args", "Arguments", "Parameters")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")


def describe(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Split a docstring.

    Returns:
        The text before the first section, and what the ``Args`` section says of
        each parameter, in one line each.
    """
    lines = inspect.cleandoc(docstring or "").splitlines()
    start = next((at for at, line in enumerate(lines) if _SECTION.fullmatch(line)), len(lines))
    return "\n".join(lines[:start]).strip(), _parameters(lines[start:])


def _parameters(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    inside, depth, current = False, 0, None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            continue
        if indent == 0:
            section = _SECTION.fullmatch(line)
            inside = section is not None and section[1] in _ARGUMENTS
            depth, current = 0, None
        elif inside:
            depth = depth or indent
            entry = _ENTRY.fullmatch(line.strip()) if indent == depth else None
            if entry is not None:
                current = found[entry[1]] = [entry[2]]
            elif current is not None:
                current.append(line.strip())
    return {name: " ".join(text).strip() for name, text in found.items()}
