"""What a store runs on that is used without a runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from ..clock import Clock, SystemClock
from ..executor import Executor, ThreadExecutor


class OwnHost:
    """The machine's clock, threads of its own, tasks on the running loop. Loop only.

    Close the store first.
    """

    def __init__(self) -> None:
        self.clock: Clock = SystemClock()
        self.executor: Executor = ThreadExecutor(2, "broodline-store")
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str = "task") -> asyncio.Task[Any]:
        """Run a task on the running loop."""
        task = asyncio.get_running_loop().create_task(coro, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """End its threads, and those of its lanes."""
        await self.executor.close(5.0)
