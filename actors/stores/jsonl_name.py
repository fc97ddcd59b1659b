"""Names of folders in a JSONL store: of a session's id and of a working directory.

Source: spec core 5.5.
"""

from __future__ import annotations

import hashlib
import os
import re

NO_CWD = "_no-cwd"
"""The folder of the sessions without a working directory."""

LONGEST = 255
"""Bytes of one component of a path, on every usual file system."""

_ODD = re.compile(r"[^A-Za-z0-9._-]")
_ESCAPED = re.compile(r"~([0-9A-F]{4})")
_SEPARATOR = re.compile(r"[/\\]")
_KEPT = 60
"""Characters of a long working directory that its folder's name begins with."""


def encode_id(session_id: str) -> str:
    """The one path component that an id is stored under.

    ``[A-Za-z0-9._-]`` stand for themselves, everything else is ``~XXXX`` for each unit of
    UTF-16. No two ids share a component, and none is ``.`` or ``..``.

    Raises:
        ValueError: If the id is empty.
    """
    if not session_id:
        raise ValueError("an id must not be empty")
    if session_id in (".", ".."):
        return session_id.replace(".", "~002E")
    return _ODD.sub(lambda found: _units(found[0]), session_id)


def decode_id(component: str) -> str | None:
    """The id that is stored under a path component; None if no id is."""
    units = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), component)
    try:
        found = units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return found if found and encode_id(found) == component else None


def project_name(cwd: str | None) -> str:
    """The folder of the sessions of one working directory.

    ``--<cwd>--`` without the leading separator and with ``-`` for every other. A path that
    makes no component (too long, a NUL in it) is cut and told apart by its hash.

    Args:
        cwd: Absolute, or the placeholder of a recording, or None.
    """
    if cwd is None:
        return NO_CWD
    name = f"--{_SEPARATOR.sub('-', _SEPARATOR.sub('', cwd[:1]) + cwd[1:])}--"
    coded = name.encode("utf-8", "surrogatepass")
    try:
        fits = "\0" not in name and len(os.fsencode(name)) <= LONGEST
    except UnicodeEncodeError:  # not of the system's own encoding
        fits = False
    if fits:
        return name
    start = _ODD.sub("-", name[:_KEPT])
    return f"{start}~{hashlib.sha256(coded).hexdigest()[:32]}--"


def session_folder(root: str, session_id: str, cwd: str | None) -> str:
    """The folder in which the log of a session lies."""
    return os.path.join(root, project_name(cwd), encode_id(session_id))


def _units(character: str) -> str:
    coded = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"~{coded[at : at + 2].hex().upper()}" for at in range(0, len(coded), 2))
