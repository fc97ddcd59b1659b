"""JSON of any depth: slower than `json`, whose C code gives up at a thousand levels.

Both directions use a stack of their own. Source: spec core 1.3.
"""

from __future__ import annotations

import json.decoder
import json.encoder
import re
from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any, cast

write_text: Callable[[str], str] = json.encoder.encode_basestring
"""Writes a text in quotes; in C."""
scan_string: Callable[[str, int], tuple[str, int]] = vars(json.decoder)["scanstring"]
"""Reads the JSON text whose opening quote stands before a position; in C."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_SPACE = re.compile(r"[ \t\n\r]*")
_WORDS = {"true": True, "false": False, "null": None}


def write(value: Any) -> str:
    """Write a lossless JSON value, compact, with characters as they are.

    Raises:
        ValueError: If it has a number that JSON does not have.
        TypeError: If it has a value that JSON does not have.
    """
    parts: list[str] = []
    stack: list[Iterator[Any]] = [iter((("", value, ""),))]
    ends = [""]
    while stack:
        for before, item, after in stack[-1]:
            parts.append(before)
            if isinstance(item, dict | list | tuple):
                opening, closing, inner = _inner(cast("Any", item))
                parts.append(opening)
                stack.append(inner)
                ends.append(closing + after)
                break
            parts.append(_plain(item) + after)
        else:
            stack.pop()
            parts.append(ends.pop())
    return "".join(parts)


def _inner(item: dict[str, Any] | list[Any] | tuple[Any, ...]) -> tuple[str, str, Iterator[Any]]:
    """How a container begins and ends, and its members with what stands before each."""
    if isinstance(item, dict):
        members = (
            (("," if number else "") + write_text(key) + ":", member, "")
            for number, (key, member) in enumerate(item.items())
        )
        return "{", "}", members
    return "[", "]", (("," if number else "", member, "") for number, member in enumerate(item))


def _plain(item: Any) -> str:
    if isinstance(item, str):
        return write_text(item)
    if item is None:
        return "null"
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int):
        return int.__repr__(item)
    if isinstance(item, float):
        if not isfinite(item):
            raise ValueError(f"{item} is no JSON number")
        return float.__repr__(item)
    raise TypeError(f"{type(item).__name__} is no JSON value")


def read(text: str) -> Any:
    """Read one JSON value.

    Raises:
        ValueError: If it is none, has a key twice in an object, or more behind it.
    """
    position, root = 0, list[Any]()
    stack: list[Any] = [root]
    keys: list[str] = []
    while True:
        position, value, opened = _value(text, position)
        _put(stack[-1], keys, value)
        if opened:
            stack.append(value)
        position, done = _next(text, position, stack, keys, fresh=opened)
        if done:
            return root[0]


def _value(text: str, position: int) -> tuple[int, Any, bool]:
    """The value at a position, its end, and whether it is a container just opened."""
    position = _skip(text, position)
    first = text[position : position + 1]
    if first == "{":
        return position + 1, {}, True
    if first == "[":
        return position + 1, [], True
    if first == '"':
        value, position = scan_string(text, position + 1)
        return position, value, False
    for word, meaning in _WORDS.items():
        if text.startswith(word, position):
            return position + len(word), meaning, False
    number = _NUMBER.match(text, position)
    if number is None:
        raise ValueError(f"a value is missing at character {position}")
    whole = number[1] is None and number[2] is None
    return number.end(), int(number[0]) if whole else float(number[0]), False


def _put(container: list[Any] | dict[str, Any], keys: list[str], value: Any) -> None:
    if isinstance(container, list):
        container.append(value)
        return
    key = keys.pop()
    if key in container:
        raise ValueError(f"an object has the key {key!r} twice")
    container[key] = value


def _next(
    text: str, position: int, stack: list[Any], keys: list[str], *, fresh: bool
) -> tuple[int, bool]:
    """Go to where the next value begins; True when the whole is read."""
    while True:
        position = _skip(text, position)
        container = stack[-1]
        if len(stack) == 1:
            if position != len(text):
                raise ValueError(f"more follows at character {position}")
            return position, True
        closing = "}" if isinstance(container, dict) else "]"
        sign = text[position : position + 1]
        if sign == closing:
            stack.pop()
            position, fresh = position + 1, False
            continue
        if not fresh:
            if sign != ",":
                raise ValueError(f"a comma or {closing} is missing at character {position}")
            position = _skip(text, position + 1)
        if isinstance(container, dict):
            position = _key(text, position, keys)
        return position, False


def _key(text: str, position: int, keys: list[str]) -> int:
    if text[position : position + 1] != '"':
        raise ValueError(f"a key is missing at character {position}")
    key, position = scan_string(text, position + 1)
    position = _skip(text, position)
    if text[position : position + 1] != ":":
        raise ValueError(f"a colon is missing at character {position}")
    keys.append(key)
    return position + 1


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return position if space is None else space.end()
