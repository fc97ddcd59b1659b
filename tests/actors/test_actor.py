"""An actor's life on the loop: pykka's rows A1 to A19, and where we differ."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import pykka
import pytest
from pykka._envelope import Envelope

from broodline.actors.actor import EventLoopActor
from broodline.actors.context import current_actor, current_system
from broodline.actors.letterbox import Letterbox
from broodline.actors.system import ActorSystem
from broodline.messages.errors import ActorDeadError, ConfigurationError, MailboxFullError


class Recorder(EventLoopActor):
    """Writes down what happens to it; a message that is callable is called."""

    def __init__(self, log: list[Any] | None = None) -> None:
        super().__init__()
        self.log: list[Any] = [] if log is None else log

    def on_start(self) -> Any:
        self.log.append("start")

    def on_stop(self) -> Any:
        self.log.append("stop")

    def on_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> Any:
        self.log.append(("failure", exception_type, str(exception_value), traceback is not None))

    def on_receive(self, message: Any) -> Any:
        if callable(message):
            return message()
        self.log.append(message)
        return message


class AsyncRecorder(Recorder):
    """The same with async hooks and handler; a message that is an event is awaited."""

    async def on_start(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        self.log.append("start")

    async def on_stop(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        self.log.append("stop")

    async def on_failure(self, *exc_info: Any) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        self.log.append(("failure", exc_info[0], str(exc_info[1]), exc_info[2] is not None))

    async def on_receive(self, message: Any) -> Any:
        if isinstance(message, asyncio.Event):
            await message.wait()
            return "woken"
        await asyncio.sleep(0)
        return super().on_receive(message)


async def until(condition: Callable[[], object]) -> None:
    """Let ready callbacks run until `condition` holds."""
    while not condition():
        await asyncio.sleep(0)


BOTH = pytest.mark.parametrize("kind", [Recorder, AsyncRecorder])


def fail() -> None:
    """A message that fails."""
    raise ValueError("broken")


def cancelled() -> None:
    """A message that raises what a cancelled task raises."""
    raise asyncio.CancelledError


def interrupted() -> None:
    """A message that raises what Ctrl-C raises."""
    raise KeyboardInterrupt


async def test_start_passes_arguments_and_returns_a_live_ref(system: ActorSystem) -> None:
    """DESIGN 2, pykka A1: start hands its arguments to __init__ and returns the actor's ref."""
    log: list[Any] = []
    ref = Recorder.start(log=log)
    assert isinstance(ref, pykka.ActorRef)
    assert ref.is_alive()
    assert await ref.ask("hello", block=False) == "hello"
    assert log == ["start", "hello"]


