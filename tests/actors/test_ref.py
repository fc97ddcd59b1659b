"""An actor's address: pykka's rows R1 to R13, and where we differ."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pykka
import pytest

from broodline.actors.actor import EventLoopActor
from broodline.actors.letterbox import Letterbox
from broodline.actors.reply import Reply
from broodline.actors.system import ActorSystem
from broodline.messages.errors import ActorDeadError, BroodlineError, DeadlockError


class Echo(EventLoopActor):
    """Answers with what it gets; an exception is raised, an event awaited."""

    async def on_receive(self, message: Any) -> Any:
        if isinstance(message, asyncio.Event):
            await message.wait()
        if isinstance(message, BaseException):
            raise message
        return message


async def test_a_ref_names_its_actor(system: ActorSystem) -> None:
    """DESIGN 2, pykka R1: class, urn, inbox and flag are the actor's; the text names it."""
    ref = Echo.start()
    actor = ref.actor
    assert actor is not None
    assert ref.actor_class is Echo
    assert ref.actor_urn == actor.actor_urn
    assert ref.actor_inbox is actor.actor_inbox
    assert ref.actor_stopped is actor.actor_stopped
    assert str(ref) == f"Echo ({ref.actor_urn})"
    assert repr(ref) == f"<ActorRef for Echo ({ref.actor_urn})>"
    assert ref.actor_urn.startswith("urn:uuid:")


async def test_is_alive_until_stopped(system: ActorSystem) -> None:
    """DESIGN 2, pykka R2: is_alive is True until the actor stops."""
    ref = Echo.start()
    assert ref.is_alive() is True
    await ref.stop(block=False)
    assert ref.is_alive() is False


async def test_tell_to_the_dead_raises(system: ActorSystem) -> None:
    """DESIGN 2, pykka R3: tell raises ActorDeadError, pykka's and ours at once."""
    ref = Echo.start()
    await ref.stop(block=False)
    with pytest.raises(pykka.ActorDeadError) as caught:
        ref.tell("anyone?")
    assert isinstance(caught.value, BroodlineError)


