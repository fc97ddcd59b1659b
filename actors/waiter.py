"""One wait for a reply: a task's, a thread's."""

from __future__ import annotations

import asyncio
import logging
import threading

logger = logging.getLogger("broodline.actors")


class Waiter:
    """Wakes a waiting task on the task's own loop; a callback of the reply.

    Args:
        loop: The running loop, in the thread that makes the waiter.

    Attributes:
        future: What the task waits for.
    """

    __slots__ = ("_thread", "future")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[None] = loop.create_future()
        self._thread = threading.get_ident()

    def __call__(self, _reply: object) -> None:
        """Wake the task; any thread."""
        if threading.get_ident() == self._thread:
            self._wake()
            return
        try:
            self.future.get_loop().call_soon_threadsafe(self._wake)
        except RuntimeError:
            logger.debug("The loop of a waiter was closed before its reply was settled.")

    def _wake(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class Gate:
    """Holds up a thread until the reply is settled; a callback of the reply."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def __call__(self, _reply: object) -> None:
        """Let the thread go on; any thread."""
        self._lock.release()

    def wait(self, timeout: float | None) -> bool:
        """Block for at most `timeout` seconds; returns whether the reply is settled."""
        limit = -1 if timeout is None else min(max(timeout, 0.0), threading.TIMEOUT_MAX)
        return self._lock.acquire(timeout=limit)
