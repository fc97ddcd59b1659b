"""Single values of others, made safe: a text to log, a number to count with, a value to quote.

For what comes from callers, models and files. Containers are the matter of
`lossless.py`. Source: spec core 1.3.
"""

from __future__ import annotations

import math

from .errors import ConfigurationError
from .lossless import is_text, type_name

_QUOTED = 200  # characters of a foreign value that an error shows


def plain_text(value: object, subject: str) -> str:
    """The text as exactly a `str`, once it is sure that JSON keeps it.

    A subclass (an enum member, a template's markup) becomes the text it holds.

    Raises:
        ConfigurationError: If it is no text, or has a lone surrogate.
    """
    if type(value) is str and value.isascii():
        return value
    if not isinstance(value, str):
        raise ConfigurationError(f"{subject} must be text, not {type_name(value)}")
    text = str.__str__(value)
    if not is_text(text):
        raise ConfigurationError(
            f"{subject} has a lone surrogate, which UTF-8 cannot write; "
            "decode it with errors='replace', or join the two halves of the pair"
        )
    return text


def name_text(value: object, subject: str) -> str:
    """`plain_text` that is not empty.

    Raises:
        ConfigurationError: As `plain_text`, or if it is empty.
    """
    text = plain_text(value, subject)
    if not text:
        raise ConfigurationError(f"{subject} must not be empty")
    return text


def is_finite(value: object) -> bool:
    """Whether the value is an int or a float, no bool, that a float can hold; never raises."""
    if type(value) is not int and type(value) is not float:
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an int beyond every float
        return False


def quoted(value: object) -> str:
    """``repr(value)`` for an error, short; never raises, whatever the value is."""
    try:
        text = repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # its own repr, its depth, an int of more digits than Python writes
        return f"a value of type {type_name(value)}"
    text = str.encode(text, errors="backslashreplace").decode()
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"
