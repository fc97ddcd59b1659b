"""Ends that have something in their way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broodline import MemoryStore, Runtime, ScriptedModel, SubagentRequest, SubagentTool, Tool
from broodline.actors.models import call, hang, text
from broodline.messages.content import text_of
from broodline.messages.payload import TurnEnd


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


async def test_closing_lets_no_root_begin_anything() -> None:
    """DESIGN 3: while a child is still ending, its root claims no prompt and asks no model."""
    waiting, called_off = asyncio.Event(), asyncio.Event()

    async def slow(args: Any, context: Any) -> str:
        context.signal.follow(lambda _cause: called_off.set())
        waiting.set()
        await called_off.wait()
        for _ in range(50):  # it takes its time, while the root might go on
            await asyncio.sleep(0)
        return "done"

    script = [call("subagent", description="d", prompt="p"), call("slow"), text("never")]
    model = ScriptedModel(shared=script)
    slowly = Tool("slow", "slow", {"type": "object"}, slow)
    async with Runtime(model=model, tools=[SubagentTool(), slowly]) as runtime:
        root = await runtime.agents.create()
        await root.followup("A")
        await root.followup("B")
        await waiting.wait()
    assert len(model.requests) == 2
    log = root.agent.session.events
    assert [e.data.reason.kind for e in log if isinstance(e.data, TurnEnd)] == ["aborted"]
    assert [text_of(m.content) for m in root.agent.inbox.next_turn] == ["B"]
