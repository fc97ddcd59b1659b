"""The end of a parent and of the runtime, and what many delegations leave behind."""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from broodline.actors.models import RuleModel, ScriptedModel, hang, text
from broodline.actors.notice import Reject
from broodline.messages.content import ToolCall
from broodline.messages.errors import SessionError, SubagentError
from broodline.providers.contract import InProcessSpec, SubagentRequest
from broodline.supervision.runtime import Runtime
from broodline.supervision.tool import SubagentTool


def observe(runtime: Any, event: str, listener: Callable[[Any], Any]) -> None:
    """Have `listener` hear an event of the runtime."""
    runtime.hooks.observe(event, listener)


def forever() -> ScriptedModel:
    """Every request hangs until it is cancelled."""
    return ScriptedModel(each=[hang("partial")])


async def test_child_first(open_runtime: Any, ledger: Any) -> None:
    """service OS-22, 28 (3): children of a disposed parent are ended first, the deepest first."""
    runtime = await open_runtime(forever())
    root = await runtime.agents.create()
    child = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    grandchild = await runtime.subagents.start("spawn", SubagentRequest("p", child.local_agent))
    other = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    told = ledger(runtime, "agent/disposed")
    await root.dispose()
    ended = [notice.agent.id for notice in told.of("agent/disposed")]
    assert ended.index(grandchild.id) < ended.index(child.id) < ended.index(root.id)
    assert ended.index(other.id) < ended.index(root.id)
    for run in (child, grandchild, other):
        assert (await run.result).stop_reason == "aborted"
        assert run.dispose().done()
    assert len(runtime.agents) == 0


async def test_finished_children_too(open_runtime: Any, census: Any) -> None:
    """service OS-22: a run that nobody disposed of ends with its parent at the latest."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert (await run.result).ok
    await root.dispose()
    assert census(runtime) == (0, 0, 0)
    assert (await run.result).ok


async def test_parents_log_is_complete(open_runtime: Any) -> None:
    """DESIGN 5 catalogue: at the end of a parent its log names no child any more."""
    runtime = await open_runtime(forever())
    root = await runtime.agents.create()
    await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await root.dispose()
    assert runtime.subagents.catalog(root) == ()


async def test_disposed_parent(open_runtime: Any, ledger: Any, census: Any) -> None:
    """service OS-22, providers #25: a disposed parent is refused and leaves no orphan."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    await root.dispose()
    told = ledger(runtime)
    with pytest.raises(SubagentError) as caught:
        await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert caught.value.code == "UNAUTHORIZED"
    assert told.said == []
    assert census(runtime) == (0, 0, 0)


async def test_disposed_parent_that_had_children(open_runtime: Any) -> None:
    """service OS-22: the same for a parent that had children before."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await run.dispose()
    await root.dispose()
    with pytest.raises(SubagentError):
        await runtime.subagents.start("spawn", SubagentRequest("p", root))


async def test_parent_ends_during_preparation(
    open_runtime: Any, stub: Any, ledger: Any, census: Any
) -> None:
    """service OS-22, providers #24: a parent that ends while its child is prepared: no child."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    asked = asyncio.Event()

    async def deaf(_request: Any) -> object:
        asked.set()
        await asyncio.Event().wait()
        return InProcessSpec()

    runtime.subagents.register(stub(deaf))
    reply = runtime.subagents.start("stub", SubagentRequest("p", root))
    await asked.wait()
    told = ledger(runtime, "session/created", "agent/created", "subagent/start", "subagent/end")
    await root.dispose()
    with pytest.raises(SubagentError) as caught:
        await reply
    assert caught.value.code == "UNAUTHORIZED"
    assert told.said == []
    assert census(runtime) == (0, 0, 0)


