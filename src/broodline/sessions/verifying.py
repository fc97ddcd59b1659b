"""``broodline sessions verify``: reads everything, writes nothing, says what is not sound."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..messages.errors import BroodlineError, SessionError
from ..messages.plain import quoted
from ..survey.name import shown
from .archive import opened
from .place import LogPlace, Place
from .sheet import (
    OK,
    READER_GONE,
    UNSOUND,
    USAGE,
    Ticker,
    counted,
    put,
    say,
)
from .verdict import Verdict, log_verdicts, store_verdicts, unreadable_verdict


@dataclass(slots=True)
class Tally:
    """What was looked at in one place, in numbers, and all that is to be told of it.

    Attributes:
        place: As it was named.
        noun: What it holds: ``session`` or ``log``.
        told: What is not sound, or ends in the middle of a line.
        rows: The JSON form of everything, where that is wanted.
    """

    place: str
    noun: str
    looked: int = 0
    events: int = 0
    unread: int = 0
    unsound: int = 0
    unfinished: int = 0
    told: list[Verdict] = field(default_factory=list["Verdict"])
    rows: list[str] = field(default_factory=list[str])

    def add(self, verdict: Verdict, as_json: bool) -> None:
        """Take in what came of one session, log, or the place itself."""
        if as_json:
            self.rows.append(json.dumps(verdict.to_dict()))
        log = verdict.log
        whole = verdict.session is None and log is None and self.noun == "session"
        self.looked += not whole
        self.unread += log is None and not whole
        self.unsound += bool(verdict.faults)
        if log is not None:
            self.events += len(log.events)
            self.unfinished += log.unfinished
        if verdict.faults or verdict.cut:
            # Without the log: there may be very many, and what is told of it is in the faults.
            self.told.append(replace(verdict, log=None))


def verify(places: Sequence[Place], *, session: str | None = None, as_json: bool = False) -> int:
    """Check stores and logs, and print what came of it. Main thread.

    Args:
        places: What to check.
        session: Only the session of this id.
        as_json: Print one JSON document instead of the lines.

    Returns:
        The exit code: 0 if all is sound, 1 if something is not, 2 if there is nothing to
        check, 141 if the reader of the output has gone.
    """
    tallies: list[Tally] = []
    for place in places:
        try:
            tallies.append(_tally(place, session, as_json))
        except BroodlineError as error:
            if error.code == "CONFIGURATION":
                say(f"verify: {shown(error.message)}")
                return USAGE
            tally = Tally(str(place), "session")
            tally.add(unreadable_verdict(str(place), None, error), as_json)
            tallies.append(tally)
    if session is not None and not any(tally.looked for tally in tallies):
        names = ", ".join(shown(str(place)) for place in places)
        say(f"verify: no session {quoted(session)} is stored in {names}")
        return USAGE
    if not put(_document(tallies) if as_json else _page(tallies)):
        return READER_GONE
    return UNSOUND if any(tally.unsound for tally in tallies) else OK


def _tally(place: Place, session: str | None, as_json: bool) -> Tally:
    if isinstance(place, LogPlace):
        tally, ticker = Tally(str(place), "log"), Ticker("verifying", len(place.files))
        for verdict in log_verdicts(place, ticker.tick):
            if session is None or verdict.session == session:
                tally.add(verdict, as_json)
        ticker.end()
        return tally
    tally = Tally(str(place), "session")
    with opened(place) as archive:
        entries = archive.entries()
        if session is None:
            for text in archive.faults():
                error = SessionError(text, code="SESSION_CORRUPT")
                tally.add(unreadable_verdict(str(place), None, error), as_json)
        else:
            entries = [entry for entry in entries if entry.name == session]
        ticker = Ticker("verifying", len(entries))
        for verdict in store_verdicts(place, archive, entries, ticker.tick):
            tally.add(verdict, as_json)
        ticker.end()
    return tally


def _page(tallies: Sequence[Tally]) -> Iterator[str]:
    for tally in tallies:
        for verdict in tally.told:
            yield from _lines(verdict)
        yield f"{shown(tally.place)}: {_summary(tally)}"


def _lines(verdict: Verdict) -> Iterator[str]:
    name = verdict.session if verdict.session is not None else verdict.place
    first = verdict.first
    if first is None:
        yield f"{shown(name)}: sound, but its end is incomplete"
    else:
        more = len(verdict.faults) - 1
        rest = f", {counted(more, 'fault')} behind it" if more else ""
        where = f" in event {first.seq}" if first.seq is not None else ""
        if not where and verdict.line is not None:
            where = f" in line {verdict.line}"
        what = verdict.code or first.rule
        yield f"{shown(name)}: not sound, first{where}: {what}{rest}"
        yield f"    {shown(first.text)}"
    if verdict.cut:
        yield f"    {shown(verdict.cut)}; the next load of it leaves that out"


def _summary(tally: Tally) -> str:
    """How much was looked at, and what came of it."""
    events = counted(tally.events, "event")
    verdict = f"{tally.unsound:,} not sound" if tally.unsound else "all sound"
    if not tally.looked:
        return verdict if tally.unsound else f"no {tally.noun}s: all sound"
    if tally.unread:
        events = f"{tally.unread:,} not read, {events} in the rest"
    left = f", {tally.unfinished:,} unfinished" if tally.unfinished else ""
    return f"{counted(tally.looked, tally.noun)}, {events}: {verdict}{left}"


def _document(tallies: Sequence[Tally]) -> Iterator[str]:
    rows = [row for tally in tallies for row in tally.rows]
    sound = not any(tally.unsound for tally in tallies)
    yield "{"
    yield f'  "sound": {json.dumps(sound)},'
    yield '  "places": ['
    for number, tally in enumerate(tallies, 1):
        fields = {
            "place": tally.place,
            "looked": tally.looked,
            "events": tally.events,
            "unsound": tally.unsound,
            "unfinished": tally.unfinished,
        }
        yield f"    {json.dumps(fields)}{',' if number < len(tallies) else ''}"
    yield "  ],"
    yield '  "sessions": ['
    for number, row in enumerate(rows, 1):
        yield f"    {row}{',' if number < len(rows) else ''}"
    yield "  ]"
    yield "}"
