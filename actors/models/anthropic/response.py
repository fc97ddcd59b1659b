"""One streamed response of Anthropic's SDK: opened, read, and always given back.

The SDK and the HTTP library below it tidy up in several steps when they are
cancelled, and a second cancellation would cut that short and leave the connection
open. So their work runs in tasks of its own: a cancellation is handed on once,
and its end is waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from .frame import name_frames

_LINGER = 0.25  # seconds a finished response may take to end its body


class AnthropicResponse:
    """A response, for one task at a time, on the loop that made it.

    Attributes:
        events: The SDK's stream; None before it was opened.
        begun: Whether an event has come.
    """

    __slots__ = ("_below", "_opening", "begun", "events")

    def __init__(self) -> None:
        self.events: Any = None
        self.begun = False
        self._below: Any = None
        self._opening: asyncio.Task[Any] | None = None

    async def open(self, request: Coroutine[Any, Any, Any]) -> None:
        """Send the request and wait for the head of the response.

        Raises:
            Exception: Whatever the SDK raises.
        """
        self._opening = asyncio.ensure_future(request)
        self.events = await _undisturbed(self._opening)
        name_frames(self.events)
        self._remember()

    async def next(self) -> object:
        """The next event as the object that its JSON says; None at the end of the body.

        Raises:
            Exception: Whatever the SDK or the HTTP library raises.
        """
        event = await _undisturbed(asyncio.ensure_future(_next_of(self.events)))
        self.begun = self.begun or event is not None
        dump = getattr(event, "to_dict", None)
        return dump(mode="json", warnings=False) if dump is not None else event

    async def close(self, *, whole: bool) -> None:
        """Give the connection back: for further use after a whole answer, else closed.

        Returns when that is done, also when the caller is cancelled meanwhile.

        Raises:
            asyncio.CancelledError: If it was.
        """
        if self.events is None:
            self.events = _result_of(self._opening)
        if self.events is None:
            return
        closing = asyncio.ensure_future(self._close(whole))
        if await _ended(closing):
            raise asyncio.CancelledError

    def header(self, name: str) -> str | None:
        """A header of the response, or None."""
        headers = getattr(getattr(self.events, "response", None), "headers", None)
        value: object = headers.get(name) if headers is not None else None
        return value if isinstance(value, str) else None

    async def _close(self, whole: bool) -> None:
        if whole:
            # Read to its end, the body frees its connection for the next request.
            await self._drain()
        with suppress(Exception):
            await self.events.close()
        # The SDK reads through generators within generators: reading on from what is
        # closed ends each of them here, where the garbage collector would do it later.
        await self._drain()

    def _remember(self) -> None:
        """Keep hold of the generator below the SDK's own, which ends at once on bad JSON."""
        source = getattr(self.events, "_iter_events", None)
        if source is None:
            return

        def remembered() -> Any:
            self._below = source()
            return self._below

        self.events._iter_events = remembered

    async def _drain(self) -> None:
        for part in (self.events, self._below):
            with suppress(Exception):
                async with asyncio.timeout(_LINGER):
                    while part is not None:
                        await anext(part)


async def _next_of(events: Any) -> Any:
    try:
        return await anext(events)
    except StopAsyncIteration:
        return None


async def _undisturbed(task: asyncio.Task[Any]) -> Any:
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        await _ended(task)
        raise


async def _ended(task: asyncio.Task[Any]) -> bool:
    """Wait until `task` is over, whatever comes; whether the waiting was cancelled."""
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if not task.cancelled():
        task.exception()  # looked at, so that the loop does not report it as never retrieved
    return cancelled


def _result_of(task: asyncio.Task[Any] | None) -> Any:
    """What a request brought whose waiting was cancelled at that very moment."""
    if task is None or not task.done() or task.cancelled() or task.exception() is not None:
        return None
    return task.result()
