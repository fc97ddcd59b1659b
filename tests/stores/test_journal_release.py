"""What a session leaves when it goes: the last write, the lease, and what could not be stored."""

from __future__ import annotations

import asyncio
import gc
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.store import Lease
from broodline.messages.errors import SessionError, SessionLeasedError
from broodline.messages.header import SessionHeader


def releases(desk: Any) -> list[list[bool]]:
    """Of every write, whether its portions gave their leases back."""
    return [[portion.release for portion in write] for write in desk.backend.writes]


async def test_the_last_events_and_the_lease_go_together(desk: Any) -> None:
    """DESIGN 3: a release stores what is queued and gives the lease back in one write."""
    writer, _ = await desk.live("s", 2)
    rest = writer.release()
    assert rest is not None
    await rest
    assert desk.written() == [[("s", [0, 1])]]
    assert releases(desk) == [[True]]
    assert desk.backend.shelf["s"].holder is None
    assert desk.store.statistics().sessions == 0


async def test_a_lease_goes_back_without_events(desk: Any) -> None:
    """DESIGN 3: when everything is stored, a release gives the lease back, with no event."""
    writer, _ = await desk.live("s", 1)
    await writer.flush()
    await writer.release()
    assert desk.written() == [[("s", [0])], [("s", [])]]
    assert desk.backend.shelf["s"].holder is None
    assert writer.release() is None


async def test_a_session_without_events_leaves_nothing(desk: Any) -> None:
    """core #80: a new session that said nothing goes without a write."""
    writer, _ = await desk.live()
    assert writer.release() is None
    assert desk.backend.writes == []
    await desk.store.create(SessionHeader("s", 1), fresh=True)


