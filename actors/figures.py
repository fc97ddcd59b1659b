"""What a runtime counts about itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statistics:
    """A picture of one moment.

    Attributes:
        actors: Live actors that are no agents.
        agents: Live agents.
        tasks: Tasks of actors, operations and spawned work.
        dead_letters: Told messages that were never handled because their actor stopped.
        stalls: Times the loop stood still for longer than the threshold.
        executor_queued: Plain functions waiting for a thread.
        unstopped: What would not stop when the runtime was left.
    """

    actors: int
    agents: int
    tasks: int
    dead_letters: int
    stalls: int
    executor_queued: int
    unstopped: tuple[str, ...]
