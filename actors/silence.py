"""Models that say nothing: one timer watches all requests that wait.

A timer of its own would be the dearest part of a short request, and is hardly
ever needed. So a few times within the time-out one timer looks at every request
that waits; a request takes note of its chunks with a single assignment.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import TYPE_CHECKING

from .interrupt import Interrupt

if TYPE_CHECKING:
    from .stream import Attempt
    from .system import ActorSystem

_LOOKS = 8


class SilenceWatch:
    """Cuts short what has been silent for `timeout` seconds, or up to an eighth more.

    Args:
        system: Whose loop it runs on.
        timeout: Seconds a model may be silent; None lets it be.
    """

    __slots__ = ("_system", "_timer", "_waiting", "timeout")

    def __init__(self, system: ActorSystem, timeout: float | None) -> None:
        self._system = system
        self.timeout = timeout
        self._waiting: dict[Attempt, Interrupt] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, attempt: Attempt, interrupt: Interrupt) -> None:
        """Have `interrupt` fired when `attempt` gets no chunk in time."""
        if self.timeout is None:
            return
        self._waiting[attempt] = interrupt
        if self._timer is None:
            self._arm(self.timeout)

    def forget(self, attempt: Attempt) -> None:
        """The request is over."""
        self._waiting.pop(attempt, None)

    def close(self) -> None:
        """Drop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, timeout: float) -> None:
        # In a context of its own: that of the turn which happens to come first would
        # keep its agent until the next look.
        self._timer = self._system.loop.call_later(
            timeout / _LOOKS, self._look, timeout, context=Context()
        )

    def _look(self, timeout: float) -> None:
        self._timer = None
        for attempt, interrupt in tuple(self._waiting.items()):
            attempt.silent += 1
            if attempt.silent > _LOOKS:
                interrupt.fire()
        if self._waiting:
            self._arm(timeout)
