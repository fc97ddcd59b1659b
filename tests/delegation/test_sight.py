"""What a child sees of its parent's things."""

from __future__ import annotations

from typing import Any

from broodline import ScriptedModel, SubagentRequest, Tool
from broodline.actors.models import text


async def test_a_child_does_not_see_its_parents_own_tools(open_runtime: Any) -> None:
    """core #259: a tool in the parent's own scope is not seen by the child it spawns."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model)
    own = Tool("own", "own", {"type": "object"}, lambda args, context: "x")
    parent = await runtime.agents.create(tools=[own])
    run = await runtime.subagents.start("spawn", SubagentRequest("p", parent))
    await run.result
    await run.dispose()
    assert runtime.tools.view(parent.agent.scope).get("own") is own
    assert model.requests[0].tools == ()
