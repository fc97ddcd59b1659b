"""Turns and steps: their order, their ends, and what follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from broodline.actors.agent import Agent
from broodline.actors.models import ScriptedModel, fail, text
from broodline.actors.notice import Enter, PreStep, Reject, TurnStopping
from broodline.messages.content import text_of
from broodline.messages.errors import DeliveryError
from broodline.messages.message import UserMessage

Look = Callable[[Agent], list[str]]


def prompts(agent: Agent) -> list[str]:
    return [
        text_of(e.data.message.content)  # type: ignore[union-attr]
        for e in agent.session.events
        if e.type == "user/message"
    ]


async def test_five_followups_are_five_turns(open_host: Any, ends_of: Look) -> None:
    """core #139: five followups in one tick make five turns and one running-idle pair."""
    host = await open_host(ScriptedModel(shared=[text(str(n)) for n in range(5)]))
    agent = (await host.agents.create()).agent
    edges: list[str] = []
    host.hooks.observe("agent/status", lambda notice: edges.append(notice.status))
    for n in range(5):
        agent.followup(f"prompt {n}")
    await agent.when_idle()
    assert prompts(agent) == [f"prompt {n}" for n in range(5)]
    assert ends_of(agent) == ["completed"] * 5
    assert edges == ["running", "idle"]


async def test_inject_opens_no_turn(open_host: Any, types_of: Look) -> None:
    """core #140: an inject on an idle agent opens no turn and stays pending."""
    host = await open_host(ScriptedModel(shared=[]))
    agent = (await host.agents.create()).agent
    agent.inject("context")
    await asyncio.sleep(0)
    assert agent.status == "idle"
    assert types_of(agent) == ["agent/inbox/spliced"]
    assert [text_of(m.content) for m in agent.inbox.next_step] == ["context"]


async def test_inject_precedes_the_prompt(open_host: Any, ends_of: Look) -> None:
    """core #141: an inject and a followup make one turn whose step has the inject first."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    agent = (await host.agents.create()).agent
    agent.inject("context")
    agent.followup("prompt")
    await agent.when_idle()
    assert prompts(agent) == ["context", "prompt"]
    assert ends_of(agent) == ["completed"]


async def test_steer_while_running_joins_the_next_step(open_host: Any, ends_of: Look) -> None:
    """core #142: a steer on an idle agent opens a turn, a second one joins its next step."""
    host = await open_host(ScriptedModel(shared=[steering("second"), text("done")]))
    agent = (await host.agents.create()).agent
    agent.steer("first")
    await agent.when_idle()
    assert ends_of(agent) == ["completed"]
    assert [e.type for e in agent.session.events].count("step/start") == 2
    assert prompts(agent) == ["first", "second"]


def steering(*contents: str) -> Any:
    """A model entry that steers its own agent while it answers."""

    def answer(request: Any) -> Any:
        agent = current()
        for content in contents:
            agent.steer(content)
        return text("steered")

    return answer


def current() -> Agent:
    from broodline.actors.driver import current_agent

    agent = current_agent.get()
    assert agent is not None
    return agent


async def test_duplicate_id_is_refused_before_the_log(open_host: Any) -> None:
    """core #143: an id that is pending in one list cannot be sent to the other."""
    host = await open_host(ScriptedModel(shared=[]))
    agent = (await host.agents.create()).agent
    agent.inject("a", id="m1")
    length = agent.session.seq
    with pytest.raises(DeliveryError) as refused:
        agent.followup("b", id="m1")
    assert refused.value.code == "DUPLICATE_MESSAGE"
    assert agent.session.seq == length
    assert agent.status == "idle"


async def test_blocked_turn_claims_and_has_no_step(open_host: Any, types_of: Look) -> None:
    """core #150: a rejected first step leaves turn/start, the claim and turn/end(blocked)."""
    host = await open_host(ScriptedModel(shared=[]))
    agent = (await host.agents.create()).agent
    host.hooks.intercept("agent/pre-step", lambda notice: Reject("no"))
    agent.followup("prompt")
    await agent.when_idle()
    assert types_of(agent) == [
        "agent/inbox/spliced",
        "turn/start",
        "agent/inbox/spliced",
        "turn/end",
    ]
    assert agent.session.events[-1].data.reason.kind == "blocked"
    assert len(agent.inbox) == 0


