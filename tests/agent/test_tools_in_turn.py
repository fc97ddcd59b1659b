"""Tools as a turn runs them: order in the log, contexts, the end they may ask for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broodline.actors.agent import Agent
from broodline.actors.models import ScriptedModel, call, calls, text
from broodline.actors.tools.decorator import tool
from broodline.actors.tools.tool import Tool, ToolContext
from broodline.messages.content import text_of

OBJECT = {"type": "object"}


@tool
def double(number: int) -> int:
    """Double a number.

    Args:
        number: What to double.
    """
    return 2 * number


async def run(agent: Agent, *prompts: str) -> None:
    for prompt in prompts:
        agent.followup(prompt)
    await agent.when_idle()


def of_type(agent: Agent, name: str) -> list[Any]:
    return [e for e in agent.session.events if e.type == name]


def results(agent: Agent) -> list[str]:
    return [text_of(e.data.message.content[0].content) for e in of_type(agent, "tool/result")]


async def test_a_typed_tool_end_to_end(open_host: Any) -> None:
    """core 10: a typed function is called with validated arguments and its value is rendered."""
    host = await open_host(ScriptedModel(shared=[call("double", number=21), text("ok")]))
    agent = (await host.agents.create(tools=[double])).agent
    await run(agent, "prompt")
    assert results(agent) == ["42"]
    assert agent.tool_calls == 1


async def test_an_inject_during_a_tool_comes_behind_its_result(open_host: Any) -> None:
    """core #155: an inject while a tool runs is logged behind its result, before the request."""
    model = ScriptedModel(shared=[call("poke"), text("ok")])
    host = await open_host(model)

    async def poke(args: Any, context: ToolContext) -> str:
        context.agent.inject("context")
        return "poked"

    agent = (await host.agents.create(tools=[Tool("poke", "pokes", OBJECT, poke)])).agent
    await run(agent, "prompt")
    injected = of_type(agent, "user/message")[1]
    assert text_of(injected.data.message.content) == "context"
    assert of_type(agent, "tool/result")[0].seq < injected.seq
    assert text_of(model.requests[1].messages[-1].content) == "context"


async def test_conclude_turn_saves_the_next_request(open_host: Any, ends_of: Any) -> None:
    """core #156: a tool that concludes and succeeds ends the turn without another request."""
    model = ScriptedModel(shared=[call("stop")])
    host = await open_host(model)

    async def stop(args: Any, context: ToolContext) -> str:
        context.conclude_turn()
        return "stopped"

    agent = (await host.agents.create(tools=[Tool("stop", "stops", OBJECT, stop)])).agent
    await run(agent, "prompt")
    assert ends_of(agent) == ["completed"]
    assert len(model.requests) == 1


async def test_queued_input_still_runs_behind_a_conclusion(open_host: Any) -> None:
    """core 8: next-step input that is queued when a tool concludes still gets its step."""
    model = ScriptedModel(shared=[call("stop"), text("heard")])
    host = await open_host(model)

    async def stop(args: Any, context: ToolContext) -> str:
        context.agent.steer("but wait")
        context.conclude_turn()
        return "stopped"

    agent = (await host.agents.create(tools=[Tool("stop", "stops", OBJECT, stop)])).agent
    await run(agent, "prompt")
    assert text_of(model.requests[1].messages[-1].content) == "but wait"


async def test_a_conclusion_counts_for_its_own_step_only(open_host: Any) -> None:
    """core 8: behind a concluded step that goes on, a later step with calls is answered."""
    model = ScriptedModel(shared=[call("stop"), call("double", number=1), text("answered")])
    host = await open_host(model)
    once = [True]

    async def stop(args: Any, context: ToolContext) -> str:
        if once:
            once.pop()
            context.agent.steer("but wait")
        context.conclude_turn()
        return "stopped"

    tools = [Tool("stop", "stops", OBJECT, stop), double]
    agent = (await host.agents.create(tools=tools)).agent
    await run(agent, "prompt")
    model.assert_consumed()


async def test_a_failing_tool_cannot_conclude(open_host: Any) -> None:
    """core #158: conclude_turn of a tool that fails has no effect."""
    model = ScriptedModel(shared=[call("stop"), text("ok")])
    host = await open_host(model)

    async def stop(args: Any, context: ToolContext) -> str:
        context.conclude_turn()
        raise RuntimeError("no")

    agent = (await host.agents.create(tools=[Tool("stop", "stops", OBJECT, stop)])).agent
    await run(agent, "prompt")
    model.assert_consumed()


