r"""How a file name is written where people, JSON and terminals read it.

A name is bytes to the system. It is written as its text, with a backslash and
every byte that does not print (controls, broken UTF-8, direction marks) escaped
as ``\\`` and ``\xNN``. So any name fits on one line, cannot steer a terminal,
and `actual` gives the very same name back.
"""

from __future__ import annotations

import os
import re

_ESCAPE = re.compile(r"\\(?:\\|x([0-9a-f]{2}))")


def shown(name: str) -> str:
    """Write a name or path of the file system (surrogate escapes and all) for reading."""
    if name.isprintable() and "\\" not in name:
        return name
    return "".join(map(_shown_character, name))


def actual(text: str) -> str:
    """The name that `shown` wrote as `text`; other text is taken as it is."""
    if "\\" not in text:
        return text
    parts: list[bytes] = []
    end = 0
    for escape in _ESCAPE.finditer(text):
        parts.append(os.fsencode(text[end : escape.start()]))
        parts.append(bytes.fromhex(escape[1]) if escape[1] else b"\\")
        end = escape.end()
    parts.append(os.fsencode(text[end:]))
    return os.fsdecode(b"".join(parts))


def _shown_character(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))