def test_tell_returns_none_at_once(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka R3: tell returns None and does not wait."""
    assert Echo.start().tell("x") is None  # type: ignore[func-returns-value]


def test_ask_blocks_for_the_answer(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka R4: ask returns the handler's value, or what it raised."""
    ref = Echo.start()
    assert ref.ask("x") == "x"
    assert ref.ask("x", timeout=30) == "x"
    with pytest.raises(ZeroDivisionError):
        ref.ask(ZeroDivisionError("no"))


def test_ask_gives_up_after_its_timeout(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka R4: a blocking ask raises pykka.Timeout, and the actor goes on."""
    ref = Echo.start()
    gate = asyncio.Event()
    with pytest.raises(pykka.Timeout, match=r"waited 0\.01 s for an ask of Echo"):
        ref.ask(gate, timeout=0.01)
    threaded.call(gate.set)
    assert ref.ask("alive") == "alive"


async def test_ask_without_blocking_returns_a_reply(system: ActorSystem) -> None:
    """DESIGN 2, pykka R5: ask(block=False) returns a Reply, which is a pykka future."""
    reply = Echo.start().ask("x", block=False)
    assert isinstance(reply, Reply)
    assert isinstance(reply, pykka.Future)
    assert await reply == "x"


async def test_ask_of_the_dead_fails_through_the_reply(system: ActorSystem) -> None:
    """DESIGN 2, pykka R6: an ask of a dead actor raises nothing; its reply does."""
    ref = Echo.start()
    await ref.stop(block=False)
    reply = ref.ask("anyone?", block=False)
    with pytest.raises(ActorDeadError, match="not found"):
        await reply


def test_a_blocking_ask_of_the_dead_raises(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka R6: a blocking ask of a dead actor raises ActorDeadError."""
    ref = Echo.start()
    assert ref.stop() is True
    with pytest.raises(pykka.ActorDeadError):
        ref.ask("anyone?")


def test_an_exception_is_raised_for_every_asker(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka R7: the exception object a handler raised is what ask raises."""
    error = KeyError("missing")
    with pytest.raises(KeyError) as caught:
        Echo.start().ask(error)
    assert caught.value is error


def test_stop_tells_whether_it_was_alive(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka R8: True for the stop that ends it, False once it is dead."""
    ref = Echo.start()
    assert ref.stop() is True
    assert ref.stop() is False


async def test_every_stop_of_a_stopping_actor_is_true(system: ActorSystem) -> None:
    """DESIGN 2, pykka R8: stops that wait behind another stop are True as well."""
    ref = Echo.start()
    assert [await stop for stop in [ref.stop(block=False) for _ in range(3)]] == [True] * 3


async def test_stop_without_blocking_is_a_reply_of_bool(system: ActorSystem) -> None:
    """DESIGN 2, pykka R9: stop(block=False) returns a Reply that callbacks turn into a bool."""
    ref = Echo.start()
    reply = ref.stop(block=False)
    assert isinstance(reply, Reply)
    seen: list[bool] = []
    reply.add_done_callback(lambda done: seen.append(done.get()))
    assert await reply is True
    assert seen == [True]
    assert ref.stop(block=False).get() is False


def test_stop_gives_up_after_its_timeout(threaded: ActorSystem) -> None:
    """DESIGN 2, pykka R10: a blocking stop raises pykka.Timeout; the stop stays in line."""
    ref = Echo.start()
    gate = asyncio.Event()
    busy = ref.ask(gate, block=False)
    with pytest.raises(pykka.Timeout):
        ref.stop(timeout=0.01)
    threaded.call(gate.set)
    assert busy.get(timeout=30) is gate
    assert ref.stop(timeout=30) in (True, False)
    assert not ref.is_alive()


async def test_a_proxy_of_the_dead_is_refused(system: ActorSystem) -> None:
    """DESIGN 2, pykka R11: proxy() of a dead actor raises ActorDeadError."""
    ref = Echo.start()
    await ref.stop(block=False)
    with pytest.raises(ActorDeadError):
        ref.proxy()
    with pytest.raises(pykka.ActorDeadError):
        pykka.ActorProxy(actor_ref=ref)


async def test_blocking_on_the_loop_is_refused_before_anything_is_sent(
    system: ActorSystem,
) -> None:
    """DESIGN 2, pykka R12: ask and stop that would block the loop raise and send nothing."""
    ref = Echo.start()
    with pytest.raises(DeadlockError, match="nothing was sent"):
        ref.ask("x")
    with pytest.raises(DeadlockError, match="nothing was sent"):
        ref.stop()
    assert isinstance(ref.actor_inbox, Letterbox)
    assert ref.actor_inbox.empty()
    assert ref.is_alive()


async def test_a_handler_that_blocks_on_another_actor_is_refused(system: ActorSystem) -> None:
    """DESIGN 2, pykka R12: inside a plain handler a blocking ask raises; its asker hears of it."""
    other = Echo.start()

    class Blocking(EventLoopActor):
        def on_receive(self, message: Any) -> Any:
            return other.ask(message)

    with pytest.raises(DeadlockError):
        await Blocking.start().ask("x", block=False)


@pytest.mark.parametrize("message", [None, 0, "", (), {"a": 1}, object])
async def test_any_object_is_a_message(message: Any, system: ActorSystem) -> None:
    """DESIGN 2, pykka R13: a message may be anything, and is not copied."""
    assert await Echo.start().ask(message, block=False) is message


def test_an_ask_that_races_with_the_stop_is_always_answered(threaded: ActorSystem) -> None:
    """DESIGN 2: a put after the alive-check and after the actor's end is answered by the putter."""
    ref = Echo.start()
    checked, ended = threading.Event(), threading.Event()
    flag = ref.actor_stopped

    class Slow:
        def is_set(self) -> bool:
            alive = flag.is_set()
            checked.set()
            assert ended.wait(30)
            return alive

    ref.actor_stopped = Slow()  # type: ignore[assignment]
    answers: list[Reply[Any]] = []
    asker = threading.Thread(target=lambda: answers.append(ref.ask("late", block=False)))
    asker.start()
    assert checked.wait(30)
    actor = ref.actor
    assert actor is not None
    stopped: Reply[Any] = Reply(threaded)
    from pykka._envelope import Envelope
    from pykka.messages import _ActorStop  # pyright: ignore[reportPrivateUsage]

    ref.actor_inbox.put(Envelope(_ActorStop(), stopped))
    stopped.get(timeout=30)
    threaded.settle_now(lambda: None).get(timeout=30)
    ended.set()
    asker.join()
    with pytest.raises(ActorDeadError):
        answers[0].get(timeout=30)


def test_a_tell_that_races_with_the_stop_is_counted(threaded: ActorSystem) -> None:
    """DESIGN 2: a tell put after the actor's end is a dead letter, not a silent loss."""
    from pykka._envelope import Envelope

    ref = Echo.start()
    assert ref.stop()
    ref.actor_inbox.put(Envelope("late"))
    assert threaded.statistics().dead_letters == 1


def test_no_ask_is_forgotten_when_threads_race_with_a_stop(threaded: ActorSystem) -> None:
    """DESIGN 2: of asks from many threads around a stop, each is answered or refused."""
    for _ in range(20):
        ref = Echo.start()
        start = threading.Barrier(5)
        replies: list[list[Reply[Any]]] = [[] for _ in range(4)]

        def ask(
            mine: list[Reply[Any]],
            start: threading.Barrier = start,
            ref: Any = ref,
        ) -> None:
            start.wait()
            mine.extend(ref.ask(number, block=False) for number in range(50))

        threads = [threading.Thread(target=ask, args=(mine,)) for mine in replies]
        for thread in threads:
            thread.start()
        start.wait()
        ref.stop(timeout=30)
        for thread in threads:
            thread.join()
        for mine in replies:
            outcomes = [_outcome(reply) for reply in mine]
            answered = [number for number in outcomes if number is not None]
            assert answered == list(range(len(answered)))


def _outcome(reply: Reply[Any]) -> Any:
    try:
        return reply.get(timeout=30)
    except ActorDeadError:
        return None
