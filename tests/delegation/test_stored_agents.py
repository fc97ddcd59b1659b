"""Agents over stores on disk: they come back as they were, whatever ended their process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from broodline import (
    AgentHandle,
    ConfigurationError,
    MemoryStore,
    Runtime,
    ScriptedModel,
    SessionError,
    SessionLeasedError,
    SubagentRequest,
)
from broodline.actors.models import Model
from broodline.actors.store import Store
from broodline.actors.stores.jsonl import JsonlStore
from broodline.actors.stores.sqlite import SqliteStore
from broodline.messages.content import ToolCall, text_of
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.header_codec import encode_header
from broodline.messages.message import AssistantMessage, ToolMessage
from broodline.messages.payload import (
    AssistantReplied,
    EndSeed,
    StepStart,
    ToolCalled,
    TurnStart,
)

Make = Callable[[], Store]


@pytest.fixture(params=["sqlite", "jsonl"])
def named(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The text that names a store."""
    return f"{request.param}:{tmp_path / 'store'}"


def opened(named: str) -> SqliteStore | JsonlStore:
    kind, _, place = named.partition(":")
    return SqliteStore(place) if kind == "sqlite" else JsonlStore(place)


def house(named: str, *answers: str, model: Model | None = None) -> Runtime:
    chosen = ScriptedModel(each=list(answers)) if model is None else model
    return Runtime(model=chosen, store=named, check_invariants=True)


async def ask(agent: AgentHandle, text: str) -> str:
    await agent.followup(text)
    await agent.when_idle()
    return agent.answer


def marks(agent: AgentHandle) -> int:
    return sum(type(event.data) is EndSeed for event in agent.agent.session.events)


async def test_resume_goes_on(named: str) -> None:
    """core 6.2: a resumed agent has its history, counts its turns on, is marked once."""
    async with house(named, "one") as runtime:
        root = await runtime.agents.create(id="root", cwd="/work")
        assert await ask(root, "first") == "one"
        header = root.agent.session.header
    for turn in (2, 3):
        model = ScriptedModel(each=["again"])
        async with house(named, model=model) as runtime:
            root = await runtime.agents.resume("root")
            assert await ask(root, "next") == "again"
            assert root.agent.session.last_turn == turn
            assert marks(root) == turn - 1
            said = [text_of(message.content) for message in model.requests[0].messages]
            assert said[:2] == ["first", "one"]
            kept = {**encode_header(root.agent.session.header)}
            kept.pop("delegationDepth", None)
            assert kept == encode_header(header)


async def test_pending_items_come_back(named: str) -> None:
    """core 18.6 #134: what was pending is pending, opens no turn, and precedes the next prompt."""
    async with house(named) as runtime:
        root = await runtime.agents.create(id="root")
        await root.inject("context")
    model = ScriptedModel(each=["done"])
    async with house(named, model=model) as runtime:
        root = await runtime.agents.resume("root")
        await root.when_idle()
        assert root.agent.session.last_turn == 0
        await ask(root, "prompt")
        said = [text_of(message.content) for message in model.requests[0].messages]
        assert said == ["context", "prompt"]


async def interrupted(store: Store, name: str = "root") -> None:
    """A log that ends inside a turn: one call started, one not."""
    calls = (ToolCall("a", "note", "{}"), ToolCall("b", "note", "{}"))
    source = {"kind": "model", "provider": "scripted", "model": "scripted"}
    lease = await store.create(SessionHeader(name, 1))
    await store.append(
        lease,
        [
            Event(0, 5, TurnStart(1)),
            Event(1, 6, StepStart(1, 1)),
            Event(2, 7, AssistantReplied(1, 1, AssistantMessage("m", calls, source)), "append"),
            Event(3, 8, ToolCalled(1, 1, "a", "note", "{}")),
        ],
    )
    store.release(lease)
    await store.flush()


