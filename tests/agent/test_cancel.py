"""Cancellation, by the place where it lands (spec core 9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from broodline.actors.agent import Agent
from broodline.actors.models import RetryPolicy, ScriptedModel, call, calls, fail, hang, text
from broodline.actors.notice import Retry
from broodline.actors.tools.tool import Tool
from broodline.messages.chunk import BlockEnd, BlockStart, Chunk, TextDelta, ToolCallDelta
from broodline.messages.content import Text, ToolCall, text_of
from broodline.messages.payload import AbortCause

Look = Callable[[Agent], list[str]]
USER = AbortCause("user")
OBJECT = {"type": "object"}


class Held:
    """A model that streams given chunks, says so, and waits until it is cancelled."""

    provider = model = "held"

    def __init__(self, *chunks: Chunk, then: str = "ok") -> None:
        self.chunks = chunks
        self.streaming = asyncio.Event()
        self.requests: list[Any] = []
        self.then = ScriptedModel(each=[text(then)] * 9)

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        if len(self.requests) > 1:
            async for chunk in self.then.stream(request):
                yield chunk
            return
        for chunk in self.chunks:
            yield chunk
        self.streaming.set()
        await asyncio.Event().wait()


def last_reason(agent: Agent) -> Any:
    return [e.data.reason for e in agent.session.events if e.type == "turn/end"][-1]  # type: ignore[union-attr]


def messages(agent: Agent) -> list[Any]:
    return [e for e in agent.session.events if e.type == "assistant/message"]


async def test_idle_cancel_clears_the_inbox(open_host: Any) -> None:
    """core #176: an idle cancel drops what is pending, as canceled; keep_inbox keeps it."""
    host = await open_host()
    agent = (await host.agents.create()).agent
    dropped: list[str] = []
    host.hooks.observe("agent/inbox/discard", lambda notice: dropped.append(notice.message.id))
    agent.inject("a", id="m1")
    agent.cancel(keep_inbox=True)
    assert len(agent.inbox) == 1
    agent.cancel()
    assert dropped == ["m1"]
    assert agent.session.events[-1].data.outcome == "canceled"
    assert agent.status == "idle"


async def test_cancel_right_after_followup_leaves_no_turn(open_host: Any, types_of: Look) -> None:
    """core #177 (D9): a cancel before the claim leaves no turn and calls no model."""
    model = ScriptedModel(shared=[])
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    agent.followup("prompt")
    agent.cancel()
    await agent.when_idle()
    assert types_of(agent) == ["agent/inbox/spliced", "agent/inbox/spliced"]
    assert model.requests == []


async def test_keep_inbox_saves_an_unclaimed_prompt(open_host: Any, ends_of: Look) -> None:
    """core #177 (D9): with keep_inbox the unclaimed prompt waits for the next wake."""
    host = await open_host(ScriptedModel(shared=[text("one"), text("two")]))
    agent = (await host.agents.create()).agent
    agent.followup("first")
    agent.cancel(keep_inbox=True)
    await agent.when_idle()
    assert ends_of(agent) == []
    agent.followup("second")
    await agent.when_idle()
    users = [m for m in agent.session.messages() if m.source == {"kind": "user"}]
    prompts = [text_of(m.content) for m in users]
    assert prompts == ["first", "second"]


async def test_cancel_during_assembly(open_host: Any, types_of: Look) -> None:
    """core #178: a cancel during prompt assembly leaves turn/start and turn/end(aborted)."""
    host = await open_host(ScriptedModel(shared=[]))
    agent = (await host.agents.create()).agent
    entered, gate = asyncio.Event(), asyncio.Event()

    async def slow(context: Any) -> str:
        entered.set()
        await gate.wait()
        return "text"

    host.prompts.section("slow", slow, scope=agent.scope)
    agent.followup("prompt")
    await entered.wait()
    agent.cancel(USER)
    gate.set()
    await agent.when_idle()
    assert types_of(agent)[1:] == ["turn/start", "agent/inbox/spliced", "turn/end"]
    assert (last_reason(agent).kind, last_reason(agent).reason) == ("aborted", USER)


async def test_cancel_in_a_raising_pre_step(open_host: Any, ends_of: Look) -> None:
    """core 9: a pre-step that raises after the abort still gives a balanced aborted turn."""
    host = await open_host(ScriptedModel(shared=[]))
    agent = (await host.agents.create()).agent
    failures: list[Any] = []
    host.hooks.observe("agent/error", failures.append)

    def pre_step(notice: Any) -> None:
        notice.agent.cancel()
        raise ValueError("after the abort")

    host.hooks.intercept("agent/pre-step", pre_step)
    agent.followup("prompt")
    await agent.when_idle()
    assert ends_of(agent) == ["aborted"]
    assert failures == []