async def test_parent_ends_during_set_up(open_runtime: Any, ledger: Any, census: Any) -> None:
    """service OS-22, providers #24: a parent that ends in the creation window: no edges."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    told = ledger(runtime, "subagent/start", "subagent/end")
    ends: list[Any] = []
    observe(runtime, "session/created", lambda _n: ends.append(root.dispose()))
    with pytest.raises((SubagentError, SessionError)):
        await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await ends[0]
    assert told.said == []
    assert census(runtime) == (0, 0, 0)


async def test_parent_ends_at_publication(open_runtime: Any, ledger: Any, census: Any) -> None:
    """service OS-22: a parent that ends right behind the publication takes the child with it."""
    model = ScriptedModel(each=[text("never")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create()
    told = ledger(runtime, "agent/created", "agent/disposed")
    ends: list[Any] = []
    observe(runtime, "agent/session-start", lambda _n: ends.append(root.dispose()))
    reply = runtime.subagents.start("spawn", SubagentRequest("p", root))
    try:
        run = await reply
    except (SubagentError, SessionError):
        pass
    else:
        assert (await run.result).stop_reason == "aborted"
    await ends[0]
    assert told.names == ["agent/created", "agent/disposed", "agent/disposed"]
    assert model.requests == []
    assert census(runtime) == (0, 0, 0)


async def test_cut_off(open_runtime: Any, stub: Any, settle: Any) -> None:
    """service 28 (3): the cutoff takes back starts and cancels everything below, at once."""
    runtime = await open_runtime(forever())
    root = await runtime.agents.create()
    other = await runtime.agents.create()
    asked = asyncio.Event()

    async def deaf(_request: Any) -> object:
        asked.set()
        await asyncio.Event().wait()
        return InProcessSpec()

    runtime.subagents.register(stub(deaf))
    child = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    grandchild = await runtime.subagents.start("spawn", SubagentRequest("p", child.local_agent))
    apart = await runtime.subagents.start("spawn", SubagentRequest("p", other))
    start = runtime.subagents.start("stub", SubagentRequest("p", child.local_agent))
    await asked.wait()
    runtime.subagents.cut_off(root.agent)
    for run in (child, grandchild):
        assert (await run.result).stop_reason == "aborted"
        end = [e.data for e in run.local_agent.session.events if e.type == "turn/end"][-1]
        assert end.reason.reason.kind == "disposed"
    with pytest.raises(SubagentError):
        await start
    await settle()
    assert not apart.settled
    assert len(runtime.agents) == 5
    await root.dispose()


async def test_end_waits_for_what_is_taken_back(open_runtime: Any, stub: Any) -> None:
    """service 28 (3), providers 1: a parent is not gone before its starts are cleaned up."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    asked, cleaning, gate = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def careful(_request: Any) -> object:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await gate.wait()
        return InProcessSpec()

    runtime.subagents.register(stub(careful))
    reply = runtime.subagents.start("stub", SubagentRequest("p", root))
    await asked.wait()
    end = root.dispose()
    await cleaning.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not end.done()
    gate.set()
    await end
    assert isinstance(reply.error(), SubagentError)


async def test_start_while_the_parent_ends(open_runtime: Any, stub: Any) -> None:
    """service 28 (4): once a parent's end has begun, no provider is asked for it any more."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    gate = asyncio.Event()
    root.agent.scope.add_cleanup(gate.wait)
    end = root.dispose()
    await asyncio.sleep(0)
    with pytest.raises(SubagentError) as caught:
        await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert caught.value.code == "UNAUTHORIZED"
    assert provider.requests == []
    gate.set()
    await end


async def test_nothing_is_kept_of_a_parent(open_runtime: Any) -> None:
    """DESIGN 2: the service forgets a parent with its end, with running children or without."""
    runtime = await open_runtime(forever())
    for children in range(3):
        root = await runtime.agents.create()
        for _ in range(children):
            await runtime.subagents.start("spawn", SubagentRequest("p", root))
        await root.dispose()
    finished = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", finished))
    await run.dispose()
    await finished.dispose()
    assert runtime.subagents._broods == {}


async def test_failing_child_release(open_runtime: Any, census: Any) -> None:
    """DESIGN 4 disposal, 8: the failures of children come in a group, and the parent is gone."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    runs = [await runtime.subagents.start("spawn", SubagentRequest("p", root)) for _ in range(3)]

    def fail() -> None:
        raise OSError("stuck")

    for run in runs[:2]:
        run.local_agent.scope.add_cleanup(fail)
    with pytest.raises(ExceptionGroup) as caught:
        await root.dispose()
    assert caught.group_contains(SubagentError, match="could be released")
    assert census(runtime) == (0, 0, 0)


async def test_closing_the_runtime(ledger: Any) -> None:
    """DESIGN 2: leaving the runtime ends running children, the deepest first."""
    async with Runtime(model=forever()) as runtime:
        root = await runtime.agents.create()
        child = await runtime.subagents.start("spawn", SubagentRequest("p", root))
        inner: Any = child.local_agent
        grandchild = await runtime.subagents.start("spawn", SubagentRequest("p", inner))
        told = ledger(runtime, "agent/disposed")
    assert [n.agent.id for n in told.of("agent/disposed")] == [grandchild.id, child.id, root.id]
    assert (await child.result).stop_reason == "aborted"
    assert runtime.statistics().unstopped == ()


