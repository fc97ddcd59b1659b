"""The mailbox of an actor that is no agent: one queue for everything sent to it."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pykka import Future
from pykka._envelope import Envelope
from pykka.messages import _ActorStop  # pyright: ignore[reportPrivateUsage]

from ..messages.errors import ActorDeadError, MailboxFullError
from .reply import Reply

if TYPE_CHECKING:
    import asyncio

    from .actor import EventLoopActor
    from .ref import ActorRef
    from .system import ActorSystem


_BATCH = 64


class Letterbox:
    """First in, first out; any thread puts, only the runtime's loop takes.

    No lock on the way in: appending to a list is atomic, and every flag that two
    sides race for is set before the list is looked at again. A put that finds the
    box closed answers what is in it, so no asker is left without an answer however
    the put and the end of the actor fall together.

    Attributes:
        busy: The actor is working, in a callback or in its task. Loop only.
        fresh: `on_start` has not run yet. Loop only.
        closed: Nothing will be handled any more.
        task: The actor's task while it works in one. Loop only.
        current: The message being handled in that task. Loop only.
        taken: Messages taken off the queue and not handled yet, newest first. Loop only.
    """

    __slots__ = (
        "_actor",
        "_awake",
        "_limit",
        "_lock",
        "_ref",
        "_system",
        "busy",
        "closed",
        "current",
        "fresh",
        "items",
        "taken",
        "task",
    )

    def __init__(self) -> None:
        # Lists, because an empty deque takes 700 bytes and most actors are idle.
        self.items: list[Envelope[Any]] = []
        self.taken: list[Envelope[Any]] | None = None
        self.busy = False
        self.fresh = True
        self.closed = False
        self.task: asyncio.Task[None] | None = None
        self.current: Envelope[Any] | None = None
        # Nothing is woken before the actor is started.
        self._awake = True
        self._limit: int | None = None
        self._lock: threading.Lock | None = None
        self._actor: EventLoopActor | None = None
        self._ref: ActorRef[Any] | None = None
        self._system: ActorSystem | None = None

    def attach(self, actor: EventLoopActor, ref: ActorRef[Any], limit: int | None) -> None:
        """Make this the box of `actor`, with room for `limit` waiting messages."""
        self._actor = actor
        self._ref = ref
        self._system = actor.system
        if limit is not None:
            self._limit = limit
            self._lock = threading.Lock()

    def put(self, envelope: Envelope[Any], /) -> None:
        """Add a message and wake the actor; any thread.

        Raises:
            MailboxFullError: The box is at its bound; a stop is always taken.
        """
        if self._lock is None:
            self.items.append(envelope)
        else:
            self._put_bounded(self._lock, envelope)
        if not self._awake:
            self._awake = True
            self.wake()
        if self.closed:
            self.refuse()

    def _put_bounded(self, lock: threading.Lock, envelope: Envelope[Any]) -> None:
        with lock:
            waiting = len(self.items) + len(self.taken or ())
            if waiting >= (self._limit or 0) and type(envelope.message) is not _ActorStop:
                raise MailboxFullError(
                    f"The inbox of {self._ref} is full: {self._limit} messages are waiting. "
                    "Send again when it has worked some off.",
                    details={"limit": self._limit},
                )
            self.items.append(envelope)

    def wake(self) -> None:
        """Have the actor look at its box in a callback of the loop; any thread."""
        actor, system = self._actor, self._system
        if system is None or actor is None or self.closed:
            return
        try:
            system.schedule(actor.run_mailbox)
        except RuntimeError:
            # The loop was closed under a runtime that was never left.
            self.closed = True

    def rest(self) -> bool:
        """Let the next put wake the actor; loop only.

        Returns:
            False if there is a message already, so that the actor must go on.
        """
        self._awake = False
        if self.empty():
            return True
        self._awake = True
        return False

    def take_some(self) -> list[Envelope[Any]]:
        """Move a batch from the queue to `taken`, newest first; loop only, when that is empty."""
        items = self.items
        # Others only append, so the two lines take the same messages.
        batch = items[:_BATCH]
        del items[:_BATCH]
        batch.reverse()
        self.taken = batch
        return batch

    def get(self) -> Envelope[Any]:
        """Take the oldest message; loop only.

        Raises:
            IndexError: The box is empty.
        """
        return (self.taken or self.take_some()).pop()

    def empty(self) -> bool:
        """Whether nothing is waiting; loop only."""
        return not self.items and not self.taken

    def close(self) -> None:
        """Take nothing more and answer what is left; loop only, once the actor has ended."""
        self.closed = True
        taken = self.taken
        if taken:
            self.items[:0] = reversed(taken)
        self.taken = None
        # A reference kept by somebody must not keep the actor.
        self._actor = None
        self.refuse()

    def refuse(self) -> None:
        """Answer every waiting ask with `ActorDeadError`, every stop with success."""
        lost = 0
        while True:
            try:
                envelope = self.items.pop(0)
            except IndexError:
                break
            if envelope.reply_to is None:
                lost += type(envelope.message) is not _ActorStop
            elif type(envelope.message) is _ActorStop:
                answer(envelope.reply_to, None)
            else:
                answer_error(envelope.reply_to, self._dead())
        if lost and self._system is not None:
            self._system.lose(self._ref, lost)

    def _dead(self) -> ActorDeadError:
        return ActorDeadError(f"{self._ref} stopped before handling the message")


def answer(future: Future[Any], value: Any) -> None:
    """Settle an asker's future, whoever made it; one that is settled stays as it is."""
    if isinstance(future, Reply):
        future.settle(value)
        return
    with suppress(queue.Full):
        future.set(value)


def answer_error(future: Future[Any], error: BaseException) -> None:
    """The same with an exception."""
    if isinstance(future, Reply):
        future.fail(error)
        return
    with suppress(queue.Full):
        future.set_exception((type(error), error, error.__traceback__))
