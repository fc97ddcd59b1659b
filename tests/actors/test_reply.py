"""The reply, pykka's future on the loop: rows F1 to F17, and where we differ."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pykka
import pytest

from broodline.actors.context import current_system
from broodline.actors.reply import Reply
from broodline.actors.system import ActorSystem
from broodline.messages.errors import ConfigurationError, DeadlockError


def test_get_returns_the_value_as_often_as_wanted() -> None:
    """DESIGN 2, pykka F1: get returns the encapsulated value again and again."""
    reply: Reply[str] = Reply()
    reply.set("value")
    assert [reply.get(), reply.get(), reply.result()] == ["value"] * 3


@pytest.mark.parametrize("timeout", [0, 0.001, -1])
def test_get_gives_up(timeout: float) -> None:
    """DESIGN 2, pykka F2: get with a timeout raises pykka.Timeout, and can be tried again."""
    reply: Reply[int] = Reply()
    with pytest.raises(pykka.Timeout, match=f"get.. waited {timeout} s for"):
        reply.get(timeout=timeout)
    with pytest.raises(pykka.Timeout):
        reply.result(timeout)
    reply.set(1)
    assert reply.get(timeout=timeout) == 1


def test_get_waits_for_another_thread() -> None:
    """DESIGN 2, pykka F2: get blocks until another thread sets the value."""
    reply: Reply[int] = Reply()
    setter = threading.Thread(target=reply.set, args=(1,))
    setter.start()
    assert reply.get(timeout=30) == 1
    setter.join()


def set_value(reply: Reply[int]) -> None:
    """Settle with a value."""
    reply.set(1)


def set_error(reply: Reply[int]) -> None:
    """Settle with an exception."""
    reply.set_exception((ValueError, None, None))


@pytest.mark.parametrize("first", [set_value, set_error])
@pytest.mark.parametrize("second", [set_value, set_error])
def test_it_is_settled_once(first: Callable[..., Any], second: Callable[..., Any]) -> None:
    """DESIGN 2, pykka F3: setting what is settled raises queue.Full, as pykka's futures do."""
    reply: Reply[int] = Reply()
    first(reply)
    with pytest.raises(queue.Full):
        second(reply)
    assert reply.settle(3) is False
    assert reply.fail(ValueError()) is False


