"""One scenario: its driver played on its recording, and what differs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from broodline.actors.recording import read_recording
from broodline.messages.errors import BroodlineError

from .comparison import lines_of
from .difference import differences, plugins_of
from .driver import Driver
from .stage import Stage

PATIENCE = 60.0
"""Seconds until a play that hangs is given up."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of one scenario.

    Attributes:
        sessions: How many there were.
        events: How many events were compared.
        meant: How many differences the driver tells, with their reasons.
        differences: What is not as recorded, in words; empty if it replayed.
    """

    sessions: int
    events: int
    meant: tuple[str, ...]
    differences: tuple[str, ...]


async def replay(driver: Driver, recordings: Path) -> Replay:
    """Play a driver on its recording and compare every session.

    Whatever breaks the play is a difference too.
    """
    meant = tuple(f"{one.event}: {one.field}: {one.why}" for one in driver.differs)
    try:
        recording = read_recording(recordings / driver.recording)
        stage = Stage(driver, recording)
        plays = plugins_of(driver, stage.quotation)
    except (BroodlineError, LookupError) as error:
        return Replay(0, 0, meant, (f"it cannot be played: {error}",))
    broke: tuple[str, ...] = ()
    try:
        async with asyncio.timeout(PATIENCE):
            await stage.play()
    except Exception as error:
        broke = (f"the play broke: {type(error).__name__}: {error}",)
    found = differences(driver.differs, plays, recording.logs, stage.sessions)
    events = sum(len(lines_of(log.events, plays)) for log in recording.logs)
    return Replay(len(recording.logs), events, meant, (*broke, *found))
