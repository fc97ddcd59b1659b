"""Entering, running and leaving a runtime."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from typing import Any

import pytest

from broodline.actors.actor import EventLoopActor
from broodline.actors.context import current_system
from broodline.actors.executor import InlineExecutor
from broodline.actors.operation import Operation
from broodline.actors.system import ActorSystem
from broodline.messages.errors import (
    ActorDeadError,
    ConfigurationError,
    OperationCancelledError,
)


class Plain(EventLoopActor):
    """Answers with what it gets."""

    def on_receive(self, message: Any) -> Any:
        return message


class Stopping(EventLoopActor):
    """Writes its name down when it stops."""

    def __init__(self, name: str, log: list[str], gate: asyncio.Event | None = None) -> None:
        super().__init__()
        self.name, self.log, self.gate = name, log, gate

    async def on_stop(self) -> None:  # type: ignore[override]
        if self.gate is not None:
            await self.gate.wait()
        self.log.append(self.name)


class Stubborn(EventLoopActor):
    """Waits for an event that never comes, whoever cancels it, until it is let go."""

    def __init__(self, let_go: asyncio.Event) -> None:
        super().__init__()
        self.let_go = let_go

    async def on_receive(self, message: Any) -> None:
        while not self.let_go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.let_go.wait()


class Hooked(ActorSystem):
    """A runtime that notes when its hooks run."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.log: list[Any] = []
        self.fail_open: BaseException | None = None
        self.fail_close: BaseException | None = None

    async def _open(self) -> None:
        self.log.append(("open", current_system.get() is self, self.on_loop()))
        if self.fail_open is not None:
            raise self.fail_open

    async def _close(self) -> None:
        self.log.append(("close", current_system.get() is self, len(self.actors)))
        if self.fail_close is not None:
            raise self.fail_close


async def enter_and_leave(
    system: ActorSystem, threaded_form: bool, log: list[str] | None = None
) -> None:
    """Enter in one of the two forms, start an actor, leave."""
    if threaded_form:
        with system:
            system.start_actor(Stopping, "actor", [] if log is None else log)
    else:
        async with system:
            system.start_actor(Stopping, "actor", [] if log is None else log)


async def test_the_running_loop_is_used() -> None:
    """DESIGN 2: `async with` uses the running loop and starts no thread."""
    threads = threading.enumerate()
    async with ActorSystem() as system:
        assert system.loop is asyncio.get_running_loop()
        assert system.on_loop()
        assert threading.enumerate() == threads
    assert not system.on_loop()


def test_a_thread_of_its_own_is_used() -> None:
    """DESIGN 2: `with` runs a loop in a new thread, and leaves neither thread nor open loop."""
    before = threading.enumerate()
    with ActorSystem() as system:
        assert len(threading.enumerate()) == len(before) + 1
        assert not system.on_loop()
        assert system.settle_now(system.on_loop).get(timeout=30)
        assert Plain.start().ask("hello") == "hello"
    assert threading.enumerate() == before
    assert system.loop.is_closed()


async def test_current_system_is_set_only_inside() -> None:
    """DESIGN 2: SomeActor.start() works between entering and leaving, in this task."""
    assert current_system.get() is None
    async with ActorSystem() as system:
        assert current_system.get() is system
    assert current_system.get() is None
    with pytest.raises(ConfigurationError):
        Plain.start()


@pytest.mark.parametrize("when", ["inside", "after"])
async def test_a_second_entry_is_refused(when: str) -> None:
    """DESIGN 2: a runtime is entered once; the text says what to do."""
    system = ActorSystem()
    async with system:
        if when == "inside":
            with pytest.raises(ConfigurationError, match="can be entered once"):
                await system.__aenter__()
            with pytest.raises(ConfigurationError, match="make a new one"):
                system.__enter__()
            assert await Plain.start().ask("still open", block=False) == "still open"
    with pytest.raises(ConfigurationError, match="can be entered once"):
        async with system:
            pass


