"""The lines of a log to events: packed rows, too, which other writers make."""

from __future__ import annotations

from collections.abc import Sequence

from ...messages import deep_json
from ...messages.errors import BroodlineError, SessionCorruptError
from ...messages.event import Event
from ...messages.event_text import decode_lines as decode_plain
from ...messages.packed import expand_row


def decode_lines(
    lines: Sequence[bytes], first_seq: int = 0, *, projected: bool = False
) -> list[Event]:
    """The events of lines; an error has the ``index`` of the line in its details."""
    if not any(b'-chunks"' in line for line in lines):
        return decode_plain(lines, first_seq, projected=projected)
    events: list[Event] = []
    for index, line in enumerate(lines):
        try:
            members = _expanded(line) if b'-chunks"' in line else (line,)
            seq = first_seq + len(events)
            events += decode_plain(members, seq, projected=projected)
        except BroodlineError as error:
            error.details["index"] = index
            raise
    return events


def _expanded(line: bytes) -> Sequence[str | bytes]:
    """A packed row as the lines of its members; any other line as it is."""
    try:
        row = deep_json.read(line.decode())
    except ValueError as error:
        raise SessionCorruptError(f"a line is no JSON: {error}") from None
    members = expand_row(row)
    if len(members) == 1 and members[0] is row:
        return (line,)
    return [deep_json.write(member) for member in members]
