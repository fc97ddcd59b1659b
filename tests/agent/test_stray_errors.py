"""Errors that are no `Exception`: what hooks, models and clean-ups let escape stays theirs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from broodline.actors.agent import Agent
from broodline.actors.cancellation import CancellationToken
from broodline.actors.models import ScriptedModel, call, fail, text
from broodline.actors.tools.tool import Tool
from broodline.messages.chunk import BlockStart, Chunk, Finish, TextDelta

Look = Callable[[Agent], list[str]]
Make = Callable[[], BaseException]
STRAY = [asyncio.CancelledError, SystemExit, GeneratorExit]
IN_A_TURN = [*STRAY, KeyboardInterrupt, lambda: BaseException("odd")]
OBSERVED = [
    "agent/status",
    "agent/inbox/enqueue",
    "agent/inbox/dequeue",
    "agent/inbox/discard",
    "agent/error",
    "tools/result",
]
ASKED = [
    "system-prompt/assemble",
    "agent/pre-step",
    "agent/request",
    "agent/request-error",
    "tools/pre-execute",
    "tools/execute",
    "tools/post-execute",
]
NOTE = Tool("note", "notes", {"type": "object"}, lambda args, context: "noted")


class Once:
    """Raises at its first call, does nothing later."""

    def __init__(self, make: Make) -> None:
        self.make = make
        self.calls = 0

    def __call__(self, notice: object) -> None:
        self.calls += 1
        if self.calls == 1:
            raise self.make()

    async def later(self, notice: object) -> None:
        self(notice)


def model_for(event: str) -> ScriptedModel:
    """A script on whose way the event is met."""
    first: Any = fail("AUTH", "no") if event.endswith("error") else call("note")
    return ScriptedModel(shared=[first, *(text("ok") for _ in range(4))])


async def run_two(open_host: Any, event: str) -> tuple[Any, Agent]:
    host = await open_host(model_for(event))
    host.tools.register(NOTE)
    return host, (await host.agents.create()).agent


@pytest.mark.parametrize("make", STRAY)
@pytest.mark.parametrize("event", OBSERVED)
async def test_a_told_observer_harms_nobody(
    open_host: Any, ends_of: Look, event: str, make: Make
) -> None:
    """core 8: whatever an observer lets escape, every prompt gets its turn."""
    host, agent = await run_two(open_host, event)
    hostile = Once(make)
    host.hooks.observe(event, hostile)
    agent.inject("context")
    agent.inbox.clear()
    agent.followup("one")
    agent.followup("two")
    await agent.when_idle()
    assert hostile.calls
    assert len(ends_of(agent)) == 2
    assert (len(agent.inbox), agent.session.open_turn) == (0, 0)


@pytest.mark.parametrize("make", IN_A_TURN)
@pytest.mark.parametrize("style", ["plain", "async"])
@pytest.mark.parametrize("event", ASKED)
async def test_what_an_interceptor_lets_escape_fails_its_turn_only(
    open_host: Any, ends_of: Look, event: str, style: str, make: Make
) -> None:
    """core 8: an escaped cancellation or exit is an error of that turn; the next prompt runs."""
    host, agent = await run_two(open_host, event)
    hostile = Once(make)
    host.hooks.intercept(event, hostile if style == "plain" else hostile.later)
    agent.followup("one")
    agent.followup("two")
    await agent.when_idle()
    assert hostile.calls
    first, second = ends_of(agent)
    assert first in ("error", "completed")  # a tool's hook fails its call
    assert second == "completed"


@pytest.mark.parametrize("make", IN_A_TURN)
@pytest.mark.parametrize("style", ["plain", "async"])
async def test_what_turn_stopping_lets_escape_fails_its_turn_only(
    open_host: Any, ends_of: Look, style: str, make: Make
) -> None:
    """core 8: an escaped cancellation in turn-stopping is an error of that turn."""
    host = await open_host(ScriptedModel(each=[text("ok")] * 2))
    agent = (await host.agents.create()).agent
    hostile = Once(make)
    host.hooks.observe("agent/turn-stopping", hostile if style == "plain" else hostile.later)
    agent.followup("one")
    agent.followup("two")
    await agent.when_idle()
    assert ends_of(agent) == ["error", "completed"]


class Hostile:
    """A model whose first response is given; the others are fine."""

    provider = model = "hostile"

    def __init__(self, respond: Callable[[], Any]) -> None:
        self.respond = respond
        self.good = ScriptedModel(each=[text("ok")] * 4)
        self.asked = 0

    def stream(self, request: Any) -> Any:
        self.asked += 1
        return self.respond() if self.asked == 1 else self.good.stream(request)


class Stream:
    """Streams a good answer; closing it raises."""

    def __init__(self, make: Make) -> None:
        self.make = make
        self.chunks: list[Chunk] = [TextDelta(0, "fine"), Finish("stop")]

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Chunk:
        return self.chunks.pop(0)

    async def aclose(self) -> None:
        raise self.make()


@pytest.mark.parametrize("make", IN_A_TURN)
@pytest.mark.parametrize("when", ["opening", "streaming"])
async def test_what_a_model_lets_escape_is_its_failure(
    open_host: Any, ends_of: Look, when: str, make: Make
) -> None:
    """core 12.5: a model that raises an exit or a cancellation has failed, and no more."""

    async def streaming() -> AsyncIterator[Chunk]:
        yield BlockStart(0, "text")
        raise make()

    def opening() -> Any:
        raise make()

    host = await open_host(Hostile(streaming if when == "streaming" else opening))
    agent = (await host.agents.create()).agent
    agent.followup("one")
    agent.followup("two")
    await agent.when_idle()
    assert ends_of(agent) == ["error", "completed"]


@pytest.mark.parametrize("make", [*STRAY, ValueError])
async def test_a_stream_that_fails_to_close_has_answered(
    open_host: Any, ends_of: Look, make: Make
) -> None:
    """core 8.13: what closing a stream raises is logged; the answer stands."""
    host = await open_host(Hostile(lambda: Stream(make)))
    agent = (await host.agents.create()).agent
    agent.followup("one")
    await agent.when_idle()
    assert ends_of(agent) == ["completed"]


async def coroutine() -> None:
    """What an async function without a yield gives."""


@pytest.mark.parametrize("make", [coroutine, lambda: None, lambda: [Finish("stop")], lambda: 7])
async def test_a_stream_that_is_none_is_named(open_host: Any, make: Callable[[], Any]) -> None:
    """core 12.5: a stream() that gives no async iterator fails with what to write instead."""
    host = await open_host(Hostile(make))
    agent = (await host.agents.create()).agent
    agent.followup("one")
    await agent.when_idle()
    failure = agent.session.events[-1].data.reason.error
    assert failure is not None
    assert failure.code == "MALFORMED_RESPONSE"
    assert "async generator" in failure.message


async def test_a_closed_driver_leaves_a_closed_log(open_host: Any, ends_of: Look) -> None:
    """core 8: a loop that goes away under a turn does not leave it open in the log."""

    async def waits() -> AsyncIterator[Chunk]:
        await asyncio.Event().wait()
        yield Finish("stop")

    host = await open_host(Hostile(waits))
    agent = (await host.agents.create()).agent
    agent.followup("one")
    await asyncio.sleep(0)
    (task,) = [task for task in host.tasks() if task.get_name() == agent.id]
    coro = task.get_coro()
    assert coro is not None
    coro.close()
    assert ends_of(agent) == ["aborted"]
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("make", STRAY)
async def test_every_listener_of_a_token_hears_it(make: Make) -> None:
    """core 9: a cancellation callback that lets an exit escape does not silence the others."""
    token = CancellationToken()
    heard: list[object] = []
    token.on_cancel(Once(make))
    token.on_cancel(heard.append)
    assert token.cancel("cause")
    assert heard == ["cause"]


@pytest.mark.parametrize("make", STRAY)
@pytest.mark.parametrize("style", ["plain", "async"])
async def test_a_cleanup_that_lets_an_exit_escape_ends_no_disposal(
    open_host: Any, style: str, make: Make
) -> None:
    """core 6.3: every clean-up runs and the agent leaves, whatever one of them raises."""
    host = await open_host()
    handle = await host.agents.create(id="a")
    ran: list[str] = []
    hostile = Once(make)
    handle.agent.scope.add_cleanup(lambda: ran.append("first"))
    bad = hostile if style == "plain" else hostile.later
    handle.agent.scope.add_cleanup(lambda: bad(None))
    with pytest.raises(ExceptionGroup):
        await handle.dispose()
    assert ran == ["first"]
    assert host.agents.get("a") is None
    assert host.sessions.get("a") is None


async def test_a_cancellation_from_outside_is_not_lost_beside_an_abort(
    open_host: Any, ends_of: Look
) -> None:
    """core 9: an abort and the end of the driver's task in one tick both take effect."""
    streaming = asyncio.Event()

    async def waits() -> AsyncIterator[Chunk]:
        streaming.set()
        await asyncio.Event().wait()
        yield Finish("stop")

    host = await open_host(Hostile(waits))
    agent = (await host.agents.create()).agent
    agent.followup("one")
    agent.followup("two")
    await streaming.wait()
    (task,) = [task for task in host.tasks() if task.get_name() == agent.id]
    agent.cancel(keep_inbox=True)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert ends_of(agent) == ["aborted"]


async def test_a_run_from_the_idle_edge_outlives_the_cancelled_driver_before_it(
    open_host: Any, ends_of: Look
) -> None:
    """core #195: the end of a driver that was cancelled does not take its replacement along."""
    streaming = asyncio.Event()

    async def waits() -> AsyncIterator[Chunk]:
        streaming.set()
        await asyncio.Event().wait()
        yield Finish("stop")

    host = await open_host(Hostile(waits))
    agent = (await host.agents.create()).agent
    again = ["again"]

    def on_status(notice: Any) -> None:
        if notice.status == "idle" and again:
            agent.followup(again.pop())

    host.hooks.observe("agent/status", on_status)
    agent.followup("one")
    await streaming.wait()
    (task,) = [task for task in host.tasks() if task.get_name() == agent.id]
    task.cancel()
    await asyncio.wait([task])
    await agent.when_idle()
    assert ends_of(agent) == ["aborted", "completed"]
