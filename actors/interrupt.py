"""Waking a turn out of the few waits that may be cut short.

Tool bodies and hooks are always waited for; a wait for the model or for a
back-off is not worth finishing once the turn is cancelled. Both run in the
turn's own task, so no task is made per request or chunk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Interrupted(Exception):
    """The wait was cut short by `Interrupt.fire`."""


class LeakedCancellation(Exception):
    """What was awaited raised a cancellation that nobody had asked this task for."""


class Interrupt:
    """Cancels its task while, and only while, that sits in `wait`.

    Loop only. `fire` may be called at any time and any number of times.
    """

    __slots__ = ("_armed", "_fired", "_task")

    def __init__(self, task: asyncio.Task[object]) -> None:
        self._task = task
        self._armed = False
        self._fired = False

    def fire(self, _cause: object = None) -> None:
        """Cut the current wait short; outside of one this does nothing."""
        if self._armed and not self._fired:
            self._fired = True
            self._task.cancel()

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """Await something that `fire` may cut short.

        Raises:
            Interrupted: If it was.
        LeakedCancellation: If the awaitable cancelled itself.
            asyncio.CancelledError: If somebody else cancelled the task.
        """
        self._armed = True
        try:
            value = await awaitable
        except asyncio.CancelledError as error:
            if self._fired:
                await self._absorb()
                raise Interrupted from None
            if not self._task.cancelling():
                # Nobody cancelled this task: what was awaited leaked one of its own.
                raise LeakedCancellation from error
            raise
        except Exception:
            if self._fired:
                await self._absorb()
            raise
        finally:
            self._armed = False
        if self._fired:
            await self._absorb()
        return value

    async def _absorb(self) -> None:
        # A cancellation asked for by the task itself while it ran is still to
        # be delivered: it must not strike a later, uninterruptible wait.
        self._armed = self._fired = False
        self._task.uncancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if self._task.cancelling():
                raise
