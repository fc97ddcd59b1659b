"""What is left of an agent once it is gone: a log that can be resumed, and no memory."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from broodline.actors.agent import Agent
from broodline.actors.models import ScriptedModel, call, text
from broodline.actors.stores.memory import MemoryStore
from broodline.actors.tools.tool import Tool
from broodline.messages.chunk import BlockEnd, Chunk, Finish
from broodline.messages.content import ToolCall
from broodline.messages.errors import SessionError


class Keeper:
    """A model that keeps its requests, as a recorder would, and calls a tool first."""

    provider = model = "keeper"

    def __init__(self) -> None:
        self.signals: list[Any] = []

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        self.signals.append(request.signal)
        if len(request.messages) == 1:
            yield BlockEnd(0, ToolCall("c", "note", "{}"))
            yield Finish("tool-calls")
        else:
            yield Finish("stop")


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the cyclic collector, whatever hangs in a cycle stays."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def work(agent: Agent, how: str) -> None:
    if how != "idle":
        agent.followup("go")
    if how == "cancelled":
        await asyncio.sleep(0)
        agent.cancel()
    await agent.when_idle()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("how", ["idle", "worked", "cancelled", "failed"])
async def test_nothing_keeps_an_agent_that_is_gone(
    open_host: Any, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2: a disposed agent is freed at once, without the collector, also if requests stay."""
    caplog.set_level(logging.ERROR, "broodline")  # pytest keeps every record, with its traceback
    store = MemoryStore()
    host = await open_host(Keeper(), store=store)

    async def note(args: Any, context: Any) -> str:
        return "noted"

    def fails(notice: Any) -> None:
        raise ValueError("no")

    if how == "failed":
        host.hooks.intercept("agent/pre-step", fails)
    tools = [Tool("note", "notes", {"type": "object"}, note)]
    handle = await host.agents.create(id="a", tools=tools)
    await work(handle.agent, how)
    left = {"agent": weakref.ref(handle.agent), "session": weakref.ref(handle.agent.session)}
    await handle.dispose()
    del handle
    for _ in range(3):
        await asyncio.sleep(0)
    assert [name for name, ref in left.items() if ref() is not None] == []


async def test_a_token_that_is_done_with_keeps_nobody(open_host: Any) -> None:
    """core 9: the signal of a turn that has ended holds no listener and stays unfired."""
    model = Keeper()
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    heard: list[object] = []

    async def note(args: Any, context: Any) -> str:
        context.signal.on_cancel(heard.append)
        return "noted"

    host.tools.register(Tool("note", "notes", {"type": "object"}, note))
    agent.followup("go")
    await agent.when_idle()
    agent.cancel()
    assert model.signals[0].cancel("late")
    assert heard == []


@pytest.mark.parametrize("refused", ["turn/end", "step/end"])
async def test_a_log_that_broke_can_be_resumed(open_host: Any, refused: str) -> None:
    """core D11: behind a disposal the log is whole again, if it takes events again."""
    tools = [Tool("note", "notes", {"type": "object"}, lambda args, context: "noted")]
    host = await open_host(ScriptedModel(shared=[call("note"), *(text("ok") for _ in range(3))]))
    handle = await host.agents.create(id="a", tools=tools)
    broken = [True]

    def veto(event: Any) -> None:
        if broken and event.type in (refused, "turn/end"):
            raise OSError("disk full")

    handle.agent.session.add_check(veto)
    handle.agent.followup("go")
    await handle.agent.when_idle()
    with pytest.raises(SessionError, match="dispose it and resume it"):
        handle.agent.followup("more")
    broken.clear()
    await handle.dispose()
    agent = (await host.agents.resume("a", tools=tools)).agent
    agent.followup("more")
    await agent.when_idle()
    events = agent.session.events
    last: Any = events[-1].data
    assert last.reason.kind == "completed"
    asked = [e.data for e in events if e.type == "assistant/message"]
    calls = [b.id for a in asked for b in a.message.content if isinstance(b, ToolCall)]
    answers = [e.data.message.source["callId"] for e in events if e.type == "tool/result"]
    assert calls == answers
