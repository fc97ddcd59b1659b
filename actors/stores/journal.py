"""What is to be written, and when: the queue between the loop and a store on disk.

The first event of an idle queue opens a window of fixed length; when it is over, all that
waits is written. A flush does not wait for that. What becomes due while a write is under
way goes with the next one, of however many sessions. So there is one write at a time,
and the more there is to do, the more goes into one.

A write that fails leaves everything in the queue, in order. It is tried again by the next
flush, or when a new event's window is over; never by itself.

Source: spec core 5.3, DESIGN section 3.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, TypeAlias

from ...messages.errors import BroodlineError, SessionError
from ..executor import Executor, begin
from ..store import Durability, StoreHost
from .backend import Backend, Portion
from .refusal import unwanted
from .writer import DiskWriter

_logger = logging.getLogger("broodline.store")


_Work: TypeAlias = tuple[DiskWriter, Portion, bool]
"""What is written, and whether somebody waited for it when it began."""
_Outcomes: TypeAlias = list[Exception | None]


@dataclass(slots=True)
class Tally:
    """What a journal has done: writes, events in them, sessions whose write failed."""

    writes: int = 0
    events: int = 0
    failures: int = 0


class Journal:
    """Writes behind the sessions of one open store. Loop only.

    Args:
        backend: Where to.
        host: Its clock measures the windows, its loop runs the tasks.
        lane: Where writing happens.
        durability: What the writers say of themselves.
        window: Seconds from the first event of an idle queue to its write.
    """

    def __init__(
        self,
        backend: Backend,
        host: StoreHost,
        lane: Executor,
        *,
        durability: Durability,
        window: float,
    ) -> None:
        self.durability: Durability = durability
        self.tally = Tally()
        self._backend = backend
        self._host = host
        self._lane = lane
        self._window = window
        # By the end of their windows: all windows are of one length.
        self._queue: dict[DiskWriter, float] = {}
        self._due: dict[DiskWriter, None] = {}
        self._timer: asyncio.Task[None] | None = None
        self._busy = False
        # Nothing could be written the last time: that is told once, not for every session.
        self._outage = False

    def note(self, writer: DiskWriter) -> None:
        """Something waits behind an idle queue: open its window."""
        writer.noted = True
        self._queue[writer] = self._host.clock.monotonic() + self._window
        if self._timer is None or self._timer.done():
            self._timer = self._host.spawn(self._watch_windows(), name="store window")

    def urge(self, writer: DiskWriter) -> None:
        """Write what waits of it as soon as possible."""
        self._urge((writer,))

    def _urge(self, writers: Iterable[DiskWriter]) -> None:
        for writer in writers:
            self._queue.pop(writer, None)
            self._due[writer] = None
        if not self._busy:
            self._busy = True
            self._begin()

    def flush(self, writer: DiskWriter) -> asyncio.Future[None]:
        """What is done when nothing waits of it; one for each who asks."""
        waiter = _future()
        writer.waiters.append(waiter)
        if not writer.busy:
            self.urge(writer)
        return waiter

    def release(self, writer: DiskWriter, *, discard: bool) -> asyncio.Future[None] | None:
        """Write what waits, and give the lease back with it; None when there is nothing to do."""
        writer.releasing = True
        if discard and writer.new:
            writer.discarded = True
            self._reject_all(writer, unwanted(writer.id))
        if writer.lost is not None or writer.needless:
            self._drop(writer)
            return None
        waiter = _future()
        writer.waiters.append(waiter)
        if not writer.busy:
            self.urge(writer)
        return waiter

    def pending(self) -> int:
        """How many writers have something in the queue."""
        return len(self._queue) + len(self._due)

    def abandon(self, writer: DiskWriter, error: Exception) -> None:
        """Write no more of it: its store has closed, and says `error` to who asks."""
        writer.lost = writer.lost or error
        self._reject_all(writer, writer.lost)
        self._drop(writer)

    async def close(self) -> None:
        """End the timer; everybody has left, or was abandoned."""
        if self._timer is not None and not self._timer.done():
            self._timer.cancel()
            await asyncio.wait((self._timer,))

    async def _watch_windows(self) -> None:
        try:
            while self._queue:
                now = self._host.clock.monotonic()
                due = self._over(now)
                if due:
                    self._urge(due)
                else:
                    await self._host.clock.sleep(next(iter(self._queue.values())) - now)
        finally:
            self._timer = None

    def _over(self, now: float) -> list[DiskWriter]:
        """Whose windows have ended."""
        over = takewhile(lambda item: item[1] <= now, self._queue.items())
        return [writer for writer, _ in over]

    def _begin(self) -> None:
        """Begin the next write, of all that is due; none when nothing is."""
        batch, self._due = list(self._due), {}
        work: list[_Work] = []
        for writer in batch:
            # From here on a new event opens a window of its own.
            writer.noted = False
            portion = writer.portion()
            if portion is None:
                self._settle(writer)
            else:
                writer.busy = True
                work.append((writer, portion, bool(writer.waiters)))
        self._busy = bool(work)
        if work:
            self._start(work)

    def _start(self, work: Sequence[_Work]) -> None:
        now = self._host.clock.monotonic()
        size = len(work) if self._backend.grouped else 1
        parts = [work[first : first + size] for first in range(0, len(work), size)]
        left = len(parts)

        def done(
            part: Sequence[_Work], outcomes: _Outcomes | None, error: BaseException | None
        ) -> None:
            nonlocal left
            left -= 1
            self._end(part, outcomes, error)
            if not left:
                self._begin()

        for part in parts:
            self.tally.writes += 1
            portions = [portion for _, portion, _ in part]
            told = partial(done, part)
            try:
                begin(self._lane, told, self._backend.write, portions, now)
            except BaseException as error:  # the lane is closed; or, inline, whatever ends all
                asyncio.get_running_loop().call_soon(told, None, error)
                if not isinstance(error, Exception):
                    raise

    def _end(
        self, part: Sequence[_Work], outcomes: _Outcomes | None, error: BaseException | None
    ) -> None:
        answers: _Outcomes
        if error is not None or outcomes is None or len(outcomes) != len(part):
            answers = [_said(error, self._backend.place) for _ in part]
        else:
            answers = outcomes
        untold: list[DiskWriter] = []
        known, self._outage = self._outage, all(map(_is_unavailable, answers))
        for (writer, portion, flushed), outcome in zip(part, answers, strict=True):
            writer.busy = False
            if outcome is None:
                self._stored(writer, portion)
            elif self._refused(writer, outcome, flushed=flushed):
                untold.append(writer)
        if untold and not (known and self._outage):
            _warn(untold)

    def _stored(self, writer: DiskWriter, portion: Portion) -> None:
        self.tally.events += len(portion.events)
        writer.succeeded(portion)
        if portion.release:
            self._drop(writer)
        else:
            self._settle(writer)

    def _refused(self, writer: DiskWriter, error: Exception, *, flushed: bool) -> bool:
        """Take in that a write failed; whether nobody knows of that yet."""
        self.tally.failures += 1
        listening = any(not waiter.done() for waiter in writer.waiters)
        known = writer.failure is not None
        writer.failed(error)
        if writer.releasing and writer.needless:
            self._drop(writer)
            return False
        if listening and not flushed:
            self.urge(writer)  # the flush that came meanwhile has a try of its own
            return False
        self._reject_all(writer, error)
        if writer.lost is not None and writer.releasing:
            self._drop(writer)
        return not listening and not known

    def _settle(self, writer: DiskWriter) -> None:
        """Answer the flushes of a writer if nothing waits of it, else go on."""
        if writer.lost is not None:
            self._reject_all(writer, writer.lost)
        elif writer.needless and writer.releasing:
            self._drop(writer)
        elif not writer.waiting and not writer.releasing:
            _resolve_all(writer)
        elif writer.waiters:
            self.urge(writer)

    def _reject_all(self, writer: DiskWriter, error: Exception) -> None:
        waiters, writer.waiters = writer.waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(error)

    def _drop(self, writer: DiskWriter) -> None:
        self._queue.pop(writer, None)
        self._due.pop(writer, None)
        writer.gone = writer.noted = True  # what its session still says is nobody's concern
        writer.forget(writer)
        _resolve_all(writer)


def _future() -> asyncio.Future[None]:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.add_done_callback(_look_at)
    return future


def _look_at(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()  # whoever waited for it may have gone


def _resolve_all(writer: DiskWriter) -> None:
    waiters, writer.waiters = writer.waiters, []
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)


def _is_unavailable(outcome: Exception | None) -> bool:
    return isinstance(outcome, SessionError) and outcome.code == "STORE_UNAVAILABLE"


def _warn(writers: Sequence[DiskWriter]) -> None:
    """Say once of an outage what nobody waited for."""
    for lost in (False, True):
        if some := [writer for writer in writers if (writer.lost is not None) is lost]:
            _logger.warning(
                "session %r%s could not be written behind, %d events %s: %s",
                some[0].id,
                f" and {len(some) - 1} more" if some[1:] else "",
                sum(writer.waiting for writer in some),
                "are lost" if lost else "wait for the next try",
                some[0].failure,
            )


def _said(error: BaseException | None, place: str) -> Exception:
    """The error of a write, in our terms."""
    if isinstance(error, BroodlineError):
        return error
    said = SessionError(
        f"{place} could not be written: {error}; nothing of it was stored, it is tried again "
        "with the next flush",
        code="STORE_UNAVAILABLE",
        retryable=True,
        details={"place": place, "reason": str(error)},
    )
    said.__cause__ = error
    return said
