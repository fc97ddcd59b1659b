"""The envelope of a log entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .draft import twin
from .payload import OpaquePayload, Payload


@dataclass(frozen=True, slots=True)
class Replace:
    """Puts a message in the place of the surface nodes from `start` to `end`, both included."""

    start: int
    end: int


SurfaceOp: TypeAlias = Literal["append"] | Replace


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a session's log, deeply frozen; `seq` is its index.

    Attributes:
        seq: Position in the log, from 0, without gaps.
        time: Epoch milliseconds.
        data: What happened.
        surface_op: Only on the three message-producing types.
        source_event_seqs: Earlier events this message was made of; None is "not recorded".
        ignorable: A reader that does not know the type may pass over it.
    """

    seq: int
    time: int
    data: Payload
    surface_op: SurfaceOp | None = None
    source_event_seqs: tuple[int, ...] | None = None
    ignorable: bool = False

    @property
    def type(self) -> str:
        """The wire name of the event's type."""
        data = self.data
        return data.type if type(data) is OpaquePayload else data.TYPE  # type: ignore[union-attr]


_Draft = twin(Event)


def new_event(
    seq: int,
    time: int,
    data: Payload,
    surface_op: SurfaceOp | None,
    source_event_seqs: tuple[int, ...] | None,
    ignorable: bool,
) -> Event:
    """The same as ``Event(...)``, for the hot path."""
    draft: Any = _Draft(seq, time, data, surface_op, source_event_seqs, ignorable)
    draft.__class__ = Event
    event: Event = draft
    return event
