"""All recordings: every file is read, expanded and checked."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from broodline.actors.recording import RecordedLog, read_log
from broodline.actors.recording_check import check_log
from broodline.messages.errors import BroodlineError

RECORDINGS = Path(__file__).resolve().parents[3] / "shared" / "recordings"
"""Beside the checkout, for reading only; may be absent."""

PATTERN = "*/*/session*.jsonl"
"""Where they are below that folder: group, scenario, sessions."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading all files.

    Attributes:
        read: How many were read, sound or not.
        events: How many events they hold.
        refused: What is wrong, by file; each is one that could not be read or is unsound.
    """

    read: int
    events: int
    refused: dict[str, tuple[str, ...]]


def files_of(folder: Path) -> tuple[Path, ...]:
    """All session files below a folder; none if it is not there."""
    return tuple(sorted(folder.glob(PATTERN)))


def read_all(folder: Path) -> Reading:
    """Read, expand and check every file, a fork against the log of its parent beside it."""
    files = files_of(folder)
    events, refused = 0, dict[str, tuple[str, ...]]()
    for _, together in groupby(files, key=lambda path: path.parent):
        logs: dict[str, RecordedLog] = {}
        for path in together:
            name = path.relative_to(folder).as_posix()
            try:
                logs[name] = read_log(path)
            except BroodlineError as error:
                refused[name] = (str(error),)
        events += sum(len(log.events) for log in logs.values())
        parents = {log.header.id: log for log in logs.values()}
        for name, log in logs.items():
            faults = check_log(log, parent=parents.get(log.header.parent_session or ""))
            if faults:
                refused[name] = faults
    return Reading(len(files), events, refused)
