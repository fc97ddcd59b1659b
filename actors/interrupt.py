"""Waking a turn out of the few waits that may be cut short.

Tool bodies and hooks are always waited for; a wait for the model or for a
back-off is not worth finishing once the turn is cancelled. Both run in the
turn's own task, so no task is made per request or chunk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from .stray import is_stray

T = TypeVar("T")


class Interrupted(Exception):
    """The wait was cut short by `Interrupt.fire`."""


class Interrupt:
    """Cancels its task while, and only while, that sits in `wait`.

    Loop only. `fire` may be called at any time and any number of times.

    Attributes:
        task: As given.
    """

    __slots__ = ("_armed", "_fired", "task")

    def __init__(self, task: asyncio.Task[object]) -> None:
        self.task = task
        self._armed = False
        self._fired = False

    def fire(self, _cause: object = None) -> None:
        """Cut the current wait short; outside of one this does nothing."""
        if self._armed and not self._fired:
            self._fired = True
            self.task.cancel()

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """Await something that `fire` may cut short.

        Raises:
            Interrupted: If it was.
            asyncio.CancelledError: If somebody else cancelled the task, or what was
                awaited let a cancellation of its own escape; `is_stray` tells.
        """
        self._armed = True
        try:
            value = await awaitable
        except asyncio.CancelledError:
            if not self._fired:
                raise
            await self._absorb()
            raise Interrupted from None
        except BaseException as error:
            if self._fired and is_stray(error, self.task):
                await self._absorb()
            raise
        finally:
            self._armed = False
        if self._fired:
            await self._absorb()
        return value

    async def _absorb(self) -> None:
        # A cancellation asked for by the task itself while it ran is still to
        # be delivered: it must not strike a later, uninterruptible wait. Nor may
        # one by somebody else get lost that came together with ours.
        self._armed = self._fired = False
        left = self.task.uncancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            left = self.task.cancelling()
        if left:
            raise asyncio.CancelledError
