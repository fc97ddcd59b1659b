"""The lines of a log file: from bytes to JSON values, each with its place.

Strict about what could hide damage (two values for a key, ``NaN``, broken UTF-8, a
line that is cut off), lenient about what an editor leaves behind (a byte order mark,
carriage returns, blank lines).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ..messages import deep_json
from ..messages.errors import (
    BroodlineError,
    ConfigurationError,
    SessionCorruptError,
    SessionFormatUnsupportedError,
)
from ..messages.json_text import STRICT, RefusedJsonError
from ..messages.lossless import type_name

E = TypeVar("E", bound=BroodlineError)


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a log: the log's name and the line's number, from 1."""

    log: str
    line: int

    def corrupt(self, text: str) -> SessionCorruptError:
        """The error of a damaged line."""
        return self._at(SessionCorruptError(f"{self.log}:{self.line}: {text}"))

    def located(self, error: BroodlineError) -> BroodlineError:
        """The error of a decoder, saying where it was found."""
        if isinstance(error, SessionFormatUnsupportedError):
            text = f"{self.log}:{self.line}: {error.message}"
            return self._at(SessionFormatUnsupportedError(text, details=error.details))
        return self.corrupt(error.message)

    def _at(self, error: E) -> E:
        error.details |= {"log": self.log, "line": self.line}
        return error


def file_rows(path: str | os.PathLike[str]) -> Iterator[tuple[Place, Any]]:
    """The JSON values of a file, one a line.

    Raises:
        ConfigurationError: If the file cannot be read.
        SessionCorruptError: At the first line that is no JSON value.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except IsADirectoryError:
        raise ConfigurationError(f"{name} is a folder; read_recording() reads a folder") from None
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None
    # Not splitlines(): JSON may hold the other line ends of Unicode as they are.
    *lines, last = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            place = Place(name, number)
            yield place, _value(place, line, ended=True)
    if last.strip():
        place = Place(name, len(lines) + 1)
        yield place, _value(place, last, ended=False)


def given_rows(rows: Iterable[object]) -> Iterator[tuple[Place, Any]]:
    """The JSON values of lines, or rows that have been read already.

    Raises:
        ConfigurationError: If an item is neither text nor an object.
        SessionCorruptError: At the first line that is no JSON value.
    """
    for number, row in enumerate(rows, 1):
        place = Place("log", number)
        if isinstance(row, dict):
            yield place, cast(object, row)
        elif not isinstance(row, str):
            raise ConfigurationError(
                f"item {number} of a log is a {type_name(row)}; give its lines, or the rows that "
                "session.to_json() made"
            )
        elif row.strip():
            yield place, _parsed(place, row)


def unreadable(name: str, error: Exception, done: str = "read") -> ConfigurationError:
    """The error of a path that the system refuses to have read, or `done`."""
    reason = error.strerror if isinstance(error, OSError) else None
    return ConfigurationError(f"{name} cannot be {done}: {(reason or str(error)).lower()}")


class _BrokenError(RefusedJsonError):
    """A line that is not JSON, or not yet: its end may be missing."""


def _value(place: Place, line: bytes, *, ended: bool) -> Any:
    """The value of a line; one without a line end may be cut off."""
    try:
        return _decoded(_text(line))
    except _BrokenError as error:
        if ended:
            raise place.corrupt(str(error)) from None
        rest = "; take it away to read what stands before it" if place.line > 1 else ""
        raise place.corrupt(
            f"the last line is cut off: it has no line end, and {error}{rest}"
        ) from None
    except RefusedJsonError as error:
        raise place.corrupt(str(error)) from None


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise _BrokenError(
            f"byte {error.start + 1} of the line is not UTF-8, in which a log is written"
        ) from None


def _parsed(place: Place, text: str) -> Any:
    try:
        return _decoded(text)
    except RefusedJsonError as error:
        raise place.corrupt(str(error)) from None


def _decoded(text: str) -> Any:
    try:
        return STRICT.decode(text)
    except json.JSONDecodeError as error:
        raise _BrokenError(f"column {error.colno} is no JSON: {_meaning(error.msg)}") from None
    except RecursionError:
        return _deep(text)
    except RefusedJsonError:
        raise
    except ValueError:
        raise RefusedJsonError("a number in it has too many digits to be read") from None


def _deep(text: str) -> Any:
    """The value of a line that nests deeper than Python's own reader goes."""
    try:
        return deep_json.read(text)
    except ValueError as error:
        raise RefusedJsonError(str(error)) from None


# By how the messages of the decoder begin: they are made for a position behind them.
_MEANINGS = {
    "Expecting property name": "a key in double quotes is missing",
    "Expecting ':'": "a colon is missing",
    "Expecting ','": "a comma or a closing bracket is missing",
    "Expecting": "a value is missing",
    "Unterminated string": "a string begins there and does not end",
    "Invalid control character": "a control character stands in a string",
    "Invalid": "an escape in a string is none of JSON's",
    "Extra data": "more follows behind the value",
    "Illegal trailing comma": "a comma stands before a closing bracket",
}


def _meaning(message: str) -> str:
    """What the decoder found, in words that need no position behind them."""
    found = (words for start, words in _MEANINGS.items() if message.startswith(start))
    return next(found, "it cannot be read")
