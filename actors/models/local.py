"""Models that answer from this process, without a provider: the common part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from ...messages.chunk import Chunk, Finish, ModelFailure
from ...messages.request import ModelRequest
from ..cancellation import CancellationToken
from .entry import Entry
from .failure import ABORTED, error_of

Sleep = Callable[[float], Awaitable[Any]]


class LocalModel:
    """Plays entries; `ScriptedModel` and `RuleModel` say which.

    One runtime's loop at a time: it keeps state between requests.

    Attributes:
        provider: Name that agents ask for.
        model: Its own name.
        max_tokens: Ceiling of a response where nobody sets one, or None.
        latency: Seconds before the first chunk of each response.
        requests: Every request so far, oldest first, when they are kept.
    """

    def __init__(
        self,
        *,
        provider: str,
        model: str,
        max_tokens: int | None,
        latency: float,
        sleep: Sleep,
        record: bool,
    ) -> None:
        self.provider = provider
        self.model = model
        self.max_tokens = max_tokens
        self.latency = latency
        self.requests: list[ModelRequest] = []
        self._sleep = sleep
        self._record = record

    def requests_of(self, session_id: str) -> list[ModelRequest]:
        """The kept requests of one session, oldest first."""
        return [request for request in self.requests if request.session_id == session_id]

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Answer one request; what to play is chosen at the call, not at the first ``anext``."""
        # A request holds its own list of shared, frozen messages: no copy is needed.
        if self._record:
            self.requests.append(request)
        return self._respond(self._choose(request), request)

    def _choose(self, request: ModelRequest) -> Any:
        """What `_entry` makes an entry of."""
        return None

    async def _entry(self, step: Any, request: ModelRequest) -> Entry:
        """What to play for `step`, which `stream` chose."""
        raise NotImplementedError

    async def _respond(self, step: Any, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        if self.latency:
            await self._sleep(self.latency)
        entry = await self._entry(step, request)
        signal: CancellationToken | None = request.signal
        for chunk in entry.chunks(request):
            if signal is not None and signal.cancelled:
                yield aborted_finish(request)
                return
            yield chunk
        if entry.hangs:
            await self._hang(entry.linger, signal)
            yield aborted_finish(request)
        elif entry.failure is not None:
            raise error_of(entry.failure)

    async def _hang(self, linger: float, signal: CancellationToken | None) -> None:
        try:
            await until_cancelled(signal)
        except asyncio.CancelledError:
            if linger:
                await self._sleep(linger)
            raise
        if linger:
            await self._sleep(linger)


def aborted_finish(request: ModelRequest) -> Finish:
    """The end of a response whose request was cancelled."""
    text = f"the request of session {request.session_id} was cancelled"
    return Finish("aborted", ModelFailure(text, ABORTED))


async def until_cancelled(signal: CancellationToken | None) -> None:
    """Return when `signal` fires, from whatever thread; no polling.

    Without a signal only the task's own cancellation ends the wait.
    """
    loop = asyncio.get_running_loop()
    fired = loop.create_future()
    if signal is None:
        await fired
        return

    def settle() -> None:
        if not fired.done():
            fired.set_result(None)

    def wake(_cause: object) -> None:
        loop.call_soon_threadsafe(settle)

    registration = signal.on_cancel(wake)
    try:
        await fired
    finally:
        registration.dispose()
