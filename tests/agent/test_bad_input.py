"""What is no message, no answer, no setting is refused at the door, and says what to give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broodline import Runtime
from broodline.actors.agent import Agent
from broodline.actors.models import ScriptedModel, call, fail, text
from broodline.actors.notice import Enter, Retry
from broodline.actors.tools.tool import Tool
from broodline.messages.codec import decode_event, encode_event
from broodline.messages.content import Text, text_of
from broodline.messages.errors import ConfigurationError
from broodline.messages.message import UserMessage
from broodline.messages.payload import CallConfig

Look = Callable[[Agent], list[str]]
LONE = "\ud800"


def last_failure(agent: Agent) -> Any:
    data: Any = agent.session.events[-1].data
    return data.reason.error


@pytest.mark.parametrize("content", [5, None, b"x", ["a", 5], LONE, Text(LONE), iter("ab")])
@pytest.mark.parametrize("door", ["followup", "steer", "inject", "ask"])
async def test_content_that_cannot_be_logged(open_host: Any, door: str, content: Any) -> None:
    """core 1.3: content that JSON would lose is refused, and nothing is logged or woken."""
    host = await open_host()
    agent = (await host.agents.create()).agent
    with pytest.raises(ConfigurationError):
        if door == "ask":
            await agent.actor_ref.ask(content, block=False)
        else:
            getattr(agent, door)(content)
    assert (agent.session.seq, agent.status) == (0, "idle")


@pytest.mark.parametrize("message_id", [5, "", LONE, [], True])
async def test_a_message_id_is_text(open_host: Any, message_id: Any) -> None:
    """core 7: the id of a message is text that is not empty."""
    host = await open_host()
    agent = (await host.agents.create()).agent
    with pytest.raises(ConfigurationError, match="id of a message"):
        agent.followup("x", id=message_id)
    assert agent.session.seq == 0


@pytest.mark.parametrize("source", [5, "user", [], {}, {"kind": 5}, {"kind": LONE}, {"k": "v"}])
async def test_a_source_says_its_kind(open_host: Any, source: Any) -> None:
    """core 2.1: a source is a JSON object with a kind."""
    host = await open_host()
    agent = (await host.agents.create()).agent
    with pytest.raises(ConfigurationError, match="source"):
        agent.followup("x", source=source)
    assert agent.session.seq == 0


@pytest.mark.parametrize("message", [UserMessage("a", (5,)), UserMessage("", (Text("x"),))])  # type: ignore[arg-type]
async def test_a_message_that_was_built_is_looked_at(open_host: Any, message: Any) -> None:
    """core 1.3: a message that a caller built is no better than its parts."""
    host = await open_host()
    agent = (await host.agents.create()).agent
    with pytest.raises(ConfigurationError):
        await agent.actor_ref.ask(message, block=False)
    assert agent.session.seq == 0


async def test_what_is_accepted_can_be_written_and_read(open_host: Any) -> None:
    """core 1.3: every event of a conversation with odd but legal input survives JSON."""
    host = await open_host(ScriptedModel(each=[text("ok")] * 9))
    agent = (await host.agents.create(id="ä-\u2603")).agent
    for content in ("", [], "\0", "\U0001f600", ["a", Text("b")], "x" * 100_000):
        agent.followup(content, source={"kind": "odd", "deep": [[[{}]]]})
    await agent.when_idle()
    assert [decode_event(encode_event(event)) for event in agent.session.events] == list(
        agent.session.events
    )


@pytest.mark.parametrize("cause", ["user", None, 5])
async def test_a_cause_is_a_cause(open_host: Any, cause: Any) -> None:
    """core 9: what a cancellation is to log must be an AbortCause; else nothing is dropped."""
    host = await open_host()
    agent = (await host.agents.create()).agent
    agent.inject("kept")
    with pytest.raises(ConfigurationError, match="AbortCause"):
        agent.cancel(cause)
    assert len(agent.inbox) == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"provider": 5},
        {"provider": []},
        {"model": []},
        {"model": LONE},
        {"reasoning_effort": object()},
        {"reasoning_effort": ""},
        {"max_tokens": 0},
        {"max_tokens": 10**400},
        {"tools": 5},
        {"tools": [5]},
        {"setup": 5},
        {"persona": 5},
        {"id": []},
        {"cwd": 5},
    ],
    ids=str,
)
async def test_bad_settings_come_back_through_the_reply(open_host: Any, bad: Any) -> None:
    """DESIGN 2: a refusal to create arrives through the reply, names the field, leaves nothing."""
    host = await open_host()
    reply = host.agents.create(**bad)
    (name,) = bad
    with pytest.raises(ConfigurationError, match=name.rstrip("s")):
        await reply
    assert (len(host.agents), len(host.sessions)) == (0, 0)


@pytest.mark.parametrize("agent_id", [5, None, "", []])
async def test_an_id_to_resume_is_text(open_host: Any, agent_id: Any) -> None:
    """core 6.2: an id that can be nobody's is refused as such."""
    host = await open_host()
    with pytest.raises(ConfigurationError, match="agent_id"):
        await host.agents.resume(agent_id)