async def test_admitted_empty_batch_completes_without_a_request(
    open_host: Any, ends_of: Look, types_of: Look
) -> None:
    """core #151: entering the first step with nothing completes the turn without a step."""
    model = ScriptedModel(shared=[])
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    host.hooks.intercept("agent/pre-step", lambda notice: Enter(()))
    agent.followup("prompt")
    await agent.when_idle()
    assert ends_of(agent) == ["completed"]
    assert "step/start" not in types_of(agent)
    assert model.requests == []


async def test_raising_pre_step_ends_the_turn_in_error(open_host: Any, ends_of: Look) -> None:
    """core #152: a pre-step that raises ends the turn in error, once told, agent usable."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    agent = (await host.agents.create()).agent
    failures: list[Any] = []
    host.hooks.observe("agent/error", failures.append)

    def refuse(notice: PreStep) -> None:
        raise ValueError("broken")

    registration = host.hooks.intercept("agent/pre-step", refuse)
    agent.followup("one")
    await agent.when_idle()
    registration.dispose()
    agent.followup("two")
    await agent.when_idle()
    assert ends_of(agent) == ["error", "completed"]
    assert [(f.turn, str(f.error)) for f in failures] == [(1, "broken")]


async def test_prompts_behind_a_blocked_one_run(open_host: Any, ends_of: Look) -> None:
    """core #153: behind a blocked prompt the next one runs in its own turn (D8)."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    agent = (await host.agents.create()).agent
    host.hooks.intercept(
        "agent/pre-step", lambda notice: Reject("first") if notice.turn == 1 else None
    )
    agent.followup("A")
    agent.followup("B")
    await agent.when_idle()
    assert ends_of(agent) == ["blocked", "completed"]
    assert prompts(agent) == ["B"]


async def test_pre_step_rewrites_the_batch(open_host: Any) -> None:
    """core #154: exactly the list that pre-step returns is logged, in its order."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    agent = (await host.agents.create()).agent

    async def rewrite(notice: PreStep) -> Enter:
        extra = notice.agent.message("extra")
        return Enter((extra, *notice.messages, notice.agent.message("last")))

    host.hooks.intercept("agent/pre-step", rewrite)
    agent.followup("prompt")
    await agent.when_idle()
    assert prompts(agent) == ["extra", "prompt", "last"]


async def test_prompts_behind_an_error_run(open_host: Any, ends_of: Look) -> None:
    """DESIGN 3: after a turn that ended in error the next prompt runs."""
    host = await open_host(ScriptedModel(shared=[fail("AUTH", "no"), text("ok")]))
    agent = (await host.agents.create()).agent
    agent.followup("A")
    agent.followup("B")
    await agent.when_idle()
    assert ends_of(agent) == ["error", "completed"]


async def test_turn_stopping_is_asked_again(open_host: Any, ends_of: Look) -> None:
    """core #162: a turn-stopping listener that steers once adds a step and is asked again."""
    host = await open_host(ScriptedModel(shared=[text("one"), text("two")]))
    agent = (await host.agents.create()).agent
    asked: list[int] = []

    async def stopping(notice: TurnStopping) -> None:
        asked.append(notice.turn)
        if len(asked) == 1:
            notice.agent.steer("more")

    host.hooks.observe("agent/turn-stopping", stopping)
    agent.followup("prompt")
    await agent.when_idle()
    assert asked == [1, 1]
    assert ends_of(agent) == ["completed"]
    assert prompts(agent) == ["prompt", "more"]


async def test_removed_wake_opens_no_turn(open_host: Any, types_of: Look) -> None:
    """core D6: a waking message that is removed before its claim opens no turn."""
    host = await open_host(ScriptedModel(shared=[]))
    agent = (await host.agents.create()).agent
    agent.followup("prompt", id="m")
    assert agent.inbox.remove("m")
    await agent.when_idle()
    assert "turn/start" not in types_of(agent)


async def test_observer_of_the_splice_sees_the_lists_before(open_host: Any) -> None:
    """core #149: a log observer of a splice reads the inbox as it was before the change."""
    host = await open_host(ScriptedModel(shared=[]))
    agent = (await host.agents.create()).agent
    seen: list[tuple[UserMessage, ...]] = []
    agent.session.observe(lambda event: seen.append(agent.inbox.next_step))
    agent.inject("context")
    assert seen == [()]