def test_of_many_threads_that_settle_one_wins() -> None:
    """DESIGN 2, pykka F3: however many threads set at once, one succeeds and its value stays."""
    for _ in range(200):
        reply: Reply[int] = Reply()
        start = threading.Barrier(4)
        winners: list[int] = []

        def settle(
            number: int,
            reply: Reply[int] = reply,
            start: threading.Barrier = start,
            winners: list[int] = winners,
        ) -> None:
            start.wait()
            if reply.settle(number):
                winners.append(number)

        threads = [threading.Thread(target=settle, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert winners == [reply.get()]


def test_set_without_a_value_is_none() -> None:
    """DESIGN 2, pykka F4: set() encapsulates None."""
    reply: Reply[None] = Reply()
    reply.set()
    assert reply.get() is None


def test_set_exception_takes_the_one_being_handled() -> None:
    """DESIGN 2, pykka F5: set_exception() without arguments takes sys.exc_info()."""
    reply: Reply[None] = Reply()
    try:
        raise ValueError("handled")
    except ValueError:
        reply.set_exception()
    with pytest.raises(ValueError, match="handled"):
        reply.get()
    assert isinstance(reply.error(), ValueError)


def test_set_exception_takes_a_triple() -> None:
    """DESIGN 2, pykka F5: set_exception(exc_info) keeps exception and traceback."""
    reply: Reply[None] = Reply()

    def distinctive() -> None:
        raise ValueError("deep")

    try:
        distinctive()
    except ValueError:
        reply.set_exception(sys.exc_info())
    with pytest.raises(ValueError, match="deep") as caught:
        reply.get()
    assert "distinctive" in [frame.name for frame in traceback.extract_tb(caught.tb)]


def test_set_exception_takes_a_bare_class() -> None:
    """DESIGN 2, pykka F5: a triple with a class and no value makes the exception."""
    reply: Reply[None] = Reply()
    reply.set_exception((KeyError, None, None))
    with pytest.raises(KeyError):
        reply.get()


def test_getting_an_exception_again_does_not_grow_its_traceback() -> None:
    """DESIGN 2, pykka F6: the exception is raised anew each time with the original traceback."""
    reply: Reply[None] = Reply()
    try:
        raise ValueError("once")
    except ValueError as error:
        reply.fail(error)
    lengths: set[int] = set()
    for _ in range(3):
        with pytest.raises(ValueError, match="once") as caught:
            reply.get()
        lengths.add(len(traceback.extract_tb(caught.value.__traceback__)))
    assert len(lengths) == 1


def test_a_get_hook_makes_the_value() -> None:
    """DESIGN 2, pykka F7: the hook gets the timeout and is asked once."""
    reply: Reply[int] = Reply()
    timeouts: list[float | None] = []

    def hook(timeout: float | None) -> int:
        timeouts.append(timeout)
        return 7

    reply.set_get_hook(hook)
    assert [reply.get(timeout=3), reply.get()] == [7, 7]
    assert timeouts == [3]


def test_a_get_hook_and_a_value_exclude_each_other() -> None:
    """DESIGN 2, pykka F7: set after a hook and a hook after set raise queue.Full."""
    hooked: Reply[int] = Reply()
    hooked.set_get_hook(lambda timeout: 1)
    with pytest.raises(queue.Full):
        hooked.set(2)
    with pytest.raises(queue.Full):
        Reply.of(1).set_get_hook(lambda timeout: 2)


async def test_a_get_hook_is_awaited_in_a_thread(system: ActorSystem) -> None:
    """DESIGN 2, pykka F7: awaiting a hooked reply runs the hook in the executor."""
    reply: Reply[int] = Reply()
    reply.set_get_hook(lambda timeout: threading.get_ident())
    derived = reply.map(lambda ident: ident)
    assert await derived not in (0, threading.get_ident())


async def test_a_get_hook_cannot_be_awaited_without_a_runtime() -> None:
    """DESIGN 2, pykka F7: outside a runtime a hooked reply is not awaited; the text says why."""
    reply: Reply[int] = Reply()
    reply.set_get_hook(lambda timeout: 1)
    with pytest.raises(ConfigurationError, match="get hook"):
        await reply


def test_map_applies_a_function() -> None:
    """DESIGN 2, pykka F8: map gives a reply of the function's value, before or after set."""
    reply: Reply[int] = Reply()
    early = reply.map(lambda value: value + 10)
    reply.set(30)
    late = reply.map(lambda value: value + 10)
    assert (early.get(), late.get(), reply.get()) == (40, 40, 30)
    assert Reply.of({"foo": "bar"}).map(lambda value: value["foo"]).get() == "bar"


def test_map_runs_its_function_once() -> None:
    """DESIGN 2, pykka F8: the mapped function runs when the reply settles, not at each get."""
    calls: list[int] = []
    mapped = Reply.of(1).map(calls.append)
    mapped.get()
    mapped.get()
    assert calls == [1]


def test_filter_keeps_items() -> None:
    """DESIGN 2, pykka F9: filter gives the list of the items for which the function is true."""
    numbers: Reply[Iterable[int]] = Reply()
    numbers.set(range(5, 15))
    assert numbers.filter(lambda item: item > 10).get() == [11, 12, 13, 14]


def test_reduce_folds_items() -> None:
    """DESIGN 2, pykka F10: reduce folds from left to right, with an initial value if given."""

    def fold(total: Any, item: Any) -> Any:
        return total + item

    letters: Reply[Iterable[Any]] = Reply.of(["a", "b", "c"])
    numbers: Reply[Iterable[Any]] = Reply.of([1, 2, 3])
    nothing: Reply[Iterable[Any]] = Reply.of([])
    assert letters.reduce(fold).get() == "abc"
    assert numbers.reduce(fold, 5).get() == 11
    assert nothing.reduce(fold, 5).get() == 5


@pytest.mark.parametrize("method", ["map", "filter", "reduce"])
def test_a_function_that_fails_fails_the_derived_reply(method: str) -> None:
    """DESIGN 2, pykka F16: what map, filter and reduce raise comes out of the derived reply."""
    derived: Reply[Any] = getattr(Reply.of(1), method)(len)
    with pytest.raises(TypeError):
        derived.get()


@pytest.mark.parametrize("settled", [True, False])
def test_an_exception_passes_through(settled: bool) -> None:
    """DESIGN 2, pykka F16: a failed reply fails what is derived from it, functions unused."""
    reply: Reply[Any] = Reply()
    if settled:
        reply.fail(KeyError("gone"))
    derived = reply.map(str).map(len)
    joined = Reply.of(1).join(reply)
    reply.fail(KeyError("gone"))
    for failed in (derived, joined):
        with pytest.raises(KeyError):
            failed.get()


def test_join_collects_values_in_order() -> None:
    """DESIGN 2, pykka F11: join gives the values in the order of the arguments."""
    parts: list[Reply[Any]] = [Reply() for _ in range(3)]
    joined = parts[0].join(*parts[1:])
    for value, part in reversed(list(enumerate(parts))):
        assert not joined.done()
        part.set(value)
    assert joined.get() == [0, 1, 2]


def test_join_takes_foreign_futures() -> None:
    """DESIGN 2, pykka F11: join with a ThreadingFuture or a hooked reply is made when gotten."""
    foreign: pykka.ThreadingFuture[int] = pykka.ThreadingFuture()
    foreign.set(2)
    hooked: Reply[int] = Reply()
    hooked.set_get_hook(lambda timeout: 3)
    assert list(Reply.of(1).join(foreign, hooked).get()) == [1, 2, 3]
    own: Reply[int] = Reply.of(4)
    assert list(foreign.join(own).get()) == [2, 4]


async def test_await_gives_the_value(system: ActorSystem) -> None:
    """DESIGN 2, pykka F12: await returns the value, several times and to several tasks."""
    reply: Reply[int] = Reply(system)

    async def wait() -> int:
        return await reply

    tasks = [asyncio.create_task(wait()) for _ in range(3)]
    await asyncio.sleep(0)
    reply.set(5)
    assert await asyncio.gather(*tasks) == [5, 5, 5]
    assert await reply == 5


async def test_await_raises_the_exception() -> None:
    """DESIGN 2, pykka F12: await raises what the reply was settled with."""
    with pytest.raises(KeyError):
        await Reply.failed(KeyError())


async def test_yield_from_works_in_old_coroutines() -> None:
    """DESIGN 2, pykka F13: a reply is iterable for `yield from`."""

    class Old:
        def __await__(self) -> Any:
            return (yield from Reply.of(3))

    assert await Old() == 3


async def test_await_does_not_hold_the_loop() -> None:
    """DESIGN 2, pykka F12: while one task awaits, others run; pykka's own await would block."""
    reply: Reply[int] = Reply()
    asyncio.get_running_loop().call_soon(reply.set, 1)
    assert await reply == 1


async def test_cancelling_one_wait_hurts_nobody() -> None:
    """DESIGN 2: a cancelled wait leaves the reply and its other waiters as they are."""
    reply: Reply[int] = Reply()

    async def wait() -> int:
        return await reply

    doomed, other = asyncio.create_task(wait()), asyncio.create_task(wait())
    await asyncio.sleep(0)
    doomed.cancel()
    await asyncio.wait({doomed})
    assert doomed.cancelled()
    reply.set(1)
    assert await other == 1


async def test_abandoned_waits_leave_nothing_behind() -> None:
    """DESIGN 2: waits that time out or are cancelled do not pile up in the reply."""
    reply: Reply[int] = Reply()
    for _ in range(100):
        with contextlib.suppress(pykka.Timeout):
            reply.get(timeout=0)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await reply
    assert len(reply._callbacks) == 0  # pyright: ignore[reportPrivateUsage]


def test_awaits_on_loops_of_other_threads(threaded: ActorSystem) -> None:
    """DESIGN 2: one reply is awaited on several loops in several threads at once."""
    reply: Reply[int] = Reply(threaded)
    ready = threading.Barrier(4)
    values: list[int] = []

    async def wait() -> None:
        task = asyncio.ensure_future(reply)
        await asyncio.sleep(0)
        await asyncio.get_running_loop().run_in_executor(None, ready.wait)
        values.append(await task)

    threads = [threading.Thread(target=lambda: asyncio.run(wait())) for _ in range(3)]
    for thread in threads:
        thread.start()
    ready.wait()
    threaded.call(reply.set, 9)
    for thread in threads:
        thread.join()
    assert values == [9, 9, 9]


def test_a_waiter_whose_loop_is_closed_is_no_harm() -> None:
    """DESIGN 2: settling after a waiting loop was closed reaches the others."""
    reply: Reply[int] = Reply()

    def leave_a_waiter() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(_awaiting(reply))
        loop.run_until_complete(asyncio.sleep(0))
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        loop.close()
        kept.append(task)

    kept: list[Any] = []
    thread = threading.Thread(target=leave_a_waiter)
    thread.start()
    thread.join()
    seen: list[int] = []
    reply.add_done_callback(lambda done: seen.append(done.get()))
    reply.set(1)
    assert seen == [1]
    kept.clear()


async def _awaiting(reply: Reply[Any]) -> Any:
    return await reply


def test_get_all_collects() -> None:
    """DESIGN 2, pykka F14: pykka.get_all works on replies, with its timeout."""
    replies = [Reply.of(1), Reply.of(2)]
    assert pykka.get_all(replies) == [1, 2]
    pending: Reply[int] = Reply()
    with pytest.raises(pykka.Timeout):
        pykka.get_all([*replies, pending], timeout=0)


def test_values_are_not_copied() -> None:
    """DESIGN 2, pykka F15: get returns the very object that was set."""
    value: list[int] = []
    assert Reply.of(value).get() is value


async def test_get_on_the_runtimes_own_loop_is_refused(system: ActorSystem) -> None:
    """DESIGN 2, pykka F17: get and result raise DeadlockError on the loop, with a timeout too."""
    reply: Reply[int] = Reply(system)
    with pytest.raises(DeadlockError, match="await it"):
        reply.get()
    with pytest.raises(DeadlockError, match="await it"):
        reply.get(timeout=5)
    with pytest.raises(DeadlockError, match="await it"):
        reply.result(5)
    reply.set(1)
    assert reply.get() == 1


async def test_get_of_a_reply_of_nobody_is_refused_on_the_loop(system: ActorSystem) -> None:
    """DESIGN 2, pykka F17: a reply made by hand finds the runtime whose code waits for it."""
    assert current_system.get() is None or current_system.get() is system
    token = current_system.set(system)
    try:
        with pytest.raises(DeadlockError):
            Reply[int]().get()
    finally:
        current_system.reset(token)


def test_callbacks_run_in_order_and_once(caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 2: callbacks run in the order they were added; a failing one is logged."""
    reply: Reply[int] = Reply()
    seen: list[str] = []

    def failing(_reply: Reply[int]) -> None:
        seen.append("failing")
        raise ValueError("in callback")

    reply.add_done_callback(lambda _: seen.append("first"))
    reply.add_done_callback(failing)
    reply.add_done_callback(lambda _: seen.append("last"))
    reply.set(1)
    reply.add_done_callback(lambda _: seen.append("late"))
    assert seen == ["first", "failing", "last", "late"]
    assert "in callback" in caplog.text


def test_a_callback_added_while_another_thread_settles_is_called() -> None:
    """DESIGN 2: a callback is called exactly once however adding and settling fall together."""
    for _ in range(300):
        reply: Reply[int] = Reply()
        start = threading.Barrier(2)
        calls: list[int] = []

        def add(
            reply: Reply[int] = reply,
            start: threading.Barrier = start,
            calls: list[int] = calls,
        ) -> None:
            start.wait()
            for _ in range(10):
                reply.add_done_callback(lambda _: calls.append(1))

        adder = threading.Thread(target=add)
        adder.start()
        start.wait()
        reply.set(1)
        adder.join()
        assert len(calls) == 10


def test_a_callback_that_misses_the_settling_is_called() -> None:
    """DESIGN 2: a reply that settles while a callback is being added still calls it."""

    class Late(list[Any]):
        def append(self, item: Any) -> None:
            reply.set(1)
            super().append(item)

    reply: Reply[int] = Reply()
    reply._callbacks = Late()  # pyright: ignore[reportPrivateUsage]
    seen: list[int] = []
    reply.add_done_callback(lambda done: seen.append(done.get()))
    assert seen == [1]


def test_join_of_a_hooked_reply_is_made_when_gotten() -> None:
    """DESIGN 2, pykka F11: a hooked reply among the parts does not keep the join pending."""
    hooked: Reply[int] = Reply()
    hooked.set_get_hook(lambda timeout: 2)
    assert list(Reply.of(1).join(hooked).get(timeout=30)) == [1, 2]


def test_repr_says_the_state() -> None:
    """DESIGN 2: a reply's text says whether it is pending, done or failed."""
    reply: Reply[int] = Reply()
    assert repr(reply) == "<Reply pending>"
    assert repr(Reply.of(1)) == "<Reply done>"
    assert "ValueError" in repr(Reply.failed(ValueError("x")))
    assert not reply.done()
    assert reply.error() is None
