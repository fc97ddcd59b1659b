"""The figures of a store on disk: those it is made with, and those it counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from ...messages.errors import ConfigurationError
from ...messages.plain import is_finite, quoted
from ..store import Durability

if TYPE_CHECKING:
    from .roster import Roster


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """A picture of the moment.

    Attributes:
        sessions: Whose lease this store holds: live, reserved or draining ones.
        draining: Sessions that have gone, with something left to be written.
        queued: Sessions with something in the queue.
        waiting: Events that are not stored.
        failing: Sessions whose last write failed.
        writes: Writes begun since it was opened; one may be of many sessions.
        events: Events stored since it was opened.
        failures: Writes of one session that failed since it was opened.
    """

    sessions: int
    draining: int
    queued: int
    waiting: int
    failing: int
    writes: int
    events: int
    failures: int


def check_arguments(durability: object, window: object, lease_timeout: object) -> None:
    """Refuse figures that no store can be made with.

    Raises:
        ConfigurationError: Naming the argument.
    """
    if durability not in get_args(Durability):
        raise ConfigurationError(
            f"durability={quoted(durability)} must be one of {', '.join(get_args(Durability))}"
        )
    if not is_finite(window) or window < 0:  # type: ignore[operator] # finite, so a number
        raise ConfigurationError(f"window={quoted(window)} must be seconds from 0")
    if not is_finite(lease_timeout) or lease_timeout <= 0:  # type: ignore[operator] # as above
        raise ConfigurationError(f"lease_timeout={quoted(lease_timeout)} must be seconds above 0")


def figures_of(roster: Roster | None) -> StoreStatistics:
    """What a store counts that has these writers; zeros for one that is closed."""
    if roster is None:
        return StoreStatistics(0, 0, 0, 0, 0, 0, 0, 0)
    writers, tally = list(roster), roster.journal.tally
    return StoreStatistics(
        sessions=len(writers),
        draining=sum(writer.releasing for writer in writers),
        queued=roster.journal.pending(),
        waiting=sum(writer.waiting for writer in writers),
        failing=sum(writer.failure is not None for writer in writers),
        writes=tally.writes,
        events=tally.events,
        failures=tally.failures,
    )
