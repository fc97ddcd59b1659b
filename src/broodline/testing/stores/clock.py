"""A clock that a test moves by hand."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count


class ManualClock:
    """Time that stands still until `advance`; a `broodline.actors.clock.Clock`.

    Used on the loop that its sleepers wait on.

    Args:
        now: Seconds that `monotonic` starts from.
    """

    def __init__(self, now: float = 1000.0) -> None:
        self._now = now
        self._number = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def time_ms(self) -> int:
        """Milliseconds since the epoch: some day in 2023, and what has passed since."""
        return 1_700_000_000_000 + int(self._now * 1000)

    def monotonic(self) -> float:
        """Seconds."""
        return self._now

    @property
    def sleepers(self) -> int:
        """How many wait for their time."""
        return sum(not future.done() for _due, _number, future in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved on by `seconds`; one turn of the loop for 0."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._number), future))
        await future

    def advance(self, seconds: float) -> None:
        """Move on; who is due wakes in the order of its time, at the next turn of the loop."""
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            future = heapq.heappop(self._sleepers)[2]
            if not future.done():
                future.set_result(None)
