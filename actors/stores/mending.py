"""A log that was read, closed in memory."""

from __future__ import annotations

from ..repair import closers
from ..store import StoredLog


def mended(log: StoredLog) -> StoredLog:
    """The log with what it lacks to be balanced; a recording is left as it is."""
    missing = () if log.projected else closers(log.events)
    if not missing:
        return log
    events = (*log.events, *missing)
    return StoredLog(log.header, events, log.revision, log.stored, log.projected, log.cut)
