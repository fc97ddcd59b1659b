"""What a child sees of its parent's things."""

from __future__ import annotations

from typing import Any

import pytest

from broodline import ScriptedModel, SubagentRequest, Tool, ToolFilter
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


async def test_before_publication_the_driver_cleans_up_afterwards_the_caller_does(
    open_runtime: Any,
) -> None:
    """service OS-8: a refused start leaves nothing; a published run is the caller's to dispose."""
    runtime = await open_runtime(ScriptedModel(each=[text("ok")]))
    parent = await runtime.agents.create()
    refused = SubagentRequest("p", parent, tool_filter=ToolFilter(deny=("unknown",)))
    with pytest.raises(ValueError, match="unknown"):
        await runtime.subagents.start("spawn", refused)
    assert (len(runtime.agents), len(runtime.sessions)) == (1, 1)
    run = await runtime.subagents.start("spawn", SubagentRequest("p", parent))
    await run.result
    assert (len(runtime.agents), len(runtime.sessions)) == (2, 2)
    await run.dispose()
    assert (len(runtime.agents), len(runtime.sessions)) == (1, 1)
