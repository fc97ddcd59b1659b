"""The creation window: what a child is told and may use before anybody can see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broodline.actors.models import ScriptedModel, call, text
from broodline.actors.tools.decorator import tool
from broodline.messages.errors import ConfigurationError
from broodline.messages.payload import ToolFilter
from broodline.providers.contract import SubagentRequest
from broodline.supervision.composition import STATEMENT, STATEMENT_TEXT


def observe(runtime: Any, event: str, listener: Callable[[Any], Any]) -> None:
    """Have `listener` hear an event of the runtime."""
    runtime.hooks.observe(event, listener)


@tool
async def look() -> str:
    """Look."""
    return "seen"


@tool
async def touch() -> str:
    """Touch."""
    return "felt"


async def asked(runtime: Any, model: ScriptedModel, request: SubagentRequest) -> Any:
    """Run a delegation to its end and give the child's first model request."""
    run = await runtime.subagents.start("spawn", request)
    await run.result
    await run.dispose()
    return next(made for made in model.requests if made.session_id == run.id)


def names(request: Any) -> list[str]:
    return [schema.name for schema in request.tools]


def shown(request: Any) -> str:
    return "\n".join(str(message.content) for message in request.messages)


async def test_persona(open_runtime: Any) -> None:
    """service CP-3 (fresh), providers #80: the persona replaces the deployment's, in this child."""
    model = ScriptedModel(each=[text("ok"), text("ok")])
    runtime = await open_runtime(model, persona="deployment persona")
    root = await runtime.agents.create()
    own = await asked(runtime, model, SubagentRequest("p", root, persona="child persona"))
    sibling = await asked(runtime, model, SubagentRequest("p", root))
    root.agent.followup("hello")
    await root.agent.when_idle()
    parent = model.requests[-1]
    assert own.system == "child persona"
    assert sibling.system == "deployment persona"
    assert parent.system == "deployment persona"


async def test_empty_persona(open_runtime: Any) -> None:
    """providers 5 (3): an empty persona is explicit: it shadows and says nothing."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model, persona="deployment persona")
    root = await runtime.agents.create()
    request = await asked(runtime, model, SubagentRequest("p", root, persona=""))
    assert request.system is None


async def test_parents_persona_does_not_pass_on(open_runtime: Any) -> None:
    """DESIGN 4 rights: a child's scope is fresh; what is registered in its parent's stays there."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model, tools=[look])
    root = await runtime.agents.create(persona="only the parent", tools=[touch])
    request = await asked(runtime, model, SubagentRequest("p", root))
    assert request.system is None
    assert names(request) == ["look"]


async def test_malformed_persona(open_runtime: Any) -> None:
    """providers 5 (3): a persona is a strict template; an unknown variable fails the child."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, persona="{{nothing}}"))
    result = await run.result
    assert result.stop_reason == "error"
    assert "nothing" in str(result.diagnostic)
    await run.dispose()


async def test_statement(open_runtime: Any) -> None:
    """service PO-10, providers 5 (2): every child is told its scope is fixed, in the context."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create()
    request = await asked(runtime, model, SubagentRequest("p", root))
    assert STATEMENT_TEXT in shown(request)
    assert request.system is None
    root.agent.followup("hello")
    await root.agent.when_idle()
    assert STATEMENT_TEXT not in shown(model.requests[-1])


