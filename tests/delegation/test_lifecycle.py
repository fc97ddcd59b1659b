"""The edges of a run: ``subagent/start`` and ``subagent/end``."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.actors.models import ScriptedModel, fail, text
from broodline.messages.content import Text
from broodline.messages.errors import ConfigurationError, OperationCancelledError
from broodline.messages.payload import AbortCause, ToolFilter
from broodline.messages.result import SubagentResult
from broodline.providers.contract import SubagentRequest


def observe(runtime: Any, event: str, listener: Callable[[Any], Any], scope: Any = None) -> None:
    """Have `listener` hear an event of the runtime, or of one scope in it."""
    runtime.hooks.observe(event, listener, scope=scope)


def keep(heard: list[Any], word: str) -> Callable[[Any], None]:
    """A listener that notes `word` and the child's id."""
    return lambda notice: heard.append((word, notice.id))


class RemoteSpec:
    """A kind of child of the test's own."""


class RemoteChild:
    """A child outside of the runtime whose outcome the test decides."""

    local_agent = None

    def __init__(self, outcome: Any = None) -> None:
        self.outcome = outcome
        self.done: Any = None
        self.cancelled: list[AbortCause] = []
        self.cancelled_in: list[int] = []
        self.released = 0

    def begin(self, done: Any) -> None:
        self.done = done
        if self.outcome is not None:
            done(self.outcome)

    def cancel(self, cause: AbortCause) -> None:
        self.cancelled.append(cause)
        self.cancelled_in.append(threading.get_ident())

    def release(self) -> None:
        self.released += 1


class RemoteDriver:
    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.children: list[RemoteChild] = []
        self.on_create: Callable[[], object] = int

    async def create(self, _spec: Any, _birth: Any) -> RemoteChild:
        self.on_create()
        self.children.append(RemoteChild(self.outcomes.pop(0) if self.outcomes else None))
        return self.children[-1]


async def test_pair(open_runtime: Any, ledger: Any) -> None:
    """service OS-1, LC-1, LC-3, IV-2, IV-3: one start, one end, with the same facts."""
    runtime = await open_runtime(ScriptedModel(each=[text("said")]))
    root = await runtime.agents.create()
    told = ledger(runtime, "subagent/start", "subagent/end")
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await run.result
    await run.dispose()
    assert told.names == ["subagent/start", "subagent/end"]
    start, end = told.said[0][1], told.said[1][1]
    assert (start.run_id, start.provider, start.id, start.local) == (
        run.run_id,
        "spawn",
        run.id,
        True,
    )
    assert (end.run_id, end.provider, end.id, end.local) == (run.run_id, "spawn", run.id, True)
    assert start.run_id
    assert start.run_id != start.id
    assert start.parent is root.agent
    assert (end.stop_reason, end.last_assistant_message) == ("completed", (Text("said"),))


async def test_full_order(open_runtime: Any, ledger: Any) -> None:
    """service 28 (2, 6, 8), LC-10: created, start edge, prompt, turn, end edge, disposed."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    told = ledger(
        runtime,
        "session/created",
        "agent/created",
        "subagent/start",
        "agent/inbox/enqueue",
        "agent/inbox/dequeue",
        "subagent/end",
        "agent/disposed",
        "session/disposed",
    )
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await run.result
    await run.dispose()
    assert told.names == [
        "session/created",
        "agent/created",
        "subagent/start",
        "agent/inbox/enqueue",
        "agent/inbox/dequeue",
        "subagent/end",
        "agent/disposed",
        "session/disposed",
    ]


async def test_found_in_the_start_edge(open_runtime: Any) -> None:
    """providers #14: a start listener that looks the child up finds it."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    found: list[Any] = []
    observe(runtime, "subagent/start", lambda n: found.append(runtime.agents.get(n.id)))
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert found == [run.local_agent]
    await run.dispose()


async def test_scope(open_runtime: Any) -> None:
    """service LC-2: a listener in an agent's scope hears that agent's delegations only."""
    runtime = await open_runtime()
    one, other = await runtime.agents.create(), await runtime.agents.create()
    heard: list[tuple[str, str]] = []
    for name, agent in (("one", one.agent), ("other", other.agent)):
        for event in ("subagent/start", "subagent/end"):
            observe(runtime, event, keep(heard, name), scope=agent.scope)
    run = await runtime.subagents.start("spawn", SubagentRequest("p", one))
    await run.result
    grandchild = await runtime.subagents.start("spawn", SubagentRequest("p", run.local_agent))
    await grandchild.result
    assert heard == [("one", run.id), ("one", run.id)]
    await run.dispose()