def test_a_second_entry_of_the_threaded_form_is_refused() -> None:
    """DESIGN 2: the same for `with`; the first entry goes on working."""
    with ActorSystem() as system:
        with pytest.raises(ConfigurationError, match="can be entered once"), system:
            pass
        with pytest.raises(ConfigurationError, match="can be entered once"):
            asyncio.run(enter_and_leave(system, threaded_form=False))
        assert Plain.start().ask(1) == 1
    with pytest.raises(ConfigurationError, match="can be entered once"), system:
        pass


def test_two_runtimes_side_by_side_do_not_see_each_other() -> None:
    """DESIGN 2: runtimes of one process share no actors, and the inner one is current."""
    with ActorSystem() as first:
        mine = Plain.start()
        with ActorSystem() as second:
            yours = Plain.start()
            assert list(first.actors) == [mine.actor_urn]
            assert list(second.actors) == [yours.actor_urn]
        assert not yours.is_alive()
        assert mine.ask("x") == "x"
        assert current_system.get() is first


async def test_an_actor_of_one_runtime_may_ask_one_of_another() -> None:
    """DESIGN 2: asks cross runtimes and threads, and answers come back to the asker's loop."""
    async with ActorSystem() as here:
        there = ActorSystem()
        there.__enter__()
        try:
            far = there.start_actor(Plain)

            class Asking(EventLoopActor):
                async def on_receive(self, message: Any) -> Any:
                    answer = await far.ask(message, block=False)
                    return answer, threading.get_ident()

            near = here.start_actor(Asking)
            assert await near.ask("x", block=False) == ("x", threading.get_ident())
        finally:
            there.__exit__(None, None, None)


def test_start_actor_works_anywhere(threaded: ActorSystem) -> None:
    """DESIGN 2: start_actor starts in its runtime from threads that know no runtime."""
    refs: list[Any] = []
    thread = threading.Thread(target=lambda: refs.append(threaded.start_actor(Plain)))
    thread.start()
    thread.join()
    assert refs[0].ask("x") == "x"
    assert refs[0].actor_urn in threaded.actors


def test_start_actor_outside_is_refused() -> None:
    """DESIGN 2: before entering and after leaving no actor starts, and none is kept."""
    system = ActorSystem()
    with pytest.raises(ConfigurationError, match="runtime is new"):
        system.start_actor(Plain)
    with system:
        pass
    with pytest.raises(ConfigurationError, match="runtime is closed"):
        system.start_actor(Plain)
    assert system.actors == {}


async def test_the_hooks_of_a_subclass_run_on_the_loop() -> None:
    """DESIGN 2: _open runs when entering, _close while the actors still live."""
    async with Hooked() as system:
        Plain.start()
    assert system.log == [("open", True, True), ("close", True, 1)]


@pytest.mark.parametrize("threaded_form", [False, True])
async def test_a_failing_open_leaves_nothing_and_is_raised(threaded_form: bool) -> None:
    """DESIGN 2: when _open fails, entering raises it and everything is closed again."""
    system = Hooked()
    system.fail_open = ValueError("cannot open")
    with pytest.raises(ValueError, match="cannot open"):
        await enter_and_leave(system, threaded_form)
    assert system.state == "closed"
    assert current_system.get() is None


@pytest.mark.parametrize("threaded_form", [False, True])
@pytest.mark.parametrize("error", [ValueError("drain failed"), KeyboardInterrupt()])
async def test_a_failing_close_is_raised_after_everything_stopped(
    threaded_form: bool, error: BaseException
) -> None:
    """DESIGN 2: what _close raises comes out of leaving, once all actors are stopped."""
    system = Hooked()
    system.fail_close = error
    log: list[str] = []
    with pytest.raises((ValueError, RuntimeError), match=r"drain failed|KeyboardInterrupt"):
        await enter_and_leave(system, threaded_form, log)
    assert log == ["actor"]
    assert system.actors == {}


