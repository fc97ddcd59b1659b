"""Names what holds up the loop.

There is no watching thread: the time is read before and after everything the
runtime runs on its loop, on the runtime's own clock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, TypeVar

logger = logging.getLogger("broodline.actors")

T = TypeVar("T")


class StallWatch:
    """Logs whoever keeps the loop for longer than `threshold` seconds at a stretch.

    Attributes:
        now: The runtime's monotonic clock, in seconds.
        threshold: Seconds; a longer stretch is a stall.
        stalls: How many were seen.
    """

    __slots__ = ("_told", "now", "stalls", "threshold")

    def __init__(self, now: Callable[[], float], threshold: float) -> None:
        self.now = now
        self.threshold = threshold
        self.stalls = 0
        self._told = float("-inf")

    def report(self, seconds: float, culprit: object) -> None:
        """Count and log one stall; `culprit` is named by its text.

        Once: what a tool's body did is not said again of the agent around it.
        """
        now = self.now()
        if self._told > now - seconds:
            return
        self._told = now
        self.stalls += 1
        logger.warning(
            "The loop stood still for %.3f s because of %s; "
            "move blocking work to the executor or await in between.",
            seconds,
            culprit,
        )


class WatchedCoroutine(Coroutine[Any, Any, T]):
    """A coroutine whose every step is timed, and which cannot end the loop.

    Args:
        inner: What is run.
        watch: Who is told of a long step.
        culprit: Named in the log; its text is only made when needed.
    """

    __slots__ = ("_culprit", "_inner", "_watch")

    def __init__(self, inner: Coroutine[Any, Any, T], watch: StallWatch, culprit: object) -> None:
        self._inner = inner
        self._watch = watch
        self._culprit = culprit

    def send(self, value: Any, /) -> Any:
        """Run one step."""
        watch = self._watch
        start = watch.now()
        try:
            return self._inner.send(value)
        except (KeyboardInterrupt, SystemExit) as error:
            raise self._contained(error) from error
        finally:
            elapsed = watch.now() - start
            if elapsed > watch.threshold:
                watch.report(elapsed, self._culprit)

    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
        /,
    ) -> Any:
        """Run one step that begins with an exception."""
        error = typ if isinstance(typ, BaseException) else typ()
        watch = self._watch
        start = watch.now()
        try:
            return self._inner.throw(error)
        except (KeyboardInterrupt, SystemExit) as exit_error:
            raise self._contained(exit_error) from exit_error
        finally:
            elapsed = watch.now() - start
            if elapsed > watch.threshold:
                watch.report(elapsed, self._culprit)

    def _contained(self, error: BaseException) -> RuntimeError:
        # A task lets these two out of the loop, and one agent would end them all.
        return RuntimeError(f"{self._culprit} raised {error!r}")

    def close(self) -> None:
        """Close the inner coroutine."""
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._inner.__await__()

    def __getattr__(self, name: str) -> Any:
        # asyncio's debugging aids look for a coroutine's name, code, frame and await.
        return getattr(self._inner, name)
