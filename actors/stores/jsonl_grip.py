"""What a holder knows of a log that it writes, and the steps that change the log.

All of it happens under the lock of the log's folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

from ...messages.errors import SessionError
from .jsonl_fault import altered
from .jsonl_file import LOG, append, truncate
from .jsonl_shelf import Volume
from .jsonl_tenure import Tenure, write_tenure

Trace: TypeAlias = Callable[[str], None]


class Grip:
    """A log whose lease this holder has.

    Args:
        folder: In which it lies.
        size: Bytes of it that are confirmed.
        next_seq: Events that are.
        projected: Of which form it is.

    Attributes:
        fence: Of the lease under which that was learnt; under another it is worth nothing.
        unsure: Whether something may stand behind `size` that does not belong there.
    """

    __slots__ = ("fence", "folder", "next_seq", "projected", "size", "unsure")

    def __init__(self, folder: str, size: int, next_seq: int, *, projected: bool) -> None:
        self.fence = 0
        self.folder = folder
        self.size = size
        self.next_seq = next_seq
        self.projected = projected
        self.unsure = False

    @property
    def log(self) -> str:
        """The path of the file."""
        return os.path.join(self.folder, LOG)

    def check(self, place: str, session_id: str, trace: Trace) -> None:
        """Make sure that the file is as it was left; cut off what a failed write left.

        Raises:
            SessionError: ``SEQ_MISMATCH`` if somebody else has changed it.
            OSError: If it is not there.
        """
        size = os.stat(self.log).st_size
        if self.unsure and size >= self.size:
            self.cut(trace)
        elif size != self.size:
            text = f"{self.log} has {size} bytes where this holder left {self.size}"
            raise altered(place, session_id, text)

    def cut(self, trace: Trace) -> None:
        """Cut off what stands behind the confirmed part.

        Raises:
            SessionError: ``STORE_UNAVAILABLE``.
        """
        self.unsure = True
        trace("before truncate")
        truncate(self.log, self.size)
        trace("after truncate")
        self.unsure = False

    def append(self, data: bytes, count: int, tenure: Tenure | None, trace: Trace) -> None:
        """Append events, then replace the lease; both or none.

        Args:
            data: Their lines; may be empty.
            count: How many they are.
            tenure: What the lease becomes; None leaves it.
            trace: Told of each step.

        Raises:
            SessionError: ``STORE_UNAVAILABLE``.
            OSError: If the lease cannot be written.
        """
        if data:
            trace("before append")
            try:
                append(self.log, self.size, data)
            except SessionError as error:
                self.unsure = "rollback" in error.details
                raise
            trace("after append")
        if tenure is not None:
            try:
                put_tenure(self.folder, tenure, trace)
            except OSError:
                if data:
                    self.cut(trace)
                raise
        self.size += len(data)
        self.next_seq += count


def grip_of(volume: Volume) -> Grip:
    """A grip on a log that was read; unsure if it has a bad end."""
    found = volume.scan
    grip = Grip(volume.folder, found.good, len(found.events), projected=found.projected)
    grip.unsure = found.good != volume.size
    return grip


def put_tenure(folder: str, tenure: Tenure, trace: Trace) -> None:
    """Replace the lease of the session in a folder.

    Raises:
        OSError: If that is refused.
    """
    trace("before lease")
    write_tenure(folder, tenure)
    trace("after lease")
