"""`OpenAIModel` over a real connection, the SDK in between."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

import openai
import pytest

from broodline.actors.models import Assembler, StreamGrammar
from broodline.actors.models.openai.model import OpenAIModel
from broodline.messages.chunk import Chunk, Finish, TextDelta, Usage, UsageChunk
from broodline.messages.content import Reasoning, Text, ToolCall
from broodline.messages.errors import ModelError
from broodline.messages.message import UserMessage
from broodline.messages.payload import CallConfig
from broodline.messages.request import ModelRequest
from broodline.testing.wire import (
    WireServer,
    Word,
    call,
    calls,
    ceiling,
    context_too_long,
    cut,
    empty,
    endless,
    error_frame,
    frame,
    malformed,
    no_quota,
    refusal,
    say,
    silent,
    status,
    truncated,
)
from broodline.testing.wire.script import Endless

KEY = "sk-live-0123456789"
REQUEST = ModelRequest(
    CallConfig("openai", "gpt-x"), [UserMessage("m", (Text("Hi"),))], None, (), "s1", None
)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as server:
        yield server


@pytest.fixture
async def model(server: WireServer) -> AsyncIterator[OpenAIModel]:
    async with OpenAIModel("gpt-x", api_key=KEY, base_url=server.openai_url) as model:
        yield model
    assert await server.until_closed(), "a connection was left open"


async def answer(model: OpenAIModel) -> Assembler:
    """Take in one response as an agent would."""
    grammar, assembler = StreamGrammar(), Assembler()
    async for chunk in model.stream(REQUEST):
        grammar.check(chunk)
        assembler.feed(chunk)
    grammar.end()
    return assembler


async def failure(model: OpenAIModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await answer(model)
    return caught.value


async def begun(model: OpenAIModel) -> AsyncGenerator[Chunk, None]:
    """A stream of which the first piece of text has come."""
    stream = model.stream(REQUEST)
    async for chunk in stream:
        if isinstance(chunk, TextDelta):
            return stream
    raise AssertionError("no text came")


async def test_an_answer_comes_over_the_wire(server: WireServer, model: OpenAIModel) -> None:
    """core 12.3: text, thoughts, calls, counts and the finish arrive as our chunks."""
    counts = Usage(5, 3, cache_read_tokens=2, reasoning_tokens=1)
    wanted = call("add", {"a": 1}, id="c1"), call("add", {"a": 2}, id="c2")
    server.play(calls(*wanted, text=("Let ", "me."), reasoning="hm", usage=counts))
    found = await answer(model)
    assert found.message_content() == (
        Reasoning("hm"),
        Text("Let me."),
        ToolCall("c1", "add", '{"a":1}'),
        ToolCall("c2", "add", '{"a":2}'),
    )
    assert found.usage == counts
    assert found.finish == Finish(
        "tool-calls", replay_state={"reasoningField": "reasoning_content"}
    )


async def test_the_request_is_what_was_asked(server: WireServer, model: OpenAIModel) -> None:
    """core 12.2: the body goes out whole, with the key in the header and nowhere else."""
    server.play(say("x"))
    await answer(model)
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "gpt-x",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


OUTCOMES: dict[str, tuple[Word, str]] = {
    "cut-connect": (cut(after="connect"), "TRANSPORT"),
    "cut-headers": (cut(after="headers"), "TRANSPORT"),
    "cut-start": (cut(after="start"), "TRANSPORT"),
    "cut-text": (cut(after="text"), "TRANSPORT"),
    "cut-tool": (cut(after="tool"), "TRANSPORT"),
    "cut-finish": (cut(after="finish"), "TRANSPORT"),
    "cut-usage": (cut(after="usage"), "TRANSPORT"),
    "reset-text": (cut(after="text", reset=True), "TRANSPORT"),
    "end-headers": (cut(after="headers", orderly=True), "TRANSPORT"),
    "end-text": (cut(after="text", orderly=True), "TRANSPORT"),
    "end-tool": (cut(after="tool", orderly=True), "TRANSPORT"),
    "truncated": (truncated(), "TRANSPORT"),
    "json": (malformed(), "MALFORMED_RESPONSE"),
    "shape": (malformed("shape"), "MALFORMED_RESPONSE"),
    "utf8": (malformed("utf8"), "MALFORMED_RESPONSE"),
    "html": (frame("<h1>Hi</h1>", content_type="text/html"), "MALFORMED_RESPONSE"),
    "429": (status(429, retry_after=0.5), "RATE_LIMIT"),
    "quota": (no_quota(), "QUOTA"),
    "401": (status(401), "AUTH"),
    "403": (status(403), "AUTH"),
    "400": (status(400), "INVALID_REQUEST"),
    "404": (status(404), "INVALID_REQUEST"),
    "408": (status(408), "TIMEOUT"),
    "413": (status(413), "INVALID_REQUEST"),
    "422": (status(422), "INVALID_REQUEST"),
    "500": (status(500), "SERVER"),
    "503": (status(503), "SERVER"),
    "504": (status(504), "TIMEOUT"),
    "529": (status(529), "SERVER"),
    "context": (context_too_long(), "CONTEXT_WINDOW_EXCEEDED"),
    "overloaded": (error_frame(of=say("x")), "SERVER"),
    "rate-limit-frame": (error_frame("rate_limit_exceeded", "slow down"), "RATE_LIMIT"),
    "empty": (empty(), "EMPTY_RESPONSE"),
    "filter": (refusal(), "REFUSAL"),
    "refusal": (refusal(filtered=False), "REFUSAL"),
}


@pytest.mark.parametrize("name", OUTCOMES)
async def test_each_misfortune_has_its_outcome(
    server: WireServer, model: OpenAIModel, name: str
) -> None:
    """core 12.5: each way to fail has its code and its facts, and nothing of the SDK's leaves."""
    word, code = OUTCOMES[name]
    server.play(word)
    error = await failure(model)
    assert error.code == code
    assert error.retry_after == (0.5 if name == "429" else None)
    assert error.__cause__ is None
    assert error.__context__ is None
    assert len(server.requests) <= 1, "the SDK asked again by itself"
    if name != "cut-connect":
        assert error.request_id == "req_1"


