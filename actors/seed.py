"""What a session may start from.

Source: spec core 1.4, 16 (D7).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..messages.errors import ConfigurationError, SessionCorruptError
from ..messages.event import Event
from ..messages.header import SessionHeader
from ..messages.payload import InboxSpliced, TurnEnd, TurnStart
from .invariants import Balance


def check_seed(header: SessionHeader, seed: Sequence[Event]) -> None:
    """Refuse a seed with gaps, or one that is shorter than what was inherited.

    Raises:
        ConfigurationError: Naming the sequence number.
    """
    for index, event in enumerate(seed):
        if event.seq != index:
            raise ConfigurationError(
                f"seed of session {header.id!r} has seq {event.seq} at position {index}; "
                "a log counts from 0 without gaps",
                details={"seq": event.seq, "position": index},
            )
    inherited = header.seed_length
    if inherited is not None and inherited > len(seed):
        raise ConfigurationError(
            f"session {header.id!r} claims seedLength {inherited}, but its seed has "
            f"{len(seed)} events"
        )


def check_seeded(
    header: SessionHeader, log: list[Event], balance: Balance, *, resumed: bool
) -> None:
    """Refuse a seed that would leave the new session something half done.

    Raises:
        SessionCorruptError: If a turn is open at its end, or at the end of the
            inherited part.
        ConfigurationError: If it would revive somebody else's inbox.
    """
    if balance.open_turn:
        raise SessionCorruptError(
            f"seed of session {header.id!r} ends inside turn {balance.open_turn}; repair the log, "
            "or cut the seed after a turn/end"
        )
    inherited = header.seed_length or 0
    if inherited and ends_in_open_turn(log[:inherited]):
        raise SessionCorruptError(
            f"seedLength {inherited} of session {header.id!r} cuts its parent's log inside a turn"
        )
    if resumed:
        return
    pending = pending_count(log[inherited:])
    if pending:
        raise ConfigurationError(
            f"seed of session {header.id!r} has {pending} pending inbox item(s) of its own; a "
            "fork's seed needs seedLength in the header, a session's own log is passed as resumed"
        )


def ends_in_open_turn(events: Sequence[Event]) -> bool:
    """Whether the last edge of a turn among `events` opens one."""
    for event in reversed(events):
        kind = type(event.data)
        if kind is TurnEnd:
            return False
        if kind is TurnStart:
            return True
    return False


def pending_count(events: Sequence[Event]) -> int:
    """How many inbox items are inserted more often than removed."""
    return sum(
        len(event.data.inserted) - event.data.removed_count
        for event in events
        if type(event.data) is InboxSpliced
    )
