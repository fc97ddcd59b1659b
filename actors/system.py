"""What one runtime runs on: its loop, its seams, its actors and its operations."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import random
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pykka

from ..messages.errors import ActorDeadError, BroodlineError, ConfigurationError
from .cancellation import CancellationToken
from .clock import Clock, SystemClock
from .context import current_actor, current_system
from .deadlock import Worker
from .door import Door
from .executor import Executor, ThreadExecutor
from .figures import Statistics
from .identity import IdSource, RandomIds
from .launch import Launch, Launches
from .operation import Operation, Work
from .reply import Reply
from .shutdown import Shutdown, wait_uncancelled
from .watch import StallWatch, WatchedCoroutine

if TYPE_CHECKING:
    from .actor import EventLoopActor
    from .ref import ActorRef

__all__ = ["ActorSystem", "current_actor", "current_system"]

logger = logging.getLogger("broodline.actors")

T = TypeVar("T")
A = TypeVar("A", bound="EventLoopActor")

State = Literal["new", "open", "closing", "closed"]


class ActorSystem(Door):
    """A runtime's loop, seams and actors.

    ``async with ActorSystem()`` uses the running loop; ``with ActorSystem()`` starts
    one of its own in a thread. Either may be entered once. Several live side by
    side in a process and share nothing.

    Args:
        clock: Time; the machine's if None.
        ids: Names of actors, sessions, messages and calls; from `random` if None.
        random: All randomness; freshly seeded if None.
        executor: Where plain functions run; a pool of 32 threads if None.
        stall_threshold: Seconds the loop may be held before it is logged.
        shutdown_timeout: Seconds that everything has to stop by itself when the
            runtime is left. What does not is cancelled; leaving takes at most
            about twice as long.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        random: random.Random | None = None,
        executor: Executor | None = None,
        stall_threshold: float = 0.25,
        shutdown_timeout: float = 10.0,
    ) -> None:
        super().__init__()
        if stall_threshold <= 0 or shutdown_timeout <= 0:
            raise ConfigurationError(
                "stall_threshold and shutdown_timeout must be positive seconds"
            )
        self.clock: Clock = clock or SystemClock()
        self.random = random or _fresh_random()
        self.ids: IdSource = ids or RandomIds(self.random)
        # Whether no two of its ids can be the same, in this process or another.
        self.unique_ids = ids is None and random is None
        self.executor: Executor = executor or ThreadExecutor()
        self.watch = StallWatch(self.clock.monotonic, stall_threshold)
        self.shutdown_timeout = shutdown_timeout
        self.actors: dict[str, ActorRef[Any]] = {}
        self.unstopped: tuple[str, ...] = ()
        self.state: State = "new"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread_id: int | None = None
        self._context = contextvars.Context()
        self._tasks: dict[asyncio.Task[Any], Worker | None] = {}
        # One object each for all tasks, rather than a bound method and a copied context.
        self._forget_task = self._tasks.pop
        self._plain = contextvars.Context()
        self.launches = Launches(self)
        self._dead_letters = 0
        self._lock = threading.Lock()

    # Opening and closing.

    async def _open(self) -> None:
        """Called on the loop when the runtime is entered; for subclasses."""

    async def _close(self) -> None:
        """Called on the loop before the actors are stopped; for subclasses.

        Bounded by `shutdown_timeout`; a failure is raised once everything is stopped.
        """

    async def open_here(self) -> None:
        """Open on the running loop, once; what entering does."""
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        self._context = contextvars.copy_context()
        self._context.run(current_system.set, self)
        self._context.run(current_actor.set, None)
        self.state = "open"
        try:
            await self._context_task(self._open(), "open")
        except BaseException:
            await self.close_here()
            raise

    async def close_here(self) -> None:
        """Stop everything; what leaving does. Survives the cancellation of its task.

        Raises:
            Exception: What `_close()` raised, after everything has stopped.
        """
        if self.state in ("closing", "closed"):
            return
        self.state = "closing"
        closing = self._context_task(Shutdown(self).run(self._close), "close")
        cancelled = await wait_uncancelled(closing)
        # The number of a thread that has ended may be given to another.
        self._thread_id = None
        if cancelled is not None:
            closing.exception()
            raise cancelled
        closing.result()

    def _context_task(self, coroutine: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        return self.loop.create_task(coroutine, name=name, context=self._context.copy())

    # The loop.

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop everything runs on.

        Raises:
            ConfigurationError: The runtime was not entered yet.
        """
        if self._loop is None:
            raise self._not_entered()
        return self._loop

    def on_loop(self) -> bool:
        """Whether this thread is the one the loop runs in."""
        return threading.get_ident() == self._thread_id

    def call(self, fn: Callable[..., object], *args: Any) -> None:
        """Call ``fn(*args)`` on the loop: now if this is its thread, else soon.

        Raises:
            ActorDeadError: The runtime is closed.
            ConfigurationError: It was not entered yet.
        """
        if threading.get_ident() == self._thread_id:
            fn(*args)
            return
        refusal = self.refusal()
        if refusal is not None:
            raise refusal
        try:
            self.loop.call_soon_threadsafe(fn, *args, context=self._context.copy())
        except RuntimeError:
            raise self.closed_error() from None

    def schedule(self, fn: Callable[[], object]) -> None:
        """Call `fn` in a callback of its own, never now; any thread.

        Raises:
            RuntimeError: The loop is closed.
        """
        loop = self._loop
        assert loop is not None
        if threading.get_ident() == self._thread_id:
            loop.call_soon(fn, context=self._context.copy())
        else:
            loop.call_soon_threadsafe(fn, context=self._context.copy())

    def in_context(self, fn: Callable[[], object]) -> None:
        """Call `fn` now, with the runtime's own context variables; loop only."""
        self._context.copy().run(fn)

    def spawn(self, coro: Coroutine[Any, Any, T], name: str = "task") -> asyncio.Task[T]:
        """Run `coro` as a task that the runtime holds and ends with itself; loop only.

        Its exception goes to whoever awaits the task; if nobody does, it is logged.

        Args:
            coro: What to run.
            name: For logs.

        Raises:
            ConfigurationError: Not on the loop's thread.
            ActorDeadError: The runtime is closed.
        """
        refusal = self.refusal()
        if refusal is None and not self.on_loop():
            refusal = ConfigurationError("spawn() works on the runtime's loop; use operate() here")
        if refusal is not None:
            coro.close()
            raise refusal
        return self.track(WatchedCoroutine(coro, self.watch, name), None, name)

    def track(
        self, steps: WatchedCoroutine[T], worker: Worker | None, name: str
    ) -> asyncio.Task[T]:
        """Make a task that the runtime holds until it is done; loop only."""
        context: contextvars.Context | None = None
        if current_system.get() is not self:
            context = contextvars.copy_context()
            context.run(current_system.set, self)
        task = self.loop.create_task(steps, name=name, context=context)
        self._tasks[task] = worker
        task.add_done_callback(self._forget_task, context=self._plain)
        return task

    def tasks(self) -> list[asyncio.Task[Any]]:
        """The tasks that are not done, oldest first; loop only."""
        return list(self._tasks)

    def worker_of(self, task: asyncio.Task[Any]) -> Worker | None:
        """Whose task it is: an actor's, an operation's, or nobody's."""
        return self._tasks.get(task)

    def current_worker(self) -> Worker | None:
        """Whose task is running in this thread."""
        task = asyncio.current_task()
        return None if task is None else self._tasks.get(task)

    # Operations.

    def operate(
        self,
        work: Work[T],
        *args: Any,
        signal: CancellationToken | None = None,
        name: str = "operation",
    ) -> Operation[T]:
        """Start an operation now and return its reply; any thread.

        Args:
            work: A coroutine, or an async function that is called with the
                `Operation` and `args`; it calls `accept()` on it when it can no
                longer be taken back.
            args: For an async function.
            signal: Calls the operation off until it is accepted; one that has fired
                already keeps it from starting.
            name: For logs and cycles.

        Returns:
            The reply; every refusal arrives through it.
        """
        operation: Operation[T] = Operation(self, name)
        if threading.get_ident() == self._thread_id and self.state != "closed":
            operation.begin(work, args, signal)
        else:
            self.launches.add(Launch(operation, work, args, signal))
        return operation

    def settle_now(self, fn: Callable[..., T], *args: Any) -> Reply[T]:
        """Call ``fn(*args)`` on the loop and return a reply for it; any thread.

        On the loop's thread it is called at once and the reply is settled.

        Args:
            fn: A plain function; its name says what the reply is of.
            args: What it is called with.
        """
        if threading.get_ident() == self._thread_id and self.state != "closed":
            try:
                return Reply.of(fn(*args), self, _name_of(fn))
            except Exception as error:
                # No name for the reply: this frame is part of the error's traceback.
                return Reply.failed(error, self, _name_of(fn))
        reply: Reply[T] = Reply(self, _name_of(fn))
        self.launches.add(Launch(reply, fn, args))
        return reply

    def refusal(self) -> BroodlineError | None:
        """Why nothing can be started, or None if it can."""
        if self.state in ("open", "closing"):
            return None
        return self._not_entered() if self.state == "new" else self.closed_error()

    def _not_entered(self) -> ConfigurationError:
        kind = type(self).__name__
        return ConfigurationError(f"This {kind} is not open; enter it with `with` or `async with`.")

    def closed_error(self) -> ActorDeadError:
        """What a closed runtime answers."""
        kind = type(self).__name__
        return ActorDeadError(f"This {kind} is closed; make a new {kind}.", code="RUNTIME_CLOSED")

    def wait(self, future: pykka.Future[T]) -> Operation[T]:
        """Await a pykka future of any kind; one that is no `Reply` blocks an executor thread."""
        return self.operate(self._wait(future), name="wait")

    async def _wait(self, future: pykka.Future[T]) -> T:
        if isinstance(future, Reply):
            reply: Reply[T] = future
            return await reply
        return await self.executor.run(future.get)

    # Actors.

    def start_actor(self, cls: type[A], *args: Any, **kwargs: Any) -> ActorRef[A]:
        """Start an actor in this runtime, from any thread.

        Raises:
            ConfigurationError: The runtime is not open.
        """
        token = current_system.set(self)
        try:
            return cls.start(*args, **kwargs)
        finally:
            current_system.reset(token)

    def admit(self, ref: ActorRef[Any]) -> None:
        """Enter a live actor; any thread.

        Raises:
            ConfigurationError: The runtime is not open.
        """
        self.actors[ref.actor_urn] = ref
        # Closing empties the list after it has set the state, so none is forgotten.
        if self.refusal() is not None:
            self.actors.pop(ref.actor_urn, None)
            raise ConfigurationError(f"{ref} cannot start: the runtime is {self.state}")

    def dismiss(self, ref: ActorRef[Any]) -> None:
        """Take a stopped actor off the list; any thread, as often as wanted."""
        self.actors.pop(ref.actor_urn, None)

    def lose(self, receiver: object, count: int = 1) -> None:
        """Count and log told messages that will never be handled; any thread."""
        with self._lock:
            self._dead_letters += count
        logger.warning(
            "%d told message(s) to %s were lost: it stopped before handling them", count, receiver
        )

    def _agent_count(self) -> int:
        """How many of the actors are agents; for subclasses."""
        return 0

    def statistics(self) -> Statistics:
        """What the runtime counts, as of now; any thread."""
        return Statistics(
            actors=len(self.actors),
            agents=self._agent_count(),
            tasks=len(self._tasks),
            dead_letters=self._dead_letters,
            stalls=self.watch.stalls,
            executor_queued=self.executor.queued,
            unstopped=self.unstopped,
        )


def _name_of(fn: Callable[..., object]) -> str:
    return getattr(fn, "__name__", "")


def _fresh_random() -> random.Random:
    return random.Random()