async def test_closing_with_a_long_chain() -> None:
    """DESIGN 2: a chain deeper than the call stack is ended all the same."""
    async with Runtime(model=RuleModel(lambda _c: "ok")) as runtime:
        parent: Any = (await runtime.agents.create()).agent
        for _ in range(1200):
            run = await runtime.subagents.start("spawn", SubagentRequest("p", parent))
            parent = run.local_agent
    assert len(runtime.agents) == 0
    assert runtime.statistics().unstopped == ()


async def test_start_while_closing() -> None:
    """DESIGN 2: a start while the runtime closes is refused with what to do."""
    errors: list[BaseException | None] = []
    async with Runtime(model=forever()) as runtime:
        root = await runtime.agents.create()

        def again(_notice: Any) -> None:
            reply = runtime.subagents.start("spawn", SubagentRequest("p", root))
            errors.append(reply.error())

        runtime.hooks.observe("subagent/end", again)
        await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert isinstance(errors[0], SubagentError)
    assert errors[0].code == "CONTINUATION_UNAVAILABLE"


async def test_pending_start_while_closing(stub: Any) -> None:
    """DESIGN 2: closing takes back a start that waits for its provider."""
    asked = asyncio.Event()

    async def deaf(_request: Any) -> object:
        asked.set()
        await asyncio.Event().wait()
        return InProcessSpec()

    async with Runtime(providers=[stub(deaf)]) as runtime:
        root = await runtime.agents.create()
        reply = runtime.subagents.start("stub", SubagentRequest("p", root))
        await asked.wait()
    assert isinstance(reply.error(), SubagentError)


async def test_parallel_delegations(open_runtime: Any, census: Any) -> None:
    """DESIGN 4: 1,024 delegations at once all complete and leave nothing behind."""
    runtime = await open_runtime(RuleModel(lambda _conversation: "done"), check_invariants=False)
    root = await runtime.agents.create()

    async def one(number: int) -> str:
        request = SubagentRequest(f"task {number}", root, persona="P" if number % 2 else None)
        run = await runtime.subagents.start("spawn", request)
        result = await run.result
        await run.dispose()
        return str(result.stop_reason)

    outcomes = await asyncio.gather(*(one(number) for number in range(1024)))
    assert set(outcomes) == {"completed"}
    assert census(runtime) == (1, 1, 0)
    assert runtime.subagents.catalog(root) == ()
    while runtime.tasks():
        await asyncio.sleep(0)
    left = runtime.statistics()
    assert (left.actors, left.tasks, left.dead_letters) == (0, 0, 0)


async def test_no_reference_cycles(open_runtime: Any) -> None:
    """DESIGN 2: a finished delegation is freed without the cyclic collector."""
    runtime = await open_runtime(ScriptedModel(each=[text("ok")], record=False))
    root = await runtime.agents.create()

    async def one() -> None:
        run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
        await run.result
        await run.dispose()

    await one()
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            await one()
        await asyncio.sleep(0)
        found = gc.collect()
    finally:
        gc.enable()
    assert found < 20


async def test_no_cycles_without_a_first_step(open_runtime: Any) -> None:
    """DESIGN 2: the same when the child never got to its first step."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    runtime.hooks.intercept("agent/pre-step", lambda _step: Reject("no"))
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await run.result
    left = weakref.ref(run.local_agent)
    gc.collect()
    gc.disable()
    try:
        await run.dispose()
        del run
        await asyncio.sleep(0)
        assert left() is None
    finally:
        gc.enable()


async def test_start_below_a_closing_ancestor(open_runtime: Any, stub: Any) -> None:
    """service 28 (4): once an agent's end has begun, nothing below it delegates any more."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    child = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    grandchild = await runtime.subagents.start("spawn", SubagentRequest("p", child.local_agent))
    await grandchild.result
    provider = stub()
    runtime.subagents.register(provider)
    gate = asyncio.Event()
    grandchild.local_agent.scope.add_cleanup(gate.wait)
    root.agent.scope.add_cleanup(gate.wait)  # in front of the children's end
    end = root.dispose()
    for parent in (root, child.local_agent, grandchild.local_agent):
        with pytest.raises(SubagentError) as caught:
            await runtime.subagents.start("stub", SubagentRequest("p", parent))
        assert caught.value.code == "UNAUTHORIZED"
    assert provider.requests == []
    assert not end.done()
    gate.set()
    await end


