"""What callers and observers may do at awkward moments, and from awkward places."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from broodline import Runtime
from broodline.actors.agent import Agent
from broodline.actors.models import ScriptedModel, call, calls, fail, text
from broodline.actors.notice import Reject
from broodline.actors.tools.tool import Tool
from broodline.messages.chunk import BlockStart, Chunk, Finish, TextDelta
from broodline.messages.content import Text, text_of
from broodline.messages.errors import ConfigurationError, DeadlockError, SessionError
from broodline.messages.message import UserMessage

Look = Callable[[Agent], list[str]]
OBJECT = {"type": "object"}
EDGES = ("session/created", "agent/created", "agent/session-start")
ENDS = ("agent/disposed", "session/disposed")


class Gate:
    """A model that says when it streams and goes on when it may."""

    provider = model = "gate"

    def __init__(self) -> None:
        self.streaming = asyncio.Event()
        self.opened = asyncio.Event()

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        yield BlockStart(0, "text")
        self.streaming.set()
        await self.opened.wait()
        yield TextDelta(0, "ok")


def hear(host: Any, *events: str) -> list[str]:
    """Collects the names of events as they are told."""
    seen: list[str] = []

    def listen(event: str) -> None:
        def told(notice: object) -> None:
            seen.append(event)

        host.hooks.observe(event, told)

    for event in events:
        listen(event)
    return seen


def in_a_thread(act: Callable[[], object]) -> list[BaseException]:
    """Run something in a thread of its own; returns what it raised."""
    raised: list[BaseException] = []

    def body() -> None:
        try:
            act()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    return raised


@pytest.mark.parametrize("method", ["followup", "steer", "inject"])
async def test_another_thread_is_sent_to_the_handle(
    open_host: Any, ends_of: Look, method: str
) -> None:
    """DESIGN 2: an agent's own methods refuse another thread before anything has happened."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    agent = (await host.agents.create()).agent
    (refused,) = in_a_thread(lambda: getattr(agent, method)("from a thread"))
    assert isinstance(refused, ConfigurationError)
    assert "AgentHandle" in str(refused)
    assert (agent.session.seq, agent.status) == (0, "idle")
    agent.followup("from the loop")
    await agent.when_idle()
    assert ends_of(agent) == ["completed"]


async def test_a_cancel_from_another_thread_is_refused(open_host: Any) -> None:
    """DESIGN 2: a cancel from another thread touches neither inbox nor turn."""
    host = await open_host()
    agent = (await host.agents.create()).agent
    agent.inject("context")
    (refused,) = in_a_thread(agent.cancel)
    assert isinstance(refused, ConfigurationError)
    assert len(agent.inbox) == 1


async def test_a_plain_tool_may_tell_its_agent(open_host: Any, ends_of: Look) -> None:
    """DESIGN 2: a plain tool, which runs in a thread, prompts its agent through the reference."""

    def again(args: Any, context: Any) -> str:
        context.agent.actor_ref.tell("again")
        return "told"

    host = await open_host(ScriptedModel(shared=[call("again"), text("one"), text("two")]))
    agent = (await host.agents.create(tools=[Tool("again", "tells", OBJECT, again)])).agent
    agent.followup("go")
    await agent.when_idle()
    assert ends_of(agent) == ["completed", "completed"]


@pytest.mark.parametrize("door", ["agent", "handle"])
async def test_a_turn_may_not_wait_for_its_own_end(open_host: Any, door: str) -> None:
    """DESIGN 2: waiting for one's own agent to be idle, from its turn, is a DeadlockError."""
    refused: list[str] = []

    async def waits(args: Any, context: Any) -> str:
        with pytest.raises(DeadlockError) as error:
            await (context.agent if door == "agent" else handle).when_idle()
        refused.append(str(error.value))
        return "refused"

    host = await open_host(ScriptedModel(shared=[call("waits"), text("ok")]))
    handle = await host.agents.create(tools=[Tool("waits", "waits", OBJECT, waits)])
    handle.agent.followup("go")
    await handle.agent.when_idle()
    assert "let the turn end" in refused[0]