def test_init_runs_in_the_starting_thread_and_handlers_on_the_loop(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka A2: __init__ runs where start is called, hooks and handlers on the loop."""

    class Where(EventLoopActor):
        def __init__(self) -> None:
            super().__init__()
            self.made_in = threading.get_ident()

        def on_start(self) -> None:
            self.started_in = threading.get_ident()

        def on_receive(self, message: Any) -> Any:
            return self.made_in, self.started_in, threading.get_ident()

    made_in, started_in, handled_in = Where.start().ask(None)
    assert made_in == threading.get_ident()
    assert started_in == handled_in != made_in


async def test_init_can_use_urn_inbox_and_ref(system: ActorSystem) -> None:
    """DESIGN 2, pykka A3: after super().__init__() urn, inbox and ref are there to use."""

    class Early(Recorder):
        def __init__(self) -> None:
            super().__init__()
            self.seen = (self.actor_urn, self.actor_inbox, self.actor_ref)
            self.actor_ref.tell("from init")

    ref = Early.start()
    urn, inbox, own = await ref.ask(lambda: ref.actor and ref.actor.seen, block=False)
    assert (urn, inbox, own) == (ref.actor_urn, ref.actor_inbox, ref)


async def test_a_message_told_in_init_is_handled_after_on_start(system: ActorSystem) -> None:
    """DESIGN 2, pykka A19: what __init__ tells itself waits for on_start."""

    class Early(Recorder):
        def __init__(self, log: list[Any]) -> None:
            super().__init__(log)
            self.actor_ref.tell("from init")

    log: list[Any] = []
    await Early.start(log).ask("later", block=False)
    assert log == ["start", "from init", "later"]


async def test_init_without_super_is_refused(system: ActorSystem) -> None:
    """DESIGN 2, pykka A3: an __init__ that does not call super's is a ConfigurationError."""

    class Forgetful(EventLoopActor):
        def __init__(self) -> None:
            pass

    with pytest.raises(ConfigurationError, match=r"super\(\).__init__"):
        Forgetful.start()


async def test_start_registers_with_its_own_runtime_only(system: ActorSystem) -> None:
    """DESIGN 2, pykka A4: a live actor is in runtime.actors and never in pykka's registry."""
    ref = Recorder.start()
    assert system.actors == {ref.actor_urn: ref}
    assert pykka.ActorRegistry.get_all() == []
    await ref.stop(block=False)
    assert system.actors == {}


@pytest.mark.parametrize("outside", [Recorder.start, Recorder])
def test_outside_a_runtime_no_actor_can_be_made(outside: Any) -> None:
    """DESIGN 2: SomeActor.start() outside a runtime is a ConfigurationError with the way out."""
    with pytest.raises(ConfigurationError, match=r"runtime\.start_actor"):
        outside()


async def test_an_async_handler_is_worked_off_to_its_end(system: ActorSystem) -> None:
    """DESIGN 2, pykka A5: while an async handler waits, the next message waits too."""
    ref = AsyncRecorder.start()
    gate = asyncio.Event()
    first = ref.ask(gate, block=False)
    second = ref.ask("second", block=False)
    for _ in range(10):
        await asyncio.sleep(0)
    assert not second.done()
    gate.set()
    assert [await first, await second] == ["woken", "second"]


@BOTH
async def test_everything_goes_through_one_queue(kind: type[Recorder], system: ActorSystem) -> None:
    """DESIGN 2, pykka A6: tell, ask, proxy call, defer and stop are handled in sending order."""
    log: list[Any] = []
    ref = kind.start(log)
    proxy = ref.proxy()
    ref.tell(1)
    ref.ask(2, block=False)
    proxy.on_receive(3)
    proxy.on_receive.defer(4)
    ref.tell(5)
    assert await ref.stop(block=False)
    assert log == ["start", 1, 2, 3, 4, 5, "stop"]


@BOTH
async def test_a_burst_longer_than_a_batch_keeps_its_order(
    kind: type[Recorder], system: ActorSystem
) -> None:
    """DESIGN 2, pykka A6: order holds over many batches of one burst."""
    log: list[Any] = []
    ref = kind.start(log)
    for number in range(500):
        ref.tell(number)
    await ref.stop(block=False)
    assert log == ["start", *range(500), "stop"]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_busy_actor_lets_others_in(asynchronous: bool, system: ActorSystem) -> None:
    """DESIGN 2: an actor that sends itself message after message does not hold the loop."""

    class Restless(EventLoopActor):
        def on_receive(self, message: Any) -> None:
            self.actor_ref.tell(message)

    class AsyncRestless(EventLoopActor):
        async def on_receive(self, message: Any) -> None:
            self.actor_ref.tell(message)

    restless = (AsyncRestless if asynchronous else Restless).start()
    restless.tell("again")
    assert await Recorder.start().ask("quick", block=False) == "quick"
    assert await restless.stop(block=False)


@BOTH
async def test_on_start_comes_before_the_first_message(
    kind: type[Recorder], system: ActorSystem
) -> None:
    """DESIGN 2, pykka A7: on_start has ended before the first message is handled."""
    log: list[Any] = []
    await kind.start(log).ask("first", block=False)
    assert log == ["start", "first"]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("error", [ValueError("no"), asyncio.CancelledError()])
async def test_a_failing_on_start_stops_the_actor(
    asynchronous: bool,
    error: BaseException,
    system: ActorSystem,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DESIGN 2, pykka A8: on_start fails, so the actor stops, is logged and calls no other hook."""
    log: list[Any] = []

    class Plain(Recorder):
        def on_start(self) -> Any:
            raise error

    class Async(Recorder):
        async def on_start(self) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            raise error

    ref = (Async if asynchronous else Plain).start(log)
    waiting = ref.ask("never", block=False)
    with pytest.raises(ActorDeadError, match="stopped before handling"):
        await waiting
    assert not ref.is_alive()
    assert log == []
    assert "Unhandled exception in" in caplog.text


@BOTH
async def test_stop_handles_what_came_before_and_refuses_what_came_after(
    kind: type[Recorder], system: ActorSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2, pykka A9: asks behind a stop are answered, tells are logged and counted."""
    log: list[Any] = []
    ref = kind.start(log)
    ref.tell("before")
    stopped = ref.stop(block=False)
    behind = ref.ask("behind", block=False)
    ref.tell("lost")
    ref.tell("lost too")
    again = ref.stop(block=False)
    assert await stopped
    with pytest.raises(pykka.ActorDeadError):
        await behind
    assert await again is True
    assert log == ["start", "before", "stop"]
    assert system.statistics().dead_letters == 2
    assert "2 told message(s)" in caplog.text


async def test_an_actor_is_dead_while_on_stop_runs(system: ActorSystem) -> None:
    """DESIGN 2, pykka A9: the flag is up before on_stop, so nothing new gets in."""
    seen: list[bool] = []

    class Last(EventLoopActor):
        def on_stop(self) -> None:
            seen.append(self.actor_ref.is_alive())

    ref = Last.start()
    await ref.stop(block=False)
    assert seen == [False]
    assert ref.actor_stopped.is_set()


@pytest.mark.parametrize("error", [ValueError("late"), asyncio.CancelledError()])
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_failing_on_stop_is_logged_and_the_stop_succeeds(
    asynchronous: bool,
    error: BaseException,
    system: ActorSystem,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DESIGN 2, pykka A10: a failure in on_stop is logged; the actor has stopped all the same."""

    class Plain(EventLoopActor):
        def on_stop(self) -> Any:
            raise error

    class Async(EventLoopActor):
        async def on_stop(self) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            raise error

    assert await (Async if asynchronous else Plain).start().stop(block=False) is True
    assert "Unhandled exception in" in caplog.text


@BOTH
async def test_a_failing_ask_answers_and_the_actor_lives(
    kind: type[Recorder], system: ActorSystem
) -> None:
    """DESIGN 2, pykka A11: the asker gets the exception, the actor handles the next message."""
    log: list[Any] = []
    ref = kind.start(log)
    with pytest.raises(ValueError, match="broken"):
        await ref.ask(fail, block=False)
    assert await ref.ask("next", block=False) == "next"
    assert log == ["start", "next"]


@BOTH
async def test_a_failing_tell_ends_the_actor_after_on_failure(
    kind: type[Recorder], system: ActorSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2, pykka A12: on_failure is called, on_stop is not, waiting asks are answered."""
    log: list[Any] = []
    ref = kind.start(log)
    ref.tell(fail)
    with pytest.raises(ActorDeadError):
        await ref.ask("never", block=False)
    assert log == ["start", ("failure", ValueError, "broken", True)]
    assert not ref.is_alive()
    assert "Unhandled exception in" in caplog.text


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("error", [ValueError("worse"), asyncio.CancelledError()])
async def test_a_failing_on_failure_is_logged(
    asynchronous: bool,
    error: BaseException,
    system: ActorSystem,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DESIGN 2, pykka A13: on_failure may fail too; it is logged and the actor ends."""

    class Plain(Recorder):
        def on_failure(  # pyright: ignore[reportIncompatibleMethodOverride]
            self, *exc_info: Any
        ) -> Any:
            raise error

    class Async(Recorder):
        async def on_failure(self, *exc_info: Any) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            raise error

    ref = (Async if asynchronous else Plain).start()
    ref.tell(fail)
    with pytest.raises(ActorDeadError):
        await ref.ask("never", block=False)
    assert caplog.text.count("Unhandled exception in") == 2


@BOTH
@pytest.mark.parametrize("message", [cancelled, interrupted])
async def test_a_base_exception_ends_this_actor_only(
    kind: type[Recorder], message: Any, system: ActorSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2, pykka A14: the asker gets ActorDeadError with the cause, others live on."""
    log: list[Any] = []
    ref, other = kind.start(log), kind.start()
    with pytest.raises(ActorDeadError, match="ended while handling") as caught:
        await ref.ask(message, block=False)
    assert isinstance(caught.value.__cause__, asyncio.CancelledError | KeyboardInterrupt)
    with pytest.raises(ActorDeadError):
        await ref.ask("never", block=False)
    await until(lambda: "stop" in log)
    assert log == ["start", "stop"]
    assert await other.ask("fine", block=False) == "fine"
    assert "was raised in a handler" in caplog.text


async def test_a_told_base_exception_ends_this_actor_only(system: ActorSystem) -> None:
    """DESIGN 2, pykka A14: the same for a tell; on_stop is called, on_failure is not."""
    log: list[Any] = []
    ref = Recorder.start(log)
    ref.tell(interrupted)
    with pytest.raises(ActorDeadError):
        await ref.ask("never", block=False)
    assert log == ["start", "stop"]


async def test_a_task_cancelled_inside_an_actor_ends_that_actor_only(system: ActorSystem) -> None:
    """DESIGN 2, pykka A14: awaiting a task that somebody cancelled does not cancel the asker."""

    class Waiting(EventLoopActor):
        async def on_receive(self, message: asyncio.Task[None]) -> None:
            await message

    async def forever() -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(forever())
    reply = Waiting.start().ask(task, block=False)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(ActorDeadError):
        await reply


async def test_cancelling_an_actors_task_before_its_first_step_answers_the_asker(
    system: ActorSystem,
) -> None:
    """DESIGN 2, pykka A14: an actor whose task never got to run still answers and stops."""

    class Counting(AsyncRecorder):
        async def on_stop(self) -> None:  # type: ignore[override]
            task = asyncio.current_task()
            self.log.append(("stop", task is not None and task.cancelling()))

    log: list[Any] = []
    ref = Counting.start(log)
    await ref.ask("up", block=False)
    box = ref.actor_inbox
    assert isinstance(box, Letterbox)
    await until(lambda: box.task is None)
    reply = ref.ask(asyncio.Event(), block=False)
    await until(lambda: box.task is not None)
    assert box.task is not None
    box.task.cancel()
    with pytest.raises(ActorDeadError):
        await reply
    await until(lambda: box.closed)
    assert log == ["start", "up", ("stop", 0)]


async def test_cancelling_a_busy_actors_task_between_messages_ends_it(
    system: ActorSystem,
) -> None:
    """DESIGN 2, pykka A14: a cancellation that meets no handler still ends the actor in order."""

    class Restless(AsyncRecorder):
        async def on_receive(self, message: Any) -> Any:
            self.actor_ref.tell(message)

    log: list[Any] = []
    ref = Restless.start(log)
    ref.tell("again")
    box = ref.actor_inbox
    assert isinstance(box, Letterbox)
    await until(lambda: box.task is not None and "start" in log)
    assert box.task is not None
    box.task.cancel()
    await until(lambda: box.closed)
    assert log == ["start", "stop"]


@pytest.mark.parametrize("message", ["fine", fail, cancelled])
async def test_foreign_futures_are_answered_too(message: Any, system: ActorSystem) -> None:
    """DESIGN 2: an envelope with another kind of pykka future gets its answer as well."""
    ref = AsyncRecorder.start()
    future: pykka.ThreadingFuture[Any] = pykka.ThreadingFuture()
    settled: pykka.ThreadingFuture[Any] = pykka.ThreadingFuture()
    settled.set("by somebody else")
    for asked in (settled, future):
        ref.actor_inbox.put(Envelope(message, asked))
        await until(lambda: ref.actor_inbox.empty() and not system.tasks())
    if message == "fine":
        assert future.get(timeout=0) == "fine"
    else:
        with pytest.raises((ValueError, ActorDeadError)):
            future.get(timeout=0)
    assert settled.get(timeout=0) == "by somebody else"


def test_an_actor_whose_loop_goes_away_answers_its_askers() -> None:
    """DESIGN 2: when the loop of a runtime never left drops a task, its asker is answered."""
    replies: list[Any] = []

    def forget_to_leave() -> None:
        loop = asyncio.new_event_loop()
        system = ActorSystem()

        async def enter() -> None:
            await system.open_here()
            ref = system.start_actor(AsyncRecorder)
            replies.append(ref.ask(asyncio.Event(), block=False))
            replies.append(ref.ask("behind", block=False))
            box = ref.actor_inbox
            assert isinstance(box, Letterbox)
            await until(lambda: box.current is not None)
            replies.append(box.task)

        loop.run_until_complete(enter())
        task = replies.pop()
        task._log_destroy_pending = False
        task.get_coro().close()
        loop.close()

    thread = threading.Thread(target=forget_to_leave)
    thread.start()
    thread.join()
    for reply in replies:
        with pytest.raises(ActorDeadError):
            reply.get(timeout=30)


async def test_on_receive_is_optional(
    system: ActorSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2, pykka A15: without on_receive a message is logged and answered with None."""
    ref = EventLoopActor.start()
    assert await ref.ask({"some": "message"}, block=False) is None
    assert "Unexpected message received by EventLoopActor" in caplog.text


async def test_an_actor_stops_itself_behind_its_waiting_messages(system: ActorSystem) -> None:
    """DESIGN 2, pykka A16: actor.stop() is a stop message to itself, like any other."""
    log: list[Any] = []
    ref = Recorder.start(log)
    actor = ref.actor
    assert actor is not None
    assert str(actor) == f"Recorder ({ref.actor_urn})"
    ref.tell(actor.stop)
    ref.tell("still handled")
    assert await ref.stop(block=False) is True
    assert log == ["start", "still handled", "stop"]


async def test_a_stopped_actor_stays_stopped(system: ActorSystem) -> None:
    """DESIGN 2, pykka A17: an actor is not restarted; its ref stays dead."""
    ref = Recorder.start()
    assert await ref.stop(block=False) is True
    assert await ref.stop(block=False) is False
    with pytest.raises(ActorDeadError, match="not found"):
        ref.tell("too late")


async def test_the_stop_flag_is_as_much_of_an_event_as_pykka_asks_for(system: ActorSystem) -> None:
    """DESIGN 2, pykka A18: actor_stopped has is_set() and set()."""
    ref = Recorder.start()
    assert ref.actor_stopped.is_set() is False
    await ref.stop(block=False)
    assert ref.actor_stopped.is_set() is True


async def test_a_bounded_inbox_refuses_what_is_too_much(system: ActorSystem) -> None:
    """DESIGN 2, pykka A20: with max_inbox a tell raises MailboxFullError, an ask answers it."""

    class Bounded(AsyncRecorder):
        max_inbox = 2

    log: list[Any] = []
    ref = Bounded.start(log)
    gate = asyncio.Event()
    await ref.ask("up", block=False)
    busy = ref.ask(gate, block=False)
    await until(ref.actor_inbox.empty)
    ref.tell(1)
    ref.tell(2)
    with pytest.raises(MailboxFullError, match="2 messages are waiting"):
        ref.tell(3)
    with pytest.raises(MailboxFullError) as caught:
        await ref.ask(4, block=False)
    assert caught.value.retryable
    stopped = ref.stop(block=False)
    gate.set()
    assert await busy == "woken"
    assert await stopped is True
    assert log == ["start", "up", 1, 2, "stop"]


async def test_a_bound_counts_what_was_taken_but_not_handled(system: ActorSystem) -> None:
    """DESIGN 2, pykka A20: messages of a batch under way still count against max_inbox."""

    class Bounded(AsyncRecorder):
        max_inbox = 3

    ref = Bounded.start()
    gate = asyncio.Event()
    ref.tell(gate)
    ref.tell(1)
    ref.tell(2)
    box = ref.actor_inbox
    assert isinstance(box, Letterbox)
    await until(lambda: box.current is not None)
    assert len(box.items) == 0
    ref.tell(3)
    with pytest.raises(MailboxFullError):
        ref.tell(4)
    gate.set()
    assert await ref.stop(block=False)


def test_a_bound_holds_against_many_threads(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka A20: threads that fill a bounded inbox at once get exactly its places."""

    class Bounded(AsyncRecorder):
        max_inbox = 50

    ref = Bounded.start()
    gate = threaded.operate(_new_event).get(timeout=30)
    blocked = ref.ask(gate, block=False)
    threaded.operate(until(ref.actor_inbox.empty)).get(timeout=30)
    start = threading.Barrier(8)
    full: list[int] = []

    def fill() -> None:
        start.wait()
        for _ in range(50):
            try:
                ref.tell("x")
            except MailboxFullError:
                full.append(1)

    threads = [threading.Thread(target=fill) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(full) == 8 * 50 - 50
    threaded.call(gate.set)
    assert blocked.get(timeout=30) == "woken"


async def _new_event(_operation: Any) -> asyncio.Event:
    return asyncio.Event()


async def test_a_handler_knows_its_actor_and_runtime(system: ActorSystem) -> None:
    """DESIGN 2: in a handler current_system and current_actor are its own, so start() works."""

    class Parent(EventLoopActor):
        def on_receive(self, message: Any) -> Any:
            return current_system.get() is system, current_actor.get() is self, Recorder.start()

        async def later(self) -> Any:
            await asyncio.sleep(0)
            return current_system.get() is system, current_actor.get() is self

    ref = Parent.start()
    right_system, right_actor, child = await ref.ask("go", block=False)
    assert right_system
    assert right_actor
    assert system.actors[child.actor_urn] is child
    assert await ref.proxy().later() == (True, True)
    assert current_actor.get() is None


async def test_context_variables_of_a_handler_do_not_reach_other_actors(
    system: ActorSystem,
) -> None:
    """DESIGN 2: what a handler sets in a context variable is seen by no other actor."""
    from contextvars import ContextVar

    secret: ContextVar[str] = ContextVar("secret", default="nothing")
    first, second = Recorder.start(), Recorder.start()
    await first.ask(lambda: secret.set("mine"), block=False)
    assert await second.ask(secret.get, block=False) == "nothing"


async def test_a_plain_handler_may_return_a_coroutine(system: ActorSystem) -> None:
    """DESIGN 2: a coroutine that a plain handler returns is awaited like an async handler."""
    ref = Recorder.start()
    assert await ref.ask(lambda: asyncio.sleep(0, "slept"), block=False) == "slept"


async def test_a_stopped_actor_is_freed_though_its_ref_is_kept(system: ActorSystem) -> None:
    """DESIGN 2: a kept ref does not keep the dead actor, and no cycle does."""
    import gc
    import weakref

    gc.collect()
    gc.disable()
    try:
        ref = Recorder.start()
        actor = weakref.ref(ref.actor or ref)
        await ref.ask("work", block=False)
        await ref.stop(block=False)
        await asyncio.sleep(0)
        assert actor() is None
    finally:
        gc.enable()


@BOTH
async def test_a_failed_ask_leaves_no_cycle(kind: type[Recorder], system: ActorSystem) -> None:
    """DESIGN 2: a reply that holds an exception is freed at once, with its traceback."""
    import gc
    import weakref

    ref = kind.start()
    gc.collect()
    gc.disable()
    try:
        reply = ref.ask(fail, block=False)
        kept = weakref.ref(reply)
        await until(reply.done)
        assert isinstance(reply.error(), ValueError)
        del reply
        await asyncio.sleep(0)
        assert kept() is None
    finally:
        gc.enable()


async def test_ten_thousand_actors_start_and_stop(system: ActorSystem) -> None:
    """DESIGN 2: ten thousand actors live in one runtime and are stopped one by one."""
    refs = [Recorder.start() for _ in range(10_000)]
    assert await refs[-1].ask("up", block=False) == "up"
    assert system.statistics().actors == 10_000
    assert all([await stop for stop in [ref.stop(block=False) for ref in refs]])
    assert system.statistics().actors == 0


@pytest.mark.parametrize("level", [logging.INFO])
async def test_an_exception_for_an_asker_is_also_logged(
    level: int, system: ActorSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2, pykka A11: what goes back to an asker is logged at info."""
    with caplog.at_level(level), pytest.raises(ValueError, match="broken"):
        await Recorder.start().ask(fail, block=False)
    assert "to caller" in caplog.text
