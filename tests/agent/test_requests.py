"""Model requests inside a turn: the envelope, failures, retries, ceilings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from broodline.actors.agent import Agent
from broodline.actors.models import RetryPolicy, ScriptedModel, call, fail, max_tokens, text
from broodline.actors.models import chunks as streamed
from broodline.actors.notice import RequestFailed, RequestProposal, Retry
from broodline.actors.tools.tool import Tool
from broodline.messages.chunk import Chunk, Finish, ModelFailure, TextDelta
from broodline.messages.content import Text, text_of
from broodline.messages.errors import ConfigurationError, ModelError
from broodline.messages.payload import CallConfig, TurnStart

Look = Callable[[Agent], list[str]]
OBJECT = {"type": "object"}
AT_ONCE = RetryPolicy(base=1e-6, cap=1e-6)


def last_reason(agent: Agent) -> Any:
    return [e.data.reason for e in agent.session.events if e.type == "turn/end"][-1]  # type: ignore[union-attr]


def of_type(agent: Agent, name: str) -> list[Any]:
    return [e for e in agent.session.events if e.type == name]


async def run(agent: Agent, *prompts: str) -> None:
    for prompt in prompts:
        agent.followup(prompt)
    await agent.when_idle()


async def test_an_empty_response_is_one_message(open_host: Any, ends_of: Look) -> None:
    """core #163: a response without blocks gives one message with empty content, completed."""
    host = await open_host(ScriptedModel(shared=[text("")]))
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    (message,) = of_type(agent, "assistant/message")
    assert message.data.message.content == ()
    assert message.data.usage is not None
    assert ends_of(agent) == ["completed"]


async def test_an_aborted_finish_without_a_cancel_is_an_error(open_host: Any) -> None:
    """core #164: a provider that says aborted though nobody cancelled ends the turn in error."""
    finish = Finish("aborted", ModelFailure("provider gave up", "ABORTED"))
    host = await open_host(ScriptedModel(shared=[streamed([finish])]))
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    assert (last_reason(agent).kind, last_reason(agent).error.code) == ("error", "ABORTED")


async def test_a_foreign_error_is_unknown_with_its_causes(open_host: Any) -> None:
    """core #165: a model that raises ValueError ends the turn in UNKNOWN with the cause chain."""

    def broken(request: Any) -> Any:
        try:
            raise OSError("the root")
        except OSError as error:
            raise ValueError("the tip") from error

    host = await open_host(ScriptedModel(shared=[broken]))
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    failure = last_reason(agent).error
    assert failure.code == "UNKNOWN"
    assert "the tip" in failure.message
    assert "the root" in failure.message


async def test_a_raising_error_listener_changes_nothing(open_host: Any, ends_of: Look) -> None:
    """core #166: a listener of agent/error that raises affects neither this turn nor the next."""
    host = await open_host(ScriptedModel(shared=[fail("AUTH", "no"), text("ok")]))
    agent = (await host.agents.create()).agent

    def broken(notice: Any) -> None:
        raise RuntimeError("listener")

    host.hooks.observe("agent/error", broken)
    await run(agent, "one", "two")
    assert ends_of(agent) == ["error", "completed"]


async def test_a_turn_that_cannot_be_logged_is_none(open_host: Any, types_of: Look) -> None:
    """core #167: when turn/start is refused there is no turn and the prompt stays pending."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    agent = (await host.agents.create()).agent
    failures: list[Any] = []
    host.hooks.observe("agent/error", failures.append)

    def veto(event: Any) -> None:
        if type(event.data) is TurnStart:
            raise OSError("disk full")

    check = agent.session.add_check(veto)
    await run(agent, "prompt")
    assert "turn/start" not in types_of(agent)
    assert len(agent.inbox) == 1
    assert [str(f.error) for f in failures] == ["disk full"]
    check.dispose()
    await run(agent, "again")
    assert [text_of(m.content) for m in agent.session.messages()][:1] == ["prompt"]


async def test_a_turn_that_cannot_be_closed_is_the_last(open_host: Any) -> None:
    """core D11: when step/end is refused the agent takes no further turn and says why."""
    host = await open_host(ScriptedModel(shared=[text("ok"), text("never")]))
    agent = (await host.agents.create()).agent

    def veto(event: Any) -> None:
        if event.type == "step/end":
            raise OSError("disk full")

    agent.session.add_check(veto)
    await run(agent, "prompt")
    with pytest.raises(Exception, match="disk full") as refused:
        agent.followup("more")
    assert getattr(refused.value, "code", None) == "LOG_BROKEN"
    assert agent.status == "idle"


async def test_the_header_is_logged_when_it_changes(open_host: Any) -> None:
    """core #170: one request/header(initial) for equal envelopes, (change) behind a new tool."""
    host = await open_host(ScriptedModel(shared=[text("1"), text("2"), text("3")]))
    agent = (await host.agents.create(persona="Steady.")).agent
    await run(agent, "one", "two")
    assert [e.data.reason for e in of_type(agent, "request/header")] == ["initial"]
    host.tools.register(Tool("new", "new", OBJECT, lambda args, context: "x"))
    await run(agent, "three")
    headers = of_type(agent, "request/header")
    assert [e.data.reason for e in headers] == ["initial", "change"]
    assert [tool.name for tool in headers[1].data.header.tools] == ["new"]