@pytest.mark.parametrize(
    "bad",
    [
        {"max_pending": -(10**400)},
        {"max_steps": 1.0},
        {"request_timeout": float("nan")},
        {"dispose_timeout": 10**400},
        {"tool_parallelism": 0},
        {"check_invariants": "yes"},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_bad_bounds_are_refused(bad: Any) -> None:
    """DESIGN 4: a bound that is none is refused when the runtime is made."""
    with pytest.raises(ConfigurationError, match=next(iter(bad))):
        Runtime(**bad)


@pytest.mark.parametrize(
    ("event", "answer"),
    [
        ("agent/pre-step", 5),
        ("agent/pre-step", Enter),
        ("agent/pre-step", Enter("ab")),  # type: ignore[arg-type]
        ("agent/pre-step", Enter(None)),  # type: ignore[arg-type]
        ("agent/pre-step", Enter((UserMessage("x", (LONE,)),))),  # type: ignore[arg-type]
        ("agent/request", {}),
        ("agent/request", "other-model"),
        ("agent/request", CallConfig([], "m")),  # type: ignore[arg-type]
        ("agent/request", CallConfig("p", "m", max_tokens=0)),
        ("agent/request-error", 5),
        ("agent/request-error", Retry),
        ("agent/request-error", Retry(-1)),
        ("agent/request-error", Retry(float("nan"))),
        ("agent/request-error", Retry(float("inf"))),
        ("agent/request-error", Retry(1e300)),
        ("agent/request-error", Retry("x")),  # type: ignore[arg-type]
        ("agent/request-error", Retry(True)),
    ],
)
async def test_an_answer_that_is_none_ends_the_turn(
    open_host: Any, ends_of: Look, event: str, answer: Any
) -> None:
    """core 8: a wrong answer of an interceptor is named, logged nowhere, and ends its turn only."""
    script = [fail("AUTH", "no"), text("ok")] if event == "agent/request-error" else [text("ok")]
    host = await open_host(ScriptedModel(shared=script))
    agent = (await host.agents.create()).agent
    codes: list[str] = []
    answers = [answer]

    def asked(notice: object) -> Any:
        return answers.pop() if answers else None

    def failed(notice: Any) -> None:
        codes.append(notice.error.code)

    host.hooks.intercept(event, asked)
    host.hooks.observe("agent/error", failed)
    agent.followup("one")
    await agent.when_idle()
    assert event in last_failure(agent).message
    agent.followup("two")
    await agent.when_idle()
    assert codes == ["INVALID_DECISION"]
    assert ends_of(agent) == ["error", "completed"]
    for logged in agent.session.events:
        decode_event(encode_event(logged))


async def test_a_context_that_is_no_message_fails_its_call(open_host: Any, ends_of: Look) -> None:
    """core 10.2: a tool that defers junk has failed; the turn goes on."""

    async def junk(args: Any, context: Any) -> str:
        context.defer_context("junk")
        return "unreached"

    host = await open_host(ScriptedModel(shared=[call("junk"), text("ok")]))
    agent = (await host.agents.create(tools=[Tool("junk", "junk", {"type": "object"}, junk)])).agent
    agent.followup("go")
    await agent.when_idle()
    assert ends_of(agent) == ["completed"]
    (result,) = [e.data.message for e in agent.session.events if e.type == "tool/result"]
    assert "UserMessage" in text_of(result.content[0].content)
