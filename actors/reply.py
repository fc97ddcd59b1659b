"""The answer to an ask or an operation: awaited on any loop, taken from any thread."""

from __future__ import annotations

import asyncio
import functools
import logging
import queue
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, cast

import pykka

from ..messages.errors import ConfigurationError, DeadlockError
from .context import current_system
from .deadlock import Worker, begin_wait, current_thread_work
from .waiter import Waiter

if TYPE_CHECKING:
    from .system import ActorSystem

logger = logging.getLogger("broodline.actors")

T = TypeVar("T")
J = TypeVar("J")
M = TypeVar("M")
R = TypeVar("R")

ExcInfo: TypeAlias = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]
Owner: TypeAlias = "Worker | Reply[Any] | tuple[Reply[Any], ...] | None"


class Reply(pykka.Future[T]):
    """A value that is there now or later; pykka's future on an event loop.

    ``await reply`` works on any asyncio loop in any thread, by any number of
    waiters; cancelling one wait touches neither the others nor the reply.
    ``reply.get()`` and ``reply.result()`` block a thread, never the runtime's own
    loop. Both may be used as often as wanted. Any thread may settle it, once.

    Args:
        system: The runtime that will settle it; None means the one whose code waits.
        owner: Who must work for it to be settled; used to find waits without end.
    """

    __slots__ = ("_callbacks", "_done", "_error", "_hook", "_open", "_owner", "_system", "_value")

    def __init__(self, system: ActorSystem | None = None, owner: Owner = None) -> None:
        # pykka's own attributes are not used, so its constructor is not called.
        self._system = system
        self._owner: Owner = owner
        self._done = False
        self._error: BaseException | None = None
        # The value; with an error, the traceback it is to be raised with.
        self._value: Any = None
        self._hook: Callable[[float | None], T] | None = None
        self._callbacks: list[Callable[[Self], object]] = []
        # Emptied by whoever settles. Emptying a slot is atomic, so there is one winner.
        self._open = True

    @staticmethod
    def of(value: M, system: ActorSystem | None = None) -> Reply[M]:
        """A reply that is settled with `value` already."""
        reply: Reply[M] = Reply.__new__(Reply)  # pyright: ignore[reportUnknownVariableType]
        reply._system = system
        reply._value = value
        reply._error = None
        reply._done = True
        return reply

    @staticmethod
    def failed(error: BaseException, system: ActorSystem | None = None) -> Reply[Any]:
        """A reply that is settled with `error` already."""
        reply: Reply[Any] = Reply.__new__(Reply)  # pyright: ignore[reportUnknownVariableType]
        reply._system = system
        reply._value = error.__traceback__
        reply._error = error
        reply._done = True
        return reply

    def __repr__(self) -> str:
        if not self._done:
            return "<Reply pending>"
        return "<Reply done>" if self._error is None else f"<Reply failed: {self._error!r}>"

    # Settling.

    def set(self, value: T | None = None) -> None:
        """Settle with a value; any thread.

        Raises:
            queue.Full: It is settled already, or has a get hook.
        """
        if not self._settle(value, None):
            raise queue.Full(f"{self!r} is settled already")

    def set_exception(self, exc_info: ExcInfo | None = None) -> None:
        """Settle with an exception; any thread.

        Args:
            exc_info: As `sys.exc_info()` gives it; the exception being handled if None.

        Raises:
            queue.Full: It is settled already, or has a get hook.
        """
        kind, error, traceback = exc_info or sys.exc_info()
        if error is None:
            error = kind() if kind is not None else RuntimeError("no exception was given")
        if not self._settle(traceback, error):
            raise queue.Full(f"{self!r} is settled already")

    def fail(self, error: BaseException) -> bool:
        """Settle with `error` unless it is settled; any thread.

        Returns:
            Whether this call settled it.
        """
        return self._settle(error.__traceback__, error)

    def settle(self, value: T) -> bool:
        """Settle with `value` unless it is settled; any thread.

        Returns:
            Whether this call settled it.
        """
        return self._settle(value, None)

    def _settle(self, value: Any, error: BaseException | None) -> bool:
        try:
            del self._open
        except AttributeError:
            return False
        self._publish(value, error)
        return True

    def _publish(self, value: Any, error: BaseException | None) -> None:
        self._value = value
        self._error = error
        self._owner = None
        self._done = True
        callbacks = self._callbacks
        if callbacks:
            if len(callbacks) > 1:
                callbacks.reverse()
            self._run_callbacks()

    def set_get_hook(self, func: Callable[[float | None], T]) -> None:
        """Have the value made by ``func(timeout)`` in the thread that first gets it.

        Raises:
            queue.Full: It is settled already.
        """
        if self._done or self._hook is None:
            try:
                del self._open
            except AttributeError:
                raise queue.Full(f"{self!r} is settled already") from None
        self._hook = func

    # Taking.

    def done(self) -> bool:
        """Whether it is settled; any thread."""
        return self._done

    def get(self, *, timeout: float | None = None) -> T:
        """Block this thread until it is settled and take the value.

        Args:
            timeout: Seconds to wait; None means for ever.

        Raises:
            DeadlockError: Called on the runtime's own loop before it is settled.
            pykka.Timeout: `timeout` has passed.
            BaseException: What it was settled with, if that is an exception.
        """
        if not self._done:
            if self._hook is not None:
                return self._run_hook(self._hook, timeout)
            self._block(timeout)
        return self._outcome()

    def result(self, timeout: float | None = None) -> T:
        """The same as `get()`."""
        return self.get(timeout=timeout)

    def has_hook(self) -> bool:
        """Whether the value is still to be made by a get hook."""
        return not self._done and self._hook is not None

    def error(self) -> BaseException | None:
        """What it was settled with, if that is an exception; None also while pending."""
        return self._error if self._done else None

    def __await__(self) -> Generator[Any, None, T]:
        if not self._done:
            yield from self._wait()
        return self._outcome()

    __iter__ = __await__

    def _outcome(self) -> T:
        error = self._error
        if error is None:
            return cast("T", self._value)
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
                self._forget(waiter)

    def _begin_wait(self, worker: Worker) -> None:
        try:
            begin_wait(worker, self)
        except DeadlockError as error:
            # What nobody can wait for must not be done either: it would ask on and on.
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

    def _block(self, timeout: float | None) -> None:
        system = self._system or current_system.get()
        if system is not None and system.on_loop():
            raise DeadlockError(
                "get() would block the loop that must settle this reply; await it instead."
            )
        work = current_thread_work.get()
        if work is not None:
            self._begin_wait(work)
        gate = threading.Lock()
        gate.acquire()
        callback: Callable[[Any], object] = partial(_open_gate, gate)
        self.add_done_callback(callback)
        limit = -1 if timeout is None else min(max(timeout, 0.0), threading.TIMEOUT_MAX)
        try:
            opened = gate.acquire(timeout=limit)
        finally:
            if work is not None:
                work.waits = None
            if not self._done:
                self._forget(callback)
        if not opened and not self._done:
            raise pykka.Timeout(f"{timeout} seconds")

    def _run_hook(self, hook: Callable[[float | None], T], timeout: float | None) -> T:
        value = hook(timeout)
        if not self._done:
            self._publish(value, None)
        return value

    # Following.

    def add_done_callback(self, fn: Callable[[Self], object]) -> None:
        """Have ``fn(reply)`` called once it is settled, in the thread that settles it.

        At once if it is settled already. A failure of `fn` is logged, no more.
        """
        if self._done:
            _call(fn, self)
            return
        self._callbacks.append(fn)
        if self._done:
            # It was settled between the two lines; whoever pops a callback calls it.
            self._run_callbacks()

    def _run_callbacks(self) -> None:
        callbacks = self._callbacks
        while True:
            try:
                fn = callbacks.pop()
            except IndexError:
                return
            _call(fn, self)

    def _forget(self, fn: Callable[[Any], object]) -> None:
        try:
            self._callbacks.remove(fn)
        except ValueError:
            pass

    def owners(self) -> Iterable[Worker]:
        """Who must work for it to be settled; empty if nobody known must."""
        owner = self._owner
        if owner is None or self._done:
            return ()
        if isinstance(owner, tuple):
            return [worker for part in owner for worker in part.owners()]
        if isinstance(owner, Reply) and owner is not self:
            return owner.owners()
        return (cast("Worker", owner),)

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


def _call(fn: Callable[[Any], object], reply: Reply[Any]) -> None:
    try:
        fn(reply)
    except Exception:
        logger.exception("A callback of a reply failed: %r", fn)


def _open_gate(gate: threading.Lock, _reply: Reply[Any]) -> None:
    gate.release()


def _filtered(func: Callable[[J], bool], items: Iterable[J]) -> Iterable[J]:
    return [item for item in items if func(item)]


def _reduced(func: Callable[[R, J], R], initial: tuple[R, ...], items: Iterable[J]) -> R:
    return functools.reduce(func, items, *initial)
