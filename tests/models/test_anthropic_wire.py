"""AnthropicModel over a real connection, alone and inside a runtime: spec core 12.2 to 12.6."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import anthropic
import pytest

from broodline import Runtime, SubagentTool, tool
from broodline.actors.models import Assembler, RetryPolicy, StreamGrammar
from broodline.actors.models.anthropic import response as anthropic_response
from broodline.actors.models.anthropic.model import AnthropicModel
from broodline.actors.models.redaction import render_chain
from broodline.messages.chunk import BlockEnd, BlockStart, Chunk, Finish, TextDelta, Usage
from broodline.messages.content import Reasoning, Text, ToolCall, ToolResult, text_of
from broodline.messages.errors import ModelError
from broodline.messages.message import UserMessage
from broodline.messages.payload import CallConfig, ToolSchema
from broodline.messages.request import ModelRequest
from broodline.testing.wire import (
    WireRequest,
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

KEY = "sk-ant-very-secret-key"
QUICK = RetryPolicy(retries=2, base=0.001, cap=1.0)
ONCE = RetryPolicy(retries=0)


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with WireServer() as running:
        yield running


@pytest.fixture
async def model(server: WireServer) -> AsyncIterator[AnthropicModel]:
    """A model of the server; at the end of the test no connection of it is open."""
    async with AnthropicModel("claude-x", api_key=KEY, base_url=server.anthropic_url) as made:
        yield made
    assert await server.until_closed()


def asked(prompt: str = "hi", **settings: Any) -> ModelRequest:
    tools = settings.pop("tools", ())
    config = CallConfig("anthropic", settings.pop("model", "claude-x"), **settings)
    return ModelRequest(config, [UserMessage("m1", (Text(prompt),))], None, tools, "s1", None)


async def answered(
    model: AnthropicModel, request: ModelRequest | None = None
) -> tuple[Assembler, ModelError | None]:
    """One response, sure to obey the grammar, and the error if it was none."""
    grammar, assembler = StreamGrammar(), Assembler()
    failure: ModelError | None = None
    async with aclosing(model.stream(request or asked())) as stream:
        try:
            async for chunk in stream:
                grammar.check(chunk)
                assembler.feed(chunk)
        except ModelError as error:
            failure = error
        else:
            grammar.end()
    return assembler, failure


async def refused(model: AnthropicModel, server: WireServer, word: Word) -> ModelError:
    server.play(word)
    _, failure = await answered(model)
    assert failure is not None
    return failure


# -- the model alone


async def test_an_answer(server: WireServer, model: AnthropicModel) -> None:
    """core 12.3: thinking, text and calls come over the wire as blocks, with usage and finish."""
    used = Usage(10, 20, 3, 4)
    server.play(
        calls(
            call("add", {"a": 1}), call("now", {}), text=("I ", "add."), reasoning="hm", usage=used
        )
    )
    assembler, failure = await answered(model)
    assert failure is None
    thought, said, add, now = assembler.message_content()
    assert (thought, said) == (Reasoning("hm"), Text("I add."))
    assert isinstance(add, ToolCall)
    assert isinstance(now, ToolCall)
    assert (add.name, json.loads(add.arguments), now.arguments) == ("add", {"a": 1}, "{}")
    assert assembler.usage == used
    assert assembler.finish is not None
    assert assembler.finish.kind == "tool-calls"


async def test_what_is_sent(server: WireServer, model: AnthropicModel) -> None:
    """core 12.2: the request says which model is asked, with the key, as a stream, no retry."""
    server.play(say("x"))
    schema = ToolSchema("add", "Adds.", {"type": "object"})
    await answered(model, asked(model="claude-y", temperature=0.5, stop=("END",), tools=(schema,)))
    sent = server.requests[0]
    assert sent.model == "claude-y"
    assert sent.stream
    assert KEY in sent.headers.get("x-api-key", sent.headers.get("authorization", ""))
    assert (sent.body["temperature"], sent.body["stop_sequences"]) == (0.5, ["END"])
    assert sent.body["max_tokens"] == 8192


async def test_an_effort_is_sent(server: WireServer, model: AnthropicModel) -> None:
    """core 12.2: reasoning effort goes out as the API has it."""
    server.play(say("x"))
    await answered(model, asked(reasoning_effort="high"))
    assert server.requests[0].body["output_config"] == {"effort": "high"}
    assert server.requests[0].body["thinking"] == {"type": "adaptive"}


async def test_a_whole_answer_gives_its_connection_back(
    server: WireServer, model: AnthropicModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN 2: a finished stream leaves its connection to the next, also closed at its end."""
    monkeypatch.setattr(anthropic_response, "_LINGER", 30.0)  # a busy machine may be slow
    server.play(say("a"), say("b"), say("c"))
    await answered(model)
    async with aclosing(model.stream(asked())) as stream:
        async for chunk in stream:
            if isinstance(chunk, Finish):
                break
    await answered(model)
    assert server.connections == 1


