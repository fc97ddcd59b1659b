"""Events as lines of text: what a store writes, and reads back.

A line is the whole envelope of one event as compact JSON. Reading is strict and happens
once. Source: spec core 15.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from .codec import decode_event, decode_projected, encode_event
from .errors import BroodlineError, ConfigurationError, SessionCorruptError
from .event import Event
from .header import SessionHeader
from .header_codec import decode_header, encode_header
from .json_text import read_json, write_json
from .line_reader import LineReader, numbered
from .line_writer import write_line
from .lossless import is_text
from .payload import HeaderLogged, UnrecordedTools
from .plain import name_text, quoted


def encode_line(event: Event) -> str:
    """Write an event as one line, without its end.

    Raises:
        ConfigurationError: If it cannot be written, naming its number: no reader takes tools
            that nobody recorded (`UnrecordedTools`) where a store's own log has a list.
    """
    return _quick(event) or _line(event, _stored)


def encode_projected(event: Event) -> str:
    """Write an event of a recording: without number and time.

    Raises:
        ConfigurationError: If it cannot be written, naming its number.
    """
    line = _quick(event)
    if line is None:
        return _line(event, _projected)
    return line.replace(f',"seq":{event.seq:d},"time":{event.time:d}', "", 1)


def _quick(event: Event) -> str | None:
    """The whole line of an event of the usual types; None for what is left to the codec."""
    try:
        line = write_line(event)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None  # told by the encoders of the codec, or written by them
    return line if line is not None and (line.isascii() or is_text(line)) else None


def _stored(event: Event) -> dict[str, Any]:
    data = event.data
    if isinstance(data, HeaderLogged) and isinstance(data.header.tools, UnrecordedTools):
        raise ValueError("the tools of its header were not recorded; give it a list, or None")
    return encode_event(event)


def _projected(event: Event) -> dict[str, Any]:
    row = encode_event(event)
    del row["seq"], row["time"]
    return row


def _line(event: Event, encode: Callable[[Event], dict[str, Any]]) -> str:
    try:
        line = write_json(encode(event))
    except RecursionError:
        fault = "its tool results nest too deep"
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        fault = str(error)
    else:
        if line.isascii() or is_text(line):
            return line
        fault = "it has a lone surrogate, which UTF-8 cannot write"
    raise ConfigurationError(
        f"event {event.seq} of the type {event.type} cannot be written: {fault}"
    )


def decode_lines(
    lines: Sequence[str | bytes], first_seq: int = 0, *, projected: bool = False
) -> list[Event]:
    """Read events that follow each other.

    Args:
        lines: One event each.
        first_seq: The number of the first.
        projected: They have neither number nor time: numbered by position, time 0.

    Raises:
        SessionCorruptError: At the first that is damaged or out of order; ``details`` has
            its ``index`` in `lines`.
        SessionFormatUnsupportedError: At the first of a type that this build does not know
            and may not pass over; ``index`` likewise.
    """
    read = LineReader().read
    events: list[Event] = []
    for seq, line in enumerate(lines, first_seq):
        event: Event | None = None
        try:
            text = line.decode() if isinstance(line, bytes) else line
            event = read(numbered(text, seq) if projected else text, seq)
        except UnicodeDecodeError:
            pass  # told below
        if event is None:
            event = _decoded(line, seq, seq - first_seq, projected)
        events.append(event)
    return events


def _decoded(line: str | bytes, seq: int, index: int, projected: bool) -> Event:
    """Read a line strictly; what is wrong with it is told."""
    try:
        row = _parsed(line)
        event = decode_projected(row, seq) if projected else decode_event(row)
        if event.seq != seq:
            raise SessionCorruptError(f"an event has seq {event.seq} where {seq} belongs")
    except BroodlineError as error:
        error.details["index"] = index
        raise
    return event


def encode_header_line(header: SessionHeader, *, projected: bool = False) -> str:
    """Write a header as the first line of a log."""
    row = {"type": "session", **encode_header(header)}
    if not projected:
        row.setdefault("delegationDepth", 0)
    return write_json(row)


def decode_header_line(text: str | bytes, *, projected: bool = False) -> SessionHeader:
    """Read the first line of a log.

    Raises:
        SessionFormatUnsupportedError: If it is of another version.
        SessionCorruptError: If it is damaged, or lacks its ``version`` or, unless projected,
            ``delegationDepth``.
    """
    fields = _fields(_parsed(text))
    if fields.pop("type", None) != "session":
        raise SessionCorruptError(f"the first line is no header: {quoted(text)}")
    try:
        cwd = fields.pop("cwd", None) if projected else None
        header = decode_header(fields)
        if cwd is not None:
            header = replace(header, cwd=name_text(cwd, "cwd of the header"))
    except ConfigurationError as error:
        raise SessionCorruptError(f"the header is damaged: {error.message}") from None
    needed = ("version",) if projected else ("version", "delegationDepth")
    for key in needed:
        if key not in fields:
            raise SessionCorruptError(f"the header has no {key}; a stored log needs it")
    return header


def _fields(row: object) -> dict[str, Any]:
    return dict(cast("dict[str, Any]", row)) if isinstance(row, dict) else {}


def _parsed(text: str | bytes) -> Any:
    try:
        return read_json(text.decode() if isinstance(text, bytes) else text)
    except ValueError as error:
        raise SessionCorruptError(f"a line is no JSON: {error}") from None
