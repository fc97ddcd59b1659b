"""Waits that could never end, found before they begin.

Every piece of work that answers a reply (an actor, an operation) is a `Worker`
and holds the one reply its own task is waiting for. So the waits of all runtimes
of a process form chains, and a wait that would close a chain is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, Protocol

from ..messages.errors import DeadlockError


class Awaited(Protocol):
    """What a worker may wait for: a reply."""

    def owners(self) -> Iterable[Worker]:
        """Whoever must work for this to be settled; empty once it is."""
        ...


class Worker(Protocol):
    """Whoever settles replies, one piece of work after another.

    Attributes:
        waits: The reply that its own task is waiting for, or None.
    """

    waits: Any

    def __str__(self) -> str: ...


class ThreadWork:
    """A plain function in a thread, for which a worker's task is waiting.

    Attributes:
        waits: The reply that the thread is blocked on, or None.
    """

    __slots__ = ("_worker", "waits")

    def __init__(self, worker: Worker) -> None:
        self.waits: Any = None
        self._worker = worker

    def owners(self) -> Iterable[Worker]:
        """The thread itself must get on."""
        return (self,)

    def __str__(self) -> str:
        return f"a thread of {self._worker}"


current_thread_work: ContextVar[ThreadWork | None] = ContextVar(
    "broodline_thread_work", default=None
)
"""The function of the executor that is running in this thread for a worker."""


def begin_wait(worker: Worker, reply: Awaited) -> None:
    """Note that `worker` waits for `reply`; the caller resets `worker.waits` afterwards.

    The wait is noted before the look-up: of two threads that close a cycle at once,
    at least one sees it.

    Raises:
        DeadlockError: The reply waits, perhaps through others, for `worker` itself.
    """
    worker.waits = reply
    cycle = _find_cycle(worker, reply)
    if cycle is None:
        return
    worker.waits = None
    names = [str(member) for member in cycle]
    raise DeadlockError(
        "This wait could never end: " + " -> ".join(names) + ". "
        "Let one of them answer before it asks, tell instead of ask, or wait in a task of its own.",
        details={"cycle": names},
    )


def _find_cycle(worker: Worker, reply: Awaited) -> list[Worker] | None:
    """The members from `worker` back to `worker`, or None."""
    # Almost always the receiver is not waiting, so the walk ends after one look.
    trail: dict[int, tuple[Worker, Worker]] = {}
    frontier: list[tuple[Worker, Worker]] = [(worker, owner) for owner in reply.owners()]
    while frontier:
        asker, owner = frontier.pop()
        if id(owner) in trail:
            continue
        trail[id(owner)] = (owner, asker)
        if owner is worker:
            return _path(trail, worker)
        awaited: Awaited | None = owner.waits
        if awaited is not None:
            frontier.extend((owner, further) for further in awaited.owners())
    return None


def _path(trail: dict[int, tuple[Worker, Worker]], worker: Worker) -> list[Worker]:
    path = [worker]
    while True:
        asker = trail[id(path[-1])][1]
        path.append(asker)
        if asker is worker:
            return path[::-1]
