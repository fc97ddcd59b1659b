"""A loop of the runtime's own, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .system import ActorSystem

logger = logging.getLogger("broodline.actors")


class LoopThread:
    """Opens a runtime in a new thread, keeps its loop running, and closes it again."""

    def __init__(self, system: ActorSystem) -> None:
        self._system = system
        self._opened = threading.Event()
        self._leave: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._error: BaseException | None = None
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._run,), name="broodline-loop", daemon=True
        )

    def start(self) -> None:
        """Return once the runtime is open.

        Raises:
            BaseException: Why it could not be opened.
        """
        self._thread.start()
        self._opened.wait()
        if self._error is not None:
            self._thread.join()
            raise self._error

    def stop(self) -> None:
        """Close the runtime, wait for its thread and pass on what closing raised."""
        loop, leave = self._loop, self._leave
        if loop is None or leave is None:
            return
        try:
            loop.call_soon_threadsafe(leave.set)
        except RuntimeError:
            logger.debug("The loop of the runtime was closed already.")
        # Closing bounds itself; only a handler that blocks the thread outlasts this.
        self._thread.join(timeout=3 * self._system.shutdown_timeout + 5)
        if self._thread.is_alive():
            self._system.unstopped += (self._thread.name,)
            logger.error("The runtime's loop is blocked and was left behind: %s", self._thread.name)
        elif self._error is not None:
            raise self._error

    def _run(self) -> None:
        loop = self._loop = asyncio.new_event_loop()
        try:
            main = loop.create_task(self._serve(), name="broodline-main")
            while not main.done():
                try:
                    loop.run_until_complete(main)
                except (KeyboardInterrupt, SystemExit) as error:
                    # Raised by a task; the thread that entered decides when to leave.
                    logger.warning("%r was raised on the runtime's loop and has no effect", error)
                except BaseException as error:
                    self._error = error
        finally:
            _abandon_tasks(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            self._opened.set()

    async def _serve(self) -> None:
        self._leave = asyncio.Event()
        await self._system.open_here()
        self._opened.set()
        await self._leave.wait()
        await self._system.close_here()


def _abandon_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Give tasks that nobody ended two last rounds, then let go of them."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    for _ in range(2):
        loop.run_until_complete(asyncio.sleep(0))
    for task in tasks:
        if not task.done():
            # Reported by the shutdown; asyncio need not say so again.
            task._log_destroy_pending = False  # type: ignore[attr-defined]
