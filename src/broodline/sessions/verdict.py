"""Whether what is stored is a sound log: read, and checked against the rules of a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..actors.recording import RecordedLog, read_log
from ..actors.recording_check import Fault, first_fault, log_faults
from ..messages.errors import BroodlineError, SessionError
from ..messages.event import Event
from ..messages.payload import TurnStart
from .archive import Archive, Entry, is_live, log_of
from .place import LogPlace, StorePlace


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one session, of one log, or of a place as a whole.

    Attributes:
        place: The store as it was named, or the path of the log.
        session: The session's id; None for a place as a whole, or where none can be read.
        log: What was read; None if it could not be.
        faults: What is wrong with it; empty if it is sound.
        code: Why it could not be read, such as ``SESSION_CORRUPT``; None if it could.
        line: Number of the line at which reading stopped; None if that is not known.
        live: Whether somebody writes it now.
        cut: An incomplete end that was left out, as the next load will; None if there is none.
    """

    place: str
    session: str | None
    log: RecordedLog | None = None
    faults: tuple[Fault, ...] = ()
    code: str | None = None
    line: int | None = None
    live: bool = False
    cut: str | None = None

    @property
    def turns(self) -> int:
        """How many began."""
        events = self.log.events if self.log is not None else ()
        return sum(type(event.data) is TurnStart for event in events)

    @property
    def first(self) -> Fault | None:
        """The fault that shows first in the log."""
        return first_fault(self.faults)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        log, first = self.log, self.first
        return {
            "place": self.place,
            "session": self.session,
            "sound": not self.faults,
            "form": form_of(log),
            "events": None if log is None else len(log.events),
            "turns": None if log is None else self.turns,
            "unfinished": None if log is None else log.unfinished,
            "live": self.live,
            "cut": self.cut,
            "code": self.code,
            "first": None if first is None else self._fault(first),
            "faults": [self._fault(fault) for fault in self.faults],
        }

    def _fault(self, fault: Fault) -> dict[str, Any]:
        return {"seq": fault.seq, "line": self.line, "rule": fault.rule, "text": fault.text}


def form_of(log: RecordedLog | None) -> str | None:
    """How a log is called by its form; None for one that could not be read."""
    if log is None:
        return None
    return "script" if log.is_script else "projected" if log.projected else "strict"


def log_verdicts(place: LogPlace, tick: Callable[[], None]) -> Iterator[Verdict]:
    """What comes of the logs of a place; a fork's is compared with its parent's beside it."""
    held: dict[str, RecordedLog | BroodlineError] = {}
    for path in place.files:
        try:
            held[path] = read_log(path)
        except BroodlineError as error:
            held[path] = error
    logs = [log for log in held.values() if isinstance(log, RecordedLog)]
    for path, log in held.items():
        if isinstance(log, BroodlineError):
            yield unreadable_verdict(path, None, log)
        else:
            wanted = log.header.parent_session
            beside = (one for one in logs if one is not log and one.header.id == wanted)
            parent = next(beside, None)
            yield Verdict(path, log.header.id, log, log_faults(log, parent=parent))
        tick()


def store_verdicts(
    place: StorePlace,
    archive: Archive,
    entries: list[Entry],
    tick: Callable[[], None],
) -> Iterator[Verdict]:
    """What comes of sessions of a store, one by one; only one log and a parent's are held."""
    parents = _Parents(place, archive)
    for entry in entries:
        yield _session_verdict(place, archive, entry, parents)
        tick()


def _session_verdict(
    place: StorePlace, archive: Archive, entry: Entry, parents: _Parents
) -> Verdict:
    try:
        if entry.fault is not None:
            raise entry.fault
        image = archive.read(entry.name)
    except BroodlineError as error:
        return unreadable_verdict(str(place), entry.name, error)
    log = log_of(place, image)
    faults = log_faults(log, parent=parents.of(log))
    return Verdict(str(place), entry.name, log, faults, live=is_live(image), cut=image.log.cut)


def unreadable_verdict(place: str, session: str | None, error: BroodlineError) -> Verdict:
    """What comes of something that cannot be read."""
    seq, line = error.details.get("seq"), error.details.get("line")
    fault = Fault(seq if type(seq) is int else None, "read", error.message)
    at = line if type(line) is int else None
    return Verdict(place, session, None, (fault,), str(error.code), at)


class _Parents:
    """The logs that seeds were taken from; the last one is kept, as forks stand together."""

    def __init__(self, place: StorePlace, archive: Archive) -> None:
        self._place = place
        self._archive = archive
        self._last: tuple[str, RecordedLog | None] = ("", None)

    def of(self, log: RecordedLog) -> RecordedLog | None:
        """The parent's log of a fork; None for others, and where it cannot be read.

        A provider may give a child any seed: one that does not even begin as the parent's
        log is no fork of it.
        """
        wanted = log.header.parent_session
        if wanted is None or not log.header.seed_length:
            return None
        if self._last[0] != wanted:
            try:
                found = log_of(self._place, self._archive.read(wanted))
            except SessionError:  # it is told where it is looked at itself
                found = None
            self._last = (wanted, found)
        parent = self._last[1]
        if parent is None or not parent.events or not log.events:
            return parent
        return parent if _alike(log.events[0], parent.events[0]) else None


def _alike(one: Event, other: Event) -> bool:
    return one.data == other.data and one.surface_op == other.surface_op
