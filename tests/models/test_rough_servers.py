"""Servers that keep to no habit: bodies, ends and waits as raw bytes, for both providers."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from random import Random
from typing import Any

import pytest

from broodline import AnthropicModel, OpenAIModel
from broodline.actors.models import Assembler, RetryPolicy, StreamGrammar
from broodline.actors.models.credential import Credential
from broodline.actors.models.failure import failure_of
from broodline.messages.content import Text, text_of
from broodline.messages.errors import ModelError
from broodline.messages.message import UserMessage
from broodline.messages.payload import CallConfig
from broodline.messages.request import ModelRequest

KEY = "Zq9-private-0123456789abcdef"

AnyModel = OpenAIModel | AnthropicModel
Make = Callable[[str], AnyModel]


def openai_model(url: str) -> AnyModel:
    return OpenAIModel("m", api_key=KEY, base_url=f"{url}/v1")


def anthropic_model(url: str) -> AnyModel:
    return AnthropicModel("m", api_key=KEY, base_url=url)


def sse(frame: dict[str, Any] | str) -> str:
    data = frame if isinstance(frame, str) else json.dumps(frame)
    name = "" if isinstance(frame, str) or "type" not in frame else f"event: {frame['type']}\n"
    return f"{name}data: {data}\n\n"


def chat(**choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, **choice}]}


OPENAI: list[dict[str, Any] | str] = [
    chat(delta={"content": "Hel"}),
    chat(delta={"content": "lo"}),
    chat(finish_reason="stop"),
    "[DONE]",
]
ANTHROPIC: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Hello"},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
    {"type": "message_stop"},
]
OPENAI_BODY = "".join(sse(frame) for frame in OPENAI)
ANTHROPIC_BODY = "".join(sse(frame) for frame in ANTHROPIC)

BOTH = pytest.mark.parametrize(
    ("make", "body"),
    [(openai_model, OPENAI_BODY), (anthropic_model, ANTHROPIC_BODY)],
    ids=["openai", "anthropic"],
)


def answer(
    body: bytes | str,
    headers: str = "content-type: text/event-stream\r\n",
    status: str = "200 OK",
    version: str = "HTTP/1.1",
) -> bytes:
    raw = body.encode() if isinstance(body, str) else body
    return f"{version} {status}\r\nconnection: close\r\n{headers}\r\n".encode() + raw


@asynccontextmanager
async def serving(data: bytes, heard: list[bytes] | None = None) -> AsyncGenerator[str]:
    """Every request is answered with `data`, then the connection is closed."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if heard is not None:
            heard.append(head)
        sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
        await reader.readexactly(int(sizes[0].partition(b":")[2]) if sizes else 0)
        writer.write(data)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def asked(model: AnyModel) -> ModelRequest:
    message = UserMessage("m1", (Text("hi"),))
    return ModelRequest(CallConfig(model.provider, "m"), [message], None, (), "s1", None)


async def told(make: Make, data: bytes) -> str | ModelError:
    """The text of the answer, or the failure."""
    async with serving(data) as url, make(url) as model:
        grammar, assembler = StreamGrammar(), Assembler()
        try:
            async with aclosing(model.stream(asked(model))) as chunks:
                async for chunk in chunks:
                    grammar.check(chunk)
                    assembler.feed(chunk)
        except ModelError as error:
            return error
        return text_of(assembler.message_content())


async def failure(make: Make, data: bytes) -> ModelError:
    found = await told(make, data)
    assert isinstance(found, ModelError), found
    return found


def unfinished() -> list[str]:
    """Generators of the running loop that have begun and not ended, but those of the tests."""
    loop: Any = asyncio.get_running_loop()
    begun = [one for one in list(loop._asyncgens) if one.ag_frame is not None]
    return [one.__qualname__ for one in begun if "/tests/" not in one.ag_code.co_filename]


@BOTH
@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
@pytest.mark.parametrize("bad", ["", "data: {\n\n"], ids=["whole", "malformed"])
async def test_no_generator_is_left_to_the_collector(
    make: Make, body: str, version: str, bad: str
) -> None:
    """DESIGN 2: streams are closed explicitly, never by the garbage collector."""
    bad = bad.replace("data", "event: message_start\ndata") if make is anthropic_model else bad
    gc.collect()
    gc.disable()
    try:
        await told(make, answer(bad + body, version=version))
        assert unfinished() == []
    finally:
        gc.enable()


@BOTH
@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
async def test_no_generator_is_left_when_the_reader_leaves(
    make: Make, body: str, version: str
) -> None:
    """DESIGN 2: a stream that is closed in the middle ends every generator below it."""
    gc.collect()
    gc.disable()
    try:
        async with serving(answer(body, version=version)) as url, make(url) as model:
            async with aclosing(model.stream(asked(model))) as chunks:
                await anext(chunks)
            assert unfinished() == []
    finally:
        gc.enable()


