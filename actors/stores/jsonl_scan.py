"""What stands in the file of a log: the good prefix, and what is wrong behind it.

A line without its line end was not finished when the power or the process went: it is
left out. At the first line that is damaged (no UTF-8, no JSON, no event, a gap in the
numbers; a packed row counts as a whole) it is asked whether that line or a later one
still shows the end of a turn. If so, what is damaged had been committed, and the log is
refused; if not, it is the same unfinished end in more than one line, and is left out.
What is left out is always told. Source: spec core 5.5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...messages import deep_json
from ...messages.errors import (
    BroodlineError,
    ConfigurationError,
    SessionCorruptError,
    SessionFormatUnsupportedError,
)
from ...messages.event import Event
from ...messages.event_text import decode_header_line
from ...messages.header import FORMAT_VERSION, SessionHeader
from ...messages.header_codec import check_cwd
from .jsonl_fault import corrupt
from .jsonl_row import decode_lines

_BOM = b"\xef\xbb\xbf"
_STRICT = re.compile(rb'\{"type":"[^"\\]*","seq0?":')
"""How a row begins that a store wrote; it need not be read to see its form."""
_ADVICE = "nothing was changed: restore the file from a copy"
_NUMBERED = {"seq", "time", "seq0", "time0"}


@dataclass(frozen=True, slots=True)
class Scan:
    """The good part of a file.

    Attributes:
        header: As its first line says.
        events: What the good lines hold.
        projected: Whether they are of the projected form.
        good: Bytes of the good part; less than the file has if something is cut.
        cut: What was left out behind it, for people; None if nothing was.
    """

    header: SessionHeader
    events: list[Event]
    projected: bool
    good: int
    cut: str | None


def scan(path: str, session_id: str, data: bytes) -> Scan:
    """Read the file of a log.

    Args:
        path: Of the file, for errors.
        session_id: Whose log it should be, for errors.
        data: The whole file.

    Raises:
        SessionFormatUnsupportedError: For another version, or an event of an unknown type
            that may not be passed over.
        SessionCorruptError: For damage in what was committed. Both name file and line.
    """
    *lines, tail = data.split(b"\n")
    if not lines:
        what = "ends within its first line" if tail else "is empty"
        raise corrupt(path, session_id, f"the file {what}, it holds no event; {_ADVICE}", 1)
    numbers = [number for number, line in enumerate(lines[1:], 2) if line and not line.isspace()]
    rows = [lines[number - 1] for number in numbers]
    projected = is_projected(lines[0], rows[0] if rows else b"")
    header = read_header(path, session_id, lines[0], projected=projected)
    good, cut = len(data) - len(tail), None
    if tail:
        cut = f"line {len(lines) + 1} is cut off: {len(tail)} bytes without a line end"
    try:
        events = decode_lines(rows, projected=projected)
    except SessionFormatUnsupportedError as error:
        index: int = error.details["index"]
        raise _unsupported(path, session_id, numbers[index], error) from None
    except SessionCorruptError as error:
        index, fault = error.details["index"], error.message
    else:
        return Scan(header, events, projected, good, cut)
    _refuse_committed(path, session_id, numbers[index:], rows[index:], fault)
    good = sum(map(len, lines[: numbers[index] - 1])) + numbers[index] - 1
    cut = f"from line {numbers[index]} on, {len(data) - good} bytes: {fault}"
    return Scan(header, decode_lines(rows[:index], projected=projected), projected, good, cut)


def read_header(path: str, session_id: str, line: bytes, *, projected: bool) -> SessionHeader:
    """Read the first line of a log.

    The version comes first: a header of another one is unsupported, never damaged.

    Raises:
        SessionFormatUnsupportedError: For another version.
        SessionCorruptError: If it is no header, or lacks what a stored one has.
    """
    line = line.removeprefix(_BOM)
    fields = _object(line)
    if fields is None:
        raise corrupt(
            path, session_id, f"the first line is no header: it is no JSON object; {_ADVICE}", 1
        )
    version = fields.get("version")
    if type(version) is int and version != FORMAT_VERSION:
        age = "newer" if version > FORMAT_VERSION else "older"
        raise SessionFormatUnsupportedError(
            f"{path}:1: the log of session {session_id!r} has the format version {version}, which "
            f"is {age} than {FORMAT_VERSION}, the one this build reads; read it with the "
            "version that wrote it",
            details={
                "place": path,
                "session": session_id,
                "version": version,
                "supported": FORMAT_VERSION,
                "line": 1,
            },
        )
    if fields.get("type") != "session" or version is None:
        raise corrupt(path, session_id, f"the first line is no header of a session; {_ADVICE}", 1)
    try:
        return decode_header_line(line.decode(), projected=projected)
    except BroodlineError as error:
        raise corrupt(path, session_id, f"{error.message}; {_ADVICE}", 1) from None


def is_projected(header: bytes, row: bytes) -> bool:
    """Whether a log is of the projected form, told by its first two lines.

    By the first event; without one that can be read, by a placeholder in the place of the
    working directory.
    """
    if _STRICT.match(row):
        return False
    fields = _object(row)
    if fields is not None:
        return not _NUMBERED & fields.keys()
    try:
        check_cwd((_object(header.removeprefix(_BOM)) or {}).get("cwd", "/"))
    except ConfigurationError:
        return True
    return False


def _refuse_committed(
    path: str, session_id: str, numbers: Sequence[int], rows: Sequence[bytes], fault: str
) -> None:
    for number, row in zip(numbers, rows, strict=True):
        fields = _object(row)
        if fields is not None and fields.get("type") == "turn/end":
            text = (
                f"{fault}; line {number} ends a turn, so this is no unfinished end: restore the "
                "file from a copy, or cut it by hand before this line"
            )
            raise corrupt(path, session_id, text, numbers[0])


def _unsupported(
    path: str, session_id: str, line: int, error: SessionFormatUnsupportedError
) -> SessionFormatUnsupportedError:
    details = {**error.details, "place": path, "session": session_id, "line": line}
    return SessionFormatUnsupportedError(f"{path}:{line}: {error.message}", details=details)


def _object(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line; None if there is none."""
    try:
        value = deep_json.read(line.decode())
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