async def test_a_task_beside_the_turn_may_wait_for_its_end(open_host: Any) -> None:
    """DESIGN 2: a task that a tool started waits for the agent like anybody else."""
    waiting: list[asyncio.Task[None]] = []

    async def starts(args: Any, context: Any) -> str:
        waiting.append(asyncio.create_task(context.agent.when_idle()))
        return "started"

    host = await open_host(ScriptedModel(shared=[call("starts"), text("ok")]))
    agent = (await host.agents.create(tools=[Tool("starts", "starts", OBJECT, starts)])).agent
    agent.followup("go")
    await waiting[0] if waiting else await agent.when_idle()
    await asyncio.gather(*waiting)
    assert agent.status == "idle"


async def test_a_wait_that_was_given_up_is_forgotten(open_host: Any) -> None:
    """core 9: cancelled waits for idleness leave nothing behind on a running agent."""
    model = Gate()
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    agent.followup("go")
    await model.streaming.wait()
    for _ in range(20):
        wait = asyncio.ensure_future(agent.when_idle())
        await asyncio.sleep(0)
        wait.cancel()
        await asyncio.wait([wait])
    assert not agent._followers  # pyright: ignore[reportPrivateUsage]
    model.opened.set()
    await agent.when_idle()


async def test_a_follower_that_fails_does_not_keep_the_others(open_host: Any) -> None:
    """core #195: everybody who waits for the rest is told, whatever one of them does."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    agent = (await host.agents.create()).agent
    told: list[str] = []

    def fails() -> None:
        told.append("failed")
        raise ValueError("no")

    agent.followup("go")
    agent.on_idle(fails)
    agent.on_idle(lambda: told.append("second"))
    await agent.when_idle()
    assert told == ["failed", "second"]


@pytest.mark.parametrize("running", [False, True])
async def test_what_an_observer_sends_at_a_cancel_runs(
    open_host: Any, ends_of: Look, *, running: bool
) -> None:
    """core 9: a prompt that an observer of the clearing sends is new work, not cancelled."""
    model = Gate()
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    instead = ["instead"]

    def send_again(notice: Any) -> None:
        if instead:
            agent.followup(instead.pop())

    host.hooks.observe("agent/inbox/discard", send_again)
    if running:
        agent.followup("first")
        await model.streaming.wait()
        agent.followup("second")
    agent.inject("context")
    agent.cancel()
    model.opened.set()
    await agent.when_idle()
    assert ends_of(agent) == ["aborted", "completed"][not running :]
    assert len(agent.inbox) == 0


async def test_a_cancel_in_the_enqueue_notice_moves_no_status(open_host: Any) -> None:
    """core D6: a message that an observer took out again wakes nobody."""
    host = await open_host(ScriptedModel(shared=[]))
    agent = (await host.agents.create()).agent
    edges = hear(host, "agent/status")

    def cancel(notice: Any) -> None:
        notice.agent.cancel()

    host.hooks.observe("agent/inbox/enqueue", cancel)
    agent.followup("gone")
    await agent.when_idle()
    assert (edges, len(agent.inbox)) == ([], 0)


async def test_a_cancel_aborts_though_the_log_refuses_the_clearing(
    open_host: Any, ends_of: Look
) -> None:
    """core 9: a log that refuses to drop what is pending does not keep the turn running."""
    model = Gate()
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    agent.followup("first")
    await model.streaming.wait()
    agent.followup("second")

    def veto(event: Any) -> None:
        raise OSError("disk full")

    check = agent.session.add_check(veto)
    with pytest.raises(OSError, match="disk full"):
        agent.cancel()
    check.dispose()
    await agent.when_idle()
    assert ends_of(agent) == ["aborted"]
    assert [text_of(m.content) for m in agent.inbox.next_turn] == ["second"]


async def test_a_cancel_behind_the_disposal_is_nothing(open_host: Any) -> None:
    """core 6.3: cancelling an agent that is gone changes nothing and raises nothing."""
    host = await open_host()
    handle = await host.agents.create()
    handle.agent.inject("kept")
    await handle.dispose()
    length = handle.agent.session.seq
    await handle.cancel()
    assert handle.agent.session.seq == length


@pytest.mark.parametrize("first", ["error", "blocked"])
async def test_a_replaced_prompt_runs_behind_a_failed_turn(
    open_host: Any, ends_of: Look, first: str
) -> None:
    """DESIGN 3: behind an error or a block the next prompt runs, also one that was replaced."""
    script = [fail("AUTH", "no"), text("ok")] if first == "error" else [text("ok")]
    host = await open_host(ScriptedModel(shared=script))
    agent = (await host.agents.create()).agent

    def reject(notice: Any) -> Reject | None:
        return Reject("no") if notice.turn == 1 else None

    if first == "blocked":
        host.hooks.intercept("agent/pre-step", reject)
    agent.followup("first")
    agent.followup("second", id="b")
    assert agent.inbox.replace("b", UserMessage("c", (Text("better"),)))
    await agent.when_idle()
    assert ends_of(agent) == [first, "completed"]
    assert text_of(agent.session.messages()[-2].content) == "better"


async def test_a_replaced_steer_still_wakes(open_host: Any, ends_of: Look) -> None:
    """core 9: a waking message that is replaced while a turn is aborted is not lost."""
    model = Gate()
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    agent.followup("first")
    await model.streaming.wait()
    agent.cancel()
    agent.steer("again", id="s")
    agent.inbox.replace("s", UserMessage("t", (Text("better"),)))
    model.opened.set()
    await agent.when_idle()
    assert ends_of(agent) == ["aborted", "completed"]


async def test_what_a_cancel_put_off_is_not_replayed(open_host: Any, ends_of: Look) -> None:
    """core 9: with keep_inbox older prompts wait for a wake; one that is taken out is none."""
    model = Gate()
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    agent.followup("first")
    await model.streaming.wait()
    agent.followup("kept")
    agent.cancel(keep_inbox=True)
    agent.followup("taken out", id="x")
    agent.inbox.remove("x")
    model.opened.set()
    await agent.when_idle()
    assert ends_of(agent) == ["aborted"]
    assert [text_of(m.content) for m in agent.inbox.next_turn] == ["kept"]


async def test_resumed_prompts_run_behind_a_failed_turn(open_host: Any, ends_of: Look) -> None:
    """DESIGN 3: prompts from before a resume run one by one, also behind a turn that failed."""
    host = await open_host(ScriptedModel(shared=[fail("AUTH", "no"), text("ok")]))
    handle = await host.agents.create(id="a")
    handle.agent.followup("one")
    handle.agent.followup("two")
    handle.agent.cancel(keep_inbox=True)
    await handle.dispose()
    agent = (await host.agents.resume("a")).agent
    agent.steer("go on")
    await agent.when_idle()
    assert ends_of(agent) == ["error", "completed"]


async def test_a_detached_turn_leaves_a_log_that_can_be_resumed(
    open_host: Any, ends_of: Look
) -> None:
    """DESIGN 4 (W3): detaching answers every call and closes the turn, and nothing comes later."""
    started, gate = asyncio.Event(), asyncio.Event()

    async def stubborn(args: Any, context: Any) -> str:
        started.set()
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        return "done"

    wanted = calls(call("stubborn", id="a"), call("stubborn", id="b"))
    host = await open_host(ScriptedModel(shared=[wanted, text("ok")]), dispose_timeout=0.01)
    tools = [Tool("stubborn", "waits", OBJECT, stubborn)]
    handle = await host.agents.create(id="x", tools=tools)
    late = hear(host, "agent/error", "agent/status")
    handle.agent.followup("go")
    await started.wait()
    await handle.dispose()
    late.clear()
    gate.set()
    while host.tasks():
        await asyncio.sleep(0)
    assert (late, handle.agent.phase) == ([], "closed")
    agent = (await host.agents.resume("x", tools=tools)).agent
    answers = [e.data for e in agent.session.events if e.type == "tool/result"]
    codes = [(a.message.source["callId"], a.error and a.error.code) for a in answers]
    assert codes == [("a", "TOOL_OUTCOME_UNKNOWN"), ("b", "TOOL_NOT_STARTED")]
    agent.followup("again")
    await agent.when_idle()
    assert ends_of(agent) == ["aborted", "completed"]


async def test_a_model_that_ignores_its_end_is_detached_without_a_word(
    open_host: Any, ends_of: Look
) -> None:
    """DESIGN 4 (W3): what a detached model does later reaches neither log nor observers."""

    class Deaf(Gate):
        async def stream(self, request: Any) -> AsyncIterator[Chunk]:
            yield BlockStart(0, "text")
            self.streaming.set()
            while not self.opened.is_set():
                try:
                    await self.opened.wait()
                except asyncio.CancelledError:
                    continue
            yield Finish("stop")

    model = Deaf()
    host = await open_host(model, dispose_timeout=0.01)
    handle = await host.agents.create()
    errors: list[Any] = []
    host.hooks.observe("agent/error", errors.append)
    handle.agent.followup("go")
    await model.streaming.wait()
    await handle.dispose()
    assert ends_of(handle.agent) == ["aborted"]
    model.opened.set()
    while host.tasks():
        await asyncio.sleep(0)
    assert errors == []


@pytest.mark.parametrize("what", ["setup", "veto"])
async def test_a_cancelled_wait_does_not_cut_the_taking_back_short(
    open_host: Any, what: str
) -> None:
    """core 6.2: a creation that is being taken back leaves nothing, though its caller gave up."""
    host = await open_host()
    stored = await host.agents.create(id="a")
    stored.agent.inject("kept")
    await stored.dispose()
    cleaning, gate = asyncio.Event(), asyncio.Event()

    async def clean_up() -> None:
        cleaning.set()
        await gate.wait()

    def setup(agent: Agent) -> None:
        agent.scope.add_cleanup(clean_up)
        if what == "setup":
            raise ValueError("no")

    def veto(notice: Any) -> None:
        raise ValueError("no")

    async def resume() -> None:
        await host.agents.resume("a", setup=setup)

    registration = host.hooks.observe("agent/created", veto)
    caller = asyncio.create_task(resume())
    await cleaning.wait()
    caller.cancel()
    await asyncio.wait([caller])
    gate.set()
    while host.tasks():
        await asyncio.sleep(0)
    registration.dispose()
    assert (host.agents.list(), len(host.sessions)) == ((), 0)
    assert (await host.agents.resume("a")).id == "a"


@pytest.mark.parametrize("edge", EDGES)
async def test_a_disposal_inside_an_edge_leaves_pairs(open_host: Any, edge: str) -> None:
    """core 6.2: an agent disposed while it is announced is not handed out; its edges pair."""
    host = await open_host()
    seen = hear(host, *EDGES, *ENDS)

    def dispose(notice: object) -> None:
        host.agents.dispose(host.agents.get("a"))

    host.hooks.observe(edge, dispose)
    creation = host.agents.create(id="a")
    if edge == "agent/session-start":
        assert (await creation).agent.phase == "closed"
    else:
        with pytest.raises(SessionError, match="while it was being announced"):
            await creation
    count = EDGES.index(edge) + 1
    assert seen[:count] == list(EDGES[:count])
    assert sorted(seen[count:]) == sorted(e for e in ENDS if e != "agent/disposed" or count > 1)
    assert host.agents.get("a") is None


async def test_a_call_through_a_proxy_is_awaited(open_host: Any) -> None:
    """DESIGN 2: an async method called through a proxy answers with its value."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    agent = (await host.agents.create()).agent
    agent.followup("go")
    assert (await agent.actor_ref.proxy().when_idle()).kind == "completed"
    assert agent.status == "idle"