async def test_cancel_between_step_start_and_dispatch(open_host: Any, types_of: Look) -> None:
    """core #179: behind step/start the step closes, the model is not called, the prompt stays."""
    model = ScriptedModel(shared=[])
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    host.hooks.intercept("agent/request", lambda notice: notice.agent.cancel())
    agent.followup("prompt")
    await agent.when_idle()
    assert types_of(agent)[-4:] == ["step/start", "user/message", "step/end", "turn/end"]
    assert last_reason(agent).kind == "aborted"
    assert model.requests == []
    assert [text_of(m.content) for m in agent.session.messages()] == ["prompt"]


async def test_cancel_mid_stream_keeps_the_visible_prefix(open_host: Any) -> None:
    """core #180: what could be read stays, marked interrupted, cited, and is sent on."""
    model = Held(BlockStart(0, "text"), TextDelta(0, "Hel"))
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    agent.followup("prompt")
    await model.streaming.wait()
    agent.cancel(USER)
    await agent.when_idle()
    (event,) = messages(agent)
    chunks = [e.seq for e in agent.session.events if e.type == "assistant/chunk"]
    assert event.data.interrupted is True
    assert event.data.message.content == (Text("Hel"),)
    assert list(event.source_event_seqs) == chunks
    agent.followup("go on")
    await agent.when_idle()
    assert [text_of(m.content) for m in model.requests[1].messages] == ["prompt", "Hel", "go on"]


@pytest.mark.parametrize(
    "chunks",
    [
        (BlockStart(0, "text"), TextDelta(0, " \n")),
        (BlockStart(0, "tool-call"), ToolCallDelta(0, "c1", '{"a', "tool")),
    ],
    ids=["whitespace", "half a call"],
)
async def test_cancel_mid_stream_with_nothing_to_read(open_host: Any, chunks: Any) -> None:
    """core #181: whitespace or a half tool call leaves no assistant message."""
    model = Held(*chunks)
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    agent.followup("prompt")
    await model.streaming.wait()
    agent.cancel()
    await agent.when_idle()
    assert messages(agent) == []
    assert last_reason(agent).kind == "aborted"


async def test_cancel_mid_stream_drops_a_complete_call(open_host: Any) -> None:
    """core #182: visible text is kept, a complete call beside it is dropped and not run."""
    ran: list[Any] = []
    wanted = ToolCall("c1", "note", "{}")
    model = Held(
        BlockStart(0, "text"),
        TextDelta(0, "So"),
        BlockEnd(0, Text("So")),
        BlockEnd(1, wanted),
    )
    host = await open_host(model)
    note = Tool("note", "notes", OBJECT, lambda args, context: ran.append(args))
    agent = (await host.agents.create(tools=[note])).agent
    agent.followup("prompt")
    await model.streaming.wait()
    agent.cancel()
    await agent.when_idle()
    assert messages(agent)[0].data.message.content == (Text("So"),)
    assert ran == []
    assert "tool/call" not in [e.type for e in agent.session.events]


async def test_cancel_behind_the_message_pairs_every_call(open_host: Any, types_of: Look) -> None:
    """core 9: a cancel behind the assistant message gives every call its synthetic pair."""
    wanted = calls(call("note", id="a"), call("note", id="b"))
    host = await open_host(ScriptedModel(shared=[wanted]))
    ran: list[Any] = []
    note = Tool("note", "notes", OBJECT, lambda args, context: ran.append(args))
    agent = (await host.agents.create(tools=[note])).agent

    def on_event(event: Any) -> None:
        if event.type == "assistant/message":
            agent.cancel()

    agent.session.observe(on_event)
    agent.followup("prompt")
    await agent.when_idle()
    codes = [e.data.error.code for e in agent.session.events if e.type == "tool/result"]
    assert codes == ["ABORTED_BEFORE_DISPATCH"] * 2
    assert [t for t in types_of(agent) if t.startswith("tool/")].count("tool/call") == 2
    assert ran == []
    assert last_reason(agent).kind == "aborted"