async def below_each_other(runtime: Any, levels: int) -> tuple[Any, asyncio.Event]:
    """A root whose model delegates to one whose model delegates, and so on; what waits below."""
    made = itertools.count(1)
    bottom = asyncio.Event()

    async def say(conversation: Any) -> Any:
        number = next(made)
        if number > levels:
            bottom.set()
            await asyncio.Event().wait()
        return ToolCall(f"call-{number}", "subagent", '{"description": "d", "prompt": "p"}')

    runtime.models.register(RuleModel(say, provider="chain", model="m"))
    root = await runtime.agents.create(provider="chain", model="m")
    await root.followup("go")
    await bottom.wait()
    return root, bottom


@pytest.mark.parametrize("way", ["cancel", "dispose", "close", "signal"])
async def test_long_chain_of_waiting_tools(way: str) -> None:
    """DESIGN 2: 500 agents that wait for each other are called off at once, whoever says so."""
    async with Runtime(tools=[SubagentTool(max_depth=None)], dispose_timeout=60.0) as runtime:
        root, _ = await below_each_other(runtime, 500)
        assert len(runtime.agents) == 501
        if way == "cancel":
            await root.cancel()
            await root.when_idle()
            assert len(runtime.agents) == 1
        elif way == "dispose":
            await root.dispose()
            assert len(runtime.agents) == 0
        elif way == "signal":
            (first,) = [run for run in runtime.subagents.runs if run.depth == 1]
            first.cancel()
            assert (await first.result).stop_reason == "aborted"
    assert len(runtime.agents) == 0


async def test_siblings_do_not_touch(open_runtime: Any) -> None:
    """providers 1 concurrency: one child cancelled and one failing leave the others alone."""
    from broodline.actors.cancellation import CancellationToken
    from broodline.actors.models import fail

    gate = asyncio.Event()

    async def gated(_request: Any) -> Any:
        await gate.wait()
        return text("whole")

    runtime = await open_runtime(ScriptedModel(shared=[gated, hang("x"), fail("AUTH"), gated]))
    root = await runtime.agents.create()
    tokens = [CancellationToken() for _ in range(4)]
    runs = [
        await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=token))
        for token in tokens
    ]
    tokens[1].cancel()
    assert (await runs[1].result).stop_reason == "aborted"
    assert (await runs[2].result).stop_reason == "error"
    await runs[1].dispose()
    gate.set()
    for run in (runs[0], runs[3]):
        assert (await run.result).text == "whole"
    for run in runs:
        await run.dispose()


def test_from_a_plain_thread() -> None:
    """DESIGN 2: in ``with Runtime()`` plain threads delegate and block on replies."""
    with Runtime(model=ScriptedModel(each=[text("ok")])) as runtime:
        root = runtime.agents.create().result(timeout=10)
        texts: list[str] = []

        def delegate() -> None:
            run = runtime.subagents.start("spawn", SubagentRequest("p", root)).result(timeout=10)
            texts.append(run.result.result(timeout=10).text)
            run.dispose().result(timeout=10)

        threads = [threading.Thread(target=delegate) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert texts == ["ok"] * 8
        assert len(runtime.agents) == 1


def test_dispose_from_many_threads() -> None:
    """providers #21: disposals from many threads at once are one disposal."""
    with Runtime(model=forever()) as runtime:
        root = runtime.agents.create().result(timeout=10)
        run = runtime.subagents.start("spawn", SubagentRequest("p", root)).result(timeout=10)
        barrier = threading.Barrier(8)
        replies: list[Any] = []

        def dispose() -> None:
            barrier.wait()
            reply = run.dispose()
            replies.append(reply)
            reply.result(timeout=10)

        threads = [threading.Thread(target=dispose) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({id(reply) for reply in replies}) == 1
        assert run.result.result(timeout=10).stop_reason == "aborted"


async def test_a_failed_log_does_not_stop_the_end(
    open_runtime: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 4 disposal: a parent's log that takes nothing more cannot keep a child alive."""
    runtime = await open_runtime(forever())
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))

    def refuse(_event: Any) -> None:
        raise OSError("disk full")

    check = root.agent.session.add_check(refuse)
    with caplog.at_level(logging.ERROR):
        await run.dispose()
    assert (await run.result).stop_reason == "aborted"
    assert len(runtime.agents) == 1
    check.dispose()


async def test_a_failed_log_refuses_the_start(open_runtime: Any, census: Any) -> None:
    """DESIGN 5 catalogue: a child that cannot be entered in its parent's log is not made."""
    runtime = await open_runtime()
    root = await runtime.agents.create()

    def refuse(_event: Any) -> None:
        raise OSError("disk full")

    check = root.agent.session.add_check(refuse)
    with pytest.raises(OSError, match="disk full"):
        await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert census(runtime) == (1, 1, 0)
    check.dispose()
