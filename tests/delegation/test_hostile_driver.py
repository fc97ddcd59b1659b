"""Providers and drivers that break their contract: who asked is told, and nobody else hurt."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.messages.content import Text
from broodline.messages.errors import ConfigurationError, SubagentError
from broodline.messages.result import SubagentResult
from broodline.providers.contract import InProcessSpec, SubagentRequest
from broodline.supervision.truncation import DIAGNOSTIC_LIMIT

FINE = SubagentResult((Text("fine"),), "completed")
STRAY = [SystemExit(3), asyncio.CancelledError(), GeneratorExit(), BaseException("b")]


class PlainSpec:
    """A kind of child that a test makes up."""


class Child:
    """Ends at once with `FINE`, but for what a test puts in its place."""

    local_agent: Any = None

    def __init__(self, **parts: Any) -> None:
        self.released = 0
        vars(self).update(parts)

    def begin(self, done: Any) -> None:
        done(FINE)

    def cancel(self, _cause: Any) -> None:
        """Nothing to stop."""

    def release(self) -> Any:
        self.released += 1


class Driver:
    def __init__(self, child: Any) -> None:
        self.child = child

    async def create(self, _spec: Any, birth: Any) -> Any:
        birth.announce()
        return self.child


def raising(error: BaseException) -> Callable[..., Any]:
    """A function that raises whatever it is called with."""

    def fail(*_args: Any) -> Any:
        raise error

    return fail


async def start(runtime: Any, stub: Any, child: Any, driver: Any = None) -> Any:
    """Start that child under a new root; the reply and the root."""
    runtime.subagents.register_driver(PlainSpec, driver or Driver(child))
    runtime.subagents.register(stub(PlainSpec()))
    root = await runtime.agents.create()
    return runtime.subagents.start("stub", SubagentRequest("p", root)), root


@pytest.mark.parametrize("answer", [InProcessSpec(), None, 5])
async def test_provider_that_is_not_async(open_runtime: Any, stub: Any, answer: Any) -> None:
    """DESIGN 4: a preparation that is no coroutine is refused, saying so."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    provider.prepare_one_shot = lambda _request: answer
    runtime.subagents.register(provider)
    with pytest.raises(ConfigurationError, match="async"):
        await runtime.subagents.start("stub", SubagentRequest("p", root))


@pytest.mark.parametrize("error", STRAY)
@pytest.mark.parametrize("who", ["prepare", "create"])
async def test_stray_failure_of_a_start(
    open_runtime: Any, stub: Any, census: Any, who: str, error: BaseException
) -> None:
    """service OS-2: an exit or a cancellation that a provider lets escape fails the start only."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    if who == "prepare":
        provider = stub(error)
    else:
        provider = stub(PlainSpec())
        driver = Driver(None)
        driver.create = raising(error)  # type: ignore[method-assign]
        runtime.subagents.register_driver(PlainSpec, driver)
    runtime.subagents.register(provider)
    with pytest.raises(RuntimeError) as caught:
        await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert caught.value.__cause__ is error
    assert census(runtime) == (1, 1, 0)


@pytest.mark.parametrize("seed", [5, "abc", ("a",), {"a": 1}])
async def test_seed_of_another_kind(open_runtime: Any, stub: Any, census: Any, seed: Any) -> None:
    """providers 1 publication: a seed that holds no events refuses the start; nothing is left."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    runtime.subagents.register(stub(InProcessSpec(seed)))
    with pytest.raises(ConfigurationError, match="seed"):
        await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert census(runtime) == (1, 1, 0)


async def test_request_that_a_provider_tampers_with(open_runtime: Any, stub: Any) -> None:
    """service PR-13: a provider that breaks the request open changes nothing of the child."""

    async def tamper(request: Any) -> object:
        for name in ("descriptor", "parent", "depth", "signal"):
            object.__setattr__(request, name, None)
        return InProcessSpec()

    runtime = await open_runtime()
    root = await runtime.agents.create()
    runtime.subagents.register(stub(tamper))
    run = await runtime.subagents.start("stub", SubagentRequest("p", root, label="l"))
    assert (await run.result).ok
    assert (run.label, run.depth, run.parent) == ("l", 1, root.agent)
    types = [e.type for e in run.local_agent.session.events]
    assert "subagent/descriptor" in types
    await run.dispose()
    assert runtime.subagents.catalog(root) == ()