async def test_run_ids_differ(open_runtime: Any, stub: Any, ledger: Any) -> None:
    """service OS-6, providers #7: two runs of one child id have two run ids."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    real = runtime.ids.new

    class SameSession:
        def new(self, kind: Any) -> str:
            return "same" if kind == "session" else real(kind)

    driver = RemoteDriver()
    runtime.subagents.register_driver(RemoteSpec, driver)
    runtime.subagents.register(stub(RemoteSpec(), name="a"))
    runtime.subagents.register(stub(RemoteSpec(), name="b"))
    told = ledger(runtime, "subagent/start", "subagent/end")
    runtime.ids = SameSession()
    first = await runtime.subagents.start("a", SubagentRequest("p", root))
    second = await runtime.subagents.start("b", SubagentRequest("p", root))
    assert first.id == second.id == "same"
    assert first.run_id != second.run_id
    for child in driver.children:
        child.done(SubagentResult((), "completed"))
    starts = [n.run_id for n in told.of("subagent/start")]
    assert starts == [n.run_id for n in told.of("subagent/end")]
    assert [n.provider for n in told.of("subagent/end")] == ["a", "b"]
    await first.dispose()
    await second.dispose()


async def test_settled_at_once(open_runtime: Any, stub: Any, ledger: Any) -> None:
    """service 28 (8), providers #6: a result that is there at once comes behind the start edge."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    runtime.subagents.register_driver(RemoteSpec, RemoteDriver(SubagentResult((), "completed")))
    runtime.subagents.register(stub(RemoteSpec()))
    told = ledger(runtime, "subagent/start", "subagent/end")
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert told.names == ["subagent/start", "subagent/end"]
    assert run.settled
    await run.dispose()


async def test_rejected_result(open_runtime: Any, stub: Any, ledger: Any) -> None:
    """service OS-4, providers #12: a result that rejects ends as error without a message."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    fault = OSError("lost")
    runtime.subagents.register_driver(RemoteSpec, RemoteDriver(fault))
    runtime.subagents.register(stub(RemoteSpec()))
    told = ledger(runtime, "subagent/end")
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    with pytest.raises(OSError, match="lost"):
        await run.result
    (end,) = told.of("subagent/end")
    assert (end.stop_reason, end.last_assistant_message) == ("error", None)
    await run.dispose()


async def test_local_flag(open_runtime: Any, stub: Any, ledger: Any) -> None:
    """service OS-7: local says whether there was a local agent at fulfilment."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    runtime.subagents.register_driver(RemoteSpec, RemoteDriver())
    runtime.subagents.register(stub(RemoteSpec()))
    told = ledger(runtime, "subagent/start", "subagent/end")
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert run.local_agent is None
    await run.dispose()
    assert [notice.local for _, notice in told.said] == [False, False]


async def test_unknown_reason(open_runtime: Any, stub: Any, ledger: Any) -> None:
    """service 5: a driver's own word for a stop reason is carried as it is and is no success."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    runtime.subagents.register_driver(RemoteSpec, RemoteDriver(SubagentResult((), "paused")))
    runtime.subagents.register(stub(RemoteSpec()))
    told = ledger(runtime, "subagent/end")
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    result = await run.result
    assert (result.stop_reason, result.ok) == ("paused", False)
    assert told.of("subagent/end")[0].stop_reason == "paused"
    await run.dispose()


async def test_failing_listeners(
    open_runtime: Any, settle: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """service LC-8, providers #8: failing listeners, plain or async, touch nothing else."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    heard: list[Any] = []

    def plain(_notice: Any) -> None:
        raise ValueError("plain")

    async def later(_notice: Any) -> None:
        raise ValueError("later")

    for event in ("subagent/start", "subagent/end"):
        runtime.hooks.observe(event, plain)
        runtime.hooks.observe(event, later)
        observe(runtime, event, keep(heard, event))
    with caplog.at_level(logging.ERROR):
        run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
        assert (await run.result).ok
        await settle()
    assert [event for event, _ in heard] == ["subagent/start", "subagent/end"]
    assert len(caplog.records) == 4
    await run.dispose()


