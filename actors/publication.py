"""How observers are told of events: one after the other, in the order of the log.

An observer that appends does not lose its event and does not interleave it: the
event is committed at once and told when the one before it has been told to all
(spec core 16, D4).
"""

from __future__ import annotations

import inspect
import logging
from asyncio import current_task
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from ..messages.event import Event
from .registration import Registration
from .stray import is_stray

Observer: TypeAlias = Callable[[Event], Any]
Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]

_LOGGER = logging.getLogger("broodline.session")


def without(observers: tuple[Observer, ...], observer: Observer) -> tuple[Observer, ...]:
    """All but the first that is `observer` itself; two that are equal are two."""
    for index, one in enumerate(observers):
        if one is observer:
            return observers[:index] + observers[index + 1 :]
    return observers


def _among(observer: Observer, observers: tuple[Observer, ...]) -> bool:
    return any(one is observer for one in observers)


class Publication:
    """The observers of one session and what is still to be told."""

    __slots__ = ("_deferred", "_observers", "_session_id", "_spawn", "_waiting", "running")

    def __init__(self, session_id: str, spawn: Spawn | None) -> None:
        self._session_id = session_id
        self._spawn = spawn
        self._observers: tuple[Observer, ...] = ()
        self._waiting: deque[Event] | None = None
        self._deferred: list[Callable[[], None]] | None = None
        self.running = False

    def add(self, observer: Observer) -> Registration:
        """Tell `observer` of every event from now on."""
        self._observers = (*self._observers, observer)
        return Registration(partial(self._remove, observer))

    def _remove(self, observer: Observer) -> None:
        self._observers = without(self._observers, observer)

    def defer(self, then: Callable[[], None]) -> None:
        """Run `then` when nothing is being told, at once if that is so now."""
        if not self.running:
            then()
        elif self._deferred is None:
            self._deferred = [then]
        else:
            self._deferred.append(then)

    def tell(self, event: Event) -> None:
        """Tell all observers of `event`, then of what was appended meanwhile."""
        if self.running:
            if self._waiting is None:
                self._waiting = deque()
            self._waiting.append(event)
            return
        self.running = True
        try:
            self._tell_all(event)
            while self._waiting:
                self._tell_all(self._waiting.popleft())
        finally:
            self.running = False
            self._waiting = None
            self._run_deferred()

    def _tell_all(self, event: Event) -> None:
        observers = self._observers
        for observer in observers:
            if observers is not self._observers and not _among(observer, self._observers):
                continue
            try:
                result = observer(event)
            except BaseException as error:
                if not is_stray(error, None):
                    raise
                self._report(observer, event, error)
                continue
            if result is not None and inspect.isawaitable(result):
                self._start(observer, event, result)

    def _run_deferred(self) -> None:
        deferred, self._deferred = self._deferred, None
        for then in deferred or ():
            try:
                then()
            except Exception:  # the others wait for it as well
                _LOGGER.exception(
                    "what waited for the observers of session %r failed", self._session_id
                )

    def _start(self, observer: Observer, event: Event, result: Awaitable[Any]) -> None:
        coroutine = self._contain(observer, event, result)
        try:
            if self._spawn is None:
                raise RuntimeError("an async observer needs a runtime to run it")
            self._spawn(coroutine)
        except Exception as error:
            coroutine.close()
            if inspect.iscoroutine(result):
                result.close()
            self._report(observer, event, error)

    async def _contain(self, observer: Observer, event: Event, result: Awaitable[Any]) -> None:
        try:
            await result
        except BaseException as error:
            if not is_stray(error, current_task()):
                raise
            self._report(observer, event, error)

    def _report(self, observer: Observer, event: Event, error: BaseException) -> None:
        name = getattr(observer, "__qualname__", None) or type(observer).__qualname__
        _LOGGER.error(
            "observer %s failed at event %d (%s) of session %r; the event stands",
            name,
            event.seq,
            event.type,
            self._session_id,
            exc_info=error,
        )