async def test_no_route_is_an_error_before_any_header(open_host: Any, types_of: Look) -> None:
    """core #172: without provider or model the turn ends in error before any request/header."""
    host = await open_host()
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    assert last_reason(agent).kind == "error"
    assert "Runtime(model=...)" in last_reason(agent).error.message
    assert "request/header" not in types_of(agent)


async def test_an_unregistered_provider_is_a_failure(open_host: Any) -> None:
    """core #261: a provider nobody serves is a terminal NO_ADAPTER failure, not a crash."""
    host = await open_host()
    served = host.models.register(ScriptedModel(shared=[], provider="nobody"))
    agent = (await host.agents.create(provider="nobody", model="m")).agent
    served.dispose()
    await run(agent, "prompt")
    assert last_reason(agent).error.code == "NO_ADAPTER"


async def test_a_provider_that_nobody_serves_is_refused_at_once(open_host: Any) -> None:
    """DESIGN 8: create() names the provider, those that there are, and how to register one."""
    host = await open_host(ScriptedModel(shared=[]))
    with pytest.raises(ConfigurationError) as caught:
        await host.agents.create(provider="gpt")
    assert str(caught.value) == (
        "no model of provider 'gpt' is registered (there are: scripted); "
        "register one with runtime.models.register(...)"
    )
    assert host.agents.list() == ()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "has no provider to ask; give Runtime"),
        ({"provider": "p"}, "asks provider 'p', but for no model of it; give model="),
    ],
)
async def test_a_route_that_is_not_whole(open_host: Any, options: Any, said: str) -> None:
    """core 8.11: the turn ends in NO_ROUTE, saying which half is missing; create() did not mind."""
    host = await open_host()
    host.models.register(ScriptedModel(shared=[], provider="p"))
    agent = (await host.agents.create(**options)).agent
    await run(agent, "prompt")
    assert said in last_reason(agent).error.message


async def test_an_interceptor_chooses_the_model(open_host: Any) -> None:
    """core 8.11: an agent/request interceptor proposes the call's config."""
    other = ScriptedModel(shared=[text("from the other")], provider="other", model="m2")
    host = await open_host(ScriptedModel(shared=[]))
    host.models.register(other)
    agent = (await host.agents.create()).agent

    def choose(notice: RequestProposal) -> CallConfig:
        return CallConfig("other", "m2", temperature=0.5)

    host.hooks.intercept("agent/request", choose)
    await run(agent, "prompt")
    assert other.requests[0].config == CallConfig("other", "m2", temperature=0.5)
    message = of_type(agent, "assistant/message")[0].data.message
    assert message.source == {"kind": "model", "provider": "other", "model": "m2"}


@pytest.mark.parametrize("emit", [False, True], ids=["raised", "streamed"])
async def test_raised_and_streamed_failures_are_one(open_host: Any, emit: bool) -> None:
    """core #263: a failure raised or streamed gives the same end and the same retries."""
    script = [fail("SERVER", "down", status=503, after="half", emit=emit)] * 2 + [text("ok")]
    host = await open_host(ScriptedModel(shared=script), retry=RetryPolicy(retries=1, base=1e-6))
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    failure = last_reason(agent).error
    assert (failure.code, failure.status, failure.message) == ("SERVER", 503, "down")
    assert len(of_type(agent, "llm/retry")) == 1


