"""Ends that have something in their way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broodline import MemoryStore, Runtime, ScriptedModel, SubagentRequest, Tool
from broodline.actors.models import call, hang, text


async def test_a_child_that_cannot_be_released_keeps_nobody_open() -> None:
    """DESIGN 4: when a child's release fails, roots and store are closed all the same."""
    store = MemoryStore()
    ended: list[str] = []

    def broken() -> None:
        raise OSError("stuck")

    runtime = await Runtime(model=ScriptedModel(each=[text("ok")]), store=store).__aenter__()
    root = await runtime.agents.create(id="root")
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await run.result
    assert run.local_agent is not None
    run.local_agent.scope.add_cleanup(broken)
    runtime.hooks.observe("agent/disposed", lambda notice: ended.append(notice.agent.id))
    with pytest.raises(ExceptionGroup):
        await runtime.__aexit__(None, None, None)
    assert ended == [run.id, "root"]
    assert runtime.agents.list() == ()
    with pytest.raises(Exception, match="closed"):
        await store.create(root.agent.session.header)


async def test_a_parent_whose_tool_waits_for_a_child_ends_at_once(open_runtime: Any) -> None:
    """DESIGN 4: disposing a parent cancels the children that its turn waits for, top-down."""
    waiting = asyncio.Event()
    seen: list[str] = []

    async def delegate(args: Any, context: Any) -> str:
        request = SubagentRequest("p", context.agent)  # without the call's signal
        run = await context.agent.runtime.subagents.start("spawn", request)
        waiting.set()
        result = await run.result
        seen.append(result.stop_reason)
        return "done"

    model = ScriptedModel(shared=[call("delegate"), hang("thinking")])
    runtime = await open_runtime(model, dispose_timeout=60.0)
    tool = Tool("delegate", "delegates", {"type": "object"}, delegate)
    root = await runtime.agents.create(tools=[tool])
    await root.followup("go")
    await waiting.wait()
    await root.dispose()
    assert seen == ["aborted"]
    assert runtime.agents.list() == ()