async def test_a_release_behind_a_write(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.2: a release that meets a write follows it, with what came meanwhile."""
    writer, log = await desk.live("s", 1)
    desk.executor.shut()
    flush = asyncio.ensure_future(writer.flush())
    await kit.settle()
    desk.say(writer, log)
    rest = asyncio.ensure_future(writer.release())
    await desk.executor.pass_one()
    assert not flush.done()
    await desk.executor.open()
    assert await flush
    await rest
    assert desk.written() == [[("s", [0])], [("s", [1])]]
    assert releases(desk) == [[False], [True]]


async def test_waits_for_one_release_are_apart(desk: Any, kit: SimpleNamespace) -> None:
    """store.Writer: release is idempotent; who is called off does not call off the others."""
    writer, _ = await desk.live("s", 1)
    desk.executor.shut()
    first, second = (asyncio.ensure_future(writer.release()) for _ in range(2))
    closing = asyncio.ensure_future(desk.store.close())
    await kit.settle()
    first.cancel()
    await kit.settle()
    await desk.executor.open()
    await second
    await closing
    assert first.cancelled()
    assert len(desk.backend.writes) == 1
    assert desk.stored() == [0]


async def test_nobody_need_wait_for_a_release(desk: Any, kit: SimpleNamespace) -> None:
    """store.Writer: what a release has begun is done, also if nobody awaits it."""
    writer, _ = await desk.live("s", 1)
    writer.release()
    await kit.settle()
    assert desk.stored() == [0]
    assert desk.backend.shelf["s"].holder is None


async def test_what_comes_behind_a_release_changes_nothing(desk: Any) -> None:
    """core 5.2: an event behind the end of its session is not written and arms nothing."""
    writer, log = await desk.live("s", 1)
    await writer.release()
    desk.say(writer, log)
    await desk.wait(1)
    assert desk.stored() == [0]
    with pytest.raises(SessionError) as caught:
        await writer.flush()
    assert caught.value.code == "SESSION_NOT_LIVE"


async def test_a_release_that_finds_its_lease_lost(desk: Any) -> None:
    """DESIGN 3: a release that finds that another took over says so, and keeps nothing."""
    writer, _ = await desk.live("s", 1)
    desk.backend.refuse["s"] = SessionLeasedError("gone", retryable=False)
    with pytest.raises(SessionLeasedError):
        await writer.release()
    assert desk.store.statistics().sessions == 0
    assert writer.release() is None


async def test_a_failure_that_nobody_awaits(desk: Any, kit: SimpleNamespace) -> None:
    """store.Writer: a release that fails and that nobody awaits does not alarm the loop."""
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    writer, _ = await desk.live("s", 1)
    desk.backend.down = kit.unavailable()
    desk.executor.shut()
    writer.release()
    await desk.executor.open()
    gc.collect()
    assert desk.store.statistics().draining == 1
    assert told == []


# What could not be stored.


@pytest.mark.parametrize("by", ["flush", "prepare", "create", "release", "close", "inspect"])
async def test_what_a_session_left_is_tried_again(desk: Any, kit: SimpleNamespace, by: str) -> None:
    """core 5.2: what could not be stored at the end stays, and is written at the next occasion."""
    writer, _ = await desk.live("s", 2)
    desk.backend.down = kit.unavailable()
    with pytest.raises(SessionError, match="disk full"):
        await writer.release()
    assert desk.store.statistics().draining == 1
    occasions: dict[str, Any] = {
        "flush": desk.store.flush,
        "prepare": lambda: desk.store.prepare("s"),
        "create": lambda: desk.store.create(SessionHeader("s", 1)),
        "release": writer.release,
        "close": desk.store.close,
        "inspect": lambda: desk.store.inspect("s"),
    }
    if by != "close":
        with pytest.raises(SessionError, match="disk full"):
            await occasions[by]()
    desk.backend.down = None
    if by == "create":
        with pytest.raises(SessionError) as caught:
            await occasions[by]()
        assert caught.value.code == "SESSION_ALREADY_EXISTS"
    else:
        await occasions[by]()
    assert desk.stored() == [0, 1]
    assert desk.backend.shelf["s"].holder is None
    assert desk.store.statistics().draining == 0


async def test_what_a_session_left_is_not_tried_by_itself(desk: Any, kit: SimpleNamespace) -> None:
    """core #105: also the rest of a session that has gone is not retried without an occasion."""
    writer, _ = await desk.live("s", 1)
    desk.backend.down = kit.unavailable()
    with pytest.raises(SessionError):
        await writer.release()
    await desk.wait(5)
    assert len(desk.backend.writes) == 1


async def test_two_wait_for_what_a_session_left(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.2: of two resumes that wait for the same release one gets the id, once it is done."""
    writer, _ = await desk.live("s", 1)
    desk.executor.shut()
    writer.release()
    attempts = [asyncio.ensure_future(desk.store.lease("s")) for _ in range(2)]
    await kit.settle()
    assert desk.executor.queued == 1
    await desk.executor.open()
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Lease, SessionLeasedError]
    assert desk.backend.calls.count("lease") == 1


# Sessions that nobody wanted.


async def test_an_unwanted_session_leaves_nothing(desk: Any) -> None:
    """DESIGN 3: a new session that is discarded before anything is stored was never there."""
    writer, _ = await desk.live("s", 3)
    assert writer.release(discard=True) is None
    assert desk.store.statistics().queued == 0
    await desk.wait(1)
    assert desk.backend.writes == []
    with pytest.raises(SessionError) as caught:
        await writer.flush()
    assert caught.value.code == "SESSION_NOT_LIVE"


async def test_discarding_confirms_no_flush(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.2: a flush of a session that is discarded before its write began does not confirm."""
    (other, _), (writer, _) = await desk.live("other", 1), await desk.live("s", 1)
    desk.executor.shut()
    flushes = [asyncio.ensure_future(one.flush()) for one in (other, writer)]
    await kit.settle()
    assert desk.store.statistics().queued == 1
    assert writer.release(discard=True) is None
    assert desk.store.statistics().queued == 0
    with pytest.raises(SessionError) as caught:
        await flushes[1]
    assert caught.value.code == "SESSION_NOT_LIVE"
    await desk.executor.open()
    assert await flushes[0]
    assert desk.stored() == []


async def test_discarding_what_is_being_written(desk: Any, kit: SimpleNamespace) -> None:
    """DESIGN 3: what is stored by the time of a discard stays, and its lease goes back."""
    writer, log = await desk.live("s", 1)
    desk.executor.shut()
    await desk.wait(0.2)
    rest = asyncio.ensure_future(writer.release(discard=True))
    await desk.executor.pass_one()
    flush = asyncio.ensure_future(writer.flush())
    await desk.executor.open()
    assert await flush, "it is stored"
    await rest
    assert desk.stored() == [0]
    assert desk.backend.shelf["s"].holder is None
    assert len(log) == 1


@pytest.mark.parametrize("flushed", [True, False])
async def test_discarding_what_cannot_be_written(
    desk: Any, kit: SimpleNamespace, flushed: bool
) -> None:
    """DESIGN 3: a session that is discarded while its first write fails is not tried again."""
    writer, _ = await desk.live("s", 1)
    desk.executor.shut()
    flushes = [asyncio.ensure_future(writer.flush())] if flushed else []
    await desk.wait(0)  # so that a flush begins before the window ends
    await desk.wait(0.2)
    rest = asyncio.ensure_future(writer.release(discard=True))
    await kit.settle()
    for flush in (*flushes, writer.flush()):
        with pytest.raises(SessionError) as caught:
            await flush
        assert caught.value.code == "SESSION_NOT_LIVE"
    desk.backend.down = kit.unavailable()
    await desk.executor.open()
    await rest
    assert len(desk.backend.writes) == 1
    assert desk.store.statistics().sessions == 0


async def test_a_new_session_whose_only_batch_fails(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.1: a lease given back under a batch that then fails leaves nothing to be written."""
    lease = await desk.store.create(SessionHeader("s", 1))
    desk.executor.shut()
    append = asyncio.ensure_future(desk.store.append(lease, kit.steps(0, 1)))
    await kit.settle()
    desk.store.release(lease)
    desk.backend.down = kit.unavailable()
    await desk.executor.open()
    with pytest.raises(SessionError, match="disk full"):
        await append
    assert await desk.store.flush()
    assert desk.store.statistics().sessions == 0
    assert len(desk.backend.writes) == 1


async def test_discarding_what_is_left_over(desk: Any, kit: SimpleNamespace) -> None:
    """DESIGN 3: a creation whose store failed can be taken back; nothing stays to be written."""
    writer, _ = await desk.live("s", 1)
    desk.backend.down = kit.unavailable()
    with pytest.raises(SessionError):
        await writer.flush()
    assert writer.release(discard=True) is None
    desk.backend.down = None
    assert await desk.store.flush()
    assert desk.stored() == []


async def test_a_stored_session_cannot_be_discarded(desk: Any) -> None:
    """DESIGN 3: discarding a session that is stored is the same as releasing it."""
    writer, log = await desk.live("s", 1)
    await writer.flush()
    desk.say(writer, log)
    desk.executor.shut()
    flush = asyncio.ensure_future(writer.flush())
    await desk.wait(0)
    rest = writer.release(discard=True)
    await desk.executor.open()
    assert await flush
    await rest
    assert desk.stored() == [0, 1]
