"""Where plain functions run that would block the loop."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

from ..messages.errors import ActorDeadError
from .context import current_system
from .deadlock import ThreadWork, current_thread_work

T = TypeVar("T")


class Executor(Protocol):
    """Runs plain functions; every thread of a runtime comes from here."""

    @property
    def queued(self) -> int:
        """Functions handed in that no thread has taken yet."""
        ...

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        """Run ``fn(*args)`` with a copy of the caller's context variables."""
        ...

    async def close(self, timeout: float) -> tuple[str, ...]:
        """Take no more work, wait up to `timeout` seconds for what runs.

        Returns:
            The names of the threads that are still running.
        """
        ...


def lane_of(executor: Executor, name: str, threads: int = 1) -> Executor:
    """An executor for one kind of work, which no other work can hold up.

    Args:
        executor: Gives it, by a method ``lane(name, threads)``; one that has none is used
            itself.
        name: For its threads.
        threads: How many functions of this kind may run at once.
    """
    lane: Callable[[str, int], Executor] | None = getattr(executor, "lane", None)
    return executor if lane is None else lane(name, threads)


Done: TypeAlias = Callable[[Any, "BaseException | None"], None]
"""Called with what a function returned, or with what it raised."""


def begin(executor: Executor, done: Done, fn: Callable[..., object], *args: Any) -> None:
    """Begin to run ``fn(*args)`` now, without a task where the executor can. Loop only.

    The function sees no context variables of the caller's.

    Args:
        executor: One that has a method ``start`` is asked to call `done` itself.
        done: Called on the loop, never before this returns.
        fn: What is run.
        args: What it is called with.

    Raises:
        ActorDeadError: The executor is closed.
    """
    start: Callable[..., None] | None = getattr(executor, "start", None)
    if start is not None:
        start(done, fn, *args)
        return
    run = asyncio.ensure_future(executor.run(fn, *args))
    run.add_done_callback(partial(_pass_on, done))


def _pass_on(done: Done, run: asyncio.Future[Any]) -> None:
    error = asyncio.CancelledError() if run.cancelled() else run.exception()
    done(run.result() if error is None else None, error)


class InlineExecutor:
    """Runs every function in place, for simulations: no thread, one order."""

    __slots__ = ()

    @property
    def queued(self) -> int:
        """Always 0."""
        return 0

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        """Run ``fn(*args)`` now, blocking the loop."""
        return contextvars.copy_context().run(fn, *args)

    async def close(self, timeout: float) -> tuple[str, ...]:
        """Nothing to close."""
        return ()

    def start(self, done: Done, fn: Callable[..., object], *args: Any) -> None:
        """Run ``fn(*args)`` now, blocking the loop; see `begin`."""
        result: object = None
        failure: BaseException | None = None
        try:
            result = fn(*args)
        except (Exception, asyncio.CancelledError) as error:
            failure = error
        asyncio.get_running_loop().call_soon(done, result, failure)

    def lane(self, name: str, threads: int = 1) -> Executor:
        """Itself: everything runs in one order."""
        return self


