"""What is written in a log: lines of UTF-8, one event each."""

from __future__ import annotations

from collections.abc import Sequence

from ...messages.errors import BroodlineError
from ...messages.event import Event
from ...messages.event_text import encode_header_line, encode_line, encode_projected
from ...messages.header import SessionHeader
from .refusal import unwritable


def log_text(
    place: str, header: SessionHeader, events: Sequence[Event], *, projected: bool
) -> bytes:
    """A whole log.

    Raises:
        SessionError: ``EVENT_UNWRITABLE``.
    """
    try:
        first = f"{encode_header_line(header, projected=projected)}\n".encode()
    except (BroodlineError, ValueError) as error:
        raise unwritable(header.id, place, None, error) from None
    return first + events_text(place, header.id, events, projected=projected)


def events_text(place: str, session_id: str, events: Sequence[Event], *, projected: bool) -> bytes:
    """The lines of events; of the projected form without numbers and times.

    Raises:
        SessionError: ``EVENT_UNWRITABLE``, naming the event.
    """
    lines: list[bytes] = []
    for event in events:
        try:
            line = encode_projected(event) if projected else encode_line(event)
            lines.append(f"{line}\n".encode())
        except (BroodlineError, ValueError, TypeError, RecursionError) as error:
            raise unwritable(session_id, place, event.seq, error) from None
    return b"".join(lines)
