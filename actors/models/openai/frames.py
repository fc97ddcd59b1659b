"""The frames of one streamed response, and the end of its connection."""

from __future__ import annotations

import asyncio
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from ..failure import malformed
from ..redaction import error_text

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

_DONE = "[DONE]"
_LINGER = 0.25  # seconds a whole answer may take to end its body

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
        except ValueError as error:
            # Not JSON, not UTF-8, or a number of more digits than Python reads.
            text = f"a frame that cannot be read: {type(error).__name__}: {error_text(error)}"
            raise malformed(text) from None
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
    # A copy: the streams of other loops come and go in threads of their own.
    tasks = [task for task in tuple(closing) if task.get_loop() is loop]
    if tasks:
        await asyncio.wait(tasks)


async def _shut(stream: AsyncStream[object]) -> None:
    try:
        await stream.close()
    except Exception:
        return  # of a connection that is broken anyway; the answer's own failure is told
    if stream.response.http_version != "HTTP/2":
        await _run_out(stream)


async def _run_out(stream: Any) -> None:
    """Run the SDK's generators to their ends, now that their connection is closed.

    Left in the middle they would be closed by the garbage collector, in tasks of its
    own, at any time. Nothing is waited for: reading from a closed connection fails at
    once. (Not so with HTTP/2, where other streams go on, nor behind a regular end.)
    """
    for part in (stream, stream.events, stream.body):
        try:
            while part is not None:
                await anext(part)
        except Exception:
            pass


@cache
def _stream_class() -> type[AsyncStream[object]]:
    """The SDK's stream of plain values, which remembers the generators below it."""
    from openai import AsyncStream

    class FrameStream(AsyncStream[object]):
        events: AsyncIterator[Any] | None = None
        body: AsyncIterator[bytes] | None = None

        def _iter_events(self) -> AsyncIterator[Any]:
            self.body = _without_mark(self.response.aiter_bytes())
            self.events = _events(self._decoder.aiter_bytes(self.body))
            return self.events

    return FrameStream


async def _events(source: AsyncIterator[Any]) -> AsyncGenerator[Any]:
    """What is not empty, up to the mark of the end; then the rest of the body.

    Read to its end, the body frees its connection, and every generator below has ended.
    An event without data is none: one line of ``retry:`` or ``id:`` makes such.
    """
    async for event in source:
        if event.data.startswith(_DONE):
            break
        if event.data:
            yield event
    with suppress(Exception):
        async with asyncio.timeout(_LINGER):
            while True:
                await anext(source)


async def _without_mark(body: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The bytes behind the byte order mark that some servers begin a text with."""
    head: bytes | None = b""
    async for part in body:
        if head is None:
            yield part
            continue
        head += part
        if len(head) < len(BOM_UTF8) and BOM_UTF8.startswith(head):
            continue
        yield head.removeprefix(BOM_UTF8)
        head = None
    if head:
        yield head
