"""Recorded runs, played again in a runtime."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broodline import Runtime, SubagentRequest, tool
from broodline.actors.agent import Agent
from broodline.actors.cancellation import CancellationToken
from broodline.actors.models import (
    LocalModel,
    RecordedModel,
    RetryPolicy,
    ScriptedModel,
    call,
    calls,
    chunks,
    fail,
    hang,
    text,
)
from broodline.actors.recording import RecordedLog, read_log, read_recording
from broodline.actors.recording_check import check_log
from broodline.actors.recording_writer import write_log, write_recording
from broodline.actors.session import Session
from broodline.messages.chunk import BlockStart, Chunk, Finish, ModelFailure, TextDelta
from broodline.messages.content import Text
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import (
    AbortCause,
    CallConfig,
    ChunkReceived,
    RetryPlanned,
    RetryStarted,
)
from broodline.messages.request import ModelRequest

SERVER = ModelFailure("down", "SERVER", 503)
QUICK = RetryPolicy(base=0.001, cap=0.001, jitter=0)


def retry(build: Any, failure: ModelFailure = SERVER) -> None:
    build.add(RetryPlanned("r", build.turn, build.step, "p", "normal", "k", 1, 1, failure))
    build.add(RetryStarted("r", build.turn, build.step, 1))


def log_of(kit: SimpleNamespace, *answers: str, id: str = "s") -> RecordedLog:
    """A log with one turn an answer."""
    build = kit.build()
    for turn, answer in enumerate(answers, 1):
        build.start(turn).say(answer).end()
    log: RecordedLog = build.log(SessionHeader(id, 0))
    return replace(log, name=f"{id}.jsonl")


def ask(session_id: str = "s1", signal: Any = None) -> ModelRequest:
    return ModelRequest(CallConfig("recorded", "m"), [], None, (), session_id, signal)


@pytest.fixture
async def open_runtime() -> AsyncIterator[Callable[..., Awaitable[Runtime]]]:
    """Opens runtimes, with the balance of their logs checked, closed behind the test."""
    async with AsyncExitStack() as stack:

        async def open_one(model: LocalModel, **options: Any) -> Runtime:
            runtime = Runtime(model=model, check_invariants=True, retry=QUICK, **options)
            return await stack.enter_async_context(runtime)

        yield open_one


OpenRuntime = Callable[..., Awaitable[Runtime]]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def types_of(events: Iterable[Event]) -> list[str]:
    return [event.type for event in events]


def streamed(events: Iterable[Event]) -> list[Chunk]:
    return [event.data.chunk for event in events if isinstance(event.data, ChunkReceived)]


def first_event(session: Session, wanted: str) -> asyncio.Event:
    """Set as soon as an event of the type is in the log."""
    seen = asyncio.Event()

    def look(event: Event) -> None:
        if event.type == wanted:
            seen.set()

    session.observe(look)
    return seen


async def run(runtime: Runtime, *prompts: str) -> Agent:
    handle = await runtime.agents.create(persona="Be brief.")
    for prompt in prompts:
        await handle.followup(prompt)
        await handle.when_idle()
    return handle.agent


async def test_a_run_is_recorded_and_replayed(open_runtime: OpenRuntime, tmp_path: Path) -> None:
    """core 12.7, 15.6: a run of our own, written down and replayed, makes the same log again.

    With tools in parallel, reasoning, a retried failure of either kind and two turns.
    """
    script = ScriptedModel(
        each=[
            fail("RATE_LIMIT", status=429, retry_after=0.001),
            calls(call("add", a=1, b=2), call("add", a=3, b=4), text="Adding."),
            fail("SERVER", after="half", emit=True),
            text("Ten.", reasoning="3 and 7", pieces=4),
            fail("AUTH", status=401),
        ]
    )
    before = await run(await open_runtime(script, tools=[add]), "Add up.", "Again.")
    write_log(before.session, tmp_path / "session.jsonl")
    log = read_log(tmp_path / "session.jsonl", form="strict")
    assert log.events == before.session.events
    assert check_log(log) == ()

    model = RecordedModel(log)
    after = await run(await open_runtime(model, tools=[add]), "Add up.", "Again.")
    model.assert_consumed()
    assert types_of(after.session.events) == types_of(before.session.events)
    assert streamed(after.session.events) == streamed(before.session.events)
    assert after.answer == before.answer == "Ten."
    assert after.last_end == before.last_end
    assert check_log(read_log(after.session)) == ()


async def test_a_cancelled_run_is_replayed(open_runtime: OpenRuntime) -> None:
    """core 12.7: a cancelled stream is played up to where it was, and waits to be cancelled."""
    for script in (hang("partial"), hang()):
        model: LocalModel = ScriptedModel(each=[script, text("on")])
        logs: list[list[str]] = []
        for _ in range(2):
            runtime = await open_runtime(model)
            handle = await runtime.agents.create()
            wanted = "assistant/chunk" if script.content else "request/header"
            started = first_event(handle.agent.session, wanted)
            await handle.followup("Begin.")
            await started.wait()
            assert handle.status == "running"
            handle.cancel()
            end = await handle.when_idle()
            assert end is not None
            assert end.kind == "aborted"
            await handle.followup("On.")
            await handle.when_idle()
            assert handle.answer == "on"
            logs.append(types_of(handle.agent.session.events))
            assert check_log(read_log(handle.agent.session)) == ()
            model = RecordedModel(handle.agent.session)
        assert logs[0] == logs[1]


async def test_a_hanging_entry_ends_with_its_signal(kit: SimpleNamespace) -> None:
    """core 12.7: a hanging entry ends when the request's signal fires, with an aborted finish."""
    build = kit.build().start()
    build.stream(*kit.said("half")[:2])
    build.end("aborted", reason=AbortCause("user"))
    token = CancellationToken()
    heard: list[Chunk] = []
    async with aclosing(RecordedModel(build.log()).stream(ask(signal=token))) as stream:
        async for chunk in stream:
            heard.append(chunk)
            if len(heard) == 2:
                token.cancel("enough")
    assert [type(chunk) for chunk in heard] == [BlockStart, TextDelta, Finish]
    assert heard[-1] == replace(heard[-1], kind="aborted")  # type: ignore[arg-type]  # a Finish