async def test_the_first_words_do_not_wait_for_the_last(
    server: WireServer, model: AnthropicModel
) -> None:
    """core 12.2: what has come is passed on while the rest is still awaited."""
    server.play(silent("finish", of=say("early")))
    async with aclosing(model.stream(asked())) as stream:
        said = [chunk async for chunk in _until(stream, TextDelta)]
        assert said[-1] == TextDelta(0, "early")


async def _until(stream: AsyncIterator[Chunk], kind: type) -> AsyncIterator[Chunk]:
    async for chunk in stream:
        yield chunk
        if isinstance(chunk, kind):
            return


ROWS: list[tuple[str, Word, str, int | None]] = [
    ("cut before the request", cut("connect"), "TRANSPORT", None),
    ("cut behind the headers", cut("headers"), "TRANSPORT", None),
    ("cut behind the start", cut("start"), "TRANSPORT", None),
    ("cut in the text", cut("text"), "TRANSPORT", None),
    ("reset in the text", cut("text", reset=True), "TRANSPORT", None),
    ("cut in a call", cut("tool"), "TRANSPORT", None),
    ("cut behind the finish", cut("finish"), "TRANSPORT", None),
    ("cut behind the usage", cut("usage"), "TRANSPORT", None),
    ("orderly end behind the headers", cut("headers", orderly=True), "TRANSPORT", None),
    ("orderly end in the text", cut("text", orderly=True), "TRANSPORT", None),
    ("orderly end in a call", cut("tool", orderly=True), "TRANSPORT", None),
    ("orderly end before message_stop", cut("usage", orderly=True), "TRANSPORT", None),
    ("truncated frame", truncated(), "TRANSPORT", None),
    ("too many", status(429, retry_after=0.25), "RATE_LIMIT", 429),
    ("no money", no_quota(), "QUOTA", 402),
    ("time-out of the server", status(408), "TIMEOUT", 408),
    ("time-out of a gateway", status(504), "TIMEOUT", 504),
    ("broken server", status(500), "SERVER", 500),
    ("overloaded server", status(529), "SERVER", 529),
    ("wrong key", status(401), "AUTH", 401),
    ("no permission", status(403), "AUTH", 403),
    ("no such model", status(404), "INVALID_REQUEST", 404),
    ("bad request", status(400), "INVALID_REQUEST", 400),
    ("unprocessable", status(422), "INVALID_REQUEST", 422),
    ("too large", status(413), "INVALID_REQUEST", 413),
    ("too long", context_too_long(), "CONTEXT_WINDOW_EXCEEDED", 400),
    ("error body of another form", status(503, body="<html>busy</html>"), "SERVER", 503),
    ("error in the stream", error_frame("overloaded_error", "busy"), "SERVER", None),
    ("no JSON", malformed("json"), "MALFORMED_RESPONSE", None),
    ("JSON of another form", malformed("shape"), "MALFORMED_RESPONSE", None),
    ("no UTF-8", malformed("utf8"), "MALFORMED_RESPONSE", None),
    ("a page instead of a stream", status(200, "<html>hi</html>"), "MALFORMED_RESPONSE", None),
    (
        "an event that is a number",
        frame("event: message_start\ndata: 5\n\n"),
        "MALFORMED_RESPONSE",
        None,
    ),
]


