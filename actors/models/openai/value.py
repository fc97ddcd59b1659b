"""JSON of a server: what is of the right kind, and fit for a log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from ....messages.lossless import is_text


def as_object(value: object) -> Mapping[str, Any] | None:
    """The value where it is an object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[Any] | None:
    """The value where it is an array."""
    return value if isinstance(value, list) else None  # pyright: ignore[reportUnknownVariableType]


def is_object(text: str) -> bool:
    """Whether a text is a whole JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def json_text(value: Any) -> str:
    """A value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def mended(text: str) -> str:
    """`text` with the replacement character for each lone surrogate.

    JSON can write half a pair, UTF-8 cannot: a server that cuts a text in the middle
    of one would otherwise lose the whole answer.
    """
    if is_text(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