async def test_cancel_while_the_first_of_three_runs(open_host: Any) -> None:
    """core #184: the running call is awaited and ABORTED, the two behind it never start."""
    started, gate = asyncio.Event(), asyncio.Event()

    async def slow(args: Any, context: Any) -> str:
        started.set()
        await gate.wait()
        return "done"

    wanted = calls(*(call("slow", id=name) for name in "abc"))
    host = await open_host(ScriptedModel(shared=[wanted]))
    agent = (await host.agents.create(tools=[Tool("slow", "slow", OBJECT, slow)])).agent
    agent.followup("prompt")
    await started.wait()
    agent.cancel()
    gate.set()
    await agent.when_idle()
    codes = [e.data.error.code for e in agent.session.events if e.type == "tool/result"]
    assert codes == ["ABORTED", "ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"]


@pytest.mark.parametrize(("first", "second"), [("user", "disposed"), ("disposed", "user")])
async def test_the_first_cause_counts(open_host: Any, first: str, second: str) -> None:
    """core #186: of a cancel and a disposal the log has the cause that came first."""
    model = Held(BlockStart(0, "text"))
    host = await open_host(model)
    handle = await host.agents.create()
    handle.agent.followup("prompt")
    await model.streaming.wait()
    disposal = None
    for cause in (first, second):
        if cause == "user":
            handle.agent.cancel(USER, keep_inbox=True)
        else:
            disposal = handle.dispose()
    assert disposal is not None
    await disposal
    assert last_reason(handle.agent).reason == AbortCause(first)  # type: ignore[arg-type]


async def test_cancel_followup_cancel_runs_nothing(open_host: Any) -> None:
    """core #189: a prompt between two cancels before idle never runs."""
    model = Held(BlockStart(0, "text"))
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    agent.followup("prompt")
    await model.streaming.wait()
    agent.cancel()
    agent.followup("between")
    agent.cancel()
    await agent.when_idle()
    assert len(model.requests) == 1
    assert len(agent.inbox) == 0


async def test_a_wake_during_an_abort_is_latched(open_host: Any, ends_of: Look) -> None:
    """core 9: waking input between the abort and idle runs as a turn of its own, unasked."""
    model = Held(BlockStart(0, "text"))
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    edges: list[str] = []
    host.hooks.observe("agent/status", lambda notice: edges.append(notice.status))
    agent.followup("prompt")
    await model.streaming.wait()
    agent.cancel()
    agent.steer("after")
    assert [text_of(m.content) for m in agent.inbox.next_turn] == ["after"]
    await agent.when_idle()
    assert ends_of(agent) == ["aborted", "completed"]
    assert edges == ["running", "idle"]


async def test_a_latched_wake_that_is_removed_is_not_replayed(
    open_host: Any, ends_of: Look
) -> None:
    """core 9: removed before convergence, a latched wake opens no turn."""
    model = Held(BlockStart(0, "text"))
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    agent.followup("prompt")
    await model.streaming.wait()
    agent.cancel()
    agent.followup("after", id="m")
    agent.inbox.remove("m")
    await agent.when_idle()
    assert ends_of(agent) == ["aborted"]


async def test_an_inject_during_an_abort_stays(open_host: Any, ends_of: Look) -> None:
    """core 7: non-waking input during an abort keeps its list and wakes nobody."""
    model = Held(BlockStart(0, "text"))
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    agent.followup("prompt")
    await model.streaming.wait()
    agent.cancel()
    agent.inject("later")
    await agent.when_idle()
    assert ends_of(agent) == ["aborted"]
    assert [text_of(m.content) for m in agent.inbox.next_step] == ["later"]


async def test_cancel_during_back_off(open_host: Any, types_of: Look) -> None:
    """core #190: a cancel during back-off logs no llm/retry-started and asks no more."""
    model = ScriptedModel(shared=[fail("SERVER", "down"), text("never")])
    host = await open_host(model, retry=RetryPolicy(base=60.0, cap=60.0))
    agent = (await host.agents.create()).agent
    planned = asyncio.Event()
    agent.session.observe(lambda e: planned.set() if e.type == "llm/retry" else None)
    agent.followup("prompt")
    await planned.wait()
    await asyncio.sleep(0)
    agent.cancel()
    await agent.when_idle()
    assert "llm/retry-started" not in types_of(agent)
    assert len(model.requests) == 1
    assert last_reason(agent).kind == "aborted"


