"""What is written behind, and when: windows, flushes, failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.executor import InlineExecutor
from broodline.actors.stores.disk import DiskStore
from broodline.actors.stores.writer import DiskWriter
from broodline.messages.errors import SessionError, SessionLeasedError
from broodline.messages.header import SessionHeader

# Windows.


async def test_a_window_is_fixed(desk: Any) -> None:
    """core #102: ten more events do not move the deadline of the first; one write has them all."""
    writer, log = await desk.live()
    desk.say(writer, log)
    await desk.wait(0.1)
    desk.say(writer, log, 10)
    await desk.wait(0.09)
    assert desk.written() == []
    await desk.wait(0.02)
    assert desk.written() == [[("s", list(range(11)))]]
    assert writer.stored_seq == 11


async def test_the_events_behind_a_write_have_a_window_of_their_own(desk: Any) -> None:
    """core 5.3: what comes while a write runs waits for its own window, from its first event."""
    writer, log = await desk.live()
    desk.executor.shut()
    desk.say(writer, log)
    await desk.wait(0.2)
    await desk.wait(0.1)
    desk.say(writer, log)
    await desk.executor.open()
    await desk.wait(0.19)
    assert desk.stored() == [0]
    await desk.wait(0.02)
    assert desk.written() == [[("s", [0])], [("s", [1])]]


async def test_a_window_that_ends_during_a_write(desk: Any) -> None:
    """core #103: the next write starts at once if its window is over when the first ends."""
    writer, log = await desk.live()
    desk.executor.shut()
    desk.say(writer, log)
    await desk.wait(0.2)
    desk.say(writer, log, 2)
    await desk.wait(0.2)
    assert desk.executor.queued == 1, "one write of a session at a time"
    await desk.executor.open()
    assert desk.written() == [[("s", [0])], [("s", [1, 2])]]


async def test_windows_are_a_session_s_own(desk: Any) -> None:
    """core 5.3: each session's window is its own; those that end together share a write."""
    (first, log), (second, other), (third, last) = [await desk.live(name) for name in "abc"]
    desk.say(first, log)
    await desk.wait(0.1)
    desk.say(second, other)
    desk.say(third, last)
    await desk.wait(0.1)
    assert desk.stored("a") == [0]
    assert desk.stored("b") == []
    await desk.wait(0.1)
    assert [sorted(name for name, _ in write) for write in desk.written()] == [["a"], ["b", "c"]]


async def test_one_task_for_all_and_none_for_nobody(desk: Any) -> None:
    """core 5.3: a store has one task for all windows, as long as anything waits."""

    def windows() -> int:
        names = [task.get_name() for task in asyncio.all_tasks()]
        return names.count("store window")

    lives = [await desk.live(str(number)) for number in range(50)]
    assert windows() == 0
    for writer, log in lives:
        desk.say(writer, log)
    assert windows() == 1
    await desk.wait(0.2)
    await desk.wait(0.2)
    assert windows() == 0


async def test_a_flush_cancels_the_wait(desk: Any) -> None:
    """core 5.3: what a flush has written is not written again when its window ends."""
    writer, log = await desk.live("s", 3)
    assert await writer.flush()
    await desk.wait(0.5)
    assert len(desk.backend.writes) == 1
    desk.say(writer, log)
    await desk.wait(0.19)
    assert desk.stored() == [0, 1, 2], "the next event opens a new window"
    await desk.wait(0.02)
    assert desk.stored() == [0, 1, 2, 3]


async def test_a_window_of_no_length(kit: SimpleNamespace) -> None:
    """core 5.3: with a window of 0 s an event is written in a later turn of the loop."""
    desk = kit.Desk(kit.Backend(), window=0)
    await desk.store.open(desk.host)
    writer, log = await desk.live()
    desk.say(writer, log)
    assert desk.stored() == []
    await kit.settle()
    assert desk.stored() == [0]
    await desk.store.close()
    await desk.host.close()


# Flushes.