@pytest.mark.parametrize("after", ["finish", "usage"])
async def test_an_orderly_end_behind_the_finish_is_an_end(
    server: WireServer, model: OpenAIModel, after: Any
) -> None:
    """core 12.5: servers that leave out the [DONE] have said all."""
    server.play(cut(after=after, orderly=True, of=say("Hi")))
    assert (await answer(model)).message_content() == (Text("Hi"),)


async def test_the_ceiling_in_a_call(server: WireServer, model: OpenAIModel) -> None:
    """core 12.4: a call that the ceiling cut does not reach the message."""
    server.play(ceiling("I write.", call("write", '{"pa')))
    found = await answer(model)
    assert found.message_content() == (Text("I write."),)
    assert found.finish == Finish("max-tokens")


async def test_a_server_that_is_not_there() -> None:
    """core 12.5: a refused connection is TRANSPORT, and the text names the server."""
    with WireServer() as gone:
        url = gone.openai_url
    async with OpenAIModel("m", api_key=KEY, base_url=url) as model:
        error = await failure(model)
    assert (error.code, url in error.message) == ("TRANSPORT", True)


async def test_silence_on_the_wire_is_a_timeout(server: WireServer) -> None:
    """core 12.5: the adapter's own time-out ends a silent connection with TIMEOUT."""
    server.play(silent("headers"), silent("text"))
    async with OpenAIModel("m", api_key=KEY, base_url=server.openai_url, timeout=0.05) as model:
        errors = [await failure(model) for _ in range(2)]
    assert [error.code for error in errors] == ["TIMEOUT", "TIMEOUT"]
    assert not any("Cancelled" in error.message for error in errors)


