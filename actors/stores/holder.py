"""Who holds leases in a store on disk, and whether it is still alive.

A holder is one open store of one process. It says until when it is alive and moves
that time forward while it is. Times are those of a clock that all processes of a
machine share and nobody sets (`time.monotonic`), so a wall clock that jumps changes
nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

Standing: TypeAlias = Literal["free", "mine", "alive", "dead"]
"""Whose a lease is: nobody's, the asker's, a living holder's, a dead one's."""


@dataclass(frozen=True, slots=True)
class Holder:
    """One open store of one process.

    Attributes:
        id: Names it; no two are the same.
        pid: Of its process.
        process: Tells its process from a later one of the same number: start time and
            process namespace; empty where the system does not tell.
        boot: Names the run of the machine; empty where the system does not tell.
        timeout: Seconds that a sign of life counts for.
        until: It is alive until then, in seconds of the machine's monotonic clock.
    """

    id: str
    pid: int
    process: str
    boot: str
    timeout: float
    until: float

    def renewed(self, now: float) -> Holder:
        """The same with a new sign of life."""
        return replace(self, until=now + self.timeout)


def this_process(holder_id: str, timeout: float, now: float) -> Holder:
    """A holder for this process."""
    pid = os.getpid()
    return Holder(holder_id, pid, _process(pid) or "", _boot(), timeout, now + timeout)


def standing(holder: Holder | None, mine: Holder, now: float) -> Standing:
    """Whose a lease is.

    A holder is dead once its time is over, at once if the machine was started anew or
    its process is known to be gone. A time further ahead than its time-out comes from
    another clock and says nothing: then only a process that is seen counts.

    Args:
        holder: What stands in the store; None if nobody holds the lease.
        mine: Who asks.
        now: Seconds of the machine's monotonic clock.
    """
    if holder is None:
        return "free"
    if holder.id == mine.id:
        return "mine"
    if holder.boot != mine.boot:
        return "dead"
    seen = _seen(holder, mine)
    if seen is False:
        return "dead"
    if holder.until > now + holder.timeout:
        return "alive" if seen else "dead"
    return "alive" if holder.until > now else "dead"


def _seen(holder: Holder, mine: Holder) -> bool | None:
    """Whether the holder's process is there; None if that cannot be told."""
    if not holder.process or _namespace(holder.process) != _namespace(mine.process):
        return None
    return _process(holder.pid) == holder.process


def _namespace(process: str) -> str:
    return process.partition(" ")[0]


def _process(pid: int) -> str | None:
    """Namespace and start time of a process; None if there is none, or it is no more than a name.

    Linux only; elsewhere only time tells.
    """
    try:
        namespace = os.readlink("/proc/self/ns/pid")
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else f"{namespace} {fields[19]}"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
