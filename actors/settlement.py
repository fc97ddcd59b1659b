"""One outcome that comes once: who settles it, who wants to hear of it, who looked."""

from __future__ import annotations

import logging
import queue
import sys
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, cast

import pykka

from .advice import Unseen
from .deadlock import Worker

if TYPE_CHECKING:
    from .system import ActorSystem

logger = logging.getLogger("broodline.actors")

T = TypeVar("T")

ExcInfo: TypeAlias = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]
Owner: TypeAlias = "Worker | Settlement[Any] | tuple[Settlement[Any], ...] | str | None"


class Settlement(pykka.Future[T]):
    """A value or an error, settled once by any thread; `Reply` is how it is taken.

    Args:
        system: The runtime that will settle it; None means the one whose code waits.
        owner: Who must work for it to be settled; used to find waits without end.
            Or what it answers, in words.
    """

    __slots__ = (
        "_callbacks",
        "_done",
        "_error",
        "_hook",
        "_looked",  # set only by who looked at an error, or gave up a wait
        "_open",
        "_owner",
        "_system",
        "_unseen",  # set only where one failed and nobody had looked
        "_value",
    )

    _unseen: Unseen
    _looked: bool

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
        if type(self._owner) is not str:
            self._owner = None if error is None else self.label()
        self._done = True
        callbacks = self._callbacks
        if callbacks:
            if len(callbacks) > 1:
                callbacks.reverse()
            self._run_callbacks()
        elif error is not None:
            self._miss(error)

    def _miss(self, error: BaseException) -> None:
        """From here on somebody should look at the error."""
        system = self._system
        if not hasattr(self, "_looked") and (
            system is None or system.state not in ("closing", "closed")
        ):
            unseen = self._unseen = Unseen(self.label(), error)
            if hasattr(self, "_looked"):  # by another thread, between the two lines
                unseen.seen()

    def _look(self) -> None:
        """Somebody looks at the error, or waits and gives up."""
        self._looked = True  # before the other is read: whoever sets that reads this behind it
        unseen: Unseen | None = getattr(self, "_unseen", None)
        if unseen is not None:
            unseen.seen()

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

    def done(self) -> bool:
        """Whether it is settled; any thread."""
        return self._done

    def has_hook(self) -> bool:
        """Whether the value is still to be made by a get hook."""
        return not self._done and self._hook is not None

    def error(self) -> BaseException | None:
        """What it was settled with, if that is an exception; None also while pending."""
        if self._error is None or not self._done:
            return None
        self._look()
        return self._error

    def label(self) -> str:
        """What it answers, in words; empty where nobody noted that."""
        owner = getattr(self, "_owner", None)
        if isinstance(owner, str):
            return owner.strip("_").replace("_", " ")
        if owner is None or isinstance(owner, tuple):
            return "" if owner is None else "join"
        return owner.label() if isinstance(owner, Settlement) else f"an ask of {owner}"

    # Following.

    def add_done_callback(self, fn: Callable[[Self], object]) -> None:
        """Have ``fn(reply)`` called once it is settled, in the thread that settles it.

        At once if it is settled already. A failure of `fn` is logged, no more.
        """
        if self._done:
            if self._error is not None:
                self._look()
            _call(fn, self)
            return
        self._callbacks.append(fn)
        if self._done:
            # It was settled between the two lines; whoever pops a callback calls it.
            self._look()
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
        if owner is None or self._done or isinstance(owner, str):
            return ()
        if isinstance(owner, tuple):
            return [worker for part in owner for worker in part.owners()]
        if isinstance(owner, Settlement) and owner is not self:
            return owner.owners()
        return (cast("Worker", owner),)


def _call(fn: Callable[[Any], object], reply: Settlement[Any]) -> None:
    try:
        fn(reply)
    except Exception:
        logger.exception("A callback of a reply failed: %r", fn)
