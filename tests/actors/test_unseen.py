"""A failed reply that nobody looked at says so when it is collected."""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.actors.reply import Reply
from broodline.actors.system import ActorSystem
from broodline.messages.errors import ToolError

ADVICE = "; await it, or call .result()"


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the cyclic collector, whatever hangs in a cycle stays."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
async def system() -> Any:
    async with ActorSystem() as opened:
        yield opened


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if "nobody looked" in r.getMessage()]


async def broken(_operation: Any = None) -> None:
    raise ToolError("it broke")


def broken_now() -> None:
    raise KeyError("gold")


def taken(take: Any) -> None:
    with pytest.raises(ToolError):
        take()


async def _breathe(_operation: Any) -> None:
    await settled()


async def settled() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


@pytest.mark.usefixtures("no_collector")
async def test_an_operation_that_failed_unseen(
    system: ActorSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2, 8: it is named with its error and the way out, at once, without the collector."""
    system.operate(broken, name="start subagent")
    await settled()
    assert told(caplog) == ["start subagent failed and nobody looked: it broke" + ADVICE]


@pytest.mark.usefixtures("no_collector")
async def test_a_refusal_on_the_loop(system: ActorSystem, caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 8: an error of foreign code comes with its type and its traceback."""
    system.settle_now(broken_now)
    assert told(caplog) == ["broken now failed and nobody looked: KeyError('gold')" + ADVICE]
    assert "in broken_now" in caplog.text


@pytest.mark.usefixtures("no_collector")
def test_from_a_thread(caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 2: in a program without a loop the same is said of both kinds of call."""
    with ActorSystem() as system:
        system.operate(broken, name="create agent")
        system.settle_now(broken_now)
        system.operate(_breathe).result(timeout=10)  # behind the two
    assert {text.split(" failed")[0] for text in told(caplog)} == {"create agent", "broken now"}


@pytest.mark.parametrize(
    "look",
    [
        lambda reply: reply.error(),
        lambda reply: reply.add_done_callback(repr),
        lambda reply: reply.map(repr).error(),
        lambda reply: taken(reply.get),
        lambda reply: taken(reply.result),
    ],
)
@pytest.mark.usefixtures("no_collector")
async def test_who_looked_is_not_told(
    system: ActorSystem, caplog: pytest.LogCaptureFixture, look: Any
) -> None:
    """DESIGN 2: error, a callback, get and result are looks."""
    reply = system.operate(broken)
    await settled()
    look(reply)
    del reply
    assert told(caplog) == []


async def test_waits_of_every_kind_are_looks(
    system: ActorSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2: await, gather, shield, and a wait that was cancelled before the failure."""
    gate = asyncio.Event()

    async def late(operation: Any) -> None:
        operation.accept()
        await gate.wait()
        raise ToolError("it broke")

    with pytest.raises(ToolError):
        await system.operate(broken)
    await asyncio.gather(system.operate(broken), system.operate(broken), return_exceptions=True)
    with pytest.raises(ToolError):
        await asyncio.shield(asyncio.ensure_future(system.operate(broken).join()))
    waiting = asyncio.ensure_future(system.operate(late).join())
    given_up = asyncio.create_task(_wait(system.operate(late)))
    await settled()
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    gate.set()
    with pytest.raises(ToolError):
        await waiting
    await settled()
    gc.collect()
    assert told(caplog) == []


async def _wait(reply: Reply[Any]) -> None:
    await reply


def test_a_wait_that_ran_out_of_time_is_a_look(caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 2: whoever waited in a thread and gave up has looked."""
    reply: Reply[int] = Reply()
    with pytest.raises(TimeoutError):
        reply.result(timeout=0)
    reply.fail(ToolError("it broke"))
    del reply
    assert told(caplog) == []


async def test_what_was_called_off_is_no_news(
    system: ActorSystem, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 2: who fires the signal of an operation need not look at its refusal."""
    token = CancellationToken()
    started = asyncio.Event()

    async def hangs(operation: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    system.operate(hangs, signal=token)
    await started.wait()
    token.cancel()
    await settled()
    gc.collect()
    assert told(caplog) == []


async def test_the_end_of_a_runtime_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 2: what leaving the runtime ends is not told one by one."""
    started = asyncio.Event()

    async def hangs(operation: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    async with ActorSystem() as system:
        system.operate(hangs)
        await started.wait()
    system.operate(broken)
    gc.collect()
    assert told(caplog) == []


def test_only_failures_carry_the_teller() -> None:
    """DESIGN 2: a reply that is good has no extra object."""
    good: Reply[int] = Reply()
    good.settle(1)
    assert not hasattr(good, "_unseen")
    assert not hasattr(Reply.of(1), "_unseen")
    assert good.error() is None
    assert not hasattr(good, "_unseen")


def test_an_error_that_cannot_be_shown(caplog: pytest.LogCaptureFixture) -> None:
    """bad input: an error whose own text fails is told by its type."""

    class Shy(ToolError):
        def __str__(self) -> str:
            raise ValueError("no")

    with caplog.at_level(logging.ERROR):
        Reply.failed(Shy("x"), None, "start")
    assert told(caplog) == ["start failed and nobody looked: Shy" + ADVICE]


def test_a_look_and_a_settlement_at_the_same_time(caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 2: whichever of looking and failing comes first, a seen failure is not told."""
    for _ in range(300):
        reply: Reply[None] = Reply()
        barrier = threading.Barrier(2)

        def look(reply: Reply[None] = reply, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            with pytest.raises(KeyError):
                reply.result(timeout=10)

        looker = threading.Thread(target=look)
        looker.start()
        barrier.wait()
        reply.fail(KeyError("gold"))
        looker.join()
        del reply, look, looker
    gc.collect()
    assert caplog.records == []


def test_copies_of_a_reply() -> None:
    """DESIGN 2: there is one answer: a copy is the reply itself, a pickle of it is refused."""
    reply: Reply[int] = Reply()
    assert copy.copy(reply) is reply
    for taken in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="await it and use its value"):
            taken(reply)
    with pytest.raises(AttributeError, match=r"asyncio\.ensure_future"):
        reply.remove_done_callback  # type: ignore[attr-defined]  # noqa: B018