async def test_interrupted_turn(named: str) -> None:
    """core 18.4 #79: the turn behind an interrupted one counts on and shows the results."""
    async with opened(named) as store:
        await interrupted(store)
    model = ScriptedModel(each=["done"])
    async with house(named, model=model) as runtime:
        root = await runtime.agents.resume("root")
        await ask(root, "go on")
        assert root.agent.session.last_turn == 2
        results = [m for m in model.requests[0].messages if isinstance(m, ToolMessage)]
        assert [m.source["callId"] for m in results] == ["a", "b"]


async def test_leased(named: str) -> None:
    """DESIGN 3: an agent that is live in one runtime cannot be resumed or made in another."""
    async with house(named, "one") as first, house(named) as second:
        root = await first.agents.create(id="root")
        await ask(root, "hello")
        with pytest.raises(SessionLeasedError):
            await second.agents.resume("root")
        with pytest.raises(SessionError) as caught:
            await second.agents.create(id="root")
        assert caught.value.code in ("SESSION_LEASED", "SESSION_ALREADY_EXISTS")
        await root.dispose()
        again = await second.agents.resume("root")
        assert again.answer == "one"


async def test_taken_id(named: str) -> None:
    """core 1.7: an id that is stored is refused at creation."""
    async with house(named) as runtime:
        root = await runtime.agents.create(id="root")
        await root.inject("context")
        await root.dispose()
        with pytest.raises(SessionError) as caught:
            await runtime.agents.create(id="root")
        assert caught.value.code == "SESSION_ALREADY_EXISTS"
        assert runtime.agents.get("root") is None
        await runtime.agents.resume("root")


async def test_unknown_id(named: str) -> None:
    """core 6.2: what is not stored cannot be resumed."""
    async with house(named) as runtime:
        with pytest.raises(SessionError) as caught:
            await runtime.agents.resume("nobody")
        assert caught.value.code == "SESSION_NOT_FOUND"


async def test_children_are_stored(named: str) -> None:
    """DESIGN 3: a child's log is on disk when it has been disposed, and found by its parent."""
    async with house(named, "child's answer") as runtime:
        root = await runtime.agents.create(id="root")
        run = await runtime.subagents.start("spawn", SubagentRequest(prompt="Go.", parent=root))
        assert (await run.result).text == "child's answer"
        await run.dispose()
        (found,) = await runtime.store.list_snapshots(parent="root")
        assert found.header.id == run.id
        assert not found.live
        log = await runtime.store.inspect(run.id)
        assert log.events[-1].type == "turn/end"


async def test_a_creation_that_is_taken_back(named: str) -> None:
    """core 18.6 #120: what a veto takes back leaves nothing in the store, and its id is free."""
    async with house(named) as runtime:

        def veto(_notice: object) -> None:
            raise LookupError("not this one")

        registration = runtime.hooks.observe("agent/created", veto)
        with pytest.raises(LookupError):
            await runtime.agents.create(id="root", max_tokens=5)
        assert await runtime.store.list() == ()
        registration.dispose()
        root = await runtime.agents.create(id="root")
        await root.inject("context")


async def test_options_come_back(named: str) -> None:
    """DESIGN 5 (W16): ceiling and effort of an agent outlive its process, unless given anew."""
    async with house(named) as runtime:
        root = await runtime.agents.create(id="root", max_tokens=7, reasoning_effort="high")
        await root.inject("context")
    model = ScriptedModel(each=["a", "b"])
    async with house(named, model=model) as runtime:
        root = await runtime.agents.resume("root")
        await ask(root, "go")
        config = model.requests[0].config
        assert (config.max_tokens, config.reasoning_effort) == (7, "high")
        await root.dispose()
        root = await runtime.agents.resume("root", max_tokens=9)
        await ask(root, "go")
        config = model.requests[1].config
        assert (config.max_tokens, config.reasoning_effort) == (9, "high")


