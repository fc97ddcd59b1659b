"""The address of an actor: safe to keep, to pass around and to use from any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import pykka
from pykka._envelope import Envelope
from pykka.messages import _ActorStop  # pyright: ignore[reportPrivateUsage]

from ..messages.errors import ActorDeadError, DeadlockError, MailboxFullError
from .reply import Reply

if TYPE_CHECKING:
    from .actor import EventLoopActor
    from .system import ActorSystem

A = TypeVar("A", bound="EventLoopActor")


class ActorRef(pykka.ActorRef[A]):
    """pykka's reference, with replies for futures and without blocking on the loop.

    Attributes:
        actor_class: The actor's class.
        actor_urn: The actor's name, unique among all runtimes.
        actor_inbox: Where messages are put.
        actor_stopped: Set once the actor takes no more messages.
        actor: The actor itself until it stops, then None; only for the runtime's loop.
    """

    __slots__ = (
        "_actor_weakref",
        "_system",
        "actor",
        "actor_class",
        "actor_inbox",
        "actor_stopped",
        "actor_urn",
    )

    def __init__(self, actor: A, system: ActorSystem) -> None:
        super().__init__(actor)
        # Beside pykka's weak one: nothing else need hold an actor while it lives.
        self.actor: A | None = actor
        self._system = system

    def release(self) -> None:
        """Let go of the actor; called when it stops."""
        self.actor = None

    def tell(self, message: Any) -> None:
        """Send `message` and expect nothing; any thread, never blocks.

        Raises:
            ActorDeadError: The actor has stopped.
            MailboxFullError: Its inbox is at its bound.
        """
        if self.actor_stopped.is_set():
            raise ActorDeadError(f"{self} not found")
        self.actor_inbox.put(Envelope(message))

    # pyright does not see that the overloads are pykka's own, with a Reply for the Future.

    @overload
    def ask(
        self, message: Any, *, block: Literal[False], timeout: float | None = None
    ) -> Reply[Any]: ...

    @overload
    def ask(self, message: Any, *, block: Literal[True], timeout: float | None = None) -> Any: ...

    @overload
    def ask(
        self, message: Any, *, block: bool = True, timeout: float | None = None
    ) -> Any | Reply[Any]: ...

    def ask(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, message: Any, *, block: bool = True, timeout: float | None = None
    ) -> Any | Reply[Any]:
        """Send `message` and get what its handler returns.

        Args:
            message: Anything.
            block: Wait in this thread; with False a `Reply` comes back at once, and
                refusals arrive through it.
            timeout: Seconds to wait when blocking.

        Raises:
            DeadlockError: Blocking on the runtime's own loop; nothing was sent.
            ActorDeadError: The actor has stopped, or stopped before it handled this.
            MailboxFullError: Its inbox is at its bound.
            pykka.Timeout: `timeout` has passed.
            Exception: Whatever the handler raised.
        """
        if block:
            self._check_block("ask")
        reply: Reply[Any] = Reply(self._system, self.actor)
        if self.actor_stopped.is_set():
            reply.fail(ActorDeadError(f"{self} not found"))
        else:
            try:
                self.actor_inbox.put(Envelope(message, reply))
            except MailboxFullError as error:
                reply.fail(error)
        return reply.get(timeout=timeout) if block else reply

    @overload
    def stop(self, *, block: Literal[True], timeout: float | None = None) -> bool: ...

    @overload
    def stop(self, *, block: Literal[False], timeout: float | None = None) -> Reply[bool]: ...

    @overload
    def stop(self, *, block: bool = True, timeout: float | None = None) -> bool | Reply[bool]: ...

    def stop(self, *, block: bool = True, timeout: float | None = None) -> bool | Reply[bool]:
        """Have the actor stop once it has handled what was sent before.

        Args:
            block: Wait in this thread; with False a `Reply` comes back at once.
            timeout: Seconds to wait when blocking.

        Returns:
            True if this or another call stopped it, False if it was dead already.

        Raises:
            DeadlockError: Blocking on the runtime's own loop; nothing was sent.
            pykka.Timeout: `timeout` has passed.
        """
        if block:
            self._check_block("stop")
        stopped: Reply[bool] = Reply(self._system, self.actor)
        self.ask(_ActorStop(), block=False).add_done_callback(_StopAnswer(stopped))
        return stopped.get(timeout=timeout) if block else stopped

    def proxy(self) -> pykka.ActorProxy[A]:
        """A proxy for the actor's attributes and methods; see `pykka.ActorProxy`.

        Raises:
            ActorDeadError: The actor has stopped.
        """
        if self.actor is None or self.actor_stopped.is_set():
            raise ActorDeadError(f"{self} not found")
        return pykka.ActorProxy(actor_ref=self)

    def _check_block(self, verb: str) -> None:
        if self._system.on_loop():
            raise DeadlockError(
                f"A blocking {verb} of {self} on its runtime's own loop would never return; "
                f"nothing was sent. Use `await ref.{verb}(..., block=False)`."
            )


class _StopAnswer:
    """Turns the answer to a stop into whether the actor was alive."""

    __slots__ = ("_stopped",)

    def __init__(self, stopped: Reply[bool]) -> None:
        self._stopped = stopped

    def __call__(self, asked: Reply[Any]) -> None:
        error = asked.error()
        if error is None:
            self._stopped.settle(True)
        elif isinstance(error, pykka.ActorDeadError):
            self._stopped.settle(False)
        else:
            self._stopped.fail(error)