async def test_a_retry_stays_in_its_step(open_host: Any, ends_of: Look) -> None:
    """core #269: failure then success is one turn, one step; only the second chunks are cited."""
    script = [fail("SERVER", "down", after="lost"), text("ok")]
    host = await open_host(ScriptedModel(shared=script), retry=AT_ONCE)
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    (message,) = of_type(agent, "assistant/message")
    retried = of_type(agent, "llm/retry-started")[0].seq
    assert min(message.source_event_seqs) > retried
    assert len(of_type(agent, "step/start")) == 1
    assert ends_of(agent) == ["completed"]


async def test_five_retries_then_the_end(open_host: Any, ends_of: Look) -> None:
    """core #270: six retryable failures are five retries and then turn/end(error)."""
    model = ScriptedModel(shared=[fail("SERVER", "down")] * 6)
    host = await open_host(model, retry=AT_ONCE)
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    assert [e.data.retry for e in of_type(agent, "llm/retry")] == [1, 2, 3, 4, 5]
    assert ends_of(agent) == ["error"]
    model.assert_consumed()


async def test_auth_is_not_retried(open_host: Any) -> None:
    """core #272: AUTH is not retried."""
    host = await open_host(ScriptedModel(shared=[fail("AUTH", "no")]))
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    assert of_type(agent, "llm/retry") == []
    assert last_reason(agent).error.code == "AUTH"


async def test_an_interceptor_may_retry_what_the_policy_would_not(open_host: Any) -> None:
    """core 12.6: agent/request-error may answer retry; attempts are counted."""
    host = await open_host(ScriptedModel(shared=[fail("AUTH", "no")] * 2 + [text("ok")]))
    agent = (await host.agents.create()).agent
    attempts: list[int] = []

    def recover(notice: RequestFailed) -> Retry:
        attempts.append(notice.attempt)
        return Retry(0)

    host.hooks.intercept("agent/request-error", recover)
    await run(agent, "prompt")
    assert attempts == [1, 2]
    assert last_reason(agent).kind == "completed"


async def test_a_hook_that_raises_is_not_retried(open_host: Any) -> None:
    """core #274: an exception of an interceptor is no model failure and is not retried."""
    model = ScriptedModel(shared=[text("never")])
    host = await open_host(model, retry=AT_ONCE)
    agent = (await host.agents.create()).agent

    def broken(notice: Any) -> None:
        raise ModelError("mine", "SERVER")

    host.hooks.intercept("agent/request", broken)
    await run(agent, "prompt")
    assert of_type(agent, "llm/retry") == []
    assert model.requests == []


async def test_a_call_of_a_failed_attempt_never_runs(open_host: Any) -> None:
    """core #275: a complete tool call inside a failed attempt is never run."""
    ran: list[Any] = []
    note = Tool("note", "notes", OBJECT, lambda args, context: ran.append(args))
    script = [fail("SERVER", "down", after=call("note")), text("ok")]
    host = await open_host(ScriptedModel(shared=script), retry=AT_ONCE)
    agent = (await host.agents.create(tools=[note])).agent
    await run(agent, "prompt")
    assert ran == []
    assert of_type(agent, "tool/call") == []


async def test_a_used_up_script_fails_loudly(open_host: Any) -> None:
    """core #276: a used-up script ends the turn in UNKNOWN instead of hanging."""
    host = await open_host(ScriptedModel(shared=[]))
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    assert last_reason(agent).error.code == "UNKNOWN"
    assert agent.id in last_reason(agent).error.message


async def test_the_ceiling_is_sticky_within_its_turn(open_host: Any, ends_of: Look) -> None:
    """core #159: a max-tokens step then a normal one ends max-tokens, the next turn completed."""
    script = [max_tokens("cut"), text("more"), text("fresh")]
    host = await open_host(ScriptedModel(shared=script))
    agent = (await host.agents.create()).agent
    once = [True]

    def stopping(notice: Any) -> None:
        if once:
            once.pop()
            agent.steer("go on")

    host.hooks.observe("agent/turn-stopping", stopping)
    await run(agent, "one", "two")
    assert ends_of(agent) == ["max-tokens", "completed"]


async def test_a_cut_off_call_is_dropped(open_host: Any, ends_of: Look) -> None:
    """core 8: a max-tokens step drops its tool calls from the message and runs none."""
    host = await open_host(ScriptedModel(shared=[max_tokens("so", call("note"))]))
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    (message,) = of_type(agent, "assistant/message")
    assert message.data.message.content == (Text("so"),)
    assert of_type(agent, "tool/call") == []
    assert ends_of(agent) == ["max-tokens"]