async def test_leaving_stops_the_last_started_first() -> None:
    """DESIGN 2: actors stop in the reverse order of their start, each to its end."""
    log: list[str] = []
    gate = asyncio.Event()
    async with ActorSystem() as system:
        system.start_actor(Stopping, "first", log)
        system.start_actor(Stopping, "slow", log, gate)
        system.start_actor(Stopping, "last", log)
        asyncio.get_running_loop().call_soon(gate.set)
    assert log == ["last", "slow", "first"]
    assert system.unstopped == ()


async def test_leaving_handles_what_was_sent_before() -> None:
    """DESIGN 2: leaving drains: messages already sent are handled before the actors stop."""
    async with ActorSystem():
        replies = [Plain.start().ask(number, block=False) for number in range(10)]
    assert [reply.get() for reply in replies] == list(range(10))


async def test_an_actor_that_takes_too_long_is_stopped_by_force(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DESIGN 2: past the timeout a waiting handler is cancelled; others stop as they should."""
    log: list[str] = []

    class Waiting(EventLoopActor):
        async def on_receive(self, message: Any) -> None:
            await asyncio.Event().wait()

        def on_stop(self) -> None:
            log.append("waiting")

    async with ActorSystem(shutdown_timeout=0.02) as system:
        system.start_actor(Stopping, "older", log)
        ref = system.start_actor(Waiting)
        asked = ref.ask("wait", block=False)
        behind = ref.ask("behind", block=False)
    for reply in (asked, behind):
        with pytest.raises(ActorDeadError):
            reply.get()
    assert log == ["older", "waiting"]
    assert system.statistics().tasks == 0


async def test_what_ignores_cancellation_is_reported_and_its_askers_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DESIGN 2: an actor that swallows cancellations is named, and nobody waits for it."""
    let_go = asyncio.Event()
    async with ActorSystem(shutdown_timeout=0.02) as system:
        ref = system.start_actor(Stubborn, let_go)
        asked, behind = ref.ask("x", block=False), ref.ask("y", block=False)
    assert system.unstopped == (str(ref),)
    assert "did not stop" in caplog.text
    assert str(ref) in caplog.text
    for reply in (asked, behind):
        with pytest.raises(ActorDeadError):
            reply.get()
    assert not ref.is_alive()
    assert system.actors == {}
    let_go.set()
    for task in system.tasks():
        await asyncio.wait({task})


def test_what_ignores_cancellation_does_not_keep_the_thread() -> None:
    """DESIGN 2: in the threaded form the loop ends, is closed, and the thread is gone."""
    before = threading.enumerate()
    with ActorSystem(shutdown_timeout=0.02) as system:
        ref = Stubborn.start(asyncio.Event())
        asked = ref.ask("x", block=False)
    assert threading.enumerate() == before
    assert system.loop.is_closed()
    assert system.unstopped == (str(ref),)
    with pytest.raises(ActorDeadError):
        asked.get()


def test_tasks_that_nobody_tracked_are_cancelled_with_the_own_loop() -> None:
    """DESIGN 2: in the threaded form a task made with asyncio alone is cancelled as well."""
    log: list[str] = []

    async def untracked() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    class Careless(EventLoopActor):
        async def on_receive(self, message: Any) -> None:
            self.task = asyncio.create_task(untracked())
            await asyncio.sleep(0)

    with ActorSystem():
        Careless.start().ask("go")
    assert log == ["cancelled"]


async def test_operations_and_spawned_tasks_end_with_the_runtime() -> None:
    """DESIGN 2: what is under way is cancelled when leaving, and its waiters are answered."""
    async with ActorSystem() as system:
        operation = system.operate(asyncio.Event().wait())
        task = system.spawn(asyncio.Event().wait(), name="spawned")
        await asyncio.sleep(0)
    assert task.cancelled()
    with pytest.raises(OperationCancelledError):
        operation.get()
    assert system.statistics().tasks == 0


async def test_an_operation_that_will_not_end_is_answered_and_named() -> None:
    """DESIGN 2: an operation that swallows its cancellation is reported; its waiter is not held."""
    let_go = asyncio.Event()

    async def stubborn(_operation: Operation[None]) -> None:
        while not let_go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await let_go.wait()

    async with ActorSystem(shutdown_timeout=0.02) as system:
        reply = system.operate(stubborn, name="stubborn")
        await asyncio.sleep(0)
    assert system.unstopped == ("operation stubborn",)
    with pytest.raises(OperationCancelledError):
        reply.get()
    let_go.set()
    for task in system.tasks():
        await asyncio.wait({task})


async def test_a_closing_hook_that_hangs_is_cut_off() -> None:
    """DESIGN 2: _close has the timeout too; past it, it is cancelled and named."""

    class Hanging(ActorSystem):
        async def _close(self) -> None:
            await asyncio.Event().wait()

    log: list[str] = []
    async with Hanging(shutdown_timeout=0.02) as system:
        system.start_actor(Stopping, "actor", log)
    assert system.unstopped == ("closing hook",)
    assert log == ["actor"]


async def test_leaving_survives_the_cancellation_of_its_task() -> None:
    """DESIGN 2: a task that is cancelled while it leaves still stops everything, then ends."""
    log: list[str] = []
    gate, leaving = asyncio.Event(), asyncio.Event()

    class Noting(ActorSystem):
        async def _close(self) -> None:
            leaving.set()

    async def enter() -> None:
        async with Noting() as system:
            system.start_actor(Stopping, "actor", log, gate)

    task = asyncio.create_task(enter())
    await leaving.wait()
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    assert log == []
    gate.set()
    await asyncio.wait({task})
    assert task.cancelled()
    assert log == ["actor"]


async def test_actors_started_while_leaving_are_stopped_too() -> None:
    """DESIGN 2: an actor that on_stop starts is stopped as well."""
    log: list[str] = []

    class Heir(EventLoopActor):
        def on_stop(self) -> None:
            Stopping.start("heir", log)

    async with ActorSystem() as system:
        system.start_actor(Heir)
    assert log == ["heir"]
    assert system.actors == {}


async def test_nothing_is_left_when_the_body_fails() -> None:
    """DESIGN 2: leaving by an exception stops everything and lets the exception through."""
    system = ActorSystem()

    async def fail() -> None:
        async with system:
            Plain.start()
            raise KeyError("body")

    with pytest.raises(KeyError):
        await fail()
    assert system.actors == {}


def test_an_exit_raised_on_the_own_loop_does_not_end_it() -> None:
    """DESIGN 2: SystemExit in a spawned task is that task's failure; the runtime goes on."""

    async def leave() -> None:
        raise SystemExit(3)

    with ActorSystem() as system:
        task = system.settle_now(system.spawn, leave()).get(timeout=30)
        assert Plain.start().ask("alive") == "alive"
        error = task.exception()
        assert isinstance(error, RuntimeError)
        assert isinstance(error.__cause__, SystemExit)


def test_an_exit_in_a_plain_callback_does_not_end_the_own_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DESIGN 2: what call() runs cannot end the thread of a runtime either."""

    def leave() -> None:
        raise SystemExit(3)

    with ActorSystem() as system:
        system.call(leave)
        assert Plain.start().ask("alive") == "alive"
    assert "has no effect" in caplog.text


async def test_call_runs_now_on_the_loop(system: ActorSystem) -> None:
    """DESIGN 2: on the loop's thread call() calls at once."""
    log: list[int] = []
    system.call(log.append, 1)
    assert log == [1]


def test_call_from_a_thread_runs_on_the_loop_in_order(threaded: ActorSystem) -> None:
    """DESIGN 2: from another thread call() has it called on the loop, in order."""
    log: list[tuple[int, int]] = []

    def note(number: int) -> None:
        log.append((number, threading.get_ident()))

    for number in range(10):
        threaded.call(note, number)
    loop_thread = threaded.settle_now(threading.get_ident).get(timeout=30)
    assert log == [(number, loop_thread) for number in range(10)]


def test_call_outside_is_refused() -> None:
    """DESIGN 2: call() on a runtime that is not open raises, with a code to route on."""
    system = ActorSystem()
    with pytest.raises(ConfigurationError, match="not open"):
        system.call(int)
    with pytest.raises(ConfigurationError, match="not open"):
        _ = system.loop
    with system:
        pass
    with pytest.raises(ActorDeadError) as caught:
        system.call(int)
    assert caught.value.code == "RUNTIME_CLOSED"


async def test_spawn_holds_its_task_and_hands_its_result(system: ActorSystem) -> None:
    """DESIGN 2: a spawned task is held by the runtime until it is done."""
    task = system.spawn(asyncio.sleep(0, "done"), name="short")
    assert task.get_name() == "short"
    assert system.statistics().tasks == 1
    assert await task == "done"
    await asyncio.sleep(0)
    assert system.statistics().tasks == 0


async def test_a_failure_of_a_spawned_task_that_nobody_takes_is_logged(
    system: ActorSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2: the exception of a spawned task is logged when nobody awaits the task."""

    async def fail() -> None:
        raise ValueError("unseen")

    import gc

    system.spawn(fail(), name="failing")
    for _ in range(3):
        await asyncio.sleep(0)
    gc.collect()
    assert "unseen" in caplog.text


def test_spawn_from_another_thread_is_refused(threaded: ActorSystem) -> None:
    """DESIGN 2: spawn() works on the loop only; the coroutine is closed, not forgotten."""
    with pytest.raises(ConfigurationError, match="operate"):
        threaded.spawn(asyncio.sleep(0))


async def test_statistics_are_a_picture(system: ActorSystem) -> None:
    """DESIGN 2: statistics() counts actors, tasks and dead letters, and does not change later."""
    before = system.statistics()
    ref = Plain.start()
    ref.stop(block=False)
    ref.tell("lost")
    assert (before.actors, system.statistics().actors) == (0, 1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert system.statistics().dead_letters == 1
    assert before.dead_letters == 0
    assert before.executor_queued == 0


@pytest.mark.parametrize("option", ["stall_threshold", "shutdown_timeout"])
@pytest.mark.parametrize("value", [0, -1])
def test_times_must_be_positive(option: str, value: float) -> None:
    """DESIGN 2: thresholds and timeouts that make no sense are refused at once."""
    options: dict[str, Any] = {option: value}
    with pytest.raises(ConfigurationError, match="positive"):
        ActorSystem(**options)


async def test_a_runtime_on_a_stopped_loop_answers_asks() -> None:
    """DESIGN 2: when a loop was closed under a runtime never left, asks are still answered."""
    refs: list[Any] = []

    def forget_to_leave() -> None:
        loop = asyncio.new_event_loop()
        system = ActorSystem(executor=InlineExecutor())

        async def enter() -> None:
            await system.open_here()
            refs.append(system.start_actor(Plain))
            await refs[0].ask("up", block=False)

        loop.run_until_complete(enter())
        loop.close()

    thread = threading.Thread(target=forget_to_leave)
    thread.start()
    thread.join()
    with pytest.raises(ActorDeadError):
        refs[0].ask("anyone?", timeout=30)


def test_debug_logging_of_a_start(threaded: ActorSystem, caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 2: starting and stopping are logged at debug level."""
    with caplog.at_level(logging.DEBUG, logger="broodline.actors"):
        Plain.start().stop()
    assert "Starting Plain" in caplog.text
    assert "Stopped Plain" in caplog.text
