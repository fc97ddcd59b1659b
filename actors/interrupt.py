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
        armed: The task sits in a wait that may be cut short. A loop that waits often
            sets it itself instead of paying for a call of `wait` each time.
        fired: The current wait is being cut short; `absorb` it.
    """

    __slots__ = ("armed", "fired", "task")

    def __init__(self, task: asyncio.Task[object]) -> None:
        self.task = task
        self.armed = False
        self.fired = False

    def fire(self, _cause: object = None) -> None:
        """Cut the current wait short; outside of one this does nothing."""
        if self.armed and not self.fired:
            self.fired = True
            self.task.cancel()

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """Await something that `fire` may cut short.

        Raises:
            Interrupted: If it was.
            asyncio.CancelledError: If somebody else cancelled the task, or what was
                awaited let a cancellation of its own escape; `is_stray` tells.
        """
        self.armed = True
        try:
            value = await awaitable
        except BaseException as error:
            raise await self.broken(error) from None
        self.armed = False
        if self.fired:
            await self.absorb()
        return value

    async def broken(self, error: BaseException) -> BaseException:
        """What to raise for an error that came out of the wait; the wait is over."""
        self.armed = False
        if self.fired:
            if isinstance(error, asyncio.CancelledError):
                await self.absorb()
                return Interrupted()
            if is_stray(error, self.task):
                await self.absorb()
        return error

    async def absorb(self) -> None:
        """Take back a cancellation by `fire` that was not needed, or has been met.

        One asked for by the task itself while it ran is still to be delivered: it
        must not strike a later, uninterruptible wait. Nor may one by somebody else
        get lost that came together with ours.
        """
        self.armed = self.fired = False
        left = self.task.uncancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            left = self.task.cancelling()
        if left:
            raise asyncio.CancelledError
