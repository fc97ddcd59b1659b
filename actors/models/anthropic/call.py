"""Tool calls as Anthropic's API takes them: ids and names of its pattern, `input` as an object.

Pure and repeatable: the same history makes the same ids, so that a provider's
cache of the prompt still fits. Source: Anthropic's Messages API, ``tool_use``.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any, NoReturn, cast

from ....messages.lossless import is_text

RAW_ARGUMENTS = "raw_arguments"
"""The only key of the `input` of a call whose arguments are no JSON object."""

_FIT = re.compile(r"[a-zA-Z0-9_-]+")
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_LENGTH = 128
_DEPTH = 100  # levels of nesting; the SDK walks a request with Python's stack


def fresh_id(call_id: str, used: dict[str, int]) -> str:
    """An id of the API's pattern that no call before it has.

    Args:
        call_id: As it stands in the history; other providers have other patterns, and
            some count from 0 in every response.
        used: How often each id was asked for; changed here.
    """
    sent = _fit(call_id, "call")
    number = used[sent] = used.get(sent, 0) + 1
    while number > 1 and f"{sent}-{number}" in used:
        number += 1
    if number == 1:
        return sent
    used[sent] = number
    used[f"{sent}-{number}"] = 1
    return f"{sent}-{number}"


def sent_name(name: str) -> str:
    """The name of a tool in the API's pattern; one that fits is itself."""
    if len(name) <= _NAME_LENGTH:
        return _fit(name, "tool")
    return _fit(name[: _NAME_LENGTH - 20] + "…" + _digest(name), "tool")


def input_of(arguments: str) -> dict[str, Any]:
    """The object that a call's raw arguments are sent back as.

    Text that is no JSON object, or that JSON cannot repeat, stays readable for the
    model as ``{"raw_arguments": text}``; no text at all is ``{}``.
    """
    if not arguments.strip():
        return {}
    value = _parsed(arguments)
    return value if value is not None else {RAW_ARGUMENTS: arguments}


def _parsed(arguments: str) -> dict[str, Any] | None:
    if _is_deep(arguments):
        return None
    try:
        value: object = json.loads(arguments, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    # Only an escape can bring half a surrogate pair in, which no request can carry.
    if "\\u" in arguments and not is_text(json.dumps(value, ensure_ascii=False)):
        return None
    return cast("dict[str, Any]", value)


def _is_deep(arguments: str) -> bool:
    if arguments.count("{") + arguments.count("[") <= _DEPTH:
        return False
    depth = 0
    for character in arguments:
        if character in "{[":
            depth += 1
            if depth > _DEPTH:
                return True
        elif character in "}]":
            depth -= 1
    return False


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is beyond every float")
    return value


def _fit(text: str, prefix: str) -> str:
    if _FIT.fullmatch(text):
        return text
    # The digest keeps two texts apart that differ only in what is replaced.
    return f"{_UNFIT.sub('_', text) or prefix}-{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:8]