@pytest.mark.parametrize(
    ("raw", "code"), [('{"number": ', "INVALID_ARGS"), ("", "INVALID_ARGS"), ("7", "INVALID_ARGS")]
)
async def test_malformed_arguments_are_answered(open_host: Any, raw: str, code: str) -> None:
    """core #171: arguments that are not an object the tool takes end in INVALID_ARGS."""
    host = await open_host(ScriptedModel(shared=[call("double", raw), text("ok")]))
    agent = (await host.agents.create(tools=[double])).agent
    await run(agent, "prompt")
    (result,) = of_type(agent, "tool/result")
    assert result.data.error.code == code
    assert of_type(agent, "tool/call")[0].data.arguments == raw


async def test_empty_arguments_are_an_empty_object(open_host: Any) -> None:
    """core #171: an empty argument text is the empty object."""
    seen: list[Any] = []
    note = Tool("note", "notes", OBJECT, lambda args, context: seen.append(args))
    host = await open_host(ScriptedModel(shared=[call("note", ""), text("ok")]))
    agent = (await host.agents.create(tools=[note])).agent
    await run(agent, "prompt")
    assert seen == [{}]


async def test_a_hidden_tool_looks_unknown(open_host: Any) -> None:
    """core #205: a call of a hidden tool is answered as a call of one that does not exist."""
    wanted = calls(call("double", number=1), call("nothing", number=1))
    host = await open_host(ScriptedModel(shared=[wanted, text("ok")]))
    host.tools.register(double)

    def setup(agent: Agent) -> None:
        host.tools.restrict(agent.scope, deny=["double"])

    agent = (await host.agents.create(setup=setup)).agent
    await run(agent, "prompt")
    hidden, unknown = of_type(agent, "tool/result")
    assert hidden.data.error == unknown.data.error
    assert [r.replace("nothing", "double") for r in results(agent)] == [results(agent)[0]] * 2


async def test_contexts_come_behind_all_results(open_host: Any) -> None:
    """core #221: contexts of two parallel calls are queued in model order behind both results."""
    gate = asyncio.Event()

    async def late(args: Any, context: ToolContext) -> str:
        await gate.wait()
        context.defer_context(context.agent.message("from late"))
        return "late"

    async def early(args: Any, context: ToolContext) -> str:
        context.defer_context(context.agent.message("from early"))
        gate.set()
        return "early"

    tools = [
        Tool("late", "late", OBJECT, late, concurrency_safe=True),
        Tool("early", "early", OBJECT, early, concurrency_safe=True),
    ]
    host = await open_host(ScriptedModel(shared=[calls(call("late"), call("early")), text("ok")]))
    agent = (await host.agents.create(tools=tools)).agent
    await run(agent, "prompt")
    assert results(agent) == ["late", "early"]
    contexts = of_type(agent, "user/message")[1:]
    assert [text_of(e.data.message.content) for e in contexts] == ["from late", "from early"]
    assert contexts[0].seq > of_type(agent, "tool/result")[1].seq


async def test_every_result_cites_its_call(open_host: Any) -> None:
    """core 10.3: each tool/result cites the tool/call of the same id."""
    wanted = calls(*(call("double", number=n, id=f"c{n}") for n in range(3)))
    host = await open_host(ScriptedModel(shared=[wanted, text("ok")]))
    agent = (await host.agents.create(tools=[double])).agent
    await run(agent, "prompt")
    called = {e.seq: e.data.call_id for e in of_type(agent, "tool/call")}
    cited = [called[e.source_event_seqs[0]] for e in of_type(agent, "tool/result")]
    assert cited == ["c0", "c1", "c2"]


async def test_a_plain_tool_runs_off_the_loop(open_host: Any) -> None:
    """DESIGN 2: a plain function runs in the runtime's own threads, the loop goes on."""
    import threading

    where: list[int] = []

    @tool
    def here() -> str:
        """Say nothing."""
        where.append(threading.get_ident())
        return "x"

    host = await open_host(ScriptedModel(shared=[call("here"), text("ok")]))
    agent = (await host.agents.create(tools=[here])).agent
    await run(agent, "prompt")
    assert where != [threading.get_ident()]