@pytest.mark.parametrize(
    ("word", "code", "http"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
async def test_each_failure(
    server: WireServer, model: AnthropicModel, word: Word, code: str, http: int | None
) -> None:
    """core 12.5: each failure of the wire is a ModelError with its code, and no error behind it."""
    failure = await refused(model, server, word)
    assert (failure.code, failure.status) == (code, http)
    assert failure.message.startswith("anthropic:claude-x at http://127.0.0.1:")
    assert failure.__cause__ is failure.__context__ is None


async def test_facts_of_a_failure(server: WireServer, model: AnthropicModel) -> None:
    """core 12.5: the wait that the server asks for and the id of the request are kept."""
    late = status(429, retry_after_ms=1500, headers={"request-id": "req_here"})
    failure = await refused(model, server, late)
    assert (failure.retry_after, failure.request_id) == (1.5, "req_here")
    within = await refused(model, server, error_frame("api_error", "no"))
    assert within.request_id is not None
    ended = await refused(model, server, cut("text", orderly=True))
    assert ended.request_id is not None


async def test_nobody_listens(model: AnthropicModel) -> None:
    """core 12.5: a connection that is refused is TRANSPORT."""
    with WireServer() as gone:
        url = gone.anthropic_url
    async with AnthropicModel("claude-x", api_key=KEY, base_url=url) as lonely:
        _, failure = await answered(lonely)
    assert failure is not None
    assert failure.code == "TRANSPORT"


@pytest.mark.parametrize("before", ["headers", "first", "text"])
async def test_silence_on_the_wire(server: WireServer, before: Any) -> None:
    """core 12.5: a connection silent beyond the model's time-out is TIMEOUT, and closed."""
    server.play(silent(before))
    async with AnthropicModel(
        "claude-x", api_key=KEY, base_url=server.anthropic_url, timeout=0.05
    ) as hasty:
        _, failure = await answered(hasty)
        assert failure is not None
        assert failure.code == "TIMEOUT"
        assert "Cancelled" not in failure.message
        assert await server.until_closed()


@pytest.mark.parametrize("after", ["text", "usage"])
async def test_counts_of_an_answer_that_broke_off(
    server: WireServer, model: AnthropicModel, after: Any
) -> None:
    """core 12.3: what the server had told of the tokens reaches the log before the failure."""
    server.play(cut(after, of=say("Hello ", "there.", usage=Usage(70, 9))))
    assembler, failure = await answered(model)
    assert failure is not None
    assert assembler.usage is not None
    assert assembler.usage.input_tokens == 70
    assert after == "text" or assembler.usage.output_tokens == 9


@pytest.mark.parametrize("word", [refusal(), empty()], ids=["REFUSAL", "EMPTY_RESPONSE"])
async def test_answers_that_are_none(
    server: WireServer, model: AnthropicModel, word: Word, request: pytest.FixtureRequest
) -> None:
    """core 12.5: a refusal and an empty answer end with a failure, their usage kept."""
    server.play(word)
    assembler, failure = await answered(model)
    assert failure is None
    assert assembler.usage is not None
    assert assembler.finish is not None
    assert assembler.finish.failure is not None
    assert assembler.finish.failure.code == request.node.callspec.id
    assert assembler.finish.failure.request_id is not None


async def test_the_ceiling_in_a_call(server: WireServer, model: AnthropicModel) -> None:
    """core 12.4: a call that the ceiling cut is no call of the message."""
    server.play(ceiling("cut of", call("write", '{"pa')))
    assembler, failure = await answered(model)
    assert failure is None
    assert assembler.finish is not None
    assert assembler.finish.kind == "max-tokens"
    assert assembler.message_content() == (Text("cut of"),)


@pytest.mark.parametrize("stage", ["headers", "first", "text", "closed"])
async def test_cancelled_once_and_again(server: WireServer, stage: Any) -> None:
    """core 9: a cancelled request closes its connection, however often it is cancelled."""
    server.play(silent("text" if stage == "closed" else stage))
    async with AnthropicModel("claude-x", api_key=KEY, base_url=server.anthropic_url) as model:
        running = asyncio.create_task(answered(model))
        assert await server.until_silent()
        running.cancel()
        for _ in range(6):
            await asyncio.sleep(0)
            running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await server.until_closed()


async def test_closed_in_the_middle(server: WireServer, model: AnthropicModel) -> None:
    """DESIGN 2: a stream that is closed in its middle closes the connection and leaves no task."""
    server.play(endless())
    before = asyncio.all_tasks()
    async with aclosing(model.stream(asked())) as stream:
        said = [chunk async for chunk in _until(stream, TextDelta)]
    assert said[:1] == [BlockStart(0, "text")]
    assert asyncio.all_tasks() == before
    assert await server.until_closed()


async def test_the_key_is_nowhere(
    server: WireServer, model: AnthropicModel, caplog: pytest.LogCaptureFixture
) -> None:
    """core 12.5: a key or a password is in no error and no log, also when the server repeats it."""
    caplog.set_level(logging.DEBUG)
    host = server.anthropic_url.removeprefix("http://")
    echo = f"bad key {KEY}, you hunter2pass"
    words: list[Word] = [
        status(401, body={"error": {"type": KEY, "message": echo}, "request_id": KEY}),
        error_frame("api_error", echo),
        malformed("json"),
        say("fine"),
    ]
    async with AnthropicModel(
        "claude-x", api_key=KEY, base_url=f"http://user:hunter2pass@{host}/v1?tenant=querysecret"
    ) as hidden:
        for word in words:
            server.play(word)
            _, failure = await answered(hidden)
            if failure is not None:
                facts = [failure.to_dict(), failure.args, render_chain(failure)]
                assert KEY not in repr(facts)
                assert "hunter2pass" not in repr(facts)
    assert KEY not in caplog.text
    assert "hunter2pass" not in caplog.text


async def test_the_key_is_no_id(server: WireServer, model: AnthropicModel) -> None:
    """core 12.5: a server that answers with the key as its request's id does not get it through."""
    failure = await refused(model, server, status(401, headers={"request-id": KEY}))
    assert failure.request_id is not None
    assert KEY not in failure.request_id


async def test_a_password_in_the_address(server: WireServer) -> None:
    """core 12.5: user and password of the address are sent as a header, and the key beside them."""
    server.play(say("x"))
    host = server.anthropic_url.removeprefix("http://")
    async with AnthropicModel("m", api_key=KEY, base_url=f"http://u:p@{host}/v1?tag=7") as model:
        _, failure = await answered(model)
    assert failure is None
    sent = server.requests[0]
    assert sent.headers["authorization"] == "Basic dTpw"
    assert sent.headers["x-api-key"] == KEY
    assert sent.path == "/v1/messages?tag=7"


async def test_a_client_of_the_callers_stays_theirs(server: WireServer) -> None:
    """core 12.6: a caller's client is used without its retries, and stays open."""
    server.play(status(500), say("x"))
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=server.anthropic_url) as client:
        async with AnthropicModel("claude-x", client=client) as model:
            _, failure = await answered(model)
        assert failure is not None
        assert failure.code == "SERVER"
        assert len(server.requests) == 1
        _, failure = await answered(model)
        assert failure is None
        assert not client.is_closed()


def test_one_model_on_two_loops() -> None:
    """DESIGN 2: a model serves runtimes of several loops, each with connections of its own."""
    with WireServer() as server:
        server.play(say("a"), say("b"))
        model = AnthropicModel("claude-x", api_key=KEY, base_url=server.anthropic_url)

        async def once() -> str:
            async with model:
                assembler, _ = await answered(model)
            return text_of(assembler.message_content())

        assert [asyncio.run(once()), asyncio.run(once())] == ["a", "b"]
        assert server.wait_closed()


async def test_content_that_cannot_be_sent_asks_nobody(
    server: WireServer, model: AnthropicModel
) -> None:
    """core 12.5: a request that cannot be made fails before the server is asked."""
    _, failure = await answered(model, asked(" "))
    assert failure is not None
    assert failure.code == "INVALID_REQUEST"
    assert not server.requests


# -- the model inside a runtime


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def runtime_of(server: WireServer, **settings: Any) -> Runtime:
    model = AnthropicModel("claude-x", api_key=KEY, base_url=server.anthropic_url)
    settings.setdefault("retry", QUICK)
    return Runtime(model=model, check_invariants=True, **settings)


async def turn_of(runtime: Runtime, prompt: str = "go") -> list[tuple[str, Any]]:
    """The events of one turn of a new agent, by type."""
    agent = await runtime.agents.create()
    await agent.followup(prompt)
    await agent.when_idle()
    return [(event.data.TYPE, event.data) for event in _events(agent)]


def _events(agent: Any) -> list[Any]:
    return [event for event in agent.agent.session.events if hasattr(event.data, "TYPE")]


def of(events: list[tuple[str, Any]], kind: str) -> list[Any]:
    return [payload for name, payload in events if name == kind]


async def test_a_tool_round_trip_keeps_the_thinking(server: WireServer) -> None:
    """DESIGN 3: thinking goes back with its signature behind the tool's result, redacted too."""
    server.play(
        calls(call("add", {"a": 1, "b": 2}), reasoning="hm", signature="sig-1", redacted="xyz"),
        say("Three."),
    )
    async with runtime_of(server, tools=[add]) as runtime:
        events = await turn_of(runtime)
    assert of(events, "turn/end")[0].reason.kind == "completed"
    _, assistant, user = server.requests[1].body["messages"]
    assert assistant["content"][:2] == [
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "thinking", "thinking": "hm", "signature": "sig-1"},
    ]
    assert user["content"][0]["content"] == [{"type": "text", "text": "3"}]
    assert await server.until_closed()


