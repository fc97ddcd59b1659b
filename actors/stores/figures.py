"""The figures of a store on disk: those it is made with, and those it counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from ...messages.errors import ConfigurationError
from ...messages.plain import is_finite, quoted
from ..store import Durability

if TYPE_CHECKING:
    from .journal import Journal
    from .writer import DiskWriter


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """A picture of the moment.

    Attributes:
        sessions: Whose lease this store holds: live, reserved or draining ones.
        draining: Sessions that have gone, with something left to be written.
        queued: Sessions with something in the queue.
        waiting: Events that are not stored.
        failing: Sessions whose last write failed.
        writes: Writes since it was opened; one may be of many sessions.
        events: Events stored since it was opened.
        failures: Writes that failed since it was opened.
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


def figures_of(writers: Sequence[DiskWriter], journal: Journal | None) -> StoreStatistics:
    """What a store with these writers counts."""
    tally = None if journal is None else journal.tally
    return StoreStatistics(
        sessions=len(writers),
        draining=sum(writer.draining for writer in writers),
        queued=0 if journal is None else journal.pending(),
        waiting=sum(writer.waiting for writer in writers),
        failing=sum(writer.failure is not None for writer in writers),
        writes=0 if tally is None else tally.writes,
        events=0 if tally is None else tally.events,
        failures=0 if tally is None else tally.failures,
    )
