"""The frames of one streamed response, and the end of its connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from .failure import malformed

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

Closing = set[asyncio.Task[None]]
"""What closes connections just now; whoever owns the client waits for it."""


class Frames:
    """Reads what one request is answered with; plain JSON values, one at a time.

    ::

        frames = await Frames.open(client, body, closing)
        try:
            while await frames.read():
                use(frames.latest)
        finally:
            await frames.close()

    Args:
        stream: The SDK's.
        headers: Of the response.
        closing: Where the task is noted that closes the connection.

    Attributes:
        request_id: The server's id of the request, or None.
        latest: The frame that was read last.
    """

    __slots__ = ("_begun", "_closing", "_content_type", "_ended", "_stream", "latest", "request_id")

    def __init__(
        self, stream: AsyncStream[object], headers: Mapping[str, str], closing: Closing
    ) -> None:
        self._stream = stream
        self._closing = closing
        self._content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        self._begun = False
        self._ended = False
        self.request_id = headers.get("x-request-id")
        self.latest: object = None

    @classmethod
    async def open(cls, client: AsyncOpenAI, body: dict[str, Any], closing: Closing) -> Frames:
        """Send a request and wait for the headers of its answer.

        The SDK would by itself walk through the whole history by type hints, and build
        objects of every frame: 0.2 ms a message and 0.1 ms a frame of the loop.

        Raises:
            Exception: Whatever the SDK raises.
        """
        raw = await client.chat.completions.with_raw_response.create(
            model=body["model"], messages=[], stream=True, extra_body=body
        )
        return cls(raw.parse(to=_stream_class()), raw.headers, closing)

    async def read(self) -> bool:
        """Read the next frame into `latest`; False at the end of the body.

        Raises:
            ModelError: ``MALFORMED_RESPONSE`` when the whole body was none of the format.
            Exception: Whatever the SDK raises.
        """
        try:
            self.latest = await anext(self._stream)
        except StopAsyncIteration:
            self._ended = True
        else:
            self._begun = True
            return True
        if not self._begun and self._content_type and "event-stream" not in self._content_type:
            raise malformed(f"{self._content_type} in place of an event stream")
        return False

    async def close(self) -> None:
        """Close the connection, unless the body was read to its end and gave it back.

        That is done in a task of its own: a second cancellation lets go of the wait for
        it, not of the closing itself.
        """
        if self._ended:
            return
        task = asyncio.create_task(_shut(self._stream))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        await asyncio.shield(task)


async def closed(closing: Closing) -> None:
    """Wait until what is being closed on this loop is closed."""
    loop = asyncio.get_running_loop()
    tasks = [task for task in closing if task.get_loop() is loop]
    if tasks:
        await asyncio.wait(tasks)


async def _shut(stream: AsyncStream[object]) -> None:
    try:
        await stream.close()
    except Exception:
        return  # of a connection that is broken anyway; the answer's own failure is told
    if stream.response.http_version == "HTTP/1.1":
        await _run_out(stream)


async def _run_out(stream: Any) -> None:
    """Run the SDK's generators to their ends, now that their connection is closed.

    Left in the middle they would be closed by the garbage collector, in tasks of its
    own, at any time. Nothing is waited for: reading from a closed connection fails at
    once. (Not so with HTTP/2, where other streams go on, nor behind a regular end.)
    """
    for part in (stream, getattr(stream, "events", None)):
        try:
            while part is not None:
                await anext(part)
        except Exception:
            pass


@cache
def _stream_class() -> type[AsyncStream[object]]:
    """The SDK's stream of plain values, which remembers the generator below it."""
    from openai import AsyncStream

    class FrameStream(AsyncStream[object]):
        events: AsyncIterator[Any] | None = None

        def _iter_events(self) -> AsyncIterator[Any]:
            self.events = super()._iter_events()
            return self.events

    return FrameStream