@pytest.mark.parametrize("durability", ["accepted", "checkpoint", "settled"])
async def test_everything_is_there_after_a_graceful_end(named: str, durability: str) -> None:
    """DESIGN 3: leaving a runtime loses nothing, whatever waits for the disk meanwhile."""
    model = ScriptedModel(each=["one", "two"])
    async with Runtime(model=model, store=named, durability=durability) as runtime:  # type: ignore[arg-type] # text of a parameter
        root = await runtime.agents.create(id="root")
        await ask(root, "a")
        await root.inject("left")
        events = root.agent.session.events
    async with opened(named) as store:
        assert tuple((await store.inspect("root")).events) == events


async def test_wrong_durability() -> None:
    """DESIGN 9: a durability that is none, or beside a store with one of its own, is refused."""
    with pytest.raises(ConfigurationError, match="durability"):
        Runtime(store="sqlite:x.db", durability="never")  # type: ignore[arg-type] # on purpose
    with pytest.raises(ConfigurationError, match="store is in memory"):
        Runtime(durability="accepted")
    with pytest.raises(ConfigurationError, match="MemoryStore"):
        Runtime(store=MemoryStore(), durability="accepted")


_KILLED = """
import asyncio, os, signal, sys
from broodline import Runtime, ScriptedModel, tool
from broodline.actors.models import call

@tool
def stop() -> str:
    "End this process."
    os.kill(os.getpid(), signal.SIGKILL)
    return ""

class Deadly:
    provider = model = "deadly"
    async def stream(self, request):
        os.kill(os.getpid(), signal.SIGKILL)
        yield None

async def main():
    model = Deadly() if sys.argv[2] == "model" else ScriptedModel(each=[call("stop", {})])
    async with Runtime(model=model, tools=[stop], store=sys.argv[1]) as runtime:
        root = await runtime.agents.create(id="root")
        await root.followup("Go.")
        await root.when_idle()

asyncio.run(main())
"""


def killed(named: str, where: str) -> None:
    command = [sys.executable, "-c", _KILLED, named, where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -9, done.stderr


async def test_killed_inside_the_model(named: str) -> None:
    """core 18.5 #113: prompt and request are stored; the closers end the step and the turn."""
    killed(named, "model")
    async with opened(named) as store:
        log = await store.load("root")
    types = [event.type for event in log.events]
    assert {"user/message", "request/header"} <= set(types)
    assert types[-2:] == ["step/end", "turn/end"]
    assert log.events[-1].data.reason.kind == "interrupted"  # type: ignore[union-attr]


async def test_killed_inside_a_tool(named: str) -> None:
    """core 18.5 #114: the call is stored, and its result is that its outcome is not known."""
    killed(named, "tool")
    model = ScriptedModel(each=["done"])
    async with house(named, model=model) as runtime:
        root = await runtime.agents.resume("root")
        types = [event.type for event in root.agent.session.events]
        assert types[-5:] == [
            "tool/call",
            "tool/result",
            "step/end",
            "turn/end",
            "session/end-seed",
        ]
        result = root.agent.session.events[-4].data
        assert result.error.code == "TOOL_OUTCOME_UNKNOWN"  # type: ignore[union-attr]
        assert await ask(root, "go on") == "done"


def test_a_program_without_a_loop(named: str) -> None:
    """DESIGN 9: a store on disk serves the form without a loop, too."""
    with house(named, "one") as runtime:
        root = runtime.agents.create(id="root").result()
        root.followup("Go.").result()
        root.when_idle().result()
        assert root.answer == "one"
    with house(named, "two") as runtime:
        root = runtime.agents.resume("root").result()
        assert root.answer == "one"


async def test_a_store_that_cannot_be_opened(tmp_path: Path) -> None:
    """DESIGN 8: a runtime whose store cannot be used is not entered, and says why."""
    (tmp_path / "folder").mkdir()
    runtime = Runtime(store=f"sqlite:{tmp_path / 'folder'}")
    with pytest.raises(ConfigurationError, match="folder"):
        async with runtime:
            pytest.fail("entered")
    assert list((tmp_path / "folder").iterdir()) == []
