"""What is left of a store after its process was killed: looked at, mended, looked at again."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from broodline import JsonlStore, RecordedLog, SqliteStore, Store, check_log
from broodline.actors.store import StoredLog
from broodline.messages.errors import BroodlineError
from broodline.messages.payload import EndSeed, InboxSpliced, UserMessageLogged


@dataclass(slots=True)
class Verdict:
    """What was found; every entry is a sentence.

    Attributes:
        acknowledged: How many messages had been.
        lost: Acknowledged, and not there, or thrown away.
        repeated: There twice, or taken in twice.
        corrupt: Logs or stores that are not sound.
    """

    acknowledged: int = 0
    lost: list[str] = field(default_factory=list[str])
    repeated: list[str] = field(default_factory=list[str])
    corrupt: list[str] = field(default_factory=list[str])

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.lost or self.repeated or self.corrupt)


def notes_of(path: Path) -> dict[str, list[str]]:
    """The acknowledged messages of each agent; a last line that is cut off counts for nothing."""
    found: dict[str, list[str]] = {}
    text = path.read_text() if path.exists() else ""
    for line in text.split("\n")[:-1]:
        agent, _, message = line.partition(" ")
        if message:
            found.setdefault(agent, []).append(message)
    return found


async def examine(kind: str, place: Path, notes: Path) -> Verdict:
    """Look at every session, repair it, and compare with what was acknowledged."""
    verdict = Verdict()
    noted = notes_of(notes)
    verdict.acknowledged = sum(len(ids) for ids in noted.values())
    if not place.exists():
        verdict.lost += [f"{place}: all of {ids}" for ids in noted.values()]
        return verdict
    if kind == "sqlite":
        _check_database(place, verdict)
    seen: set[str] = set()
    try:
        async with _opened(kind, place) as store:
            for header in await store.list():
                seen.add(header.id)
                await _examine(store, header.id, noted.get(header.id, ()), verdict)
    except BroodlineError as error:
        verdict.corrupt.append(f"{place}: {error}")
    verdict.lost += [f"{name}: {noted[name]}" for name in noted if name not in seen]
    return verdict


def _opened(kind: str, place: Path) -> SqliteStore | JsonlStore:
    return (SqliteStore if kind == "sqlite" else JsonlStore)(place, create=False)


def _check_database(place: Path, verdict: Verdict) -> None:
    connection = sqlite3.connect(place)
    try:
        answer = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    except sqlite3.Error as error:
        answer = [str(error)]
    finally:
        connection.close()
    if answer != ["ok"]:
        verdict.corrupt.append(f"{place}: {answer}")


async def _examine(store: Store, name: str, noted: Sequence[str], verdict: Verdict) -> None:
    try:
        seen = await store.inspect(name)
        once = await store.load(name)
        twice = await store.load(name)
    except BroodlineError as error:
        verdict.corrupt.append(f"{name}: {error}")
        return
    if not tuple(seen.events) == tuple(once.events) == tuple(twice.events):
        verdict.corrupt.append(f"{name}: a repair differs from the next one")
    verdict.corrupt += [f"{name}: {fault}" for fault in _faults(name, once)]
    _compare(name, once, noted, verdict)


def _faults(name: str, log: StoredLog) -> Iterable[str]:
    recorded = RecordedLog(name, log.header, tuple(log.events), projected=False)
    yield from check_log(recorded)
    if recorded.unfinished:
        yield "it ends inside a turn"
    marks = [type(event.data) is EndSeed for event in log.events]
    if any(one and two for one, two in pairwise(marks)):
        yield "two session/end-seed follow each other"


def _compare(name: str, log: StoredLog, noted: Sequence[str], verdict: Verdict) -> None:
    came, claimed, shown = Counter[str](), Counter[str](), Counter[str]()
    pending: dict[str, list[str]] = {"next-turn": [], "next-step": []}
    thrown: set[str] = set()
    for event in log.events:
        data = event.data
        if isinstance(data, UserMessageLogged):
            shown[data.message.id] += 1
        elif isinstance(data, InboxSpliced):
            items = pending[data.target]
            gone = items[data.start : data.start + data.removed_count]
            items[data.start : data.start + data.removed_count] = [m.id for m in data.inserted]
            came.update(message.id for message in data.inserted)
            (thrown.update if data.outcome else claimed.update)(gone)
    waiting = Counter([*pending["next-turn"], *pending["next-step"]])
    for message in noted:
        if not came[message] or message in thrown or not claimed[message] + waiting[message]:
            verdict.lost.append(f"{name}: {message}")
    for message, count in came.items():
        if count > 1 or claimed[message] + waiting[message] > 1 or shown[message] > 1:
            verdict.repeated.append(f"{name}: {message}")
