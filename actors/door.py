"""The two ways into a runtime and out of it."""

from __future__ import annotations

import contextvars
import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

from ..messages.errors import ConfigurationError
from .context import current_system
from .loop_thread import LoopThread

if TYPE_CHECKING:
    from .system import ActorSystem


class Door(ABC):
    """Lets a runtime be entered once, on the running loop or on one of its own."""

    def __init__(self) -> None:
        self._door = threading.Lock()
        self._claimed = False
        self._token: contextvars.Token[ActorSystem | None] | None = None
        self._loop_thread: LoopThread | None = None

    @abstractmethod
    async def open_here(self) -> None:
        """Open on the running loop."""

    @abstractmethod
    async def close_here(self) -> None:
        """Close again, on the same loop."""

    async def __aenter__(self) -> Self:
        self._claim()
        await self.open_here()
        self._token = current_system.set(cast("ActorSystem", self))
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave_context()
        await self.close_here()

    def __enter__(self) -> Self:
        self._claim()
        self._loop_thread = LoopThread(cast("ActorSystem", self))
        self._loop_thread.start()
        self._token = current_system.set(cast("ActorSystem", self))
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave_context()
        if self._loop_thread is not None:
            self._loop_thread.stop()

    def _claim(self) -> None:
        with self._door:
            claimed, self._claimed = self._claimed, True
        if claimed:
            raise ConfigurationError(
                f"A {type(self).__name__} can be entered once, and this one was; "
                "make a new one for every `with`."
            )

    def _leave_context(self) -> None:
        token, self._token = self._token, None
        if token is not None:
            try:
                current_system.reset(token)
            except ValueError:
                # Left in another task than entered, as fixtures do: nothing to take back.
                return