async def test_a_delegation_is_recorded_and_replayed(
    open_runtime: OpenRuntime, tmp_path: Path
) -> None:
    """core 12.7: root and children are recorded as they are created, and replayed as one run."""

    async def play(model: LocalModel) -> list[Session]:
        runtime = await open_runtime(model)
        sessions: list[Session] = []
        runtime.hooks.observe("session/created", lambda said: sessions.append(said.session))
        root = await runtime.agents.create()
        await root.followup("Delegate.")
        await root.when_idle()
        for label in ("north", "south"):
            request = SubagentRequest(f"Survey the {label}.", parent=root, label=label)
            one = await runtime.subagents.start("spawn", request)
            assert (await one.result).stop_reason == "completed"
        return sessions

    first = await play(ScriptedModel(shared=[text("root"), text("north"), text("south")]))
    write_recording(tmp_path / "run", *first)
    recording = read_recording(tmp_path / "run", form="strict")
    assert [log.header.parent_session for log in recording.logs] == [None] + [first[0].id] * 2
    model = RecordedModel(recording)
    second = await play(model)
    model.assert_consumed()
    assert [session.messages()[-1].content for session in second] == [
        (Text("root"),),
        (Text("north"),),
        (Text("south"),),
    ]
    assert [types_of(s.events) for s in first] == [types_of(s.events) for s in second]
    assert all(check_log(read_log(session)) == () for session in second)


async def test_a_third_agent_fails_by_name(open_runtime: OpenRuntime, kit: SimpleNamespace) -> None:
    """core 12.7: in a runtime, too, a session more than were recorded ends in a clear error."""
    runtime = await open_runtime(RecordedModel(log_of(kit, "a"), log_of(kit, "b")))
    agents = [await run(runtime, "Go.") for _ in range(3)]
    assert [agent.answer for agent in agents] == ["a", "b", ""]
    end = agents[2].last_end
    assert end is not None
    assert end.error is not None
    assert end.error.code == "UNKNOWN"
    assert f"session {agents[2].id} is one more than" in end.error.message
    assert f"s.jsonl for {agents[0].id}" in end.error.message


