"""The cancellation table of the in-process driver, row by row, and disposal."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.actors.models import ScriptedModel, hang, text
from broodline.messages.errors import DeadlockError, OperationCancelledError, SubagentError
from broodline.messages.payload import AbortCause
from broodline.providers.contract import InProcessSpec, SubagentRequest


def observe(runtime: Any, event: str, listener: Callable[[Any], Any]) -> None:
    """Have `listener` hear an event of the runtime."""
    runtime.hooks.observe(event, listener)


def when_done(reply: Any, callback: Callable[[Any], Any]) -> None:
    """Have `callback` called with the settled reply, at once."""
    reply.add_done_callback(callback)


class Gated:
    """A script entry that says when it is asked and answers when it may."""

    def __init__(self, answer: Any = None) -> None:
        self.asked, self.gate = asyncio.Event(), asyncio.Event()
        self.answer = text("late") if answer is None else answer

    async def __call__(self, _request: Any) -> Any:
        self.asked.set()
        await self.gate.wait()
        return self.answer


async def until_streamed(agent: Any) -> None:
    """Wait until the agent has streamed some text."""
    while not any(event.type == "assistant/chunk" for event in agent.session.events):
        await asyncio.sleep(0)
    for _ in range(5):
        await asyncio.sleep(0)


async def test_before_the_call(open_runtime: Any, ledger: Any, census: Any) -> None:
    """service OS-11, providers #15: a fired signal rejects; nothing was made, nothing told."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    token = CancellationToken()
    token.cancel(KeyError("off"))
    told = ledger(runtime)
    with pytest.raises(KeyError):
        await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
    assert told.said == []
    assert census(runtime) == (1, 1, 0)
    assert root.agent.session.seq == 0


async def test_in_the_same_tick(open_runtime: Any, ledger: Any, census: Any) -> None:
    """service OS-12: a signal fired in the tick of the call rejects; nothing is published."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    token = CancellationToken()
    told = ledger(runtime)
    reply = runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
    token.cancel(KeyError("off"))
    with pytest.raises(KeyError):
        await reply
    assert told.said == []
    assert census(runtime) == (1, 1, 0)
    assert root.agent.session.seq == 0


async def test_during_preparation(open_runtime: Any, stub: Any, census: Any) -> None:
    """providers 2.4: a signal fired while a deaf provider prepares rejects at once."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    asked = asyncio.Event()

    async def deaf(_request: Any) -> object:
        asked.set()
        await asyncio.Event().wait()
        return InProcessSpec()

    runtime.subagents.register(stub(deaf))
    token = CancellationToken()
    reply = runtime.subagents.start("stub", SubagentRequest("p", root, signal=token))
    await asked.wait()
    token.cancel(KeyError("off"))
    with pytest.raises(KeyError):
        await reply
    assert census(runtime) == (1, 1, 0)


async def test_provider_hears_the_signal(open_runtime: Any, stub: Any) -> None:
    """providers 1: the provider's request carries a signal that fires with the caller's cause."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    asked = asyncio.Event()
    causes: list[object] = []

    async def listening(request: Any) -> object:
        request.signal.on_cancel(causes.append)
        asked.set()
        await asyncio.Event().wait()
        return InProcessSpec()

    runtime.subagents.register(stub(listening))
    token = CancellationToken()
    reply = runtime.subagents.start("stub", SubagentRequest("p", root, signal=token))
    await asked.wait()
    cause = KeyError("off")
    token.cancel(cause)
    with pytest.raises(KeyError):
        await reply
    assert causes == [cause]


@pytest.mark.parametrize("event", ["session/created", "agent/created"])
async def test_inside_the_creation(event: str, open_runtime: Any, ledger: Any, census: Any) -> None:
    """service LC-4, ER-1: a signal fired by a creation listener takes all of it back, paired."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    token = CancellationToken()
    cause = KeyError("off")
    told = ledger(runtime)
    observe(runtime, event, lambda _notice: token.cancel(cause))
    with pytest.raises(KeyError) as caught:
        await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
    assert caught.value is cause
    assert told.names.count("session/created") == told.names.count("session/disposed")
    assert told.names.count("agent/created") == told.names.count("agent/disposed")
    assert "subagent/start" not in told.names
    assert "subagent/end" not in told.names
    assert census(runtime) == (1, 1, 0)
    assert runtime.subagents.catalog(root) == ()