async def test_cancel_beats_a_recovery_that_says_retry(open_host: Any) -> None:
    """core #191: an interceptor that answers retry after the abort is not followed."""
    model = ScriptedModel(shared=[fail("AUTH", "no"), text("never")])
    host = await open_host(model)
    agent = (await host.agents.create()).agent

    async def recover(notice: Any) -> Retry:
        notice.agent.cancel()
        return Retry()

    host.hooks.intercept("agent/request-error", recover)
    agent.followup("prompt")
    await agent.when_idle()
    assert len(model.requests) == 1
    assert last_reason(agent).kind == "aborted"


async def test_cancel_during_turn_stopping(open_host: Any) -> None:
    """core #192: a cancel while turn-stopping is awaited ends the turn without another step."""
    model = ScriptedModel(shared=[text("one")])
    host = await open_host(model)
    agent = (await host.agents.create()).agent

    async def stopping(notice: Any) -> None:
        notice.agent.steer("more")
        notice.agent.cancel()

    host.hooks.observe("agent/turn-stopping", stopping)
    agent.followup("prompt")
    await agent.when_idle()
    assert last_reason(agent).kind == "aborted"
    assert len(model.requests) == 1


async def test_cancel_in_the_running_edge(open_host: Any, types_of: Look) -> None:
    """core #193: a cancel inside the status=running notice leaves no turn, back to idle."""
    host = await open_host(ScriptedModel(shared=[]))
    agent = (await host.agents.create()).agent
    edges: list[str] = []

    def on_status(notice: Any) -> None:
        edges.append(notice.status)
        if notice.status == "running":
            notice.agent.cancel()

    host.hooks.observe("agent/status", on_status)
    agent.followup("prompt")
    await agent.when_idle()
    assert "turn/start" not in types_of(agent)
    assert edges == ["running", "idle"]


async def test_when_idle_resolves_after_failure_and_drop(open_host: Any) -> None:
    """core #195: when_idle resolves though the run failed, or was dropped before it began."""
    host = await open_host(ScriptedModel(shared=[fail("AUTH", "no")]))
    agent = (await host.agents.create()).agent
    agent.followup("fails")
    await agent.when_idle()
    agent.followup("dropped")
    for task in host.tasks():
        if task.get_name() == agent.id:
            task.cancel()
    await agent.when_idle()
    assert agent.status == "idle"


async def test_when_idle_follows_a_replacement(open_host: Any, ends_of: Look) -> None:
    """core #195: a run started from the idle edge of the one before is waited for too."""
    host = await open_host(ScriptedModel(shared=[text("one"), text("two")]))
    agent = (await host.agents.create()).agent
    again = ["again"]

    def on_status(notice: Any) -> None:
        if notice.status == "idle" and again:
            notice.agent.followup(again.pop())

    host.hooks.observe("agent/status", on_status)
    agent.followup("prompt")
    await agent.when_idle()
    assert ends_of(agent) == ["completed", "completed"]


async def test_a_context_behind_the_abort_is_parked(open_host: Any, ends_of: Look) -> None:
    """core #196: a context that a tool adds after the abort waits in next-step for a wake."""
    started, gate = asyncio.Event(), asyncio.Event()

    async def slow(args: Any, context: Any) -> str:
        started.set()
        await gate.wait()
        context.defer_context(context.agent.message("context"))
        raise RuntimeError("own failure")

    host = await open_host(ScriptedModel(shared=[call("slow"), text("ok")]))
    agent = (await host.agents.create(tools=[Tool("slow", "slow", OBJECT, slow)])).agent
    agent.followup("prompt")
    await started.wait()
    agent.cancel()
    gate.set()
    await agent.when_idle()
    assert ends_of(agent) == ["aborted"]
    assert [text_of(m.content) for m in agent.inbox.next_step] == ["context"]
    agent.followup("next")
    await agent.when_idle()
    sent = [text_of(m.content) for m in agent.session.messages()]
    assert sent[-3:] == ["context", "next", "ok"]


async def test_a_hanging_model_hears_the_task_and_the_signal(open_host: Any) -> None:
    """core 9: a cancel ends a model's wait; its request's signal has fired with the cause."""
    model = ScriptedModel(shared=[hang("partial")])
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    streamed = asyncio.Event()
    agent.session.observe(lambda e: streamed.set() if e.type == "assistant/chunk" else None)
    agent.followup("prompt")
    await streamed.wait()
    await asyncio.sleep(0)
    agent.cancel(AbortCause("parent"))
    await agent.when_idle()
    signal = model.requests[0].signal
    assert (signal.cancelled, signal.cause) == (True, AbortCause("parent"))
    assert messages(agent)[0].data.message.content == (Text("partial"),)