async def test_the_ceiling_does_not_swallow_owed_results(open_host: Any) -> None:
    """core D2: behind a max-tokens step, a step with tool calls still gets its answer."""
    model = ScriptedModel(shared=[max_tokens("cut"), call("note"), text("answered")])
    note = Tool("note", "notes", OBJECT, lambda args, context: "noted")
    host = await open_host(model)
    agent = (await host.agents.create(tools=[note])).agent
    once = [True]

    def stopping(notice: Any) -> None:
        if once:
            once.pop()
            agent.steer("go on")

    host.hooks.observe("agent/turn-stopping", stopping)
    await run(agent, "prompt")
    model.assert_consumed()
    assert text_of(agent.session.messages()[-1].content) == "answered"


class Endless:
    """A model that never ends: it streams for ever, or never says anything."""

    provider = model = "endless"

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent
        self.closed = 0

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        try:
            while True:
                if self.silent:
                    await asyncio.Event().wait()
                yield TextDelta(0, "and on ")
        finally:
            self.closed += 1


async def test_a_response_without_an_end_is_cut(open_host: Any) -> None:
    """bad input: a stream that never ends is a typed failure at its bound, and is closed."""
    model = Endless(silent=False)
    host = await open_host(model, max_response_chars=10_000)
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    assert last_reason(agent).error.code == "RESPONSE_TOO_LARGE"
    assert "max_response_chars" in last_reason(agent).error.message
    assert model.closed == 1


async def test_a_silent_model_times_out(open_host: Any) -> None:
    """bad input: a model that says nothing is a TIMEOUT failure, retried, and closed each time."""
    model = Endless(silent=True)
    retry = RetryPolicy(retries=1, base=1e-6)
    host = await open_host(model, request_timeout=0.01, retry=retry)
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    assert last_reason(agent).error.code == "TIMEOUT"
    assert model.closed == 2


async def test_a_turn_of_endless_calls_is_stopped(open_host: Any) -> None:
    """bad input: a model that calls tools for ever is stopped at max_steps with a typed error."""
    host = await open_host(ScriptedModel(each=[call("note")] * 9), max_steps=3)
    note = Tool("note", "notes", OBJECT, lambda args, context: "noted")
    agent = (await host.agents.create(tools=[note])).agent
    await run(agent, "prompt")
    assert last_reason(agent).error.code == "STEP_LIMIT"
    assert len(of_type(agent, "assistant/message")) == 3


async def test_a_malformed_stream_is_a_typed_failure(open_host: Any) -> None:
    """core 12.3: a stream that breaks the grammar is MALFORMED_RESPONSE, nothing of it logged."""
    bad = streamed([TextDelta(0, "x"), TextDelta(-1, "y")])
    host = await open_host(ScriptedModel(shared=[bad]))
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    assert last_reason(agent).error.code == "MALFORMED_RESPONSE"
    assert len(of_type(agent, "assistant/chunk")) == 1


async def test_a_large_prompt_goes_through(open_host: Any) -> None:
    """bad input: a prompt of 10 MB is delivered whole."""
    model = ScriptedModel(shared=[text("ok")])
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    await run(agent, "x" * 10_000_000)
    assert len(text_of(model.requests[0].messages[0].content)) == 10_000_000


async def test_a_model_that_cancels_itself_is_an_error(open_host: Any) -> None:
    """core #164: a cancellation that leaks out of a model is its failure, nobody's cancel."""

    async def leaking(request: Any) -> Any:
        raise asyncio.CancelledError

    host = await open_host(ScriptedModel(shared=[leaking, text("ok")]))
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    assert (last_reason(agent).kind, last_reason(agent).error.code) == ("error", "ABORTED")
    await run(agent, "next")
    assert last_reason(agent).kind == "completed"


async def test_a_streamed_secret_is_not_written_down(open_host: Any) -> None:
    """core 12.5: what looks like a key in a streamed failure stands neither in chunk nor end."""
    secret = "sk-abcdefghijklmnopqrstuvwxyz"
    finish = Finish("error", ModelFailure(f"bad key {secret}", "AUTH"))
    host = await open_host(ScriptedModel(shared=[streamed([finish])]))
    agent = (await host.agents.create()).agent
    await run(agent, "prompt")
    assert secret not in repr(agent.session.events)
    assert last_reason(agent).error.code == "AUTH"
