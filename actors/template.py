"""Strict templates: ``{{name}}`` and nothing else.

A placeholder is ``{{``, a name of the form ``[a-z][a-z0-9_]*``, ``}}``, without
spaces. Any other ``{{`` is an error while a ``}}`` follows somewhere behind it,
and plain text when none does. There is no escape; a text that needs braces
takes them from a variable, because what is put in is never scanned again.

Source: spec core 11.1.
"""

from __future__ import annotations

import re

NAME = re.compile(r"[a-z][a-z0-9_]*")
_PLACEHOLDER = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")
_SHOWN = 40


class TemplateSyntaxError(ValueError):
    """A text is not a template; the message says where and what to write instead."""


class Template:
    """A text cut at its placeholders.

    Attributes:
        literals: The plain parts, one more than there are names.
        names: The placeholders' names, in order, repeated as they occur.
    """

    __slots__ = ("literals", "names")

    def __init__(self, literals: tuple[str, ...], names: tuple[str, ...]) -> None:
        self.literals = literals
        self.names = names

    def fill(self, values: list[str]) -> str:
        """The text with one value for each of `names`, put in as it is."""
        if not values:
            return self.literals[0]
        parts = [self.literals[0]]
        for value, literal in zip(values, self.literals[1:], strict=True):
            parts.append(value)
            parts.append(literal)
        return "".join(parts)


def parse(text: str) -> Template:
    """Cut `text` at its placeholders.

    Raises:
        TemplateSyntaxError: If a ``{{`` with a ``}}`` behind it begins no placeholder.
    """
    literals: list[str] = []
    names: list[str] = []
    end_of_groups = text.rfind("}}")
    start = 0
    while 0 <= (opening := text.find("{{", start)) <= end_of_groups - 2:
        match = _PLACEHOLDER.match(text, opening)
        if match is None:
            raise TemplateSyntaxError(_complaint(text, opening))
        literals.append(text[start:opening])
        names.append(match.group(1))
        start = match.end()
    literals.append(text[start:])
    return Template(tuple(literals), tuple(names))


def _complaint(text: str, opening: int) -> str:
    group = text[opening : text.index("}}", opening + 2) + 2]
    while text.startswith(group + "}", opening):  # show {{{x}}} whole
        group += "}"
    shown = group if len(group) <= _SHOWN else group[:_SHOWN] + "…"
    return (
        f"{shown!r} at character {opening} is not a placeholder; write {{{{name}}}} with a name of "
        "a-z, 0-9 and _ that begins with a letter, without spaces. Braces that are meant as text "
        "must come from a variable's value"
    )
