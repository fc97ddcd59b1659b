"""Where bodies run, and for how long."""

# Bodies, hooks and cases are written as lambdas, whose parameters have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.actors.executor import ThreadExecutor
from broodline.actors.tools import Tool, ToolContext, ToolOutcome, ToolRegistry, run_call
from broodline.messages.content import Text, ToolCall
from broodline.messages.payload import ErrorInfo

MakeTool = Callable[..., Tool]
MakeCall = Callable[..., ToolCall]

WHO: ContextVar[str] = ContextVar("who", default="nobody")


@pytest.fixture
async def threads(system: Any) -> Any:
    executor = ThreadExecutor(max_threads=2)
    yield SimpleNamespace(executor=executor, clock=system.clock)
    assert await executor.close(5.0) == ()


async def test_plain_bodies_run_in_the_executor(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, threads: Any
) -> None:
    """DESIGN 2: a plain body runs in a thread of the runtime, an async one on the loop."""
    seen: dict[str, tuple[str, str]] = {}

    def plain(arguments: Any, context: ToolContext) -> str:
        seen["plain"] = (threading.current_thread().name, WHO.get())
        return "x"

    async def coroutine(arguments: Any, context: ToolContext) -> str:
        seen["async"] = (threading.current_thread().name, WHO.get())
        return "x"

    registry.register(make_tool("plain", plain))
    registry.register(make_tool("async", coroutine))
    WHO.set("me")
    for name in ("plain", "async"):
        assert not (await run_call(make_call(name), registry=registry, system=threads)).is_error
    assert seen["plain"][0].startswith("broodline")
    assert seen["plain"][1] == "me"
    assert seen["async"] == (threading.current_thread().name, "me")


async def test_a_plain_body_does_not_block_the_loop(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, threads: Any
) -> None:
    """DESIGN 2: while a plain body waits in its thread the loop goes on."""
    gate = threading.Event()

    def plain(arguments: Any, context: ToolContext) -> bool:
        return gate.wait(10)

    registry.register(make_tool(execute=plain))
    task = asyncio.create_task(run_call(make_call(), registry=registry, system=threads))
    await asyncio.sleep(0)
    assert not task.done()
    gate.set()
    assert (await task).value is True


@pytest.mark.parametrize("error", [StopIteration(), KeyError("k"), SystemExit("bye")])
async def test_what_a_thread_raises_comes_back(
    registry: ToolRegistry,
    make_tool: MakeTool,
    make_call: MakeCall,
    threads: Any,
    error: BaseException,
) -> None:
    """core 10.2: whatever a plain body raises in its thread is the call's error result."""

    def plain(arguments: Any, context: ToolContext) -> None:
        raise error

    registry.register(make_tool(execute=plain))
    outcome = await run_call(make_call(), registry=registry, system=threads)
    assert outcome.is_error
    assert (str(error) or "StopIteration") in str(outcome.content)


async def test_callables_of_every_kind(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, system: Any
) -> None:
    """core 10.1: partials, objects and plain functions that return an awaitable are bodies too."""

    class Body:
        async def __call__(self, arguments: Any, context: ToolContext) -> str:
            return "object"

    async def body(text: str, arguments: Any, context: ToolContext) -> str:
        return text

    made = {
        "object": Body(),
        "partial": partial(body, "partial"),
        "lambda": lambda arguments, context: body("lambda", arguments, context),
    }
    for name, execute in made.items():
        tool = make_tool(name, execute)
        assert tool.plain is (name == "lambda")
        registry.register(tool)
        outcome = await run_call(make_call(name), registry=registry, system=system)
        assert outcome.value == name


TIMED_OUT = ToolOutcome(
    (Text("Error: tool 'echo' did not finish within 2.5 s"),),
    True,
    ErrorInfo("ToolError", "TIMEOUT"),
)


async def test_a_body_within_its_time(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, system: Any
) -> None:
    """core 10.1: a body that ends before its limit is not touched, and leaves no timer."""
    registry.register(make_tool(timeout=2.5))
    outcome = await run_call(make_call(), registry=registry, system=system)
    assert outcome.value == {}
    assert system.clock.asked in ([], [2.5])


async def test_an_async_body_past_its_time(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, system: Any
) -> None:
    """core 10.1: at the limit the signal fires, the body is cancelled and awaited to its end."""
    order: list[str] = []
    token, leave = CancellationToken(), asyncio.Event()

    async def body(arguments: Any, context: ToolContext) -> None:
        context.signal.on_cancel(lambda cause: order.append("signal"))
        try:
            await asyncio.Event().wait()
        finally:
            order.append("cancelled")
            await leave.wait()
            order.append("cleaned up")

    registry.register(make_tool(execute=body, timeout=2.5))
    task = asyncio.create_task(
        run_call(make_call(), registry=registry, system=system, signal=token)
    )
    for _ in range(5):
        await asyncio.sleep(0)
    assert system.clock.asked == [2.5]
    system.clock.due.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    leave.set()
    assert await task == TIMED_OUT
    assert order == ["signal", "cancelled", "cleaned up"]
    assert not token.cancelled


async def test_a_late_value_is_no_success(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, system: Any
) -> None:
    """core 10.1: a body that swallows its cancellation and returns has timed out all the same."""

    async def body(arguments: Any, context: ToolContext) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        return "late"

    registry.register(make_tool(execute=body, timeout=2.5))
    system.clock.due.set()
    assert await run_call(make_call(), registry=registry, system=system) == TIMED_OUT


async def test_a_plain_body_past_its_time(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, threads: Any
) -> None:
    """core 10.1: a thread cannot be stopped: the call ends, the signal says so to the body."""
    begun, told = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def plain(arguments: Any, context: ToolContext) -> None:
        context.signal.on_cancel(lambda cause: told.set())
        loop.call_soon_threadsafe(begun.set)
        assert told.wait(10)

    registry.register(make_tool(execute=plain, timeout=2.5))
    task = asyncio.create_task(run_call(make_call(), registry=registry, system=threads))
    await begun.wait()
    threads.clock.due.set()
    assert await task == TIMED_OUT


async def test_the_callers_signal_reaches_a_timed_body(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, system: Any
) -> None:
    """core 10.2: a limit in time does not cut the caller's signal."""
    token, begun = CancellationToken(), asyncio.Event()

    async def body(arguments: Any, context: ToolContext) -> Any:
        stopped = asyncio.Event()
        context.signal.on_cancel(lambda cause: stopped.set())
        begun.set()
        await stopped.wait()
        return "x"

    registry.register(make_tool(execute=body, timeout=2.5))
    task = asyncio.create_task(
        run_call(make_call(), registry=registry, system=system, signal=token)
    )
    await begun.wait()
    token.cancel("enough")
    outcome = await task
    assert outcome.error == ErrorInfo("AbortError", "ABORTED")


async def test_cancelling_the_task_of_a_timed_call(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, system: Any, bodies: Any
) -> None:
    """core 10.2: neither body nor timer outlives a cancelled caller."""
    registry.register(make_tool(execute=bodies, timeout=2.5))
    task = asyncio.create_task(run_call(make_call(), registry=registry, system=system))
    await bodies.until("c1")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bodies.running == []
