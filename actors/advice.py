"""What is said to whoever forgot to await a reply, where the mistake shows."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..messages.errors import BroodlineError
from ..messages.plain import quoted

if TYPE_CHECKING:
    from .reply import Reply

logger = logging.getLogger("broodline.actors")

_FUTURES_OWN = ("cancel", "cancelled", "exception", "remove_done_callback", "set_result")

F = TypeVar("F", bound=Callable[..., Any])


def not_awaited(label: str, name: str) -> str:
    """The advice for a look at `name` of a reply instead of its value."""
    whose = f"a Reply of {label!r}" if label else "a Reply"
    if name in _FUTURES_OWN:
        return (
            f"this is {whose}, which is no asyncio.Future and has no {name!r}; where one is "
            "needed, as by asyncio.wait, pass asyncio.ensure_future(reply)"
        )
    return (
        f"this is {whose} that was not awaited: write (await reply).{name}, "
        f"or reply.result().{name} in a thread"
    )


class Unseen:
    """Held by a failed reply that nobody looked at; says so when the reply is collected.

    Args:
        label: What the reply was to answer.
        error: What it failed with.
    """

    __slots__ = ("_error", "_label")

    def __init__(self, label: str, error: BaseException) -> None:
        self._label = label
        self._error: BaseException | None = error

    def seen(self) -> None:
        """Somebody looked: nothing is to be said."""
        self._error = None

    def __del__(self) -> None:
        error, self._error = self._error, None
        if error is None or sys.is_finalizing():
            return
        logger.error(
            "%s failed and nobody looked: %s; await it, or call .result()",
            self._label or "an answer",
            error_line(error),
            exc_info=None if isinstance(error, BroodlineError) else error,
        )


def error_line(error: BaseException) -> str:
    """The text of an error of ours; of any other, with its type. Never raises."""
    if not isinstance(error, BroodlineError):
        return quoted(error)
    try:
        return str(error)
    except Exception:
        return type(error).__name__


class _ResultCall:
    """``reply.result``: to be called, and not awaited."""

    __slots__ = ("_function", "_reply")

    def __init__(self, function: Callable[..., Any], reply: Reply[Any]) -> None:
        self._function = function
        self._reply = reply

    def __call__(self, timeout: float | None = None) -> Any:
        return self._function(self._reply, timeout)

    def __await__(self) -> Generator[Any, None, Any]:
        raise TypeError(not_awaited(self._reply.label(), "result"))

    def __getattr__(self, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            return getattr(self._function, name)
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(not_awaited(self._reply.label(), f"result.{name}"))

    def __repr__(self) -> str:
        return f"<method result of {self._reply!r}>"


class _ResultMethod:
    """Gives a `_ResultCall` where a method would give itself bound."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, reply: Reply[Any] | None, _owner: type) -> Callable[..., Any]:
        return self._function if reply is None else _ResultCall(self._function, reply)


def result_method(function: F) -> F:
    """Make a method of a reply one that advises whoever awaits it instead of the reply."""
    return cast("F", _ResultMethod(function))
