"""Events as lines of text: what a store writes, and reads back.

A line is the whole envelope of one event as compact JSON. Reading is strict and happens
once. Source: spec core 15.1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn, cast

from . import deep_json
from .codec import decode_event, decode_projected, encode_event
from .errors import BroodlineError, ConfigurationError, SessionCorruptError
from .event import Event
from .header import SessionHeader
from .header_codec import decode_header, encode_header
from .plain import name_text, quoted

_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def encode_line(event: Event) -> str:
    """Write an event as one line, without its end.

    Raises:
        ConfigurationError: If it cannot be written, naming its number.
    """
    return _line(event, encode_event(event))


def encode_projected(event: Event) -> str:
    """Write an event of a recording: without number and time."""
    row = encode_event(event)
    del row["seq"], row["time"]
    return _line(event, row)


def _line(event: Event, row: dict[str, Any]) -> str:
    try:
        try:
            return _write(row)
        except RecursionError:
            return deep_json.write(row)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(
            f"event {event.seq} of the type {event.type} cannot be written: {error}"
        ) from None


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
    events: list[Event] = []
    for index, line in enumerate(lines):
        try:
            row = _parsed(line)
            seq = first_seq + index
            event = decode_projected(row, seq) if projected else decode_event(row)
            if event.seq != first_seq + index:
                raise SessionCorruptError(
                    f"an event has seq {event.seq} where {first_seq + index} belongs"
                )
        except BroodlineError as error:
            error.details["index"] = index
            raise
        events.append(event)
    return events


def encode_header_line(header: SessionHeader, *, projected: bool = False) -> str:
    """Write a header as the first line of a log."""
    row = {"type": "session", **encode_header(header)}
    if not projected:
        row.setdefault("delegationDepth", 0)
    return _write(row)


def decode_header_line(text: str | bytes, *, projected: bool = False) -> SessionHeader:
    """Read the first line of a log.

    Raises:
        SessionFormatUnsupportedError: If it is of another version.
        SessionCorruptError: If it is damaged, or lacks ``delegationDepth`` unless projected.
    """
    row: object = _parsed(text)
    fields: dict[str, Any] = {}
    if isinstance(row, dict):
        fields = dict(cast("dict[str, Any]", row))
    if fields.pop("type", None) != "session":
        raise SessionCorruptError(f"the first line is no header: {quoted(row)}")
    try:
        cwd = fields.pop("cwd", None) if projected else None
        header = decode_header(fields)
        if cwd is not None:
            header = replace(header, cwd=name_text(cwd, "cwd of the header"))
    except ConfigurationError as error:
        raise SessionCorruptError(f"the header is damaged: {error.message}") from None
    if not projected and "delegationDepth" not in fields:
        raise SessionCorruptError("the header has no delegationDepth; a stored log needs it")
    return header


def _parsed(text: str | bytes) -> Any:
    try:
        whole = text.decode() if isinstance(text, bytes) else text
        try:
            return _DECODER.decode(whole)
        except RecursionError:
            return deep_json.read(whole)
    except ValueError as error:
        raise SessionCorruptError(f"a line is no JSON: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("an object has a key twice")
    return values


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
