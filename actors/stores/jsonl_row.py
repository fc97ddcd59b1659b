"""The lines of a log to and from events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...messages.codec import decode_event, encode_event
from ...messages.errors import (
    BroodlineError,
    ConfigurationError,
    SessionCorruptError,
    SessionFormatUnsupportedError,
)
from ...messages.event import Event
from ...messages.header import SessionHeader
from ...messages.header_codec import decode_header, encode_header
from ...messages.packed import expand_row


def encode_line(event: Event) -> str:
    """One event as one line, without its line end."""
    return _line(encode_event(event))


def encode_header_line(header: SessionHeader, *, projected: bool = False) -> str:
    """A header as one line, without its line end."""
    fields = {"type": "session", **encode_header(header)}
    if not projected:
        fields.setdefault("delegationDepth", 0)
    return _line(fields)


def decode_header_line(text: str, *, projected: bool = False) -> SessionHeader:
    """A header from its line."""
    fields = json.loads(text)
    del fields["type"]
    cwd = fields.pop("cwd", None) if projected else None
    if not projected and "delegationDepth" not in fields:
        raise ConfigurationError("the header has no delegationDepth; a stored log needs it")
    header = decode_header(fields)
    return header if cwd is None else replace(header, cwd=cwd)


def decode_lines(
    lines: Sequence[bytes], first_seq: int = 0, *, projected: bool = False
) -> list[Event]:
    """The events of lines; an error has the ``index`` of the line in its details."""
    events: list[Event] = []
    for index, line in enumerate(lines):
        try:
            row: Any = json.loads(line.decode())
            for member in expand_row(row):
                seq = first_seq + len(events)
                event = decode_event(_numbered(member, seq) if projected else member)
                if event.seq != seq:
                    raise ConfigurationError(f"seq {event.seq} stands where {seq} comes next")
                events.append(event)
        except SessionFormatUnsupportedError as error:
            details = {**error.details, "index": index}
            raise SessionFormatUnsupportedError(error.message, details=details) from None
        except (
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            RecursionError,
            BroodlineError,
        ) as error:
            raise SessionCorruptError(str(error), details={"index": index}) from None
    return events


def _numbered(row: dict[str, Any], seq: int) -> dict[str, Any]:
    """A projected row with a number, without the tools that nobody recorded."""
    data: Any = row.get("data")
    if row.get("type") == "request/header" and "{{tools}}" in data["header"].values():
        kept = {key: value for key, value in data["header"].items() if key != "tools"}
        row = {**row, "data": {**data, "header": kept}}
    return {**row, "seq": seq, "time": 0}


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