@pytest.mark.parametrize(
    "outcome",
    [
        None,
        5,
        "done",
        {"stop_reason": "completed"},
        SubagentResult,
        SubagentResult(None, "completed"),  # type: ignore[arg-type]
        SubagentResult((5,), "completed"),  # type: ignore[arg-type]
        SubagentResult((Text("\ud800"),), "completed"),
        SubagentResult((), None),  # type: ignore[arg-type]
        SubagentResult((), ""),
        SubagentResult((), "error", None, 5),  # type: ignore[arg-type]
    ],
)
async def test_outcome_of_another_kind(
    open_runtime: Any, stub: Any, ledger: Any, outcome: Any
) -> None:
    """service OS-4, LC-1: an outcome that is none is a fault of the run, with its pair of edges."""
    runtime = await open_runtime()
    told = ledger(runtime, "subagent/start", "subagent/end")
    reply, _ = await start(runtime, stub, Child(begin=lambda done: done(outcome)))
    run = await reply
    with pytest.raises(ConfigurationError):
        await run.result
    await run.dispose()
    assert told.names == ["subagent/start", "subagent/end"]
    assert told.said[1][1].stop_reason == "error"
    assert told.said[1][1].last_assistant_message is None


async def test_outcome_is_made_plain(open_runtime: Any, stub: Any) -> None:
    """providers 1: output comes as a tuple of blocks, a diagnostic bounded, whoever wrote it."""
    runtime = await open_runtime()
    loose: Any = SubagentResult([Text("a")], "error", None, "\ud800" + "x" * 9_999)  # type: ignore[arg-type]
    reply, _ = await start(runtime, stub, Child(begin=lambda done: done(loose)))
    result = await (await reply).result
    assert result.output == (Text("a"),)
    assert len(result.diagnostic.encode()) <= DIAGNOSTIC_LIMIT


@pytest.mark.parametrize("error", STRAY)
async def test_stray_outcome(open_runtime: Any, stub: Any, error: BaseException) -> None:
    """DESIGN 2: an exit handed over as an outcome does not end whoever waits for the result."""
    runtime = await open_runtime()
    reply, _ = await start(runtime, stub, Child(begin=lambda done: done(error)))
    with pytest.raises(RuntimeError) as caught:
        await (await reply).result
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", STRAY)
async def test_stray_failure_of_begin(
    open_runtime: Any, stub: Any, census: Any, ledger: Any, error: BaseException
) -> None:
    """providers 1: whatever begin raises, the start fulfils and the fault is the result's."""
    runtime = await open_runtime()
    told = ledger(runtime, "subagent/start", "subagent/end")
    reply, _ = await start(runtime, stub, Child(begin=raising(error)))
    run = await reply
    with pytest.raises(RuntimeError):
        await run.result
    assert told.names == ["subagent/start", "subagent/end"]
    await run.dispose()
    assert census(runtime) == (1, 1, 0)


async def test_begin_that_is_async(open_runtime: Any, stub: Any) -> None:
    """DESIGN 4: a begin that is a coroutine, which nobody would run, is a fault at once."""

    async def begin(_done: Any) -> None:
        raise AssertionError("nobody runs this")

    runtime = await open_runtime()
    reply, _ = await start(runtime, stub, Child(begin=begin))
    with pytest.raises(ConfigurationError, match="async"):
        await (await reply).result