async def test_flushes_share_a_barrier(desk: Any, kit: SimpleNamespace) -> None:
    """core #104: flushes at the same time share one write, and what comes meanwhile is in it."""
    writer, log = await desk.live("s", 2)
    desk.executor.shut()
    flushes = [asyncio.ensure_future(writer.flush()) for _ in range(3)]
    await kit.settle()
    desk.say(writer, log, 2)
    await desk.executor.pass_one()
    assert not any(flush.done() for flush in flushes), "events came while the barrier drained"
    flushes.append(asyncio.ensure_future(writer.flush()))
    await kit.settle()
    await desk.executor.open()
    assert await asyncio.gather(*flushes) == [True] * 4
    assert desk.written() == [[("s", [0, 1])], [("s", [2, 3])]]


async def test_events_behind_a_barrier_wait(desk: Any) -> None:
    """core 5.3: what is admitted after a barrier has settled starts a new window."""
    writer, log = await desk.live("s", 1)
    await writer.flush()
    desk.say(writer, log)
    await desk.wait(0.1)
    assert desk.stored() == [0]
    await desk.wait(0.1)
    assert desk.stored() == [0, 1]


async def test_a_flush_joins_the_write_in_flight(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.3: a flush that meets a write of all that there is adds none of its own."""
    writer, log = await desk.live()
    desk.executor.shut()
    desk.say(writer, log)
    await desk.wait(0.2)
    flush = asyncio.ensure_future(writer.flush())
    await kit.settle()
    assert not flush.done()
    await desk.executor.open()
    assert await flush
    assert len(desk.backend.writes) == 1


async def test_a_flush_of_nothing_does_nothing(desk: Any) -> None:
    """DESIGN 8: when everything is stored, a flush costs no write, no thread and no turn."""
    writer, _ = await desk.live("s", 1)
    await writer.flush()
    begun = desk.executor.begun
    with pytest.raises(StopIteration) as caught:
        writer.flush().send(None)
    assert caught.value.value is True
    assert desk.executor.begun == begun


async def test_a_thousand_flushes_share_few_writes(desk: Any) -> None:
    """DESIGN 3: group commit: what becomes due while a write runs goes with the next one."""
    lives = [await desk.live(str(number), 2) for number in range(1000)]
    assert all(await asyncio.gather(*(writer.flush() for writer, _ in lives)))
    assert len(desk.backend.writes) <= 2
    assert {writer.stored_seq for writer, _ in lives} == {2}


async def test_a_store_s_flush_is_of_everybody(desk: Any) -> None:
    """store.flush: it returns when every session is stored, and tells the first failure."""
    lives = [await desk.live(name, 1) for name in "abc"]
    desk.backend.refuse["b"] = SessionError("it does not fit", code="EVENT_UNWRITABLE")
    with pytest.raises(SessionError, match="it does not fit"):
        await desk.store.flush()
    assert [writer.stored_seq for writer, _ in lives] == [1, 0, 1]
    desk.backend.refuse.clear()
    assert await desk.store.flush()
    assert desk.stored("b") == [0]


async def test_cancelling_a_flush_ends_its_wait_only(desk: Any, kit: SimpleNamespace) -> None:
    """store.Writer: the write goes on, and others who wait for it are not called off."""
    writer, _ = await desk.live("s", 1)
    desk.executor.shut()
    first, second = (asyncio.ensure_future(writer.flush()) for _ in range(2))
    whole = asyncio.ensure_future(desk.store.flush())
    await kit.settle()
    first.cancel()
    whole.cancel()
    await kit.settle()
    assert first.cancelled()
    assert whole.cancelled()
    await desk.executor.open()
    assert await second
    assert desk.stored() == [0]


# Failures.


async def test_a_failure_is_not_tried_again_by_itself(
    desk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """core #105: a background write that fails is told once, and not repeated without cause."""
    writer, log = await desk.live()
    desk.backend.down = OSError("disk full")
    with caplog.at_level(logging.WARNING, "broodline.store"):
        desk.say(writer, log, 2)
        await desk.wait(0.2)
        await desk.wait(5)
    assert len(desk.backend.writes) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "disk full" in caplog.text
    assert isinstance(writer.failure, SessionError)
    assert (writer.failure.code, writer.failure.retryable) == ("STORE_UNAVAILABLE", True)
    assert writer.stored_seq == 0


async def test_a_flush_tries_again_and_tells(desk: Any, kit: SimpleNamespace) -> None:
    """core #105: a flush after a failure retries at once, keeps the order, tells a new failure."""
    writer, log = await desk.live("s", 2)
    desk.backend.down = kit.unavailable()
    await desk.wait(0.2)
    desk.say(writer, log)
    with pytest.raises(SessionError, match="disk full"):
        await writer.flush()
    assert writer.failure is desk.backend.down
    desk.backend.down = None
    assert await writer.flush()
    assert writer.failure is None
    assert desk.stored() == [0, 1, 2]


async def test_a_new_event_starts_a_fresh_window(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.3: after a failure a new event has all written when its own window is over."""
    writer, log = await desk.live("s", 1)
    desk.backend.down = kit.unavailable()
    await desk.wait(0.2)
    desk.backend.down = None
    await desk.wait(5)
    desk.say(writer, log)
    await desk.wait(0.19)
    assert desk.stored() == []
    await desk.wait(0.02)
    assert desk.stored() == [0, 1]
    assert writer.failure is None


async def test_an_event_that_met_a_failing_write(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.3: an event that came while the failing write ran has a window, and a try, too."""
    writer, log = await desk.live("s", 1)
    desk.executor.shut()
    await desk.wait(0.2)
    desk.say(writer, log)
    desk.backend.down = kit.unavailable()
    await desk.executor.open()
    desk.backend.down = None
    assert desk.stored() == []
    await desk.wait(0.2)
    assert desk.stored() == [0, 1]


async def test_a_flush_absorbs_a_background_failure(
    desk: Any, kit: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """core 5.3: a background write that fails under a flush is retried inside that flush."""
    writer, log = await desk.live()
    desk.executor.shut()
    desk.say(writer, log)
    await desk.wait(0.2)
    flush = asyncio.ensure_future(writer.flush())
    await kit.settle()
    desk.backend.down = kit.unavailable()
    await desk.executor.pass_one()
    desk.backend.down = None
    await desk.executor.open()
    assert await flush
    assert desk.stored() == [0]
    assert writer.failure is None
    assert caplog.records == []


async def test_a_failure_under_a_flush_is_told_by_it(desk: Any, kit: SimpleNamespace) -> None:
    """core 5.3: a flush whose retry fails too says so; its write is not tried a third time."""
    writer, log = await desk.live()
    desk.executor.shut()
    desk.say(writer, log)
    await desk.wait(0.2)
    flushes = [asyncio.ensure_future(writer.flush()) for _ in range(2)]
    await kit.settle()
    desk.backend.down = kit.unavailable()
    await desk.executor.open()
    for flush in flushes:
        with pytest.raises(SessionError, match="disk full"):
            await flush
    assert len(desk.backend.writes) == 2


async def test_flushes_that_fail_together(desk: Any, kit: SimpleNamespace) -> None:
    """core #105: a flush that joins a failing one fails with it, and leaves no retry behind."""
    writer, _ = await desk.live("s", 1)
    desk.executor.shut()
    flushes = [asyncio.ensure_future(writer.flush())]
    await kit.settle()
    flushes.append(asyncio.ensure_future(writer.flush()))
    await kit.settle()
    desk.backend.down = kit.unavailable()
    await desk.executor.open()
    for flush in flushes:
        with pytest.raises(SessionError, match="disk full"):
            await flush
    assert len(desk.backend.writes) == 1


async def test_a_failure_that_is_raised_is_not_logged(
    desk: Any, kit: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """core 5.3: who waits for a flush hears of its failure, and nobody else."""
    writer, _ = await desk.live("s", 1)
    desk.backend.down = kit.unavailable()
    with pytest.raises(SessionError):
        await writer.flush()
    assert caplog.records == []


async def test_one_session_s_trouble_is_told_once(
    desk: Any, kit: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """core 5.3: a session that cannot be written beside others that can is told of once."""
    lives = [await desk.live(name, 1) for name in ("bad", "good")]
    desk.backend.refuse["bad"] = SessionError("it does not fit", code="EVENT_UNWRITABLE")
    for round_ in range(3):
        await desk.wait(0.2)
        assert desk.stored("good") == list(range(round_ + 1))
        for writer, log in lives:
            desk.say(writer, log)
    assert len(caplog.records) == 1


async def test_trouble_of_another_kind_behind_an_outage(
    desk: Any, kit: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """core 5.3: what fails for a reason of its own when the disk is back is told too."""
    await desk.live("a", 1)
    desk.backend.down = kit.unavailable()
    await desk.wait(0.2)
    desk.backend.down = None
    desk.backend.refuse["b"] = SessionError("it does not fit", code="EVENT_UNWRITABLE")
    await desk.live("b", 1)
    await desk.wait(0.2)
    assert "disk full" in caplog.text
    assert "it does not fit" in caplog.text


async def test_an_outage_is_told_once(
    desk: Any, kit: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """core 5.3: many sessions and many windows of one outage make one line in the log."""
    lives = [await desk.live(str(number), 1) for number in range(20)]
    desk.backend.down = kit.unavailable()
    for _ in range(3):
        await desk.wait(0.2)
        for writer, log in lives:
            desk.say(writer, log)
        lives.append(await desk.live(str(len(lives)), 1))
    assert len(caplog.records) == 1
    assert "19 more" in caplog.text
    desk.backend.down = None
    await desk.store.flush()
    desk.backend.down = kit.unavailable()
    desk.say(*lives[0])
    await desk.wait(0.2)
    assert len(caplog.records) == 2, "it is another one"


async def test_a_failure_that_nobody_waits_for_any_more(
    desk: Any, kit: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """core 5.3: when all who waited for a flush have gone, its failure is told in the log."""
    writer, _ = await desk.live("s", 1)
    desk.executor.shut()
    flush = asyncio.ensure_future(writer.flush())
    await kit.settle()
    flush.cancel()
    desk.backend.down = kit.unavailable()
    await desk.executor.open()
    assert "disk full" in caplog.text


@pytest.mark.parametrize("grouped", [True, False])
async def test_a_session_that_cannot_be_written_holds_up_no_other(
    grouped: bool, kit: SimpleNamespace
) -> None:
    """core #107: one session's failure is its own; the other keeps writing."""
    desk = kit.Desk(kit.Backend(grouped=grouped))
    await desk.store.open(desk.host)
    (bad, log), (good, other) = await desk.live("bad", 1), await desk.live("good", 1)
    desk.backend.refuse["bad"] = kit.unavailable()
    for round_ in range(3):
        outcomes = await asyncio.gather(bad.flush(), good.flush(), return_exceptions=True)
        assert isinstance(outcomes[0], SessionError)
        assert outcomes[1] is True
        assert desk.stored("good") == list(range(round_ + 1))
        desk.say(bad, log)
        desk.say(good, other)
    desk.backend.refuse.clear()
    await desk.store.close()
    assert desk.stored("bad") == [0, 1, 2, 3]
    await desk.host.close()


class Outcry(BaseException):
    """What is no Exception."""


@pytest.mark.parametrize("error", [asyncio.CancelledError("no"), Outcry("no"), SystemExit(1)])
async def test_what_is_no_exception_is_a_failure_too(desk: Any, error: BaseException) -> None:
    """DESIGN 8: whatever a backend raises, who waits is told, and the next write works."""
    writer, _ = await desk.live("s", 1)
    desk.backend.down = error
    with pytest.raises(SessionError) as caught:
        await writer.flush()
    assert caught.value.code == "STORE_UNAVAILABLE"
    assert caught.value.__cause__ is error
    desk.backend.down = None
    assert await writer.flush()


@pytest.fixture
async def inline(kit: SimpleNamespace) -> AsyncIterator[tuple[Any, DiskWriter]]:
    """A backend whose store writes on the loop itself, and the writer of one event there."""
    host = kit.Host(executor=InlineExecutor())
    backend = kit.Backend()
    store = DiskStore(backend)
    await store.open(host)
    header = SessionHeader("s", 1)
    yield backend, store.attach(header, kit.steps(0, 1), await store.create(header))
    await store.close()
    await host.close()


async def test_a_cancellation_inside_an_inline_write(inline: tuple[Any, DiskWriter]) -> None:
    """DESIGN 8: in a simulation a CancelledError of the backend does not cancel who flushes."""
    backend, writer = inline
    backend.down = asyncio.CancelledError()
    with pytest.raises(SessionError):
        await writer.flush()
    backend.down = None
    assert await writer.flush()


async def test_what_ends_all_inside_an_inline_write(
    inline: tuple[Any, DiskWriter], kit: SimpleNamespace
) -> None:
    """DESIGN 8: what ends the program passes through, and still leaves a store that can write."""
    backend, writer = inline
    backend.down = Outcry()
    with pytest.raises(Outcry):
        await writer.flush()
    backend.down = None
    await kit.settle()
    assert await writer.flush()


async def test_too_few_outcomes(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN 8: a backend that does not answer for every session has failed for all of them."""
    lives = [await desk.live(name, 1) for name in "ab"]
    monkeypatch.setattr(desk.backend, "write", lambda _portions, _now: [])
    for writer, _ in lives:
        with pytest.raises(SessionError) as caught:
            await writer.flush()
        assert caught.value.code == "STORE_UNAVAILABLE"
    monkeypatch.undo()
    assert await desk.store.flush()


# A lease that was taken over.


async def test_a_lost_lease_is_final(desk: Any) -> None:
    """DESIGN 3: who was taken over is told with every flush, and writes nothing more."""
    writer, log = await desk.live("s", 1)
    await writer.flush()
    desk.backend.shelf["s"].fence += 1
    desk.say(writer, log)
    for _ in range(3):
        with pytest.raises(SessionLeasedError) as caught:
            await writer.flush()
        assert writer.failure is caught.value
    writes = len(desk.backend.writes)
    desk.say(writer, log)
    await desk.wait(1)
    assert len(desk.backend.writes) == writes
    with pytest.raises(SessionLeasedError):
        await desk.store.flush()
    assert writer.release() is None
    assert len(desk.backend.writes) == writes
    assert desk.stored() == [0]


async def test_an_error_that_is_told_often_does_not_grow(desk: Any) -> None:
    """DESIGN 8: what a lost lease raises again and again keeps no trace of all the times."""
    writer, _ = await desk.live("s", 1)
    desk.backend.refuse["s"] = SessionLeasedError("gone", retryable=False)
    lengths: list[int] = []
    for _ in range(5):
        with pytest.raises(SessionLeasedError) as caught:
            await writer.flush()
        lengths.append(len(caught.traceback))
    assert lengths[-1] <= lengths[1]


async def test_a_lease_that_is_lost_in_the_background(
    desk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """DESIGN 3: a take-over that a write behind finds is in the log, and told by the next flush."""
    writer, _ = await desk.live("s", 1)
    desk.backend.refuse["s"] = SessionLeasedError("gone", retryable=False)
    await desk.wait(0.2)
    assert "gone" in caplog.text
    with pytest.raises(SessionLeasedError):
        await writer.flush()
    assert len(desk.backend.writes) == 1


async def test_a_lost_lease_is_told_as_lost(desk: Any, caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 3: what a lost lease leaves unwritten is told as lost, not as waiting for a try."""
    lives = [await desk.live(name, 2) for name in ("a", "b", "c")]
    for name in ("a", "b"):
        desk.backend.refuse[name] = SessionLeasedError("gone", retryable=False)
    desk.backend.refuse["c"] = SessionError("it does not fit", code="EVENT_UNWRITABLE")
    await desk.wait(0.2)
    assert [record.getMessage() for record in caplog.records] == [
        "session 'c' could not be written behind, 2 events wait for the next try: it does not fit",
        "session 'a' and 1 more could not be written behind, 4 events are lost: gone",
    ]
    assert [writer.lost is None for writer, _ in lives] == [False, False, True]


async def test_a_flush_that_meets_a_lost_lease(desk: Any, kit: SimpleNamespace) -> None:
    """DESIGN 3: a flush that joins the write which finds the take-over is told, without another."""
    writer, _ = await desk.live("s", 1)
    desk.executor.shut()
    await desk.wait(0.2)
    flush = asyncio.ensure_future(writer.flush())
    await kit.settle()
    desk.backend.refuse["s"] = SessionLeasedError("gone", retryable=False)
    await desk.executor.open()
    with pytest.raises(SessionLeasedError):
        await flush
    assert len(desk.backend.writes) == 1


async def test_an_id_that_was_taken_meanwhile(desk: Any, kit: SimpleNamespace) -> None:
    """core #81: a new session whose id another store was quicker to store is never written."""
    writer, _ = await desk.live("s", 2)
    kit.put(desk.backend, kit.steps(0, 1))
    for _ in range(2):
        with pytest.raises(SessionError) as caught:
            await writer.flush()
        assert caught.value.code == "SESSION_ALREADY_EXISTS"
    assert len(desk.backend.writes) == 1
    assert writer.release() is None
    assert desk.stored() == [0]
