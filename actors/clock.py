"""Where a runtime gets its time from."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Time as one runtime sees it; a simulation hands in its own."""

    def time_ms(self) -> int:
        """Milliseconds since the epoch, for what is written down."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for durations and deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait on the runtime's loop without blocking it."""
        ...


class SystemClock:
    """The machine's own time."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = 0

    # The builtin itself: the stall watch reads it around every callback.
    monotonic = staticmethod(time.monotonic)

    def time_ms(self) -> int:
        """Milliseconds since the epoch."""
        now = time.time_ns() // 1_000_000
        if now != self._last:
            self._last = now
        return self._last  # events of one millisecond share one integer

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds` on the running loop."""
        await asyncio.sleep(seconds)
