"""The one way to call work off."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from ..messages.errors import OperationCancelledError
from .registration import Registration
from .stray import is_stray

logger = logging.getLogger("broodline.actors")


class CancellationToken:
    """Says whether work is called off, and why.

    Any thread may fire and ask; callbacks run in the thread that fires.

    Attributes:
        cancelled: Whether `cancel()` was called.
        cause: What the first `cancel()` was given; None before that.
    """

    __slots__ = ("_callbacks", "_open", "cancelled", "cause")

    def __init__(self) -> None:
        self.cancelled = False
        self.cause: object | None = None
        self._open = True
        self._callbacks: list[Callable[[object], None]] = []

    def cancel(self, cause: object = None) -> bool:
        """Fire the token and run its callbacks, in the order they were registered.

        Args:
            cause: Handed to every callback and kept; an exception is raised as it
                is by `raise_if_cancelled()`.

        Returns:
            True for the call that fired it, False for every later one.
        """
        try:
            # Emptying a slot is atomic, so of several threads one gets past here.
            del self._open
        except AttributeError:
            return False
        self.cause = cause
        self.cancelled = True
        self._callbacks.reverse()
        self._run_callbacks()
        return True

    def on_cancel(self, fn: Callable[[object], None]) -> Registration:
        """Have `fn` called with the cause; at once if the token has fired.

        Args:
            fn: Called at most once; a failure is logged and harms nobody else.
        """
        self.follow(fn)
        return Registration(partial(self._forget, fn))

    def follow(self, fn: Callable[[object], None]) -> None:
        """The same for a listener that lives as long as the token: it cannot be taken back."""
        self._callbacks.append(fn)
        if self.cancelled:
            # Also takes what another thread added while the token fired.
            self._run_callbacks()

    def retire(self) -> None:
        """Let go of the listeners, once nobody is left who would fire the token.

        Whoever keeps it, such as in a recorded request, then keeps nothing else.
        """
        self._callbacks.clear()

    def raise_if_cancelled(self) -> None:
        """Do nothing while the work may go on.

        Raises:
            BaseException: The cause itself, if it is an exception.
            OperationCancelledError: The token fired with any other cause.
        """
        if self.cancelled:
            raise self.error()

    def error(self) -> BaseException:
        """What `raise_if_cancelled()` raises once the token has fired."""
        if isinstance(self.cause, BaseException):
            return self.cause
        return OperationCancelledError(self.cause)

    def _forget(self, fn: Callable[[object], None]) -> None:
        try:
            self._callbacks.remove(fn)
        except ValueError:
            pass

    def _run_callbacks(self) -> None:
        while True:
            try:
                fn = self._callbacks.pop()
            except IndexError:
                return
            try:
                fn(self.cause)
            except BaseException as error:
                if not is_stray(error, None):
                    raise
                logger.exception("A cancellation callback failed: %r", fn)

    def __repr__(self) -> str:
        state = f"cancelled: {self.cause!r}" if self.cancelled else "open"
        return f"<CancellationToken {state}>"
