"""A response of the SDK is always given back: DESIGN 2 (streams are closed explicitly)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.models.anthropic import response as anthropic_response
from broodline.actors.models.anthropic.access import own_access
from broodline.actors.models.anthropic.response import AnthropicResponse


class Slow:
    """A stream of the SDK whose clean-up takes several rounds of the loop."""

    def __init__(self, *events: object, ends: bool = True) -> None:
        self.log: list[str] = []
        self.reading = asyncio.Event()
        self._events = self._read(events, ends)

    async def _read(self, events: tuple[object, ...], ends: bool) -> AsyncIterator[object]:
        try:
            for event in events:
                yield event
            if not ends:
                self.reading.set()
                await asyncio.get_running_loop().create_future()
            self.log.append("read to the end")
        finally:
            await rounds()
            self.log.append("tidied up")

    async def __anext__(self) -> object:
        return await self._events.__anext__()

    async def close(self) -> None:
        await rounds()
        self.log.append("closed")


async def rounds() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def opened(events: Slow) -> AnthropicResponse:
    async def request() -> Slow:
        return events

    response = AnthropicResponse()
    await response.open(request())
    return response


async def cancelled_in_every_round(work: Coroutine[Any, Any, object], begun: asyncio.Event) -> None:
    task = asyncio.create_task(work)
    await begun.wait()
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_end_of_a_cancelled_read_is_not_disturbed() -> None:
    """core 9: a read is cancelled once, and its clean-up is waited for whatever comes."""
    events = Slow(ends=False)
    response = await opened(events)
    await cancelled_in_every_round(response.next(), events.reading)
    assert events.log == ["tidied up"]
    await response.close(whole=False)
    assert events.log == ["tidied up", "closed"]


async def test_the_end_of_a_cancelled_request_is_not_disturbed() -> None:
    """core 9: a request is cancelled once, and its clean-up is waited for whatever comes."""
    log: list[str] = []
    begun = asyncio.Event()

    async def request() -> None:
        try:
            begun.set()
            await asyncio.get_running_loop().create_future()
        finally:
            await rounds()
            log.append("tidied up")

    response = AnthropicResponse()
    await cancelled_in_every_round(response.open(request()), begun)
    assert log == ["tidied up"]
    await response.close(whole=False)


async def test_a_response_that_comes_with_the_cancellation_is_closed() -> None:
    """core 9: a request that does not heed its cancellation leaves no response open."""
    events = Slow()
    begun = asyncio.Event()

    async def request() -> Slow:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            pass
        return events

    response = AnthropicResponse()
    await cancelled_in_every_round(response.open(request()), begun)
    await response.close(whole=False)
    assert events.log[0] == "closed"


async def test_a_closing_is_not_disturbed() -> None:
    """core 9: a cancellation of the closing takes effect once it is closed."""
    events = Slow()
    response = await opened(events)
    begun = asyncio.Event()

    async def close() -> None:
        begun.set()
        await response.close(whole=False)

    await cancelled_in_every_round(close(), begun)
    assert "closed" in events.log


async def test_a_whole_answer_is_read_to_its_end_first() -> None:
    """DESIGN 2: the body of a whole answer is read to its end, so that its connection is free."""
    events = Slow({"type": "ping"})
    await (await opened(events)).close(whole=True)
    assert events.log == ["read to the end", "tidied up", "closed"]


async def test_a_body_without_an_end_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN 2: a server that keeps the body open behind the answer is not waited for."""
    monkeypatch.setattr(anthropic_response, "_LINGER", 0.001)
    events = Slow(ends=False)
    await (await opened(events)).close(whole=True)
    assert events.log == ["tidied up", "closed"]


async def test_what_was_never_opened_needs_no_closing() -> None:
    """DESIGN 2: closing before a request is nothing."""
    response = AnthropicResponse()
    await response.close(whole=False)
    assert response.header("request-id") is None


@pytest.mark.parametrize(("bound", "connect"), [(600.0, 10.0), (2.0, 2.0), (None, 10.0)])
async def test_time_outs_of_a_client(bound: float | None, connect: float) -> None:
    """core 12.5: the time-out bounds silence; connecting has less, a place in the pool none."""
    made: list[dict[str, Any]] = []

    async def close() -> None:
        return

    def client(**settings: Any) -> Any:
        made.append(settings)
        return SimpleNamespace(close=close)

    sdk = SimpleNamespace(
        Timeout=lambda bound, **parts: (bound, parts),  # pyright: ignore[reportUnknownLambdaType]
        DefaultAsyncHttpxClient=lambda **parts: parts,  # pyright: ignore[reportUnknownLambdaType]
        AsyncAnthropic=client,
    )
    access = own_access(sdk, "key", "http://h/v1", bound, "me")
    async with access.pool.use():
        pass
    await access.pool.aclose()
    assert made == [
        {
            "api_key": "key",
            "max_retries": 0,
            "base_url": "http://h",
            "timeout": (bound, {"connect": connect, "pool": None}),
            "http_client": {"follow_redirects": False},
        }
    ]