async def test_an_exit_in_a_call_through_a_proxy_is_its_answer(open_host: Any) -> None:
    """DESIGN 2: what a method called through a proxy raises reaches its caller alone."""
    host = await open_host()
    agent = (await host.agents.create()).agent

    def leave(event: Any) -> None:
        raise SystemExit(3)

    agent.session.add_check(leave)
    with pytest.raises(SystemExit):
        await agent.actor_ref.proxy().inject("x")


async def test_disposing_behind_the_runtime_is_done_already() -> None:
    """DESIGN 2: an agent that ended with its runtime may be disposed again."""
    runtime = Runtime()
    async with runtime:
        created = runtime.agents.create()
        await created
    handle: Any = created.get()
    await handle.dispose()


async def test_an_interceptor_that_is_gone_is_not_asked(open_host: Any, ends_of: Look) -> None:
    """core 11.2: an interceptor whose registration ends while another is asked is passed over."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    agent = (await host.agents.create()).agent
    asked: list[object] = []

    async def first(notice: object) -> None:
        second.dispose()

    host.hooks.intercept("agent/pre-step", first)
    second = host.hooks.intercept("agent/pre-step", asked.append)
    agent.followup("go")
    await agent.when_idle()
    assert (asked, ends_of(agent)) == ([], ["completed"])


async def test_turns_that_never_wait_let_others_in(open_host: Any) -> None:
    """DESIGN 2: a row of turns of a model that never waits does not hold the loop to its end."""
    count = 64
    host = await open_host(ScriptedModel(shared=[text("ok")] * count))
    agent = (await host.agents.create()).agent
    for _ in range(count):
        agent.followup("go")
    seen: list[int] = []
    while agent.status == "running":
        await asyncio.sleep(0)
        seen.append(agent.turns)
    assert any(0 < turns < count for turns in seen)


async def test_steps_that_never_wait_let_others_in(open_host: Any) -> None:
    """DESIGN 2: a long turn of tools that never wait does not hold the loop to its end."""

    async def quick(args: Any, context: Any) -> str:
        return "done"

    count = 64
    host = await open_host(ScriptedModel(shared=[*([call("quick")] * count), text("ok")]))
    tools = [Tool("quick", "is quick", OBJECT, quick)]
    agent = (await host.agents.create(tools=tools)).agent
    agent.followup("go")
    seen: list[int] = []
    while agent.status == "running":
        await asyncio.sleep(0)
        seen.append(agent.tool_calls)
    assert any(0 < calls < count for calls in seen)


async def test_a_stream_that_never_closes_is_left_behind(open_host: Any, ends_of: Look) -> None:
    """core 12.3: closing a stream may take as long as a model may be silent, and no longer."""

    class Stuck:
        def __aiter__(self) -> Stuck:
            return self

        async def __anext__(self) -> Chunk:
            return Finish("stop")

        async def aclose(self) -> None:
            await asyncio.Event().wait()

    class Model:
        provider = model = "stuck"

        def stream(self, request: Any) -> Any:
            return Stuck()

    host = await open_host(Model(), request_timeout=0.01)
    agent = (await host.agents.create()).agent
    agent.followup("go")
    await agent.when_idle()
    assert ends_of(agent) == ["completed"]


async def test_a_full_inbox_takes_what_the_turn_itself_adds(open_host: Any, ends_of: Look) -> None:
    """DESIGN 4: the bound is for senders; a tool's context does not fail its turn over it."""

    async def notes(args: Any, context: Any) -> str:
        context.agent.followup("fills the inbox")
        context.defer_context(context.agent.message("context"))
        return "noted"

    host = await open_host(
        ScriptedModel(shared=[call("notes"), text("one"), text("two")]), max_pending=1
    )
    tools = [Tool("notes", "notes", OBJECT, notes)]
    agent = (await host.agents.create(tools=tools)).agent
    agent.followup("go")
    await agent.when_idle()
    assert ends_of(agent) == ["completed", "completed"]
    said = [text_of(message.content) for message in agent.session.messages()]
    assert said[-4:] == ["context", "one", "fills the inbox", "two"]