async def test_counts_of_an_answer_that_broke_off(server: WireServer, model: OpenAIModel) -> None:
    """core 12.3: what the server had told of the tokens reaches the log before the failure."""
    server.play(cut(after="usage", of=say("Hi", usage=Usage(70, 9))))
    chunks: list[Chunk] = []
    with pytest.raises(ModelError):
        async for chunk in model.stream(REQUEST):
            chunks.append(chunk)
    assert chunks[-1] == UsageChunk(Usage(70, 9))
    server.release()
    assert await server.until_closed()


async def test_connections_are_used_again(server: WireServer, model: OpenAIModel) -> None:
    """DESIGN 7: an answer read to its end gives its connection to the next request."""
    server.play(say("a"), status(500), say("b"))
    await answer(model)
    await failure(model)
    await answer(model)
    assert (server.connections, server.open_connections) == (1, 1)


async def test_closing_in_the_middle_closes_the_connection(
    server: WireServer, model: OpenAIModel
) -> None:
    """core 9: a stream that is closed early lets go of its connection at once."""
    server.play(endless(every=0.001))
    stream = await begun(model)
    await stream.aclose()
    assert await server.until_closed()


@pytest.mark.parametrize("word", [endless(every=0.001), malformed(), malformed("shape")])
async def test_nothing_is_left_to_the_garbage_collector(
    server: WireServer, model: OpenAIModel, word: Word
) -> None:
    """DESIGN 2: the SDK's generators end with the stream, in its own task, when that ends early."""
    server.play(word)
    left: list[str] = []
    before = sys.get_asyncgen_hooks()

    def note(generator: AsyncGenerator[Any, Any]) -> None:
        left.append(repr(generator))

    # A generator keeps the hook that is in force when it is first asked.
    sys.set_asyncgen_hooks(before.firstiter, note)
    try:
        stream = await begun(model)
        if isinstance(word, Endless):
            await stream.aclose()
        else:
            with pytest.raises(ModelError):
                await anext(chunk async for chunk in stream if isinstance(chunk, Finish))
        del stream
        gc.collect()
    finally:
        sys.set_asyncgen_hooks(before.firstiter, before.finalizer)
    assert left == []


@pytest.mark.parametrize("before", ["headers", "first", "text", "finish"])
async def test_cancelling_closes_the_connection(
    server: WireServer, model: OpenAIModel, before: Any
) -> None:
    """core 9: whatever a request waits for, its cancellation closes the connection."""
    server.play(silent(before))
    task = asyncio.create_task(answer(model))
    assert await server.until_silent()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    server.release()
    assert await server.until_closed()


async def test_a_second_cancellation_changes_nothing(
    server: WireServer, model: OpenAIModel
) -> None:
    """core 9: the connection is closed also when its closing is cancelled."""
    server.play(endless(every=0.001))
    stream = await begun(model)
    closing = asyncio.ensure_future(stream.aclose())
    for _ in range(3):
        await asyncio.sleep(0)
        closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert await server.until_closed()


async def test_closing_the_model_waits_for_its_streams(
    server: WireServer, model: OpenAIModel
) -> None:
    """DESIGN 2: a stream that is read keeps its connection when the model is closed."""
    server.play(silent("finish", of=say("Hi")), say("again"))
    stream = await begun(model)
    await model.aclose()
    assert await server.until_silent()
    server.release()
    assert [type(chunk).__name__ async for chunk in stream][-1] == "Finish"
    assert await server.until_closed()
    assert (await answer(model)).message_content() == (Text("again"),)


async def test_many_streams_at_once(server: WireServer, model: OpenAIModel) -> None:
    """core 12.2: one model answers several requests at the same time."""
    server.play(*(silent("text", of=say(name)) for name in "abc"))
    tasks = [asyncio.create_task(answer(model)) for _ in range(3)]
    assert await server.until_silent(3)
    server.release()
    said = [one.message_content()[0] for one in await asyncio.gather(*tasks)]
    assert sorted(block.text for block in said if isinstance(block, Text)) == ["a", "b", "c"]


