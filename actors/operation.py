"""A public operation under way: starts when called, can be called off until accepted."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..messages.errors import ConfigurationError, DeliveryError, OperationCancelledError
from .cancellation import CancellationToken
from .registration import Registration
from .reply import Reply
from .watch import WatchedCoroutine

if TYPE_CHECKING:
    from .system import ActorSystem

T = TypeVar("T")

Work = Coroutine[Any, Any, T] | Callable[..., Coroutine[Any, Any, T]]


class Operation(Reply[T]):
    """The reply of an operation, and what the operation itself holds of it.

    The operation calls `accept()` at the point after which it must not be taken
    back. Until then it is called off when the signal it was given fires, or when
    the last task that awaits it is cancelled: its own task is cancelled, and the
    waiting task sees its cancellation once the operation has cleaned up.

    Attributes:
        name: For logs and cycles.
        accepted: Whether it can no longer be called off.
        waits: The reply its own task waits for, or None.
    """

    __slots__ = (
        "_cause",
        "_registration",
        "_task",
        "_token",
        "accepted",
        "cancelled",
        "name",
        "waits",
    )

    def __init__(self, system: ActorSystem, name: str) -> None:
        super().__init__(system)
        self._owner = self
        self.name = name
        self.accepted = False
        self.cancelled = False
        self.waits: Any = None
        self._cause: object = None
        self._task: asyncio.Task[None] | None = None
        self._token: CancellationToken | None = None
        self._registration: Registration | None = None

    def __str__(self) -> str:
        return f"operation {self.name}"

    def label(self) -> str:
        """Its name."""
        return self.name

    @property
    def token(self) -> CancellationToken:
        """Fires when the operation is called off; to hand on to what it starts. Loop only."""
        token = self._token
        if token is None:
            token = self._token = CancellationToken()
            if self.cancelled:
                token.cancel(self._cause)
        return token

    def accept(self) -> None:
        """From here on only waits can be cancelled; called by the operation. Loop only.

        Raises:
            BaseException: It was called off before: the signal's cause, or
                `OperationCancelledError`. The operation must undo what it did.
        """
        if self.cancelled:
            raise self._cancel_error()
        self.accepted = True
        self._detach()

    def cancel(self, cause: object = None) -> bool:
        """Call the operation off unless it was accepted or has ended; loop only.

        Returns:
            Whether it is called off.
        """
        if self.accepted or self._done:
            return False
        if not self.cancelled:
            self.cancelled = True
            self._cause = cause
            if self._token is not None:
                self._token.cancel(cause)
            task = self._task
            # Work that calls itself off goes on to its `accept()`, which refuses.
            if task is not None and task is not asyncio.current_task():
                task.cancel()
        return True

    def begin(self, work: Work[T], args: tuple[Any, ...], signal: CancellationToken | None) -> None:
        """Start the work; loop only, once."""
        if signal is not None:
            if not isinstance(signal, CancellationToken):  # pyright: ignore[reportUnnecessaryIsInstance]
                wrong = f"{self.name}: signal= takes a CancellationToken, not {signal!r}"
                self.refuse(work, ConfigurationError(wrong))
                return
            if signal.cancelled:
                self.refuse(work, signal.error())
                return
            self._registration = signal.on_cancel(self._on_signal)
        if self.cancelled:
            self.refuse(work, self._cancel_error())
            return
        try:
            coroutine: object = work(self, *args) if callable(work) else work
        except Exception as error:
            self.end(None, error)
            return
        if not inspect.iscoroutine(coroutine):
            self.end(None, ConfigurationError(f"{self.name}: an operation needs a coroutine"))
            return
        system = self._system
        assert system is not None
        self._task = system.track(_Steps(coroutine, system.watch, self), self, self.name)

    def refuse(self, work: Work[T], error: BaseException) -> None:
        """Answer with `error` without starting; any thread."""
        if inspect.iscoroutine(work):
            work.close()
        self.end(None, error)

    def end(self, value: Any, error: BaseException | None) -> None:
        """Settle with the outcome of the work."""
        self._detach()
        self._task = None
        if error is None:
            self.settle(value)
            return
        if self.cancelled:
            self._look()  # whoever called it off knows
        if isinstance(error, asyncio.CancelledError):
            cancelled = self._cancel_error()
            if cancelled is not self._cause:
                cancelled.__cause__ = error
            self.fail(cancelled)
        elif isinstance(error, Exception):
            self.fail(error)
        else:
            # Whoever waits must not be ended by it.
            ended = DeliveryError(f"{self} was ended by {error!r}")
            ended.__cause__ = error
            self.fail(ended)

    def withdraw(self, error: BaseException, followers: int = 0) -> None:
        """An operation goes on whoever waits."""

    def __await__(self) -> Generator[Any, None, T]:
        if not self._done:
            try:
                yield from self._wait()
            except asyncio.CancelledError:
                yield from self._after_cancelled_wait()
                raise
        return self._outcome()

    __iter__ = __await__

    def _after_cancelled_wait(self) -> Generator[Any, None, None]:
        system = self._system
        if self._done or self.accepted or self._callbacks or system is None:
            return
        if not system.on_loop():
            self._on_signal(None)
        elif self.cancel() and not self._done:
            yield from self._wait()

    def _on_signal(self, cause: object) -> None:
        system = self._system
        assert system is not None
        try:
            system.call(self.cancel, cause)
        except DeliveryError:
            # The runtime is closed and has answered.
            return

    def _cancel_error(self) -> BaseException:
        if isinstance(self._cause, BaseException):
            return self._cause
        return OperationCancelledError(self._cause)

    def _detach(self) -> None:
        registration = self._registration
        if registration is not None:
            self._registration = None
            registration.dispose()


class _Steps(WatchedCoroutine[Any]):
    """Runs an operation's coroutine and hands its outcome to the reply.

    So the reply is settled in the step that ends the work, one turn of the loop
    before the task itself is done, and also when the task never got to start.
    """

    __slots__ = ()

    def send(self, value: Any, /) -> Any:
        watch = self._watch
        start = watch.now()
        try:
            return self._inner.send(value)
        except BaseException as error:
            self._end(error)
            raise StopIteration from None
        finally:
            elapsed = watch.now() - start
            if elapsed > watch.threshold:
                watch.report(elapsed, self._culprit)
            del self  # this frame may live on as the caller of the work's, which its error keeps

    def throw(self, typ: Any, val: Any = None, tb: Any = None, /) -> Any:
        try:
            return super().throw(typ, val, tb)
        except BaseException as error:
            self._end(error)
            raise StopIteration from None
        finally:
            del self

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._end(asyncio.CancelledError())

    def _end(self, error: BaseException) -> None:
        operation = cast("Operation[Any]", self._culprit)
        if isinstance(error, StopIteration):
            operation.end(error.value, None)
        else:
            _untie(error)
            operation.end(None, error)


_OWN: tuple[object, ...] = (
    _Steps.send.__code__,
    _Steps.throw.__code__,
    WatchedCoroutine.throw.__code__,  # pyright: ignore[reportUnknownMemberType]
)


def _untie(error: BaseException) -> None:
    """Take out of a traceback what holds the operation, which will hold the error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code in _OWN:
        trace = trace.tb_next
    error.__traceback__ = trace
    if trace is None:
        return
    try:
        trace.tb_frame.clear()  # the work itself, which got the operation as an argument
    except RuntimeError:
        return  # it is no frame of work that has ended