async def test_statement_order(open_runtime: Any) -> None:
    """providers 5 (2): the statement stands at order 120 among the runtime contexts."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model)
    runtime.prompts.context("before", "B-before", order=119)
    runtime.prompts.context("after", "A-after", order=121)
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await run.result
    said = shown(model.requests[0])
    assert said.index("B-before") < said.index(STATEMENT_TEXT) < said.index("A-after")
    snapshot = [m for m in model.requests[0].messages if m.source.get("kind") == "plugin"][-1]
    assert STATEMENT in str(snapshot.source)
    await run.dispose()


async def test_hidden_tool(open_runtime: Any) -> None:
    """service CP-4, providers #81: a denied tool is unknown and never runs; the child goes on."""
    ran: list[str] = []

    @tool
    async def secret() -> str:
        """Hidden."""
        ran.append("secret")
        return "x"

    model = ScriptedModel(each=[call("secret"), text("finished")])
    runtime = await open_runtime(model, tools=[look, secret])
    root = await runtime.agents.create()
    request = SubagentRequest("p", root, tool_filter=ToolFilter(deny=("secret",)))
    run = await runtime.subagents.start("spawn", request)
    assert (await run.result).text == "finished"
    assert ran == []
    assert names(model.requests[0]) == ["look"]
    answered = next(e.data for e in run.local_agent.session.events if e.type == "tool/result")
    assert answered.error.code == "UNKNOWN_TOOL"
    await run.dispose()


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        (ToolFilter(allow=("look",)), ["look"]),
        (ToolFilter(deny=("look",)), ["touch"]),
        (ToolFilter(allow=()), []),
        (ToolFilter(deny=()), ["look", "touch"]),
        (ToolFilter(allow=("look", "touch"), deny=("look",)), ["touch"]),
    ],
)
async def test_filter(chosen: ToolFilter, left: list[str], open_runtime: Any) -> None:
    """service CP-5: allow first, then deny; an empty allow hides everything inherited."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model, tools=[look, touch])
    root = await runtime.agents.create()
    request = await asked(runtime, model, SubagentRequest("p", root, tool_filter=chosen))
    assert names(request) == left


async def test_filter_is_live(open_runtime: Any) -> None:
    """service CP-5: a deny-only child sees tools that come later, an allow-list child does not."""
    model = ScriptedModel(each=[text("ok"), text("ok")])
    runtime = await open_runtime(model, tools=[look])
    root = await runtime.agents.create()
    runs = [
        await runtime.subagents.start("spawn", SubagentRequest("p", root, tool_filter=chosen))
        for chosen in (ToolFilter(deny=("look",)), ToolFilter(allow=("look",)))
    ]
    for run in runs:
        await run.result
    runtime.tools.register(touch)
    seen: list[list[str]] = []
    for run in runs:
        run.local_agent.followup("again")
        await run.local_agent.when_idle()
        seen.append(names(model.requests[-1]))
        await run.dispose()
    assert seen == [["touch"], ["look"]]


async def test_several_restrictions(open_runtime: Any) -> None:
    """providers #83: several restrictions of one child intersect."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model, tools=[look, touch])
    root = await runtime.agents.create()
    observe(
        runtime,
        "agent/created",
        lambda n: runtime.tools.restrict(n.agent.scope, allow=("touch", "look")),
    )
    request = SubagentRequest("p", root, tool_filter=ToolFilter(deny=("look",)))
    assert names(await asked(runtime, model, request)) == ["touch"]


@pytest.mark.parametrize(
    "chosen",
    [ToolFilter(deny=("nobody",)), ToolFilter(allow=("look", "nobody")), ToolFilter()],
)
async def test_bad_filter(chosen: ToolFilter, open_runtime: Any, ledger: Any, census: Any) -> None:
    """service CP-6, ER-5, providers #23, #84: an unknown name or an empty filter leaves nothing."""
    runtime = await open_runtime(tools=[look])
    root = await runtime.agents.create()
    told = ledger(runtime)
    request = SubagentRequest("p", root, tool_filter=chosen)
    with pytest.raises(ConfigurationError) as caught:
        await runtime.subagents.start("spawn", request)
    if chosen != ToolFilter():
        assert "nobody" in str(caught.value)
    assert told.said == []
    assert census(runtime) == (1, 1, 0)
    assert [entry.id for entry in await runtime.store.list()] == []
    assert root.agent.session.seq == 0


async def test_own_tools_cannot_be_allowed(open_runtime: Any) -> None:
    """providers #85: a filter that names a tool of the child's own scope names an unknown one."""
    runtime = await open_runtime(tools=[look])
    root = await runtime.agents.create(tools=[touch])
    request = SubagentRequest("p", root, tool_filter=ToolFilter(allow=("touch",)))
    with pytest.raises(ConfigurationError, match="touch"):
        await runtime.subagents.start("spawn", request)


