"""pykka's actor on an event loop."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Coroutine
from types import CoroutineType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import pykka
from pykka._envelope import Envelope

from ..messages.errors import ActorDeadError, ConfigurationError
from .context import current_actor, current_system
from .letterbox import Letterbox, answer, answer_error
from .ref import ActorRef
from .reply import Reply
from .watch import WatchedCoroutine

if TYPE_CHECKING:
    from pykka._actor import ActorInbox

    from .system import ActorSystem

logger = logging.getLogger("broodline.actors")

Pending = Coroutine[Any, Any, None]

_BATCH = 64
"""Messages an actor handles in one go before others get their turn."""


class StopFlag:
    """As much of `threading.Event` as pykka asks for, in a fraction of the memory."""

    __slots__ = ("_set",)

    def __init__(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        """Whether `set()` was called."""
        return self._set

    def set(self) -> None:
        """Raise the flag for good."""
        self._set = True


class EventLoopActor(pykka.Actor):
    """An actor whose handlers run on the runtime's loop; they may be plain or async.

    Write it as any pykka actor: `on_receive` and public methods for proxies,
    `on_start`, `on_stop`, `on_failure`; each of them may be ``async def``. One
    message is handled to its end before the next, also while an async handler
    waits. `__init__` runs in the thread that starts the actor.

    Attributes:
        system: The runtime it belongs to.
        max_inbox: How many messages may wait; None means any number.
        waits: The reply its own task waits for, or None.
    """

    max_inbox: ClassVar[int | None] = None
    system: ActorSystem
    waits: Any = None

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        # pykka's constructor would take a random urn and a threading.Event.
        system = current_system.get()
        if system is None:
            raise ConfigurationError(
                f"{type(self).__name__} was made outside a runtime; "
                "use runtime.start_actor(...) or start it inside `with Runtime()`."
            )
        self.system = system
        self.actor_urn = self._new_urn(system)
        self.actor_inbox = self._create_actor_inbox()
        self.actor_stopped = cast("threading.Event", StopFlag())
        self._actor_ref = ActorRef(self, system)
        if isinstance(self.actor_inbox, Letterbox):
            self.actor_inbox.attach(self, self._actor_ref, self.max_inbox)

    # pyright takes pykka's ActorRef for invariant; ours is one of them all the same.

    @classmethod
    def start(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls, *args: Any, **kwargs: Any
    ) -> ActorRef[Self]:
        """Make the actor, register it with the current runtime and start it; any thread.

        Raises:
            ConfigurationError: Outside a runtime, or the runtime is closed.
        """
        actor = cls(*args, **kwargs)
        if not hasattr(actor, "_actor_ref"):
            raise ConfigurationError(f"{cls.__name__}.__init__ must call super().__init__()")
        actor._register()
        logger.debug("Starting %s", actor)
        actor._start_actor_loop()
        return actor.actor_ref

    @property
    def actor_ref(self) -> ActorRef[Self]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The actor's reference."""
        return cast("ActorRef[Self]", self._actor_ref)

    # What pykka asks of a new type of actor.

    def _new_urn(self, system: ActorSystem) -> str:
        """The name among all actors; a type that has a unique name already gives that."""
        return system.ids.new("urn")

    @staticmethod
    def _create_actor_inbox() -> ActorInbox:
        return Letterbox()

    @staticmethod
    def _create_future() -> Reply[Any]:
        return Reply()

    def _start_actor_loop(self) -> None:
        self._box.wake()

    def _register(self) -> None:
        """Enter the runtime's list of live actors; any thread.

        Raises:
            ConfigurationError: The runtime is not open.
        """
        self.system.admit(self.actor_ref)

    def _unregister(self) -> None:
        """Leave the runtime's list and take no more messages; repeating it does nothing."""
        self.actor_stopped.set()
        self.system.dismiss(self.actor_ref)
        self.actor_ref.release()

    # The hooks of an actor's life.

    def on_start(self) -> Any:
        """Called before the first message; a failure is logged and stops the actor."""

    def on_stop(self) -> Any:
        """Called after the last message, but not when the actor failed."""

    def on_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> Any:
        """Called after a told message failed, before the actor ends."""

    # The loop.

    @property
    def _box(self) -> Letterbox:
        return cast("Letterbox", self.actor_inbox)

    def run_mailbox(self) -> None:
        """Handle what is in the mailbox: a callback of the loop, harmless when there is nothing."""
        box = self._box
        if box.busy or box.closed:
            return
        box.busy = True
        current_actor.set(self)
        watch = self.system.watch
        start = watch.now()
        pending = self._work()
        elapsed = watch.now() - start
        if elapsed > watch.threshold:
            watch.report(elapsed, self)
        if pending is not None:
            steps = _MailboxSteps(self._go_on(pending), watch, self)
            box.task = self.system.track(steps, self, self.actor_urn)
            return
        box.busy = False
        if not box.rest():
            box.wake()

    async def _go_on(self, pending: Pending) -> None:
        """The actor's task: from a message that must be awaited until the mailbox is empty."""
        box = self._box
        following: Pending | None = pending
        awaited = 0
        try:
            while True:
                if following is not None:
                    await following
                    awaited += 1
                    if awaited % _BATCH == 0:
                        # A coroutine that never waits does not give way by itself.
                        await self._pause()
                elif box.closed or box.rest():
                    return
                else:
                    await self._pause()
                following = self._work()
        except GeneratorExit:
            self.abandon()
            raise
        finally:
            box.task = None
            box.busy = False

    async def _pause(self) -> None:
        """Let others have their turn; a cancellation that comes now ends the actor."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError as error:
            _take_back_cancel()
            pending = self._end_by(error)
            if pending is not None:
                await pending

    def _work(self) -> Pending | None:
        """Handle messages until one must be awaited, none is left or the batch is done."""
        box = self._box
        if box.fresh:
            box.fresh = False
            pending = self._begin()
            if pending is not None:
                return pending
        taken = box.taken
        is_stopped = self.actor_stopped.is_set
        for _ in range(_BATCH):
            if is_stopped():
                self._actor_loop_teardown()
                return None
            if not taken:
                taken = box.take_some()
                if not taken:
                    return None
            pending = self._handle(taken.pop())
            if pending is not None:
                return pending
        return None

    def _begin(self) -> Pending | None:
        try:
            result = self.on_start()
        except BaseException as error:
            self._fail_with(error)
            return None
        return self._contain(cast("Pending", result)) if type(result) is CoroutineType else None

    def _handle(self, envelope: Envelope[Any]) -> Pending | None:
        reply_to = envelope.reply_to
        if isinstance(reply_to, Reply) and reply_to.done():
            # The ask was withdrawn.
            return None
        try:
            response = self._handle_receive(envelope.message)
        except BaseException as error:
            try:
                return self._take_failure(envelope, error)
            finally:
                # The error keeps this frame, and the asker's reply keeps the error.
                del envelope, reply_to
        if type(response) is CoroutineType:
            return self._answer_later(envelope, cast("Pending", response))
        if reply_to is not None:
            answer(reply_to, response)
        return None

    async def _answer_later(
        self, envelope: Envelope[Any], response: Coroutine[Any, Any, Any]
    ) -> None:
        box = self._box
        box.current = envelope
        try:
            value = await response
        except GeneratorExit:
            # The loop is going away under a runtime that was never left.
            self.abandon()
            raise
        except BaseException as error:
            _take_back_cancel()
            pending = self._take_failure(envelope, error)
            if pending is not None:
                await pending
        else:
            if envelope.reply_to is not None:
                answer(envelope.reply_to, value)
        finally:
            box.current = None
            del envelope

    def _take_failure(self, envelope: Envelope[Any], error: BaseException) -> Pending | None:
        reply_to = envelope.reply_to
        if not isinstance(error, Exception):
            return self._end_by(error, reply_to)
        if reply_to is not None:
            logger.info("Exception returned from %s to caller:", self, exc_info=error)
            answer_error(reply_to, error)
            return None
        self._fail_with(error)
        try:
            result = self.on_failure(type(error), error, error.__traceback__)
        except BaseException as failure:
            self._fail_with(failure)
            return None
        return self._contain(cast("Pending", result)) if type(result) is CoroutineType else None

    def _end_by(
        self, error: BaseException, reply_to: pykka.Future[Any] | None = None
    ) -> Pending | None:
        """A cancellation or an exit inside a handler ends this actor and no other."""
        logger.warning("%s ends: %r was raised in a handler", self, error, exc_info=error)
        if reply_to is not None:
            dead = ActorDeadError(f"{self} ended while handling the message: {error!r}")
            dead.__cause__ = error
            answer_error(reply_to, dead)
        return cast("Pending | None", self._stop())

    async def _contain(self, hook: Pending) -> None:
        """Await an async hook; its failure is logged and ends the actor."""
        try:
            await hook
        except GeneratorExit:
            raise
        except BaseException as error:
            _take_back_cancel()
            self._fail_with(error)

    def _stop(self) -> Any:
        """Stop without looking at the rest of the mailbox; pykka's hook."""
        self._unregister()
        logger.debug("Stopped %s", self)
        try:
            result = self.on_stop()
        except BaseException as error:
            self._fail_with(error)
            return None
        return self._contain(cast("Pending", result)) if type(result) is CoroutineType else None

    def _fail_with(self, error: BaseException) -> None:
        self._handle_failure(type(error), error, error.__traceback__)

    def _handle_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        logger.error("Unhandled exception in %s:", self, exc_info=exception_value)
        self._unregister()

    def _actor_loop_teardown(self) -> None:
        self._box.close()

    def abandon(self) -> None:
        """End the actor where it stands and answer its askers; loop only.

        For a runtime that is leaving: no hook of the actor is called.
        """
        self._unregister()
        box = self._box
        current = box.current
        box.close()
        if current is not None and current.reply_to is not None:
            error = ActorDeadError(f"{self} was stopped by force while handling the message")
            answer_error(current.reply_to, error)


class _MailboxSteps(WatchedCoroutine[None]):
    """An actor's task, which asyncio cannot end before it began.

    A task that is cancelled before its first step never runs its coroutine, and
    the message it was made for would stay without an answer. So the first step is
    taken all the same, and the cancellation reaches the handler's first wait.
    """

    __slots__ = ()

    def throw(self, typ: Any, val: Any = None, tb: Any = None, /) -> Any:
        if inspect.getcoroutinestate(self._inner) != inspect.CORO_CREATED:
            return super().throw(typ, val, tb)
        awaited = self.send(None)
        task = asyncio.current_task()
        if task is not None:
            task.cancel()
        return awaited


def _take_back_cancel() -> None:
    """Let the task go on to its last hooks after it was cancelled."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
