"""A store's place, looked at and nothing more: no lease, no repair, not a byte written.

So it works beside a process that uses the store, on a copy that nobody may write, and
on a store whose process was killed, which it leaves as it lies there.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from ..actors.recording import RecordedLog
from ..actors.store import Snapshot
from ..actors.stores.backend import Image
from ..actors.stores.holder import Holder, this_process
from ..messages.errors import BroodlineError
from .place import StorePlace


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a store that should be a session.

    Attributes:
        name: The session's id, or what lies in its place.
        fault: Why it can be none, where that shows without reading it.
    """

    name: str
    fault: BroodlineError | None = None


class Archive(Protocol):
    """A store that is only looked at; blocks, one thread at a time."""

    def entries(self) -> list[Entry]:
        """All there is, also what cannot be read, in the order of creation where that is known."""
        ...

    def snapshots(self, parent: str | None = None) -> list[Snapshot]:
        """As `Store.list_snapshots`; what cannot be read is left out."""
        ...

    def read(self, session_id: str) -> Image:
        """A session as it lies there, without a repair.

        Raises:
            SessionError: ``SESSION_NOT_FOUND``, ``STORE_UNAVAILABLE``.
            SessionFormatUnsupportedError: If it is intact but not understood.
            SessionCorruptError: If it is damaged.
        """
        ...

    def faults(self) -> Iterator[str]:
        """What is wrong with the place itself, whatever its sessions are like."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


@contextmanager
def opened(place: StorePlace) -> Generator[Archive]:
    """Open a store for looking at.

    Raises:
        ConfigurationError: If there is none.
        SessionFormatUnsupportedError: If another version wrote it.
        SessionCorruptError: If it is damaged as a whole.
        SessionError: ``STORE_UNAVAILABLE``.
    """
    archive: Archive
    if place.kind == "sqlite":
        from .sqlite_archive import SqliteArchive

        archive = SqliteArchive(place.path)
    else:
        from .jsonl_archive import JsonlArchive

        archive = JsonlArchive(place.path)
    # What is left out of a list is told by whoever asked for the list.
    logger = logging.getLogger("broodline.store")
    before, logger.disabled = logger.disabled, True
    try:
        yield archive
    finally:
        logger.disabled = before
        archive.close()


def log_of(place: StorePlace, image: Image) -> RecordedLog:
    """What was read of a session, as the log it is."""
    stored = image.log
    name = f"{stored.header.id!r} in {place}"
    events = tuple(stored.events[: stored.stored])
    return RecordedLog(name, stored.header, events, stored.projected)


def onlooker() -> Holder:
    """Who asks whether others are alive; holds nothing."""
    return this_process("broodline sessions", 30.0, now())


def now() -> float:
    """Seconds of the clock that leases are told by."""
    return time.monotonic()


def is_live(image: Image) -> bool:
    """Whether somebody holds the lease of a session."""
    return image.standing in ("mine", "alive")
