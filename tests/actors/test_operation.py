"""Operations: started when called, called off until accepted, always answered."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest

from broodline.actors.actor import EventLoopActor
from broodline.actors.cancellation import CancellationToken
from broodline.actors.context import current_system
from broodline.actors.operation import Operation
from broodline.actors.reply import Reply
from broodline.actors.system import ActorSystem
from broodline.messages.errors import (
    ActorDeadError,
    ConfigurationError,
    DeadlockError,
    DeliveryError,
    OperationCancelledError,
)


class Work:
    """An operation that can be held at its gate and writes down how it went."""

    def __init__(self, *, accept_first: bool = False) -> None:
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()
        self.undo = asyncio.Event()
        self.undo.set()
        self.accept_first = accept_first
        self.log: list[str] = []

    async def __call__(self, operation: Operation[str]) -> str:
        self.log.append("begin")
        self.begun.set()
        if self.accept_first:
            operation.accept()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            await self.undo.wait()
            self.log.append("undone")
            raise
        if not self.accept_first:
            operation.accept()
        self.log.append("done")
        return "result"

    def start(self, system: ActorSystem, signal: CancellationToken | None = None) -> Operation[str]:
        async def run(operation: Operation[str]) -> str:
            return await self(operation)

        return system.operate(run, signal=signal, name="work")


async def answer(operation: Operation[int], value: int) -> int:
    """An operation that ends at once."""
    operation.accept()
    return value


async def test_an_operation_starts_without_being_awaited(system: ActorSystem) -> None:
    """DESIGN 2: an operation runs from the call on, whether or not somebody awaits it."""
    work = Work()
    reply = work.start(system)
    await work.begun.wait()
    work.gate.set()
    assert await reply == "result"
    assert reply.done()


async def test_a_coroutine_is_an_operation_too(system: ActorSystem) -> None:
    """DESIGN 2: operate takes a coroutine, or a function with arguments for it."""
    assert await system.operate(asyncio.sleep(0, "slept")) == "slept"
    assert await system.operate(answer, 3) == 3


def test_an_operation_from_another_thread(threaded: ActorSystem) -> None:
    """DESIGN 2: from any thread the operation runs on the loop, the thread waits by result()."""

    async def where(_operation: Operation[int]) -> int:
        return threading.get_ident()

    assert threaded.operate(where).result(timeout=30) != threading.get_ident()


def test_operations_of_one_thread_start_in_order(threaded: ActorSystem) -> None:
    """DESIGN 2: what one thread starts, the loop starts in that order."""
    order: list[int] = []

    async def note(_operation: Operation[None], number: int) -> None:
        order.append(number)

    replies = [threaded.operate(note, number) for number in range(50)]
    for reply in replies:
        reply.get(timeout=30)
    assert order == list(range(50))


async def test_an_exception_arrives_through_the_reply(system: ActorSystem) -> None:
    """DESIGN 2: whatever an operation raises comes out of its reply, never out of the call."""

    async def refuse(_operation: Operation[None]) -> None:
        raise ConfigurationError("no such thing")

    def not_even_a_coroutine(_operation: Operation[None]) -> Any:
        raise KeyError("broken")

    reply = system.operate(refuse)
    with pytest.raises(ConfigurationError, match="no such thing"):
        await reply
    with pytest.raises(KeyError):
        await system.operate(not_even_a_coroutine)
    with pytest.raises(ConfigurationError, match="needs a coroutine"):
        await system.operate(lambda _operation: 3)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
async def test_an_exit_inside_an_operation_goes_to_its_reply_only(
    error: BaseException, system: ActorSystem
) -> None:
    """DESIGN 2: KeyboardInterrupt raised by an operation ends neither loop nor waiter."""

    async def leave(_operation: Operation[None], waits: bool) -> None:
        if waits:
            await asyncio.sleep(0)
            await Reply.failed(error)
        raise error

    for waits in (False, True):
        with pytest.raises(DeliveryError, match="operation leave was ended by") as caught:
            await system.operate(leave, waits, name="leave")
        assert caught.value.__cause__ is error


async def test_cancelling_the_awaiting_task_calls_the_operation_off(system: ActorSystem) -> None:
    """DESIGN 2: before acceptance the operation undoes itself before the waiter goes on."""
    work = Work()
    reply = work.start(system)
    waiter = asyncio.create_task(_await(reply))
    await work.begun.wait()
    await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.wait({waiter})
    assert waiter.cancelled()
    assert work.log == ["begin", "undone"]
    with pytest.raises(OperationCancelledError):
        await reply


async def test_a_second_cancellation_does_not_wait_for_the_undoing(system: ActorSystem) -> None:
    """DESIGN 2: a waiter cancelled again leaves at once; the operation undoes itself alone."""
    work = Work()
    work.undo.clear()
    reply = work.start(system)
    waiter = asyncio.create_task(_await(reply))
    await work.begun.wait()
    waiter.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiter.done()
    waiter.cancel()
    await asyncio.wait({waiter})
    assert work.log == ["begin"]
    work.undo.set()
    with pytest.raises(OperationCancelledError):
        await reply
    assert work.log == ["begin", "undone"]


async def test_after_acceptance_only_the_wait_is_cancelled(system: ActorSystem) -> None:
    """DESIGN 2: an accepted operation goes on when its waiter is cancelled."""
    work = Work(accept_first=True)
    reply = work.start(system)
    waiter = asyncio.create_task(_await(reply))
    await work.begun.wait()
    waiter.cancel()
    await asyncio.wait({waiter})
    assert waiter.cancelled()
    work.gate.set()
    assert await reply == "result"


async def test_one_of_two_waiters_does_not_call_it_off(system: ActorSystem) -> None:
    """DESIGN 2: while another task waits, a cancelled wait is only that; the last one counts."""
    work = Work()
    reply = work.start(system)
    doomed, other = (asyncio.create_task(_await(reply)) for _ in range(2))
    await work.begun.wait()
    await asyncio.sleep(0)
    doomed.cancel()
    await asyncio.wait({doomed})
    work.gate.set()
    assert await other == "result"


async def test_a_fired_signal_keeps_an_operation_from_starting(system: ActorSystem) -> None:
    """service OS-10: the signal is looked at first; nothing of the operation runs."""
    signal = CancellationToken()
    signal.cancel("too late")
    work = Work()
    with pytest.raises(OperationCancelledError) as caught:
        await work.start(system, signal)
    assert caught.value.reason == "too late"
    assert work.log == []
    coroutine = asyncio.sleep(0)
    with pytest.raises(OperationCancelledError):
        await system.operate(coroutine, signal=signal)


@pytest.mark.parametrize("cause", ["reason", ValueError("cause"), None])
async def test_a_signal_calls_an_operation_off(cause: object, system: ActorSystem) -> None:
    """DESIGN 2: a signal that fires before acceptance undoes it; its cause is the answer."""
    signal = CancellationToken()
    work = Work()
    reply = work.start(system, signal)
    await work.begun.wait()
    signal.cancel(cause)
    if isinstance(cause, Exception):
        with pytest.raises(ValueError, match="cause") as raised:
            await reply
        assert raised.value is cause
    else:
        with pytest.raises(OperationCancelledError) as caught:
            await reply
        assert caught.value.reason is cause
    assert work.log == ["begin", "undone"]


async def test_a_signal_before_the_first_step_lets_it_undo_itself(system: ActorSystem) -> None:
    """DESIGN 2: an operation called off before its first step is answered, and nothing runs."""
    signal = CancellationToken()
    work = Work()
    reply = work.start(system, signal)
    signal.cancel("at once")
    with pytest.raises(OperationCancelledError):
        await reply
    assert work.log == []


async def test_a_signal_after_acceptance_does_nothing(system: ActorSystem) -> None:
    """core 18.5 #124: once accepted, the signal is let go and firing it changes nothing."""
    signal = CancellationToken()
    work = Work(accept_first=True)
    reply = work.start(system, signal)
    await work.begun.wait()
    assert signal._callbacks == []  # pyright: ignore[reportPrivateUsage]
    signal.cancel("late")
    work.gate.set()
    assert await reply == "result"