class ThreadExecutor:
    """A bounded pool of daemon threads, started when there is work for them.

    `run()` belongs on a loop, any loop. Cancelling it drops a function that no
    thread has taken yet; one that runs goes on and its result is lost.

    Args:
        max_threads: How many functions run at once; more wait in line.
        name: Threads are called ``<name>-worker-<number>``.
    """

    def __init__(self, max_threads: int = 32, name: str = "broodline") -> None:
        self._max_threads = max_threads
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | _Errand | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._queued = 0
        self._idle = 0
        self._ended = 0
        self._closed = False
        self._on_end: Callable[[], None] | None = None
        self._lanes: list[ThreadExecutor] = []

    def lane(self, name: str, threads: int = 1) -> Executor:
        """A pool with threads of its own, closed with this one unless it was before."""
        lane = ThreadExecutor(threads, f"{self._name}-{name}")
        self._lanes = [other for other in self._lanes if not other._ended_all()]
        self._lanes.append(lane)
        return lane

    @property
    def queued(self) -> int:
        """Functions handed in that no thread has taken yet."""
        return self._queued

    async def run(self, fn: Callable[..., T], *args: Any) -> T:
        """Run ``fn(*args)`` in a thread and wait for it without blocking the loop.

        Raises:
            ActorDeadError: The pool is closed, or closed before a thread took `fn`.
            BaseException: Whatever `fn` raises.
        """
        context = contextvars.copy_context()
        system = current_system.get()
        worker = None if system is None else system.current_worker()
        work = None if worker is None else ThreadWork(worker)
        context.run(current_thread_work.set, work)
        job = _Job(asyncio.get_running_loop(), context, fn, args)
        try:
            if worker is not None:
                # Before the thread can look.
                worker.waits = work
            self._submit(job)
            result: T = await job.future
        finally:
            if worker is not None:
                worker.waits = None
        return result

    def start(self, done: Done, fn: Callable[..., object], *args: Any) -> None:
        """Begin to run ``fn(*args)`` in a thread; see `begin`. Loop only.

        Raises:
            ActorDeadError: The pool is closed.
        """
        self._submit(_Errand(asyncio.get_running_loop(), done, fn, args))

    def _submit(self, job: _Job | _Errand) -> None:
        with self._lock:
            if self._closed:
                raise ActorDeadError(f"The executor {self._name!r} is closed; nothing was run.")
            self._queued += 1
            self._jobs.put(job)
            if self._queued > self._idle and len(self._threads) < self._max_threads:
                self._start_thread()

    def _start_thread(self) -> None:
        name = f"{self._name}-worker-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            job = self._jobs.get()
            with self._lock:
                self._idle -= 1
                if job is not None:
                    self._queued -= 1
            if job is None:
                break
            job.run()
            del job
        with self._lock:
            self._ended += 1
            on_end = self._on_end if self._ended == len(self._threads) else None
        if on_end is not None:
            on_end()

    async def close(self, timeout: float) -> tuple[str, ...]:
        """Take no more work, fail what waits in line, wait for what runs.

        Args:
            timeout: Seconds to wait.

        Returns:
            The names of the threads that are still running; they end with their function.
        """
        if not self._lanes:
            return await self._end(timeout)
        pools = (self, *self._lanes)
        left = await asyncio.gather(*(pool._end(timeout) for pool in pools))
        return tuple(name for names in left for name in names)

    async def _end(self, timeout: float) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        with self._lock:
            self._closed = True
            if self._ended == len(self._threads):
                ended.set_result(None)
            else:
                self._on_end = _from_thread(loop, ended)
        self._refuse_waiting()
        for _thread in self._threads:
            self._jobs.put(None)
        await asyncio.wait({ended}, timeout=timeout)
        return self._join()

    def _ended_all(self) -> bool:
        with self._lock:
            return self._closed and self._ended == len(self._threads)

    def _refuse_waiting(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                with self._lock:
                    self._queued -= 1
                job.refuse(ActorDeadError(f"The executor {self._name!r} closed; it was not run."))

    def _join(self) -> tuple[str, ...]:
        with self._lock:
            all_ended = self._ended == len(self._threads)
        for thread in self._threads:
            # A thread that has counted itself out is past its last lock: this is no wait.
            thread.join(timeout=None if all_ended else 0)
        return tuple(thread.name for thread in self._threads if thread.is_alive())


class _Job:
    """One function in line, and the future on the loop that waits for it."""

    __slots__ = ("_args", "_context", "_fn", "future")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: contextvars.Context,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
    ) -> None:
        self.future: asyncio.Future[Any] = loop.create_future()
        self._context = context
        self._fn = fn
        self._args = args

    def run(self) -> None:
        """Run it in this thread, unless nobody waits any more."""
        if self.future.cancelled():
            return
        try:
            result = self._context.run(self._fn, *self._args)
        except StopIteration as error:
            # A future cannot carry it: it would end the coroutine that awaits.
            wrapped = RuntimeError(f"{self._fn!r} raised StopIteration")
            wrapped.__cause__ = error
            self._deliver(None, wrapped)
        except BaseException as error:
            self._deliver(None, error)
        else:
            self._deliver(result, None)

    def refuse(self, error: BaseException) -> None:
        """Answer without running."""
        self._deliver(None, error)

    def _deliver(self, result: Any, error: BaseException | None) -> None:
        try:
            self.future.get_loop().call_soon_threadsafe(self._settle, result, error)
        except RuntimeError:
            # The waiting loop is closed, and the waiter gone with it.
            return

    def _settle(self, result: Any, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class _Errand:
    """One function in line, and whom to tell of its end."""

    __slots__ = ("_args", "_done", "_fn", "_loop")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        done: Done,
        fn: Callable[..., object],
        args: tuple[Any, ...],
    ) -> None:
        self._loop = loop
        self._done = done
        self._fn = fn
        self._args = args

    def run(self) -> None:
        """Run it in this thread."""
        try:
            result = self._fn(*self._args)
        except BaseException as error:
            self._tell(None, error)
        else:
            self._tell(result, None)

    def refuse(self, error: BaseException) -> None:
        """Answer without running."""
        self._tell(None, error)

    def _tell(self, result: object, error: BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._done, result, error)
        except RuntimeError:
            return  # the loop is closed, and whoever waited gone with it


def _from_thread(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]
) -> Callable[[], None]:
    def settle() -> None:
        if not future.done():
            future.set_result(None)

    def call() -> None:
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:
            return

    return call