async def test_filter_is_no_security_boundary(open_runtime: Any) -> None:
    """service CP-8: a child may have tools that its parent lacks."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model, tools=[look, touch])
    root = await runtime.agents.create()
    runtime.tools.restrict(root.agent.scope, deny=("touch",))
    assert names(await asked(runtime, model, SubagentRequest("p", root))) == ["look", "touch"]


async def test_origin_grants_nothing(open_runtime: Any) -> None:
    """service CP-1: origin is a hint: a session that only claims it is no child of anybody."""
    from broodline.actors.creation import AgentSpec
    from broodline.messages.header import SessionHeader
    from broodline.messages.options import AgentOptions

    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model)
    header = SessionHeader("claims", 0, parent_session="nobody", origin="subagent")
    options = AgentOptions("scripted", "scripted")
    claimant = await runtime.agents.establish(AgentSpec(header, options))
    claimant.agent.followup("hello")
    await claimant.agent.when_idle()
    assert STATEMENT_TEXT not in shown(model.requests[0])
    assert [node.id for node in runtime.tree().roots] == ["claims"]


async def test_children_share_what_they_are_told(open_runtime: Any) -> None:
    """DESIGN 7: children that add nothing of their own share one assembly and one tool view."""
    runtime = await open_runtime(tools=[look])
    root = await runtime.agents.create()
    runs = [await runtime.subagents.start("spawn", SubagentRequest("p", root)) for _ in range(2)]
    for run in runs:
        await run.result
    one, other = (run.local_agent for run in runs)
    assert one.tool_view is other.tool_view
    assert one.system_text is other.system_text
    for run in runs:
        await run.dispose()


async def test_invisible_while_composed(open_runtime: Any, census: Any) -> None:
    """providers 5: nobody is told of a child before it is composed."""
    runtime = await open_runtime(tools=[look, touch])
    root = await runtime.agents.create()
    seen: list[tuple[str, ...]] = []

    def notice(created: Any) -> None:
        seen.append(runtime.tools.view(created.agent.scope).names)

    runtime.hooks.observe("agent/created", notice)
    request = SubagentRequest("p", root, tool_filter=ToolFilter(allow=("look",)))
    run = await runtime.subagents.start("spawn", request)
    assert seen == [("look",)]
    await run.dispose()


async def test_failed_child_leaves_no_registration(open_runtime: Any) -> None:
    """providers 5: a child that is rolled back leaves no layer of prompts or tools behind."""
    runtime = await open_runtime(tools=[look])
    root = await runtime.agents.create()
    for _ in range(3):
        request = SubagentRequest(
            "p", root, persona="P", tool_filter=ToolFilter(allow=("look", "nobody"))
        )
        with pytest.raises(ConfigurationError):
            await runtime.subagents.start("spawn", request)
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, persona="P"))
    assert (await run.result).ok
    await run.dispose()


async def test_own_tools_are_exempt(open_runtime: Any) -> None:
    """service CP-5, providers 5 (4): what is in the child's own scope no filter hides from it."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model, tools=[look])
    root = await runtime.agents.create()

    def equip(notice: Any) -> None:
        runtime.tools.register(touch, scope=notice.agent.scope)

    observe(runtime, "agent/created", equip)
    request = SubagentRequest("p", root, tool_filter=ToolFilter(allow=()))
    assert names(await asked(runtime, model, request)) == ["touch"]


async def test_filter_of_a_grandchild(open_runtime: Any) -> None:
    """DESIGN 4 rights: what a child may not see, its own child sees, unless it is filtered too."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model, tools=[look, touch])
    root = await runtime.agents.create()
    request = SubagentRequest("p", root, tool_filter=ToolFilter(allow=("look",)))
    child = await runtime.subagents.start("spawn", request)
    await child.result
    seen = await asked(runtime, model, SubagentRequest("p", child.local_agent))
    assert names(seen) == ["look", "touch"]
