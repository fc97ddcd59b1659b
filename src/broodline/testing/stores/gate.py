"""An executor that holds work back until it is let through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class GatedExecutor:
    """Runs functions in place while it is open, and lets them wait while it is closed.

    A `broodline.actors.executor.Executor` for races: close it, start what shall overlap,
    open it again. It is open at first.
    """

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._waiting = 0

    @property
    def queued(self) -> int:
        """Functions that wait."""
        return self._waiting

    def shut(self) -> None:
        """Let what comes from now on wait."""
        self._open.clear()

    def open(self) -> None:
        """Let everything through, in the order in which it came."""
        self._open.set()

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        """Run ``fn(*args)`` on the loop, once the gate is open."""
        self._waiting += 1
        try:
            await self._open.wait()
        finally:
            self._waiting -= 1
        return fn(*args)

    async def close(self, timeout: float) -> tuple[str, ...]:
        """Nothing to close."""
        return ()