async def test_gone_provider(open_runtime: Any, stub: Any, ledger: Any) -> None:
    """service IV-4: an end may name a provider that is gone by then."""
    gate = asyncio.Event()

    async def gated(_request: Any) -> Any:
        await gate.wait()
        return text("done")

    runtime = await open_runtime(ScriptedModel(each=[gated]))
    root = await runtime.agents.create()
    registration = runtime.subagents.register(stub())
    told = ledger(runtime, "subagent/end")
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    registration.dispose()
    gate.set()
    await run.result
    assert told.of("subagent/end")[0].provider == "stub"
    await run.dispose()


async def test_no_edges_before_residency(open_runtime: Any, ledger: Any, census: Any) -> None:
    """service LC-4: a set-up that fails and a veto emit neither edge."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    told = ledger(runtime, "subagent/start", "subagent/end")
    request = SubagentRequest("p", root, tool_filter=ToolFilter(deny=("nothing",)))
    with pytest.raises(ConfigurationError):
        await runtime.subagents.start("spawn", request)

    def veto(_notice: Any) -> None:
        raise PermissionError("vetoed")

    runtime.hooks.observe("agent/created", veto)
    with pytest.raises(PermissionError):
        await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert told.said == []
    assert census(runtime) == (1, 1, 0)
    assert runtime.subagents.catalog(root) == ()


async def test_error_end(open_runtime: Any, ledger: Any) -> None:
    """service 6: a failed child's end says error and, having said nothing, carries no message."""
    runtime = await open_runtime(ScriptedModel(each=[fail("AUTH", "no key")]))
    root = await runtime.agents.create()
    told = ledger(runtime, "subagent/end")
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await run.result
    (end,) = told.of("subagent/end")
    assert (end.stop_reason, end.last_assistant_message) == ("error", None)
    await run.dispose()


async def test_driver_is_registered_once(open_runtime: Any) -> None:
    """DESIGN 4: a type of spec has one driver; its registration can be taken back."""
    runtime = await open_runtime()
    registration = runtime.subagents.register_driver(RemoteSpec, RemoteDriver())
    with pytest.raises(ConfigurationError, match="RemoteSpec"):
        runtime.subagents.register_driver(RemoteSpec, RemoteDriver())
    registration.dispose()
    runtime.subagents.register_driver(RemoteSpec, RemoteDriver())


async def test_no_driver(open_runtime: Any, stub: Any, census: Any) -> None:
    """DESIGN 4: a spec without a driver is refused, saying what to register."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    runtime.subagents.register(stub(RemoteSpec()))
    with pytest.raises(ConfigurationError, match="register_driver"):
        await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert census(runtime) == (1, 1, 0)
    assert root.agent.session.seq == 0


async def test_own_kind_of_child(open_runtime: Any, stub: Any) -> None:
    """DESIGN 4: a new kind of child is a spec type with a driver; cancel and release reach it."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    driver = RemoteDriver()
    runtime.subagents.register_driver(RemoteSpec, driver)
    runtime.subagents.register(stub(RemoteSpec()))
    token = CancellationToken()
    run = await runtime.subagents.start("stub", SubagentRequest("p", root, signal=token))
    (child,) = driver.children
    assert [entry.id for entry in runtime.subagents.catalog(root)] == [run.id]
    token.cancel()
    assert child.cancelled == [AbortCause("parent")]
    assert not run.settled
    child.done(SubagentResult((Text("partly"),), "aborted"))
    assert (await run.result).text == "partly"
    child.done(SubagentResult((), "completed"))
    assert (await run.result).text == "partly"
    await run.dispose()
    assert child.released == 1
    assert runtime.subagents.catalog(root) == ()


