"""One client a loop: its connections belong to the loop that opened them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

C = TypeVar("C")


class _Seat(Generic[C]):
    """A client, how many use it, and whether nobody new may."""

    __slots__ = ("client", "left", "users")

    def __init__(self, client: C) -> None:
        self.client = client
        self.users = 0
        self.left = False


class ClientPool(Generic[C]):
    """The clients of one model, made when first used.

    A model may serve several runtimes, each with a loop of its own. On one loop a
    client is shared, so that its connections are used again; it is closed when it
    was let go of and nobody uses it any more, and never under a stream.

    Args:
        make: Makes a client; called on the loop that will use it.
        close: Closes one, on the same loop.
    """

    __slots__ = ("_close", "_make", "_seats")

    def __init__(self, make: Callable[[], C], close: Callable[[C], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._seats: WeakKeyDictionary[asyncio.AbstractEventLoop, _Seat[C]] = WeakKeyDictionary()

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[C]:
        """Hold this loop's client open for as long as the block runs."""
        loop = asyncio.get_running_loop()
        seat = self._seats.get(loop)
        if seat is None:
            seat = self._seats[loop] = _Seat(self._make())
        seat.users += 1
        try:
            yield seat.client
        finally:
            seat.users -= 1
            if seat.left and not seat.users:
                await self._close(seat.client)

    async def aclose(self) -> None:
        """Let go of this loop's client; the pool itself can be used again.

        It is closed now, or by the last one who uses it.
        """
        seat = self._seats.pop(asyncio.get_running_loop(), None)
        if seat is None:
            return
        seat.left = True
        if not seat.users:
            await self._close(seat.client)