async def test_a_retry_stays_in_its_step(server: WireServer) -> None:
    """core #269: after a 429 the request is made again in the same turn and step, and logged."""
    server.play(status(429, retry_after=0.002), cut("text"), say("done"))
    async with runtime_of(server) as runtime:
        events = await turn_of(runtime)
    assert len(of(events, "turn/start")) == len(of(events, "step/start")) == 1
    limited, lost = of(events, "llm/retry")
    assert (limited.failure.code, limited.delay_ms) == ("RATE_LIMIT", 2)
    assert limited.failure.request_id is not None
    assert lost.failure.code == "TRANSPORT"
    assert text_of(of(events, "assistant/message")[0].message.content) == "done"
    assert await server.until_closed()


OUTCOMES: list[tuple[str, Word, str]] = [
    *((name, word, code) for name, word, code, _ in ROWS),
    ("refusal", refusal(), "REFUSAL"),
    ("empty", empty(), "EMPTY_RESPONSE"),
    ("silence before the headers", silent("headers"), "TIMEOUT"),
    ("silence before the first frame", silent("first"), "TIMEOUT"),
    ("silence in the text", silent("text"), "TIMEOUT"),
    ("never-ending text", endless("more and more " * 40), "RESPONSE_TOO_LARGE"),
]


@pytest.mark.parametrize(
    ("word", "code"), [row[1:] for row in OUTCOMES], ids=[row[0] for row in OUTCOMES]
)
async def test_each_failure_ends_its_turn(server: WireServer, word: Word, code: str) -> None:
    """core 12.5: each failure of the wire ends the turn with its code and leaves nothing open."""
    server.play(word)
    short = {"request_timeout": 0.08} if code == "TIMEOUT" else {}
    async with runtime_of(server, retry=ONCE, max_response_chars=10_000, **short) as runtime:
        events = await turn_of(runtime)
    end = of(events, "turn/end")[0].reason
    assert end.kind == "error"
    assert end.error.code == code
    assert not of(events, "assistant/message")
    assert await server.until_closed()