async def test_failures_are_retried(open_runtime: OpenRuntime, kit: SimpleNamespace) -> None:
    """core #269: a recorded failure fails again, and the agent's own retry plays what came next."""
    build = kit.build().start()
    build.stream(Finish("error", ModelFailure("nothing", "EMPTY_RESPONSE")))
    retry(build, ModelFailure("nothing", "EMPTY_RESPONSE"))
    retry(build)
    log = build.say("recovered").end().log()
    model = RecordedModel(log)
    agent = await run(await open_runtime(model), "Go.")
    planned = [e.data for e in agent.session.events if isinstance(e.data, RetryPlanned)]
    assert [plan.failure.code for plan in planned] == ["EMPTY_RESPONSE", "SERVER"]
    assert planned[1].failure == SERVER
    assert agent.answer == "recovered"
    model.assert_consumed()


async def test_recorded_by_the_reference(
    open_runtime: OpenRuntime, folder: Callable[[str], Path]
) -> None:
    """core 12.6, 15.6: the recorded retry of the reference recovers in our loop, in one step."""
    model = RecordedModel(folder("acp-agent/empty-response-retry"))
    agent = await run(await open_runtime(model), "Go.")
    assert agent.answer == "Recovered."
    assert types_of(agent.session.events).count("step/start") == 1
    model.assert_consumed()


async def test_the_recorded_fork_plays_its_own(
    open_runtime: OpenRuntime, folder: Callable[[str], Path]
) -> None:
    """core #290: the recorded fork child answers with its own words, not with its parent's."""
    recording = read_recording(folder("acp-agent/subagent-fork-in-process"))
    model = RecordedModel(*recording.children)
    agent = await run(await open_runtime(model), "What is the codeword?")
    assert agent.answer == "MARMALADE"
    model.assert_consumed()


async def test_a_stream_is_logged_as_it_was(
    open_runtime: OpenRuntime, folder: Callable[[str], Path]
) -> None:
    """core 12.7: our loop logs the chunks of a real model just as the reference did."""
    log = read_log(folder("acp-agent/text-turn") / "session.jsonl")
    agent = await run(await open_runtime(RecordedModel(log)), "Go.")
    assert streamed(agent.session.events) == streamed(log.events)


async def test_chance_cannot_break_a_log(open_runtime: OpenRuntime, tmp_path: Path) -> None:
    """core #285, #286: whatever a model says, our log of it is sound and written without loss.

    Runs of random entries, with tools that fail, do not exist or get no JSON.
    """
    dice = random.Random(3)
    choices: list[Callable[[], Any]] = [
        lambda: text("x" * dice.randrange(9), reasoning="r" * dice.randrange(5), pieces=5),
        lambda: calls(*(call("add", a=1, b=b) for b in range(dice.randrange(1, 4)))),
        lambda: call("add", "no json"),
        lambda: call("nobody"),
        lambda: fail("SERVER", after="half"),
        lambda: fail("AUTH", emit=dice.random() < 0.5),
        lambda: chunks([TextDelta(0, "bare")]),
        lambda: text(""),
    ]
    for number in range(12):
        script = ScriptedModel(shared=[dice.choice(choices)() for _ in range(12)])
        runtime = await open_runtime(script, tools=[add])
        agent = await run(runtime, "Go.", "On.", "Again.")
        log = read_log(agent.session)
        assert check_log(log) == (), number
        write_log(log, tmp_path / "session.jsonl")
        assert read_log(tmp_path / "session.jsonl").events == agent.session.events
        replayed = RecordedModel(log, sleep=lambda _: asyncio.sleep(0))
        again = await run(await open_runtime(replayed, tools=[add]), "Go.", "On.", "Again.")
        assert types_of(again.session.events) == types_of(agent.session.events), number
        replayed.assert_consumed()