async def test_a_finished_operation_lets_go_of_its_signal(system: ActorSystem) -> None:
    """DESIGN 2: a long-lived signal does not collect the operations it was given to."""
    signal = CancellationToken()
    for number in range(10):
        await system.operate(answer, number, signal=signal)
    await system.operate(asyncio.sleep(0), signal=signal)
    assert signal._callbacks == []  # pyright: ignore[reportPrivateUsage]


def test_a_signal_fired_by_another_thread(threaded: ActorSystem) -> None:
    """DESIGN 2: any thread may fire the signal."""
    signal = CancellationToken()
    work = Work()
    reply = work.start(threaded, signal)
    threaded.operate(work.begun.wait()).get(timeout=30)
    signal.cancel("from outside")
    with pytest.raises(OperationCancelledError):
        reply.get(timeout=30)


def test_cancelling_a_waiter_on_a_foreign_loop_calls_it_off(threaded: ActorSystem) -> None:
    """DESIGN 2: the awaiting task may live on another loop in another thread."""
    work = Work()
    reply = work.start(threaded)
    threaded.operate(work.begun.wait()).get(timeout=30)

    async def give_up() -> None:
        waiter = asyncio.create_task(_await(reply))
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.wait({waiter})
        assert waiter.cancelled()

    asyncio.run(give_up())
    with pytest.raises(OperationCancelledError):
        reply.get(timeout=30)
    assert work.log == ["begin", "undone"]