async def test_the_ceiling_runs_no_call(server: WireServer) -> None:
    """core 12.4: the ceiling in a call ends the turn with max-tokens, and no tool runs."""
    server.play(ceiling("cut of", call("add", '{"a": 1, "b": 2}')))
    async with runtime_of(server, tools=[add]) as runtime:
        events = await turn_of(runtime)
    assert of(events, "turn/end")[0].reason.kind == "max-tokens"
    assert not of(events, "tool/call")
    closed = [c.chunk for c in of(events, "assistant/chunk") if isinstance(c.chunk, BlockEnd)]
    assert [end.block for end in closed] == [Text("cut of")]
    assert await server.until_closed()


async def test_arguments_that_are_no_json_are_answered(server: WireServer) -> None:
    """core 10: the model hears that its arguments are no JSON, and the call goes back readable."""
    server.play(calls(call("add", '{"a": ')), say("Sorry."))
    async with runtime_of(server, tools=[add]) as runtime:
        events = await turn_of(runtime)
    assert of(events, "turn/end")[0].reason.kind == "completed"
    answer = of(events, "tool/result")[0].message.content[0]
    assert isinstance(answer, ToolResult)
    assert answer.is_error
    sent = server.requests[1].body["messages"][1]["content"][0]
    assert sent["input"] == {"raw_arguments": '{"a": '}
    assert await server.until_closed()


