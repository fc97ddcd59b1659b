"""Names and ids as the format takes them.

A tool of ours may have any name, and a model may call one that there never was. In the
format a name outside the pattern spoils the request, and every later one with it.
Source: the server's own errors, ``Expected a string that matches the pattern``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]+")
_KEPT = 50  # characters of a name that does not fit; enough for the model to know it by
_ID_LENGTH = 40


def sent_name(name: str) -> str:
    """The name under which a tool is told; one that fits is itself."""
    if _NAME.fullmatch(name):
        return name
    return f"{_FOREIGN.sub('_', name)[:_KEPT]}_{_digest(name)[:8]}"


def own_names(names: Iterable[str]) -> dict[str, str]:
    """Of the tools that are told under another name: from that name to their own."""
    return {sent_name(name): name for name in names if sent_name(name) != name}


def sent_id(call_id: str) -> str:
    """The id under which a call and its result are told; one that fits is itself."""
    return call_id if 0 < len(call_id) <= _ID_LENGTH else f"call_{_digest(call_id)[:32]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
