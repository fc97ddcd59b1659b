"""What a store runs on while it is tested."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from ...actors.clock import Clock
from ...actors.executor import Executor, ThreadExecutor
from .clock import ManualClock


class ManualHost:
    """A `broodline.actors.store.StoreHost` beside a runtime, for tests of stores.

    Args:
        clock: None is a `ManualClock` of its own.
        executor: None is a `ThreadExecutor` of its own.
    """

    def __init__(self, clock: Clock | None = None, executor: Executor | None = None) -> None:
        self.clock: Clock = ManualClock() if clock is None else clock
        self.executor: Executor = ThreadExecutor(name="store") if executor is None else executor
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, coro: Coroutine[Any, Any, Any], name: str = "task") -> asyncio.Task[Any]:
        """Run a task until it ends, at the latest until `close`."""
        task = asyncio.get_running_loop().create_task(coro, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """End every task and thread. Close the store first.

        Raises:
            AssertionError: If a task has failed, or a thread does not end.
        """
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise AssertionError(f"a task of the store has failed: {outcome!r}") from outcome
        left = await self.executor.close(10.0)
        if left:
            raise AssertionError(f"threads of the store still run: {', '.join(left)}")