async def test_an_aborted_turn_keeps_what_was_said(server: WireServer) -> None:
    """core 9: a turn cancelled in mid-stream keeps its words, aborts, closes its connection."""
    server.play(silent("finish", of=say("half a", " word")), say("next"))
    async with runtime_of(server) as runtime:
        agent = await runtime.agents.create()
        await agent.followup("go")
        assert await server.until_silent()
        await _said(agent, " word")
        agent.cancel()
        await agent.when_idle()
        assert await server.until_closed()
        kinds = [(e.data.TYPE, e.data) for e in _events(agent)]
        kept = of(kinds, "assistant/message")[0]
        assert (text_of(kept.message.content), kept.interrupted) == ("half a word", True)
        assert of(kinds, "turn/end")[0].reason.kind == "aborted"
        await agent.followup("again")
        await agent.when_idle()
        assert text_of(agent.agent.session.messages()[-1].content) == "next"


async def _said(agent: Any, piece: str) -> None:
    while not any(
        getattr(getattr(event.data, "chunk", None), "text", None) == piece
        for event in _events(agent)
    ):
        await asyncio.sleep(0)


async def test_two_children_stream_at_once(server: WireServer) -> None:
    """DESIGN 4: two children that a model delegates to in one answer stream side by side."""
    both = asyncio.Event()
    loop = asyncio.get_running_loop()
    waiting: list[str] = []

    def rule(request: WireRequest) -> Word:
        if request.text.startswith("child"):
            waiting.append(request.text)
            if len(waiting) == 2:
                loop.call_soon_threadsafe(both.set)
            return silent("finish", of=say(f"answer of {request.text}"))
        if "answer of child" in json.dumps(request.body["messages"]):
            return say("both are back")
        deeds = [call("subagent", {"description": n, "prompt": f"child {n}"}) for n in "ab"]
        return calls(*deeds)

    server.rule = rule
    async with runtime_of(server, tools=[SubagentTool()]) as runtime:
        agent = await runtime.agents.create()
        await agent.followup("go")
        await both.wait()
        assert await server.until_silent(2)
        assert server.release() == 2
        await agent.when_idle()
        assert text_of(agent.agent.session.messages()[-1].content) == "both are back"
    results = [
        part["content"][0]["text"] for part in server.requests[-1].body["messages"][2]["content"]
    ]
    assert ["child a" in results[0], "child b" in results[1]] == [True, True]
    assert await server.until_closed()


async def test_a_runtime_that_closes_cuts_the_stream(server: WireServer) -> None:
    """DESIGN 3: a runtime that is left while a model streams leaves no connection open."""
    server.play(endless())
    async with runtime_of(server) as runtime:
        agent = await runtime.agents.create()
        await agent.followup("go")
        assert await server.until_requests()
    assert await server.until_closed()


def test_a_runtime_with_a_loop_of_its_own() -> None:
    """DESIGN 2: in a program without a loop the connection is closed with the runtime as well."""
    with WireServer() as server:
        server.play(say("Hello."))
        with runtime_of(server) as runtime:
            agent = runtime.agents.create().result(timeout=10)
            agent.followup("go").result(timeout=10)
            agent.when_idle().result(timeout=10)
            assert text_of(agent.agent.session.messages()[-1].content) == "Hello."
        assert server.wait_closed()