async def test_accept_refuses_what_was_called_off_meanwhile(system: ActorSystem) -> None:
    """DESIGN 2: an operation that is called off by its own work cannot publish any more."""
    signal = CancellationToken()
    log: list[str] = []

    async def publish(operation: Operation[None]) -> None:
        signal.cancel("changed my mind")
        assert operation.token.cancelled
        try:
            operation.accept()
        except OperationCancelledError:
            await asyncio.sleep(0)
            log.append("undone")
            raise

    with pytest.raises(OperationCancelledError, match="changed my mind"):
        await system.operate(publish, signal=signal)
    assert log == ["undone"]


async def test_the_token_passes_the_cancellation_on(system: ActorSystem) -> None:
    """DESIGN 2: what an operation hands its token to hears of the cause."""
    signal = CancellationToken()
    heard: list[object] = []
    begun = asyncio.Event()

    async def run(operation: Operation[None]) -> None:
        operation.token.on_cancel(heard.append)
        begun.set()
        await asyncio.Event().wait()

    reply = system.operate(run, signal=signal)
    await begun.wait()
    signal.cancel("cause")
    with pytest.raises(OperationCancelledError):
        await reply
    assert heard == ["cause"]


async def test_a_failing_undo_is_the_answer(system: ActorSystem) -> None:
    """DESIGN 2: when undoing fails, the reply carries that failure."""
    signal = CancellationToken()
    begun = asyncio.Event()

    async def run(_operation: Operation[None]) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            raise RuntimeError("undo failed")

    reply = system.operate(run, signal=signal)
    await begun.wait()
    signal.cancel()
    with pytest.raises(RuntimeError, match="undo failed"):
        await reply


async def test_a_cancellation_from_nowhere_is_answered(system: ActorSystem) -> None:
    """DESIGN 2: an operation whose inner task was cancelled answers, without cancelling askers."""

    async def run(_operation: Operation[None]) -> None:
        raise asyncio.CancelledError

    with pytest.raises(OperationCancelledError):
        await system.operate(run)


async def test_context_variables_of_the_caller_are_seen(system: ActorSystem) -> None:
    """DESIGN 2: an operation sees its caller's context variables and its own runtime."""
    name: ContextVar[str] = ContextVar("name", default="")
    name.set("caller")

    async def look(_operation: Operation[Any]) -> Any:
        return name.get(), current_system.get()

    assert await system.operate(look) == ("caller", system)
    async with ActorSystem() as inner:
        assert await system.operate(look) == ("caller", system)
        assert await inner.operate(look) == ("caller", inner)


def test_context_variables_of_a_calling_thread_are_seen(threaded: ActorSystem) -> None:
    """DESIGN 2: the same from another thread, for operate and settle_now."""
    name: ContextVar[str] = ContextVar("name", default="")
    name.set("thread")

    async def look(_operation: Operation[Any]) -> Any:
        return name.get(), current_system.get()

    assert threaded.operate(look).get(timeout=30) == ("thread", threaded)
    assert threaded.settle_now(name.get).get(timeout=30) == "thread"


async def test_settle_now_is_settled_at_once(system: ActorSystem) -> None:
    """DESIGN 2: on the loop a synchronous operation has run when the call returns."""
    reply = system.settle_now(divmod, 7, 2)
    assert reply.done()
    assert reply.get() == (3, 1)
    failed = system.settle_now(divmod, 7, 0)
    with pytest.raises(ZeroDivisionError):
        failed.get()


def test_settle_now_from_another_thread(threaded: ActorSystem) -> None:
    """DESIGN 2: from another thread it runs on the loop; refusals arrive through the reply."""
    assert threaded.settle_now(threading.get_ident).get(timeout=30) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        threaded.settle_now(divmod, 7, 0).get(timeout=30)


