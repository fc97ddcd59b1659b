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

    __slots__ = ("_close", "_closing", "_make", "_seats")

    def __init__(self, make: Callable[[], C], close: Callable[[C], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._closing: set[asyncio.Future[None]] = set()
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
                await self._end(seat.client)

    async def aclose(self) -> None:
        """Let go of this loop's client; the pool itself can be used again.

        It is closed now, or by the last one who uses it; a closing under way is waited for.
        """
        loop = asyncio.get_running_loop()
        seat = self._seats.pop(loop, None)
        if seat is not None:
            seat.left = True
            if not seat.users:
                await self._end(seat.client)
        under_way = [one for one in tuple(self._closing) if one.get_loop() is loop]
        if under_way:
            await asyncio.wait(under_way)

    async def _end(self, client: C) -> None:
        """Close a client whatever happens to who waits for it.

        In a task of its own: a cancellation lets go of the wait, not of the closing.
        """
        closing = asyncio.ensure_future(self._close(client))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        await asyncio.shield(closing)
