"""All recordings: every file is read, expanded and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from broodline.actors.recording import read_log
from broodline.actors.recording_check import check_log
from broodline.messages.errors import BroodlineError

RECORDINGS = Path(__file__).resolve().parents[3] / "shared" / "recordings"
"""Beside the checkout, for reading only; may be absent."""


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
    return tuple(sorted(folder.glob("*/*/session*.jsonl")))


def read_all(folder: Path) -> Reading:
    """Read, expand and check every file."""
    files = files_of(folder)
    events, refused = 0, dict[str, tuple[str, ...]]()
    for path in files:
        name = path.relative_to(folder).as_posix()
        try:
            log = read_log(path)
        except BroodlineError as error:
            refused[name] = (str(error),)
            continue
        events += len(log.events)
        faults = check_log(log)
        if faults:
            refused[name] = faults
    return Reading(len(files), events, refused)
