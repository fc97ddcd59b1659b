"""What an agent is told and sees: prompt, contexts, tools, scopes."""

from __future__ import annotations

from typing import Any

from broodline.actors.agent import Agent
from broodline.actors.models import ScriptedModel, text
from broodline.actors.tools.tool import Tool
from broodline.messages.content import text_of
from broodline.messages.errors import PromptError

OBJECT = {"type": "object"}


async def run(agent: Agent, *prompts: str) -> None:
    for prompt in prompts:
        agent.followup(prompt)
    await agent.when_idle()


async def test_a_persona_is_the_agents_own(open_host: Any) -> None:
    """core #242: a persona shadows the deployment's for its agent alone and ends with it."""
    model = ScriptedModel(each=[text("ok")] * 2)
    host = await open_host(model)
    host.prompts.persona("Everybody.")
    one = await host.agents.create(persona="Only me.")
    other = await host.agents.create()
    await run(one.agent, "prompt")
    await run(other.agent, "prompt")
    await one.dispose()
    await run(other.agent, "prompt")
    told = [request.system for request in model.requests]
    assert told == ["Only me.", "Everybody.", "Everybody."]


async def test_a_render_error_fails_the_turn_alone(open_host: Any, ends_of: Any) -> None:
    """core #250: a section that cannot be rendered fails its turn; mended, the next one works."""
    model = ScriptedModel(shared=[text("ok")])
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    section = host.prompts.section("rules", "You are {{nobody}}.", scope=agent.scope)
    await run(agent, "one")
    section.dispose()
    await run(agent, "two")
    assert ends_of(agent) == ["error", "completed"]
    failed: Any = next(e.data for e in agent.session.events if e.type == "turn/end")
    assert "rules" in failed.reason.error.message
    assert "nobody" in failed.reason.error.message


async def test_an_unknown_variable_in_a_persona(open_host: Any, ends_of: Any) -> None:
    """bad input: a persona with an unknown variable is told as a PromptError that names both."""
    host = await open_host(ScriptedModel(shared=[]))
    agent = (await host.agents.create(persona="You are {{what}}.")).agent
    told: list[Any] = []
    host.hooks.observe("agent/error", lambda notice: told.append(notice.error))
    await run(agent, "prompt")
    assert ends_of(agent) == ["error"]
    assert [type(error) for error in told] == [PromptError]
    assert "deployment:persona" in str(told[0])
    assert "what" in str(told[0])


async def test_tools_are_sorted_however_they_came(open_host: Any) -> None:
    """core #252: the request's tools are sorted by name whatever the order of registration."""
    model = ScriptedModel(each=[text("ok")])
    host = await open_host(model)
    for names in ("bca", "cab"):
        tools = [Tool(name, name, OBJECT, lambda args, context: "x") for name in names]
        await run((await host.agents.create(tools=tools)).agent, "prompt")
    assert [[t.name for t in request.tools] for request in model.requests] == [["a", "b", "c"]] * 2


async def test_a_snapshot_is_sent_when_it_changes(open_host: Any) -> None:
    """core #253: an unchanged context is not sent again, a changed one once, its end once."""
    model = ScriptedModel(shared=[text("ok")] * 5)
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    facts = ["sunny"]
    context = host.prompts.context("weather", lambda ctx: facts[0], scope=agent.scope)
    await run(agent, "one", "two")
    facts[0] = "rainy"
    await run(agent, "three")
    context.dispose()
    await run(agent, "four", "five")
    snapshots = [
        text_of(e.data.message.content)
        for e in agent.session.events
        if e.type == "user/message" and e.data.message.source["kind"] == "plugin"
    ]
    assert ["sunny" in s for s in snapshots] == [True, False, False]
    assert ["rainy" in s for s in snapshots] == [False, True, False]
    assert len(snapshots) == 3


async def test_a_listener_in_a_scope_hears_its_agent_alone(open_host: Any) -> None:
    """core #255: a listener registered in one agent's scope never hears another agent."""
    host = await open_host(ScriptedModel(each=[text("ok")]))
    one, other = [(await host.agents.create()).agent for _ in range(2)]
    heard: list[Agent] = []
    host.hooks.observe("agent/status", lambda n: heard.append(n.agent), scope=one.scope)
    await run(one, "prompt")
    await run(other, "prompt")
    assert heard == [one, one]


async def test_tools_of_one_agent_are_hidden_from_the_others(open_host: Any) -> None:
    """core 11.2: what is registered in one agent's scope, others do not see."""
    model = ScriptedModel(each=[text("ok")])
    host = await open_host(model)
    own = Tool("own", "own", OBJECT, lambda args, context: "x")
    await run((await host.agents.create(tools=[own])).agent, "prompt")
    await run((await host.agents.create()).agent, "prompt")
    assert [[t.name for t in request.tools] for request in model.requests] == [["own"], []]