@BOTH
async def test_a_first_request_starts_no_thread(make: Make, body: str) -> None:
    """DESIGN 2: threads come only from the runtime's executor, not from an SDK."""
    before = threading.active_count()
    async with (
        serving(answer(body)) as url,
        make(url) as model,
        aclosing(model.stream(asked(model))) as chunks,
    ):
        async for _ in chunks:
            assert threading.active_count() == before


@BOTH
@pytest.mark.parametrize(
    "lines", ["retry: 10\n\n", "id: 7\n\n: ping\n\n", "data:\n\n", ": hello\n\n", "\n\n"]
)
async def test_an_event_without_data_is_none(make: Make, body: str, lines: str) -> None:
    """core 12.3: lines that carry no data bring nothing and break nothing."""
    assert await told(make, answer(lines + body)) == "Hello"


async def test_a_byte_order_mark_costs_no_words() -> None:
    """core 12.3: the mark that a text may begin with hides no first frame."""
    assert await told(openai_model, answer(b"\xef\xbb\xbf" + OPENAI_BODY.encode())) == "Hello"


@BOTH
@pytest.mark.parametrize("headers", ["", "content-type: text/plain\r\n"])
async def test_a_cut_is_a_cut_whatever_the_content_type(
    make: Make, body: str, headers: str
) -> None:
    """core 12.5: an answer that began and broke off is TRANSPORT, named a stream or not."""
    half = body[: body.index("Hel") + 40].rpartition("\n\n")[0] + "\n\n"
    whole = answer(body, headers)
    assert await told(make, whole) == "Hello"
    assert (await failure(make, answer(half, headers))).code == "TRANSPORT"


@BOTH
async def test_a_number_that_python_does_not_read_is_malformed(make: Make, body: str) -> None:
    """core 12.5: a frame that cannot be read is MALFORMED_RESPONSE, whatever ails it."""
    long = body.replace('"index": 0', '"z": ' + "9" * 5000 + ', "index": 0', 1)
    assert (await failure(make, answer(long))).code == "MALFORMED_RESPONSE"


@BOTH
async def test_a_body_that_is_not_packed_as_it_says_is_malformed(make: Make, body: str) -> None:
    """core 12.5: a body that cannot be unpacked is MALFORMED_RESPONSE; a sound one is read."""
    headers = "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n"
    assert await told(make, answer(gzip.compress(body.encode()), headers)) == "Hello"
    assert (await failure(make, answer(body, headers))).code == "MALFORMED_RESPONSE"


@BOTH
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
async def test_a_redirection_takes_nothing_elsewhere(make: Make, body: str, status: str) -> None:
    """core 12.5: key and prompt go to the server that was named, and to no other."""
    heard: list[bytes] = []
    async with serving(answer(body), heard) as elsewhere:
        error = await failure(make, answer("", f"location: {elsewhere}/x\r\n", status))
    assert (error.code, error.status) == ("INVALID_REQUEST", int(status[:3]))
    assert "base_url" in error.message
    assert heard == []


@BOTH
async def test_a_date_that_no_calendar_has_names_no_wait(make: Make, body: str) -> None:
    """core 12.5: whatever stands in retry-after, the failure is a ModelError."""
    headers = (
        "retry-after: Wed, 21 Oct 2015 07:28:09 +9999999999999999\r\n"
        "date: Wed, 21 Oct 2015 07:28:00 GMT\r\ncontent-length: 0\r\n"
    )
    error = await failure(make, answer("", headers, "429 Slow"))
    assert (error.code, error.retry_after) == ("RATE_LIMIT", None)


def test_a_wait_beyond_every_number_is_still_a_wait() -> None:
    """core 12.6: above the cap the normal policy gives up, however far above."""
    wait = failure_of(ModelError("slow", "RATE_LIMIT", retry_after=1e20))
    assert wait.provider_retry_after_ms == 2**53 - 1
    assert RetryPolicy().decide(wait, 1, Random(1)) is None


@BOTH
@pytest.mark.parametrize("padding", [560, 580, 590, 1940, 1960, 15_950, 15_990])
async def test_a_text_cut_within_the_key_shows_no_part_of_it(
    make: Make, body: str, padding: int
) -> None:
    """DESIGN 8: a key is in no error, and neither is the head of one that was cut off."""
    said = json.dumps({"error": {"message": "y" * padding + " " + KEY, "type": "x"}})
    error = await failure(make, answer(said, "content-type: application/json\r\n", "400 No"))
    assert KEY[:8] not in error.message


def test_only_the_head_of_the_key_before_a_cut_is_taken_out() -> None:
    """DESIGN 8: the same letters in the middle of a text are no key."""
    key = Credential(KEY)
    assert key.scrub(f"a {KEY[:12]}… b") == "a [redacted]… b"
    assert key.scrub(f"a {KEY[:12]}") == "a [redacted]"
    assert key.scrub(f"a {KEY[:12]} b") == f"a {KEY[:12]} b"
