"""Leaving a runtime: everything is stopped, within a bound, and nobody waits in vain."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from .letterbox import Letterbox
from .operation import Operation
from .reply import Reply
from .watch import WatchedCoroutine

if TYPE_CHECKING:
    from .ref import ActorRef
    from .system import ActorSystem

logger = logging.getLogger("broodline.actors")


class Shutdown:
    """One leaving of one runtime.

    In this order: the runtime's own closing hook; the actors, last started first,
    one after the other; tasks and operations; the executor. What has not stopped by
    the deadline is cancelled, and what outlasts that is named and left behind.
    """

    def __init__(self, system: ActorSystem) -> None:
        self._system = system
        self._loop = system.loop
        self._grace = system.shutdown_timeout / 4
        self._deadline = self._loop.time() + system.shutdown_timeout
        self._unstopped: list[str] = []

    async def run(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Stop everything.

        Raises:
            Exception: What `close` raised, once all else is stopped.
        """
        system = self._system
        failure = await self._run_hook(close)
        await self._stop_actors()
        await self._end_tasks()
        system.state = "closed"
        for ref in reversed(list(system.actors.values())):
            self._abandon(ref)
        system.launches.refuse()
        self._unstopped.extend(await system.executor.close(self._remaining()))
        self._report()
        if failure is not None:
            raise failure

    def _remaining(self) -> float:
        return max(self._deadline - self._loop.time(), self._grace)

    async def _run_hook(self, close: Callable[[], Coroutine[Any, Any, None]]) -> Exception | None:
        steps = WatchedCoroutine(close(), self._system.watch, "closing hook")
        hook = self._loop.create_task(steps, name="closing hook")
        await asyncio.wait({hook}, timeout=self._remaining())
        if not hook.done():
            self._unstopped.append("closing hook")
            hook.cancel()
            await asyncio.wait({hook}, timeout=self._grace)
        if not hook.done():
            return None
        if hook.cancelled():
            return None
        error = hook.exception()
        return error if isinstance(error, Exception) else None

    async def _stop_actors(self) -> None:
        """Last started first, each to its end; all at once when one takes too long."""
        actors = self._system.actors
        until = self._loop.time() + self._remaining()
        in_time = True
        while actors and in_time:
            for ref in reversed(list(actors.values())):
                in_time = await self._stop_actor(ref, until)
                if not in_time:
                    break
        stops = [ref.stop(block=False) for ref in reversed(list(actors.values()))]
        until = self._loop.time() + self._grace
        for stop in stops:
            await _wait_until(stop, self._loop, until)

    async def _stop_actor(self, ref: ActorRef[Any], until: float) -> bool:
        """Whether `ref` has stopped by `until`."""
        actor, inbox = ref.actor, ref.actor_inbox
        stop = ref.stop(block=False)
        if actor is not None and isinstance(inbox, Letterbox):
            # Saves the turn of the loop that a stop of thousands would take each.
            self._system.in_context(actor.run_mailbox)
        stopped = await _wait_until(stop, self._loop, until)
        if stopped:
            # Also if it says so and stays on the list, or it would be asked for ever.
            self._system.actors.pop(ref.actor_urn, None)
        return stopped

    async def _end_tasks(self) -> None:
        """Cancel what still runs, again after half the time, then let go of it."""
        current = asyncio.current_task()
        for _ in range(2):
            tasks = [task for task in self._system.tasks() if task is not current]
            if not tasks:
                return
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=self._grace / 2)
        for task in self._system.tasks():
            if task is not current:
                self._let_go(task)

    def _let_go(self, task: asyncio.Task[Any]) -> None:
        worker = self._system.worker_of(task)
        self._unstopped.append(str(worker) if worker is not None else task.get_name())
        if isinstance(worker, Operation):
            worker.end(None, asyncio.CancelledError())

    def _abandon(self, ref: ActorRef[Any]) -> None:
        actor = ref.actor
        name = str(ref)
        if name not in self._unstopped:
            self._unstopped.append(name)
        if actor is None:
            self._system.actors.pop(ref.actor_urn, None)
        elif isinstance(ref.actor_inbox, Letterbox):
            actor.abandon()
        else:
            actor._unregister()

    def _report(self) -> None:
        self._system.unstopped = tuple(self._unstopped)
        if self._unstopped:
            names = ", ".join(self._unstopped)
            logger.error("The runtime was left and these did not stop: %s", names)


async def wait_uncancelled(task: asyncio.Task[Any]) -> asyncio.CancelledError | None:
    """Wait until `task` is done, also when the wait is cancelled.

    Returns:
        The last cancellation, for the caller to raise.
    """
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled


async def _wait_until(reply: Reply[Any], loop: asyncio.AbstractEventLoop, until: float) -> bool:
    """Whether `reply` is settled by `until`."""
    if reply.done():
        return True
    settled: asyncio.Future[None] = loop.create_future()

    def wake(_reply: Reply[Any]) -> None:
        if not settled.done():
            settled.set_result(None)

    timer = loop.call_at(until, wake, reply)
    reply.add_done_callback(wake)
    await settled
    timer.cancel()
    return reply.done()