async def test_done_from_another_thread(open_runtime: Any, stub: Any, ledger: Any) -> None:
    """DESIGN 2: an outcome told from another thread is published on the loop, once."""
    runtime = await open_runtime()
    threads: list[int] = []
    runtime.hooks.observe("subagent/end", lambda _n: threads.append(threading.get_ident()))

    def begin(done: Any) -> None:
        workers = [threading.Thread(target=done, args=(FINE,)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    reply, _ = await start(runtime, stub, Child(begin=begin))
    assert await (await reply).result == FINE
    assert threads == [threading.get_ident()]


@pytest.mark.parametrize("error", STRAY)
@pytest.mark.parametrize("late", [False, True])
async def test_stray_failure_of_release(
    open_runtime: Any, stub: Any, census: Any, late: bool, error: BaseException
) -> None:
    """DESIGN 4 disposal: an exit that a release lets escape frees the owner all the same."""

    async def fail() -> None:
        raise error

    runtime = await open_runtime()
    release: Any = fail if late else raising(error)
    reply, root = await start(runtime, stub, Child(release=release))
    run = await reply
    with pytest.raises(SubagentError) as caught:
        await run.dispose()
    assert caught.value.code == "TEARDOWN_FAILED"
    await root.dispose()
    assert census(runtime) == (0, 0, 0)


@pytest.mark.parametrize("error", STRAY)
async def test_stray_failure_of_cancel(
    open_runtime: Any, stub: Any, census: Any, error: BaseException
) -> None:
    """DESIGN 4 disposal: a cancel that lets an exit escape keeps no parent from ending."""
    runtime = await open_runtime()
    child = Child(cancel=raising(error), begin=lambda _done: None)
    reply, root = await start(runtime, stub, child)
    run = await reply
    await root.dispose()
    assert (await run.result).stop_reason == "aborted"
    assert child.released == 1
    assert census(runtime) == (0, 0, 0)


async def test_error_that_cannot_be_shown(open_runtime: Any, stub: Any) -> None:
    """DESIGN 4 disposal: a failure whose text cannot be made is told by its type."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    runtime = await open_runtime()
    reply, _ = await start(runtime, stub, Child(release=raising(Mute())))
    run = await reply
    with pytest.raises(SubagentError, match="Mute"):
        await run.dispose()


async def test_release_that_never_ends(open_runtime: Any, stub: Any, census: Any) -> None:
    """DESIGN 4 disposal: a remote child that is never free is left alone when its time is up."""
    runtime = await open_runtime(dispose_timeout=0.05)
    gate = asyncio.Event()
    reply, root = await start(runtime, stub, Child(release=gate.wait))
    run = await reply
    with pytest.raises(SubagentError, match=r"0\.05 s") as caught:
        await run.dispose()
    assert caught.value.code == "TEARDOWN_FAILED"
    await root.dispose()
    assert census(runtime) == (0, 0, 0)


async def test_start_that_never_gives_up(
    open_runtime: Any, stub: Any, census: Any, caplog: Any
) -> None:
    """DESIGN 4 disposal: a provider deaf to cancellation does not hold up its parent's end."""
    runtime = await open_runtime(dispose_timeout=0.05)
    root = await runtime.agents.create()
    asked, gate = asyncio.Event(), asyncio.Event()

    async def deaf(_request: Any) -> object:
        asked.set()
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        return InProcessSpec()

    runtime.subagents.register(stub(deaf))
    reply = runtime.subagents.start("stub", SubagentRequest("p", root))
    await asked.wait()
    await root.dispose()
    assert "left alone" in caplog.text
    assert census(runtime) == (0, 0, 0)
    gate.set()
    with pytest.raises(SubagentError):
        await reply
    assert census(runtime) == (0, 0, 0)


@pytest.mark.parametrize("child", [None, 5, object()])
async def test_driver_that_makes_no_child(
    open_runtime: Any, stub: Any, ledger: Any, child: Any
) -> None:
    """DESIGN 4: what a driver returns has to be a child, or the start is refused."""
    runtime = await open_runtime()
    told = ledger(runtime)
    reply, root = await start(runtime, stub, child)
    told.said.clear()
    with pytest.raises(ConfigurationError, match="no child"):
        await reply
    assert told.said == []
    assert runtime.subagents.catalog(root) == ()


async def test_child_that_cannot_be_used_is_released(open_runtime: Any, stub: Any) -> None:
    """providers 1 publication: a child that no run can be made around is freed."""
    runtime = await open_runtime()
    child = Child(local_agent="an agent")
    reply, _ = await start(runtime, stub, child)
    with pytest.raises(ConfigurationError):
        await reply
    assert child.released == 1


async def test_start_edge_before_end_edge_for_everybody(open_runtime: Any) -> None:
    """service 28 (8): also who listens behind a listener that disposes hears the start first."""
    runtime = await open_runtime()
    heard: list[str] = []
    hooks = runtime.hooks
    hooks.observe("subagent/start", lambda _n: runtime.subagents.runs[0].dispose())
    hooks.observe("subagent/start", lambda _n: heard.append("start"))
    hooks.observe("subagent/end", lambda _n: heard.append("end"))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert (await run.result).stop_reason == "aborted"
    assert heard == ["start", "end"]


async def test_parent_that_ends_in_the_start_edge(open_runtime: Any, ledger: Any) -> None:
    """service 28 (3): a child whose parent ends in the start edge never gets its prompt."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    told = ledger(runtime, "agent/inbox/enqueue", "subagent/end")
    ends: list[Any] = []
    runtime.hooks.observe("subagent/start", lambda _n: ends.append(root.dispose()))
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert (await run.result).stop_reason == "aborted"
    await ends[0]
    assert told.names == ["subagent/end"]


async def test_signal_that_fires_as_the_run_links_to_it(open_runtime: Any, ledger: Any) -> None:
    """providers 2.4: fired by another thread as the run begins to listen: no prompt delivered."""

    class Late(CancellationToken):
        __slots__ = ()

        """Fires as the second one begins to listen: the run, behind its start."""

        def on_cancel(self, fn: Any) -> Any:
            registration = super().on_cancel(fn)
            if getattr(fn, "__name__", "") == "_on_signal" and listening:
                self.cancel()
            listening.append(fn)
            return registration

    listening: list[Any] = []
    runtime = await open_runtime()
    root = await runtime.agents.create()
    told = ledger(runtime, "agent/inbox/enqueue", "subagent/start", "subagent/end")
    request = SubagentRequest("p", root, signal=Late())
    run = await runtime.subagents.start("spawn", request)
    assert (await run.result).stop_reason == "aborted"
    assert told.names == ["subagent/start", "subagent/end"]
