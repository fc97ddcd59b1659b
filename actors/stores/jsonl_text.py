"""What is written in a log: lines of UTF-8, one event each."""

from __future__ import annotations

from collections.abc import Sequence

from ...messages.errors import BroodlineError
from ...messages.event import Event
from ...messages.event_text import encode_header_line, encode_line, encode_projected
from ...messages.header import SessionHeader
from .jsonl_fault import unwritable


def log_text(header: SessionHeader, events: Sequence[Event], *, projected: bool) -> bytes:
    """A whole log.

    Raises:
        SessionError: ``EVENT_UNWRITABLE``.
    """
    try:
        first = f"{encode_header_line(header, projected=projected)}\n".encode()
    except (BroodlineError, ValueError) as error:
        raise unwritable("its log", header.id, f"its header: {error}") from None
    return first + events_text(header.id, events, projected=projected)


def events_text(session_id: str, events: Sequence[Event], *, projected: bool) -> bytes:
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
            text = f"event {event.seq} of type {event.type}: {error}"
            raise unwritable("its log", session_id, text) from None
    return b"".join(lines)
