"""Plain functions beside the loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextvars import ContextVar

import pytest

from broodline.actors.executor import InlineExecutor, ThreadExecutor
from broodline.actors.system import ActorSystem
from broodline.messages.errors import ActorDeadError


@pytest.fixture
async def executor() -> AsyncIterator[ThreadExecutor]:
    """A pool of two threads."""
    executor = ThreadExecutor(max_threads=2, name="pool")
    yield executor
    await executor.close(30)


async def test_it_runs_in_a_named_thread(executor: ThreadExecutor) -> None:
    """DESIGN 2: a function runs in a daemon thread of the pool, its value comes back."""
    thread = await executor.run(threading.current_thread)
    assert thread.name == "pool-worker-0"
    assert thread.daemon
    assert await executor.run(divmod, 7, 2) == (3, 1)


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(1), asyncio.CancelledError()])
async def test_what_a_function_raises_comes_back(
    error: BaseException, executor: ThreadExecutor
) -> None:
    """DESIGN 2: any exception of the function reaches the caller; the thread goes on."""

    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        await executor.run(fail)
    assert await executor.run(int) == 0


async def test_stop_iteration_is_wrapped(executor: ThreadExecutor) -> None:
    """DESIGN 2: StopIteration, which no coroutine may raise, comes as a RuntimeError."""
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        await executor.run(next, iter(()))
    assert isinstance(caught.value.__cause__, StopIteration)


async def test_context_variables_are_copied(executor: ThreadExecutor) -> None:
    """DESIGN 2: the function sees the caller's context variables and cannot change them."""
    name: ContextVar[str] = ContextVar("name", default="")
    name.set("caller")

    def look() -> str:
        seen = name.get()
        name.set("thread")
        return seen

    assert await executor.run(look) == "caller"
    assert name.get() == "caller"


async def test_the_pool_is_bounded_and_the_rest_waits(executor: ThreadExecutor) -> None:
    """DESIGN 2: no more threads than allowed; what waits in line is counted."""
    gate, both = threading.Event(), threading.Barrier(3)

    def hold() -> str:
        both.wait()
        gate.wait()
        return threading.current_thread().name

    held = [asyncio.create_task(executor.run(hold)) for _ in range(2)]
    await asyncio.sleep(0)
    both.wait()
    waiting = asyncio.create_task(executor.run(int))
    await asyncio.sleep(0)
    assert executor.queued == 1
    gate.set()
    assert set(await asyncio.gather(*held)) == {"pool-worker-0", "pool-worker-1"}
    assert await waiting == 0
    assert executor.queued == 0


async def test_an_idle_thread_is_used_again(executor: ThreadExecutor) -> None:
    """DESIGN 2: one function after the other needs one thread."""
    names: set[str] = set()
    for _ in range(5):
        names.add((await executor.run(threading.current_thread)).name)
        while executor._idle == 0:  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0)
    assert names == {"pool-worker-0"}


async def test_a_cancelled_function_in_line_never_runs(executor: ThreadExecutor) -> None:
    """DESIGN 2: cancelling drops what no thread has taken; what runs goes on."""
    gate, both, ran = threading.Event(), threading.Barrier(3), threading.Event()

    def hold() -> None:
        both.wait()
        gate.wait()

    held = [asyncio.create_task(executor.run(hold)) for _ in range(2)]
    await asyncio.sleep(0)
    both.wait()
    doomed = asyncio.create_task(executor.run(ran.set))
    await asyncio.sleep(0)
    doomed.cancel()
    held[0].cancel()
    await asyncio.wait({doomed, held[0]})
    gate.set()
    await held[1]
    await executor.run(int)
    assert not ran.is_set()


async def test_closing_refuses_what_waits_and_names_what_runs() -> None:
    """DESIGN 2: close() answers the line, waits its time, and names threads still at work."""
    executor = ThreadExecutor(max_threads=1, name="pool")
    gate, begun = threading.Event(), threading.Event()

    def hold() -> str:
        begun.set()
        gate.wait()
        return "done"

    running = asyncio.create_task(executor.run(hold))
    await asyncio.sleep(0)
    begun.wait()
    waiting = asyncio.create_task(executor.run(int))
    await asyncio.sleep(0)
    assert await executor.close(0) == ("pool-worker-0",)
    with pytest.raises(ActorDeadError, match="was not run"):
        await waiting
    with pytest.raises(ActorDeadError, match="is closed"):
        await executor.run(int)
    gate.set()
    assert await running == "done"
    assert await executor.close(30) == ()


async def test_closing_waits_for_what_runs() -> None:
    """DESIGN 2: close() within its time leaves no thread, and may be repeated."""
    executor = ThreadExecutor()
    gate, begun = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        gate.wait()

    running = asyncio.create_task(executor.run(hold))
    await asyncio.sleep(0)
    begun.wait()
    closing = asyncio.create_task(executor.close(30))
    await asyncio.sleep(0)
    gate.set()
    assert await closing == ()
    await running
    assert await executor.close(30) == ()


async def test_a_runtime_reports_a_thread_that_would_not_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DESIGN 2: a plain function that hangs does not hold up leaving; its thread is named."""
    gate, begun = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        gate.wait()

    async with ActorSystem(shutdown_timeout=0.02) as system:
        running = asyncio.create_task(system.executor.run(hold))
        await asyncio.sleep(0)
        begun.wait()
    assert system.unstopped == ("broodline-worker-0",)
    gate.set()
    await running
    assert await system.executor.close(30) == ()


async def test_inline_runs_in_place() -> None:
    """DESIGN 2: a simulation's executor runs functions in place, in one order."""
    executor = InlineExecutor()
    assert await executor.run(threading.get_ident) == threading.get_ident()
    assert executor.queued == 0
    assert await executor.close(0) == ()