async def test_one_model_serves_several_loops(server: WireServer, model: OpenAIModel) -> None:
    """DESIGN 2: connections belong to their loop; another loop's model use has its own."""
    server.play(say("here"), say("there"))
    await answer(model)

    async def elsewhere() -> Assembler:
        try:
            return await answer(model)
        finally:
            await model.aclose()

    found = await asyncio.to_thread(asyncio.run, elsewhere())
    assert found.message_content() == (Text("there"),)
    assert await server.until_closed(leaving=1)


async def test_a_password_in_the_url_is_sent_in_the_header(server: WireServer) -> None:
    """DESIGN 8: user:password@ and the query of a base URL reach the server, and no log."""
    url = server.openai_url.replace("http://", "http://user:hunter2@") + "?team=blue"
    server.play(say("x"))
    async with OpenAIModel("m", api_key=KEY, base_url=url) as model:
        await answer(model)
    (request,) = server.requests
    assert request.headers["authorization"] == "Basic dXNlcjpodW50ZXIy"
    assert request.path == "/v1/chat/completions?team=blue"


async def test_no_secret_is_logged(server: WireServer, caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 8: neither the SDK nor the HTTP library below it writes the key or the password."""
    url = server.openai_url.replace("http://", "http://user:hunter2@")
    server.play(say("x"), status(401, text=f"Incorrect API key {KEY} of user:hunter2"))
    with caplog.at_level(logging.DEBUG):
        async with OpenAIModel("m", api_key=KEY, base_url=url) as model:
            await answer(model)
            error = await failure(model)
    for text in (caplog.text, repr(error), json.dumps(error.to_dict())):
        assert KEY not in text
        assert "hunter2" not in text


async def test_a_callers_client_is_used_and_left_open(server: WireServer) -> None:
    """DESIGN 9: client= is asked without its own retries, and stays the caller's to close."""
    server.play(status(500), say("x"), say("y"))
    async with openai.AsyncOpenAI(api_key=KEY, base_url=server.openai_url) as client:
        async with OpenAIModel("m", client=client) as model:
            assert (await failure(model)).code == "SERVER"
            await answer(model)
        assert not client.is_closed()
        assert client.max_retries > 0
        await answer(OpenAIModel("m", client=client))
    assert len(server.requests) == 3


async def test_an_azure_client_finds_its_deployment(server: WireServer) -> None:
    """DESIGN 9: with an Azure client the deployment's path is asked, with the key in its header."""
    async with openai.AsyncAzureOpenAI(
        api_key=KEY, base_url=server.openai_url, api_version="2025-01-01"
    ) as client:
        server.play(say("x"))
        assert (await answer(OpenAIModel("m", client=client))).finish == Finish("stop")
    (request,) = server.requests
    assert request.headers["api-key"] == KEY
    assert request.path.endswith("?api-version=2025-01-01")


async def test_a_burst_of_frames_keeps_its_order(server: WireServer, model: OpenAIModel) -> None:
    """core 12.3: frames split and joined by the network are read whole and in order."""
    pieces = tuple(f"{number} " for number in range(500))
    server.play(say(*pieces))
    assert (await answer(model)).message_content() == (Text("".join(pieces)),)


async def test_no_thread_is_started(server: WireServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN 2: threads come from the runtime's executor alone, not from the SDK."""
    loop = asyncio.get_running_loop()
    server.play(say("x"))

    def refuse(*_args: object) -> Any:
        raise AssertionError("the SDK wanted a thread")

    async with OpenAIModel("m", api_key=KEY, base_url=server.openai_url) as model:
        with monkeypatch.context() as patch:
            patch.setattr(loop, "run_in_executor", refuse)
            await answer(model)
