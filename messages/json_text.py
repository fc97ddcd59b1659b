"""Strict JSON texts: what Python's own reader and writer let pass beyond JSON is refused.

Values may nest to any depth. Source: spec core 1.3.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from . import deep_json
from .plain import quoted


class RefusedJsonError(ValueError):
    """What Python would read though it is no JSON, or hides a value."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RefusedJsonError(f"an object has the key {quoted(key)} twice")
            seen.add(key)
    return values


def _constant(name: str) -> NoReturn:
    raise RefusedJsonError(f"{name} is no JSON number")


STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
"""Refuses two values for a key, ``NaN`` and infinities; fails beyond a thousand levels.

Raises `RefusedJsonError` for those, ``json.JSONDecodeError`` for what is no JSON.
"""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def read_json(text: str) -> Any:
    """Read one JSON value.

    Raises:
        ValueError: If it is none, or more than one, or has two values for a key.
    """
    try:
        return STRICT.decode(text)
    except RecursionError:
        return deep_json.read(text)


def write_json(value: Any) -> str:
    """Write a JSON value, compact, with characters as they are.

    Raises:
        ValueError: If it has a number that JSON does not have.
        TypeError: If it has a value that JSON does not have.
    """
    try:
        return _encode(value)
    except RecursionError:
        return deep_json.write(value)
