"""`OpenAIModel` in a runtime: turns, retries, cancellation and delegation over the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from broodline import Runtime, SubagentTool, tool
from broodline.actors.models import RetryPolicy
from broodline.actors.models.openai.model import OpenAIModel
from broodline.messages.content import Text, ToolResult, text_of
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
    malformed,
    no_quota,
    refusal,
    say,
    silent,
    status,
    truncated,
)

QUICK = RetryPolicy(base=0.001, cap=0.05, jitter=0.0)
ONCE = RetryPolicy(retries=0)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(name="math.add")
def dotted(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as server:
        yield server
        assert server.wait_closed(), "a connection was left open"


def runtime_of(server: WireServer, **settings: Any) -> Runtime:
    model = OpenAIModel("gpt-x", api_key="sk-live-0123456789", base_url=server.openai_url)
    settings.setdefault("retry", QUICK)
    return Runtime(model=model, check_invariants=True, **settings)


async def turn_of(runtime: Runtime) -> Any:
    """An agent that has taken one turn."""
    agent = await runtime.agents.create()
    await agent.followup("Add 1 and 2.")
    await agent.when_idle()
    return agent


def logged(agent: Any, kind: str) -> list[Any]:
    return [event.data for event in agent.agent.session.events if event.type == kind]


async def until_said(agent: Any, text: str) -> None:
    while not any(
        getattr(payload.chunk, "text", None) == text for payload in logged(agent, "assistant/chunk")
    ):
        await asyncio.sleep(0)


async def test_a_tool_is_called_and_answered(server: WireServer) -> None:
    """core 8.13: call, result and answer travel to and fro; the history is told in full."""
    counted = call("add", {"a": 1, "b": 2}, id="c1")
    server.play(calls(counted, text="So:", reasoning="hm"), say("Three."))
    async with runtime_of(server, tools=[add]) as runtime:
        agent = await turn_of(runtime)
        assert agent.answer == "Three."
    prompt, told, result = server.requests[1].body["messages"]
    assert prompt == {"role": "user", "content": "Add 1 and 2."}
    assert (told["content"], told["reasoning_content"]) == ("So:", "hm")
    assert result == {"role": "tool", "tool_call_id": "c1", "content": "3"}


async def test_a_retry_stays_in_its_turn_and_step(server: WireServer) -> None:
    """core #269: after a 429 the wait is the server's, logged, in the same turn and step."""
    server.play(status(429, retry_after=0.002), cut("text"), say("done"))
    async with runtime_of(server) as runtime:
        agent = await turn_of(runtime)
        limited, lost = logged(agent, "llm/retry")
        assert (limited.failure.code, limited.failure.status) == ("RATE_LIMIT", 429)
        assert (limited.delay_ms, limited.failure.provider_retry_after_ms) == (2, 2)
        assert lost.failure.code == "TRANSPORT"
        assert [one.retry for one in logged(agent, "llm/retry-started")] == [1, 2]
        assert len(logged(agent, "turn/start")) == len(logged(agent, "step/start")) == 1
        (message,) = logged(agent, "assistant/message")
        assert text_of(message.message.content) == "done"


async def test_a_wait_that_is_too_long_is_not_waited_for(server: WireServer) -> None:
    """core 12.6: a server that asks for more than the policy's cap ends the turn at once."""
    server.play(status(429, retry_after=3600))
    async with runtime_of(server) as runtime:
        agent = await turn_of(runtime)
        assert agent.last_end.error.code == "RATE_LIMIT"
        assert not logged(agent, "llm/retry")


OUTCOMES: dict[str, tuple[Word, str]] = {
    "cut-connect": (cut("connect"), "TRANSPORT"),
    "cut-headers": (cut("headers"), "TRANSPORT"),
    "cut-text": (cut("text"), "TRANSPORT"),
    "cut-tool": (cut("tool"), "TRANSPORT"),
    "end-text": (cut("text", orderly=True), "TRANSPORT"),
    "truncated": (truncated(), "TRANSPORT"),
    "malformed": (malformed(), "MALFORMED_RESPONSE"),
    "429": (status(429), "RATE_LIMIT"),
    "quota": (no_quota(), "QUOTA"),
    "401": (status(401), "AUTH"),
    "404": (status(404), "INVALID_REQUEST"),
    "500": (status(500), "SERVER"),
    "context": (context_too_long(), "CONTEXT_WINDOW_EXCEEDED"),
    "frame": (error_frame(of=say("x")), "SERVER"),
    "empty": (empty(), "EMPTY_RESPONSE"),
    "refusal": (refusal(), "REFUSAL"),
    "slow": (silent("headers"), "TIMEOUT"),
    "slow-first": (silent("first"), "TIMEOUT"),
    "slow-text": (silent("finish"), "TIMEOUT"),
    "endless": (endless("more and more " * 40), "RESPONSE_TOO_LARGE"),
    "endless-tool": (endless("more and more " * 40, "tool"), "RESPONSE_TOO_LARGE"),
}


@pytest.mark.parametrize("name", OUTCOMES)
async def test_each_misfortune_ends_its_turn(server: WireServer, name: str) -> None:
    """core 12.5: each way to fail ends the turn with its code, keeps no message, leaks nothing."""
    word, code = OUTCOMES[name]
    server.play(word)
    settings = {"request_timeout": 0.08} if code == "TIMEOUT" else {}
    async with runtime_of(server, retry=ONCE, max_response_chars=10_000, **settings) as runtime:
        agent = await turn_of(runtime)
        assert agent.last_end.error.code == code
        assert not logged(agent, "assistant/message")


