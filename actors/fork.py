"""Forking a log: which part of it a child may start from. Source: spec core 1.5."""

from __future__ import annotations

from ..messages.errors import SessionError
from ..messages.plain import quoted
from .seed import ends_in_open_turn
from .session import Session


def check_boundary(source: Session, boundary: object) -> int:
    """How many events a fork of `source` takes.

    Args:
        source: The log to fork.
        boundary: Sequence number of the last event to take; None takes all.

    Raises:
        SessionError: ``INVALID_BOUNDARY`` or ``OPEN_TURN``.
    """
    if boundary is None:
        length = source.seq
    elif type(boundary) is not int or not 0 <= boundary < source.seq:
        raise SessionError(
            f"session {source.id!r} cannot be forked at {quoted(boundary)}: name one of its "
            f"{source.seq} events, from 0 on",
            code="INVALID_BOUNDARY",
        )
    else:
        length = boundary + 1
    if ends_in_open_turn(source.events[:length]):
        raise SessionError(
            f"session {source.id!r} cannot be forked inside a turn; fork at a turn/end",
            code="OPEN_TURN",
        )
    return length
