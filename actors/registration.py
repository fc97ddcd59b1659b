"""The receipt for anything that was registered."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self


class Registration:
    """Takes back one registration.

    Also a context manager that takes it back on leaving. Any thread may dispose;
    `undo` runs in the thread that does.

    Args:
        undo: Called once, by the first `dispose()`.
    """

    __slots__ = ("_undo",)

    def __init__(self, undo: Callable[[], None]) -> None:
        self._undo = undo

    @property
    def active(self) -> bool:
        """Whether `dispose()` has not been called yet."""
        return hasattr(self, "_undo")

    def dispose(self) -> None:
        """Take the registration back; every call after the first does nothing.

        Raises:
            Exception: Whatever `undo` raises; it counts as disposed all the same.
        """
        try:
            undo = self._undo
            # Emptying a slot is atomic, so of several threads one gets past here.
            del self._undo
        except AttributeError:
            return
        undo()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.dispose()

    def __repr__(self) -> str:
        return f"<Registration {'active' if self.active else 'disposed'}>"