async def test_what_may_pass_is_asked_again(server: WireServer) -> None:
    """core 12.6: lost connections, busy servers and empty answers are met by asking again."""
    server.play(cut("connect"), empty(), status(503), error_frame(), cut("headers"), say("done"))
    async with runtime_of(server) as runtime:
        assert (await turn_of(runtime)).answer == "done"


async def test_the_ceiling_in_a_call_runs_nothing(server: WireServer) -> None:
    """core 12.4: a ceiling in the middle of a call ends the turn with max-tokens; no tool runs."""
    server.play(ceiling("cut of", call("add", '{"a":1')))
    async with runtime_of(server, tools=[add]) as runtime:
        agent = await turn_of(runtime)
        assert agent.last_end.kind == "max-tokens"
        assert not logged(agent, "tool/call")
        (message,) = logged(agent, "assistant/message")
        assert message.message.content == (Text("cut of"),)


async def test_arguments_that_are_no_json_are_answered(server: WireServer) -> None:
    """core 10.2: the model is told of its slip, and the conversation goes on."""
    server.play(calls(call("add", '{"a":')), say("Sorry."))
    async with runtime_of(server, tools=[add]) as runtime:
        agent = await turn_of(runtime)
        (result,) = logged(agent, "tool/result")
        assert isinstance(result.message.content[0], ToolResult)
        assert result.message.content[0].is_error
        assert agent.answer == "Sorry."


async def test_a_tool_of_any_name_is_called(server: WireServer) -> None:
    """core 12.2: a tool whose name the format refuses is told by another, and found again."""

    def rule(request: WireRequest) -> Word:
        (name,) = request.tools
        return say("Five.") if request.turns[-1].results else calls(call(name, {"a": 2, "b": 3}))

    server.rule = rule
    async with runtime_of(server, tools=[dotted]) as runtime:
        agent = await turn_of(runtime)
        assert [one.name for one in logged(agent, "tool/call")] == ["math.add"]
        assert agent.answer == "Five."


async def test_an_aborted_turn_keeps_what_was_said(server: WireServer) -> None:
    """core 9: a turn cancelled in mid-stream keeps its words, ends aborted, hangs up at once."""
    server.play(silent("finish", of=say("half a", " word")), say("next"))
    async with runtime_of(server) as runtime:
        agent: Any = await runtime.agents.create()
        await agent.followup("go")
        await until_said(agent, " word")
        await agent.cancel()
        await agent.when_idle()
        assert await server.until_closed()
        (kept,) = logged(agent, "assistant/message")
        assert (text_of(kept.message.content), kept.interrupted) == ("half a word", True)
        assert agent.last_end.kind == "aborted"
        await agent.followup("again")
        await agent.when_idle()
        assert agent.answer == "next"


@pytest.mark.parametrize("before", ["headers", "first"])
async def test_a_turn_may_be_aborted_before_the_first_word(server: WireServer, before: Any) -> None:
    """core 9: a request that waits for its answer is given up at once, without a message."""
    server.play(silent(before))
    async with runtime_of(server) as runtime:
        agent: Any = await runtime.agents.create()
        await agent.followup("go")
        assert await server.until_silent()
        await agent.cancel()
        await agent.when_idle()
        assert await server.until_closed()
        assert agent.last_end.kind == "aborted"
        assert not logged(agent, "assistant/message")


async def test_two_children_stream_at_once(server: WireServer) -> None:
    """DESIGN 4: two children that a model delegates to in one answer stream side by side."""

    def rule(request: WireRequest) -> Word:
        if request.turns[-1].results:
            return say("both are back")
        prompt = request.turns[0].text
        if prompt.startswith("child"):
            return silent("finish", of=say("answer of ", prompt))
        return calls(*(call("subagent", {"description": n, "prompt": f"child {n}"}) for n in "ab"))

    server.rule = rule
    async with runtime_of(server, tools=[SubagentTool()]) as runtime:
        agent: Any = await runtime.agents.create()
        await agent.followup("go")
        assert await server.until_silent(2)
        assert server.release() == 2
        await agent.when_idle()
        assert agent.answer == "both are back"
        results = [text_of(one.message.content[0].content) for one in logged(agent, "tool/result")]
    assert ["answer of child a" in results[0], "answer of child b" in results[1]] == [True, True]


async def test_a_runtime_that_closes_hangs_up(server: WireServer) -> None:
    """DESIGN 3: a runtime that is left while a model streams leaves no connection open."""
    server.play(endless(every=0.001))
    async with runtime_of(server) as runtime:
        agent: Any = await runtime.agents.create()
        await agent.followup("go")
        await until_said(agent, "more ")
    assert await server.until_closed()


def test_a_runtime_with_a_loop_of_its_own() -> None:
    """DESIGN 2: in a program without a loop the connections end with the runtime as well."""
    with WireServer() as server:
        server.play(say("Hello."))
        with runtime_of(server) as runtime:
            agent = runtime.agents.create().result(timeout=10)
            agent.followup("go").result(timeout=10)
            agent.when_idle().result(timeout=10)
            assert agent.answer == "Hello."
        assert server.wait_closed()