async def test_child_that_never_answers(open_runtime: Any, stub: Any) -> None:
    """service OS-9: a released child that never said how it ended was aborted."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    runtime.subagents.register_driver(RemoteSpec, RemoteDriver())
    runtime.subagents.register(stub(RemoteSpec()))
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    await run.dispose()
    assert (await run.result).stop_reason == "aborted"


async def remote(open_runtime: Any, stub: Any) -> tuple[Any, Any, RemoteDriver]:
    """A runtime, a root, and the driver of what ``stub`` makes."""
    runtime = await open_runtime()
    driver = RemoteDriver()
    runtime.subagents.register_driver(RemoteSpec, driver)
    runtime.subagents.register(stub(RemoteSpec()))
    return runtime, await runtime.agents.create(), driver


async def test_disposed_in_the_start_edge(open_runtime: Any, stub: Any) -> None:
    """service 5: a child that is released in its start edge is never told to begin."""
    runtime, root, driver = await remote(open_runtime, stub)
    observe(runtime, "subagent/start", lambda _n: runtime.subagents.runs[0].dispose())
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert driver.children[0].done is None
    assert driver.children[0].released == 1
    assert (await run.result).stop_reason == "aborted"


async def test_signal_behind_a_remote_publication(open_runtime: Any, stub: Any) -> None:
    """providers #17: fired while a driver publishes, the run is fulfilled, aborted, not begun."""
    runtime, root, driver = await remote(open_runtime, stub)
    token = CancellationToken()
    driver.on_create = token.cancel
    run = await runtime.subagents.start("stub", SubagentRequest("p", root, signal=token))
    assert (await run.result).stop_reason == "aborted"
    assert driver.children[0].done is None
    await run.dispose()


async def test_cancel_reaches_the_loop(open_runtime: Any, stub: Any) -> None:
    """DESIGN 2: a child is cancelled on the loop, whichever thread fires the signal."""
    runtime, root, driver = await remote(open_runtime, stub)
    token = CancellationToken()
    run = await runtime.subagents.start("stub", SubagentRequest("p", root, signal=token))
    thread = threading.Thread(target=token.cancel)
    thread.start()
    thread.join()
    (child,) = driver.children
    while not child.cancelled:
        await asyncio.sleep(0)
    assert child.cancelled_in == [threading.get_ident()]
    await run.dispose()


async def test_deaf_provider(open_runtime: Any, stub: Any) -> None:
    """providers 1: a provider that swallows its cancellation gets no child made."""
    runtime, root, driver = await remote(open_runtime, stub)
    asked = asyncio.Event()

    async def deaf(_request: Any) -> object:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        return RemoteSpec()

    runtime.subagents.get("stub").answer = deaf
    token = CancellationToken()
    reply = runtime.subagents.start("stub", SubagentRequest("p", root, signal=token))
    await asked.wait()
    token.cancel(KeyError("off"))
    with pytest.raises(KeyError):
        await reply
    assert driver.children == []


async def test_unlogged_child(open_runtime: Any, stub: Any, ledger: Any) -> None:
    """DESIGN 5 catalogue: a remote child its parent's log refuses is released, without edges."""
    runtime, root, driver = await remote(open_runtime, stub)
    told = ledger(runtime, "subagent/start", "subagent/end")

    def refuse(_event: Any) -> None:
        raise OSError("disk full")

    check = root.agent.session.add_check(refuse)
    with pytest.raises(OSError, match="disk full"):
        await runtime.subagents.start("stub", SubagentRequest("p", root))
    check.dispose()
    assert driver.children[0].released == 1
    assert told.said == []
    assert runtime.subagents.runs == ()


async def test_waiter_gone_at_publication(open_runtime: Any, stub: Any, ledger: Any) -> None:
    """DESIGN 2: a start whose caller went away as it was published leaves no child and no edges."""
    runtime, root, driver = await remote(open_runtime, stub)
    told = ledger(runtime, "subagent/start", "subagent/end")
    replies: list[Any] = []
    driver.on_create = lambda: replies[0].cancel()
    replies.append(runtime.subagents.start("stub", SubagentRequest("p", root)))
    with pytest.raises(OperationCancelledError):
        await replies[0]
    assert driver.children[0].released == 1
    assert told.said == []
    assert runtime.subagents.catalog(root) == ()


async def test_announcing_too_late(open_runtime: Any, stub: Any) -> None:
    """providers 1: a driver that announces an unwanted child is told with the signal's cause."""
    runtime, root, driver = await remote(open_runtime, stub)
    token = CancellationToken()
    cause = KeyError("off")
    told: list[BaseException] = []

    async def create(_spec: Any, birth: Any) -> Any:
        token.cancel(cause)
        try:
            birth.announce()
        except BaseException as error:
            told.append(error)
            raise
        raise AssertionError("it was not told")

    spoiled: Any = driver
    spoiled.create = create
    with pytest.raises(KeyError) as caught:
        await runtime.subagents.start("stub", SubagentRequest("p", root, signal=token))
    assert caught.value is cause
    assert told == [cause]
    assert root.agent.session.seq == 0
