"""The answer to an ask or an operation: awaited on any loop, taken from any thread."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, TypeVar, cast

import pykka

from ..messages.errors import ConfigurationError, DeadlockError, ReplyTimeoutError
from .advice import not_awaited, result_method
from .context import current_system
from .deadlock import Worker, begin_wait, current_thread_work
from .settlement import Settlement
from .waiter import Gate, Waiter

if TYPE_CHECKING:
    from .system import ActorSystem

logger = logging.getLogger("broodline.actors")

T = TypeVar("T")
J = TypeVar("J")
M = TypeVar("M")
R = TypeVar("R")


class Reply(Settlement[T]):
    """A value that is there now or later; pykka's future on an event loop.

    ``await reply`` works on any asyncio loop in any thread, by any number of
    waiters; cancelling one wait touches neither the others nor the reply.
    ``reply.get()`` and ``reply.result()`` block a thread, never the runtime's own
    loop. Both may be used as often as wanted. Any thread may settle it, once.

    Args:
        system: The runtime that will settle it; None means the one whose code waits.
        owner: Who must work for it to be settled; used to find waits without end.
            Or what it answers, in words.
    """

    __slots__ = ()

    @staticmethod
    def of(value: M, system: ActorSystem | None = None, name: str | None = None) -> Reply[M]:
        """A reply that is settled with `value` already."""
        reply: Reply[M] = Reply.__new__(Reply)  # pyright: ignore[reportUnknownVariableType]
        reply._system = system
        reply._owner = name
        reply._value = value
        reply._error = None
        reply._done = True
        return reply

    @staticmethod
    def failed(
        error: BaseException, system: ActorSystem | None = None, name: str | None = None
    ) -> Reply[Any]:
        """A reply that is settled with `error` already."""
        reply: Reply[Any] = Reply.__new__(Reply)  # pyright: ignore[reportUnknownVariableType]
        reply._system = system
        reply._owner = name
        reply._value = error.__traceback__
        reply._error = error
        reply._done = True
        reply._miss(error)
        return reply

    def __repr__(self) -> str:
        if not self._done:
            return "<Reply pending>"
        return "<Reply done>" if self._error is None else f"<Reply failed: {self._error!r}>"

    def __copy__(self) -> Self:
        return self  # there is one answer

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        if not self._done:
            raise TypeError(
                "a pending Reply cannot be pickled or copied deeply; await it and use its value"
            )
        return super().__reduce_ex__(protocol)

    if not TYPE_CHECKING:  # a checker finds a forgotten await by itself

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            raise AttributeError(not_awaited(self.label(), name))

    # Taking.

    def get(self, *, timeout: float | None = None) -> T:
        """Block this thread until it is settled and take the value.

        Args:
            timeout: Seconds to wait; None means for ever.

        Raises:
            DeadlockError: Called on the runtime's own loop before it is settled.
            ReplyTimeoutError: `timeout` has passed; a `TimeoutError` and a `pykka.Timeout`.
            BaseException: What it was settled with, if that is an exception.
        """
        return self._take(timeout, "get")

    @result_method
    def result(self, timeout: float | None = None) -> T:
        """Block this thread until it is settled and take the value; see `get`."""
        return self._take(timeout, "result")

    def _take(self, timeout: float | None, verb: str) -> T:
        if not self._done:
            if self._hook is not None:
                return self._run_hook(self._hook, timeout)
            self._block(timeout, verb)
        return self._outcome()

    def __await__(self) -> Generator[Any, None, T]:
        if not self._done:
            yield from self._wait()
        return self._outcome()

    __iter__ = __await__

    def _outcome(self) -> T:
        error = self._error
        if error is None:
            return cast("T", self._value)
        self._look()
        try:
            raise error.with_traceback(self._value)
        finally:
            # The frame is part of the traceback: without this they hold each other.
            del error

    def _wait(self) -> Generator[Any, None, None]:
        if self._hook is not None:
            yield from self._wait_for_hook().__await__()
            return
        system = current_system.get()
        worker = None if system is None else system.current_worker()
        if worker is not None:
            self._begin_wait(worker)
        waiter = Waiter(asyncio.get_running_loop())
        try:
            self.add_done_callback(waiter)
            yield from waiter.future
        finally:
            if worker is not None:
                worker.waits = None
            if not self._done:
                self._look()
                self._forget(waiter)

    def _begin_wait(self, worker: Worker) -> None:
        try:
            begin_wait(worker, self)
        except DeadlockError as error:
            # What nobody can wait for must not be done either: it would ask on and on.
            self._look()
            self.withdraw(error)
            raise

    def withdraw(self, error: BaseException, followers: int = 0) -> None:
        """Settle an ask that its only asker gave up, so that it is not handled any more.

        Args:
            error: What it is settled with.
            followers: Callbacks that are the asker's own; with more, somebody else waits.
        """
        owner = self._owner
        if len(self._callbacks) > followers or isinstance(owner, tuple):
            return
        if isinstance(owner, Reply):
            owner.withdraw(error, 1)
        else:
            self.fail(error)

    async def _wait_for_hook(self) -> None:
        system = self._system or current_system.get()
        if system is None:
            raise ConfigurationError(
                "A future with a get hook can be awaited only inside a runtime; use get() here."
            )
        await system.executor.run(self.get)

    def _block(self, timeout: float | None, verb: str) -> None:
        system = self._system or current_system.get()
        if system is not None and system.on_loop():
            raise DeadlockError(
                f".{verb}() would block the loop that must settle this reply; await it instead."
            )
        work = current_thread_work.get()
        if work is not None:
            self._begin_wait(work)
        gate = Gate()
        self.add_done_callback(gate)
        try:
            opened = gate.wait(timeout)
        finally:
            if work is not None:
                work.waits = None
            if not self._done:
                self._look()
                self._forget(gate)
        if not opened and not self._done:
            raise ReplyTimeoutError(
                f".{verb}() waited {timeout:g} s for {self.label() or 'an answer'}, which is not "
                "done; it goes on, so take the reply again, or with a longer timeout"
            )

    def _run_hook(self, hook: Callable[[float | None], T], timeout: float | None) -> T:
        value = hook(timeout)
        if not self._done:
            self._publish(value, None)
        return value

    # Deriving.

    def map(self, func: Callable[[T], M]) -> Reply[M]:
        """A reply with ``func(value)``; `func` runs in the thread that settles this one."""
        return self._derive(func)

    def filter(self: Reply[Iterable[J]], func: Callable[[J], bool]) -> Reply[Iterable[J]]:
        """A reply with the list of the value's items for which `func` is true."""
        return self._derive(partial(_filtered, func))

    def reduce(self: Reply[Iterable[J]], func: Callable[[R, J], R], *args: R) -> Reply[R]:
        """A reply with the value's items folded by `func`, as `functools.reduce` does."""
        return self._derive(partial(_reduced, func, args))

    def join(self: Reply[Any], *futures: pykka.Future[Any]) -> Reply[Iterable[Any]]:
        """A reply with the list of the values of this one and of `futures`.

        Settled when all are; the first in that order that failed decides.
        Futures that are not replies are waited for in the thread that gets the result.
        """
        from .joining import join

        return join(self._system, (self, *futures))

    def _derive(self, func: Callable[[Any], M]) -> Reply[M]:
        derived: Reply[M] = Reply(self._system, self)
        if self.has_hook():
            derived.set_get_hook(lambda timeout: func(self.get(timeout=timeout)))
        else:
            self.add_done_callback(partial(derived.take_over, func))
        return derived

    def take_over(self, func: Callable[[Any], T], source: Reply[Any]) -> None:
        """Settle with ``func(value)`` of the settled `source`, or with its exception."""
        if source._error is not None:
            self._settle(source._value, source._error)
            return
        try:
            value = func(source._value)
        except Exception as error:
            self.fail(error)
        else:
            self.settle(value)


def _filtered(func: Callable[[J], bool], items: Iterable[J]) -> Iterable[J]:
    return [item for item in items if func(item)]


def _reduced(func: Callable[[R, J], R], initial: tuple[R, ...], items: Iterable[J]) -> R:
    return functools.reduce(func, items, *initial)