async def test_between_publication_and_listening(open_runtime: Any, ledger: Any) -> None:
    """providers #17: fired right behind the publication, the start fulfils and is aborted."""
    model = ScriptedModel(each=[text("never")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create()
    token = CancellationToken()
    told = ledger(runtime, "agent/inbox/enqueue", "subagent/start", "subagent/end")
    observe(runtime, "agent/session-start", lambda _notice: token.cancel())
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
    result = await run.result
    assert (result.stop_reason, result.output) == ("aborted", ())
    assert model.requests == []
    assert told.names == ["subagent/start", "subagent/end"]
    await run.dispose()
    assert len(runtime.agents) == 1


async def test_inside_the_start_edge(open_runtime: Any, ledger: Any) -> None:
    """service 27 row 21: fired by a start listener, paired edges and no delivery."""
    model = ScriptedModel(each=[text("never")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create()
    token = CancellationToken()
    told = ledger(runtime, "agent/inbox/enqueue", "subagent/start", "subagent/end")
    observe(runtime, "subagent/start", lambda _notice: token.cancel())
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
    assert (await run.result).stop_reason == "aborted"
    assert model.requests == []
    assert told.names == ["subagent/start", "subagent/end"]
    await run.dispose()


async def test_before_the_first_turn(open_runtime: Any) -> None:
    """providers 2.6: a cancel that beats the first turn is aborted, not an error."""
    model = ScriptedModel(each=[text("never")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create()
    token = CancellationToken()
    observe(runtime, "agent/inbox/enqueue", lambda _notice: token.cancel())
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
    result = await run.result
    assert (result.stop_reason, result.output) == ("aborted", ())
    assert model.requests == []
    await run.dispose()


async def test_while_the_turn_runs(open_runtime: Any) -> None:
    """service OS-14, providers #18: aborted with the partial text; every cause is the parent's."""
    model = ScriptedModel(each=[hang("partial")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create()
    token = CancellationToken()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
    await until_streamed(run.local_agent)
    token.cancel("whatever")
    result = await run.result
    assert (result.stop_reason, result.text) == ("aborted", "partial")
    assert model.requests[0].signal.cause == AbortCause("parent")
    end = [e.data for e in run.local_agent.session.events if e.type == "turn/end"][-1]
    assert (end.reason.kind, end.reason.reason) == ("aborted", AbortCause("parent"))
    assert runtime.agents.get(run.id) is run.local_agent
    await run.dispose()


async def test_from_another_thread(open_runtime: Any) -> None:
    """DESIGN 2: a signal may be fired from any thread."""
    gated = Gated()
    runtime = await open_runtime(ScriptedModel(each=[gated]))
    root = await runtime.agents.create()
    token = CancellationToken()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
    await gated.asked.wait()
    thread = threading.Thread(target=token.cancel)
    thread.start()
    assert (await run.result).stop_reason == "aborted"
    thread.join()
    await run.dispose()


async def test_after_a_completed_turn(open_runtime: Any) -> None:
    """service OS-15, providers #19: a completed run stays completed."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    token = CancellationToken()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
    await run.result
    token.cancel()
    assert (await run.result).stop_reason == "completed"
    await run.dispose()


async def test_completed_turn_then_cancel_before_rest(open_runtime: Any) -> None:
    """service OS-15: a cancel between the completed turn and the reading never downgrades it."""
    runtime = await open_runtime(ScriptedModel(each=[text("whole")]))
    root = await runtime.agents.create()
    token = CancellationToken()
    observe(runtime, "agent/status", lambda notice: notice.status == "idle" and token.cancel())
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
    result = await run.result
    assert (result.stop_reason, result.text) == ("completed", "whole")
    await run.dispose()


async def test_signal_is_let_go(open_runtime: Any) -> None:
    """providers #95: after the result nothing of the run hangs on the caller's signal."""
    gated = Gated()
    runtime = await open_runtime(ScriptedModel(each=[gated]))
    root = await runtime.agents.create()

    class Counting(CancellationToken):
        live = 0

        def on_cancel(self, fn: Any) -> Any:
            self.live += 1
            registration = super().on_cancel(fn)

            class Kept:
                def dispose(self) -> None:
                    token.live -= 1
                    registration.dispose()

            return Kept()

    token = Counting()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
    assert token.live == 1
    gated.gate.set()
    await run.result
    assert token.live == 0
    await run.dispose()


async def test_waiter_cancelled_before_publication(
    open_runtime: Any, stub: Any, census: Any
) -> None:
    """DESIGN 2: cancelling the task that awaits the start takes it back until publication."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    asked = asyncio.Event()

    async def parked(_request: Any) -> object:
        asked.set()
        await asyncio.Event().wait()
        return InProcessSpec()

    runtime.subagents.register(stub(parked))
    reply = runtime.subagents.start("stub", SubagentRequest("p", root))

    async def wait() -> None:
        await reply

    waiter = asyncio.create_task(wait())
    await asked.wait()
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert isinstance(reply.error(), OperationCancelledError)
    assert census(runtime) == (1, 1, 0)


async def test_wait_for_the_result_cancelled(open_runtime: Any) -> None:
    """DESIGN 2: cancelling a wait for the result cancels the wait alone."""
    gated = Gated(text("whole"))
    runtime = await open_runtime(ScriptedModel(each=[gated]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))

    async def wait() -> None:
        await run.result

    waiter = asyncio.create_task(wait())
    await gated.asked.wait()
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    gated.gate.set()
    assert (await run.result).text == "whole"
    await run.dispose()


async def test_dispose_during_a_turn(open_runtime: Any, census: Any) -> None:
    """service OS-9, providers #20: dispose mid-turn aborts, waits for both, ends the child."""
    runtime = await open_runtime(ScriptedModel(each=[hang("partial")]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await until_streamed(run.local_agent)
    await run.dispose()
    assert run.result.done()
    result = await run.result
    assert (result.stop_reason, result.text) == ("aborted", "partial")
    assert runtime.agents.get(run.id) is None
    assert census(runtime) == (1, 1, 0)


async def test_dispose_twice(open_runtime: Any, ledger: Any) -> None:
    """providers #21, #96: all dispose calls share one reply and one teardown."""
    gated = Gated()
    runtime = await open_runtime(ScriptedModel(each=[gated]))
    root = await runtime.agents.create()
    told = ledger(runtime, "agent/disposed")
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await gated.asked.wait()
    first, second = run.dispose(), run.dispose()
    assert first is second
    await asyncio.gather(first, second)
    assert run.dispose() is first
    assert told.names == ["agent/disposed"]


async def test_dispose_before_any_turn(open_runtime: Any) -> None:
    """service OS-9: a run disposed at once is aborted and asks no model."""
    model = ScriptedModel(each=[text("never")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create()
    reply = runtime.subagents.start("spawn", SubagentRequest("p", root))
    when_done(reply, lambda started: started.result().dispose())
    run = await reply
    await run.dispose()
    assert (await run.result).stop_reason == "aborted"
    assert model.requests == []
    assert len(runtime.agents) == 1


async def test_dispose_between_completion_and_reading(open_runtime: Any) -> None:
    """service OS-15: a run disposed as its child comes to rest keeps the completed answer."""
    runtime = await open_runtime(ScriptedModel(each=[text("whole")]))
    root = await runtime.agents.create()

    def end(notice: Any) -> None:
        if notice.status == "idle":
            runtime.subagents.runs[0].dispose()

    runtime.hooks.observe("agent/status", end)
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    result = await run.result
    assert (result.stop_reason, result.text) == ("completed", "whole")
    await run.dispose()
    assert len(runtime.agents) == 1


async def test_dispose_after_completion(open_runtime: Any) -> None:
    """providers 2.7: disposing a finished run changes no result and is done at once."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await run.result
    assert run.dispose().done()
    assert (await run.result).ok


async def test_scoped_registrations_go(open_runtime: Any) -> None:
    """providers 2.7: with the child goes everything that was registered in its scope."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, persona="P"))
    gone: list[str] = []
    run.local_agent.scope.add_cleanup(lambda: gone.append("scope"))
    await run.result
    await run.dispose()
    assert gone == ["scope"]
    assert run.local_agent.scope.disposed


async def test_failing_release(open_runtime: Any, census: Any) -> None:
    """service OS-9, OS-17: a failed release is dispose's alone, and the owner is free."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))

    def fail() -> None:
        raise OSError("stuck")

    run.local_agent.scope.add_cleanup(fail)
    assert (await run.result).ok
    with pytest.raises(SubagentError, match=run.id) as caught:
        await run.dispose()
    assert caught.value.code == "TEARDOWN_FAILED"
    assert census(runtime) == (1, 1, 0)


async def test_failing_asynchronous_release(open_runtime: Any, census: Any) -> None:
    """service OS-9: the same when the release has to be waited for."""
    runtime = await open_runtime(ScriptedModel(each=[Gated()]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))

    async def fail() -> None:
        await asyncio.sleep(0)
        raise OSError("stuck")

    run.local_agent.scope.add_cleanup(fail)
    with pytest.raises(SubagentError):
        await run.dispose()
    assert (await run.result).stop_reason == "aborted"
    assert census(runtime) == (1, 1, 0)


async def test_a_listener_that_disposes(open_runtime: Any, census: Any) -> None:
    """providers #21: disposing again from inside the end edge is the same disposal."""
    runtime = await open_runtime(ScriptedModel(each=[Gated()]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    replies: list[Any] = []
    observe(runtime, "subagent/end", lambda _notice: replies.append(run.dispose()))
    reply = run.dispose()
    await reply
    assert replies == [reply]
    assert census(runtime) == (1, 1, 0)


async def test_dispose_in_the_start_edge(open_runtime: Any, ledger: Any) -> None:
    """service 5: a child disposed by a start listener has paired edges and no work."""
    model = ScriptedModel(each=[text("never")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create()
    told = ledger(runtime, "subagent/start", "subagent/end")

    def end(_notice: Any) -> None:
        for run in runtime.subagents.runs:
            run.dispose()

    runtime.hooks.observe("subagent/start", end)
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert (await run.result).stop_reason == "aborted"
    assert told.names == ["subagent/start", "subagent/end"]
    assert model.requests == []
    assert len(runtime.agents) == 1


async def test_dispose_from_inside_the_child(open_runtime: Any) -> None:
    """service 26 W3: a turn of the child cannot wait for its own end; nothing is disposed."""
    outcome: list[BaseException] = []
    runs: list[Any] = []

    async def own_end(_request: Any) -> Any:
        try:
            await runs[0].dispose()
        except DeadlockError as error:
            outcome.append(error)
        return text("still here")

    runtime = await open_runtime(ScriptedModel(each=[own_end]))
    root = await runtime.agents.create()
    reply = runtime.subagents.start("spawn", SubagentRequest("p", root))
    when_done(reply, lambda started: runs.append(started.result()))
    await reply
    assert (await runs[0].result).text == "still here"
    assert len(outcome) == 1
    await runs[0].dispose()
    assert len(runtime.agents) == 1


async def test_child_that_ignores_cancellation(
    open_runtime: Any, census: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 4, service 26 W3: a child that hears no cancellation is detached."""
    from broodline.actors.models import call
    from broodline.actors.tools.decorator import tool

    entered, gate = asyncio.Event(), asyncio.Event()

    @tool
    async def stubborn() -> str:
        """Never hear."""
        entered.set()
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        return "at last"

    runtime = await open_runtime(
        ScriptedModel(each=[call("stubborn")]), tools=[stubborn], dispose_timeout=0.01
    )
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await entered.wait()
    with caplog.at_level(logging.ERROR):
        await run.dispose()
    assert (await run.result).stop_reason == "aborted"
    assert census(runtime) == (1, 1, 0)
    gate.set()