async def test_before_entering_and_after_leaving_operations_are_refused() -> None:
    """DESIGN 2: a runtime that is not open answers through the reply; nothing is left over."""
    system = ActorSystem()
    with pytest.raises(ConfigurationError, match="not open"):
        await system.operate(asyncio.sleep(0))
    with pytest.raises(ConfigurationError, match="not open"):
        await system.settle_now(int)
    async with system:
        pass
    for reply in (system.operate(asyncio.sleep(0)), system.operate(answer, 1)):
        with pytest.raises(ActorDeadError) as caught:
            await reply
        assert caught.value.code == "RUNTIME_CLOSED"
    with pytest.raises(ActorDeadError):
        await system.settle_now(int)


def test_operations_that_race_with_closing_are_answered() -> None:
    """DESIGN 2: every operation another thread starts around the close gets an answer."""
    for _ in range(20):
        replies: list[Reply[Any]] = []
        start = threading.Barrier(2)

        with ActorSystem() as system:

            def keep_asking(
                system: ActorSystem = system,
                replies: list[Reply[Any]] = replies,
                start: threading.Barrier = start,
            ) -> None:
                start.wait()
                for number in range(100):
                    replies.append(system.operate(answer, number))
                    replies.append(system.settle_now(int))

            asker = threading.Thread(target=keep_asking)
            asker.start()
            start.wait()
        asker.join()
        for reply in replies:
            try:
                reply.get(timeout=30)
            except (ActorDeadError, OperationCancelledError):
                pass
        assert len(replies) == 200


async def test_an_operation_handed_in_at_the_last_moment_is_refused() -> None:
    """DESIGN 2: what another thread hands in while the last actor stops does not start any more."""
    replies: list[Reply[Any]] = []
    ran: list[str] = []

    async def work(_operation: Operation[None]) -> None:
        ran.append("operation")

    class Last(EventLoopActor):
        def on_stop(self) -> None:
            def hand_in() -> None:
                replies.append(system.operate(work))
                replies.append(system.settle_now(ran.append, "settle"))

            thread = threading.Thread(target=hand_in)
            thread.start()
            thread.join()

    async with ActorSystem() as system:
        system.start_actor(Last)
    for _ in range(3):
        await asyncio.sleep(0)
    for reply in replies:
        with pytest.raises(ActorDeadError) as caught:
            reply.get()
        assert caught.value.code == "RUNTIME_CLOSED"
    assert len(replies) == 2
    assert ran == []


def test_a_thread_without_a_runtime_starts_actors_through_one(threaded: ActorSystem) -> None:
    """DESIGN 2: what a foreign thread hands in runs with the runtime as the current one."""
    refs: list[Any] = []

    def hand_in() -> None:
        refs.append(threaded.settle_now(EventLoopActor.start).get(timeout=30))

    thread = threading.Thread(target=hand_in)
    thread.start()
    thread.join()
    assert refs[0].actor_urn in threaded.actors


async def test_a_finished_operation_leaves_no_cycle(system: ActorSystem) -> None:
    """DESIGN 2: an operation is freed with its last reference, without the collector."""
    import gc
    import weakref

    gc.collect()
    gc.disable()
    try:
        operation = system.operate(answer, 1)
        kept = weakref.ref(operation)
        assert await operation == 1
        del operation
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert kept() is None
    finally:
        gc.enable()


async def test_wait_takes_any_pykka_future(system: ActorSystem) -> None:
    """DESIGN 2: runtime.wait awaits a foreign pykka future in a thread, a reply directly."""
    import pykka

    foreign: pykka.ThreadingFuture[int] = pykka.ThreadingFuture()
    waiting = system.wait(foreign)
    foreign.set(4)
    assert await waiting == 4
    assert await system.wait(Reply.of(5)) == 5


async def test_operations_that_await_each_other_are_a_cycle(system: ActorSystem) -> None:
    """DESIGN 2: an operation that awaits its own reply is refused, and names itself."""

    async def run(operation: Operation[None]) -> None:
        await operation

    with pytest.raises(DeadlockError, match="operation own tail -> operation own tail"):
        await system.operate(run, name="own tail")


async def test_an_actor_waiting_for_an_operation_that_asks_it_is_a_cycle(
    system: ActorSystem,
) -> None:
    """DESIGN 2: cycles through operations are found as well."""

    class Asking(EventLoopActor):
        async def on_receive(self, message: Any) -> Any:
            async def ask_back(_operation: Operation[Any]) -> Any:
                return await self.actor_ref.ask("back", block=False)

            return await system.operate(ask_back, name="ask back")

    with pytest.raises(DeadlockError, match="operation ask back"):
        await Asking.start().ask("go", block=False)


async def _await(reply: Reply[Any]) -> Any:
    return await reply
