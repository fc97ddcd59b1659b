"""Whom an open store on disk is concerned with: sessions that are live, reserved or leaving."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from ...messages.errors import SessionError
from ..store import StoreHost
from .journal import Journal
from .refusal import closed_error
from .writer import DiskWriter

T = TypeVar("T")


class Roster:
    """The writers of one opening of a store, one for each session. Loop only.

    Args:
        journal: Writes behind them.
        host: Its loop runs what must come to its end.
        place: The store's, for errors.

    Attributes:
        journal: As given.
        admitting: Whether anything new may begin.
    """

    def __init__(self, journal: Journal, host: StoreHost, place: str) -> None:
        self.journal = journal
        self.admitting = True
        self._host = host
        self._place = place
        self._writers: dict[str, DiskWriter] = {}
        self._under_way: set[asyncio.Task[Any]] = set()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __bool__(self) -> bool:
        return bool(self._writers)

    def __iter__(self) -> Iterator[DiskWriter]:
        return iter(tuple(self._writers.values()))

    def get(self, session_id: str) -> DiskWriter | None:
        """The writer of a session, or None."""
        return self._writers.get(session_id)

    def check(self) -> None:
        """Do nothing while the store is open.

        Raises:
            SessionError: ``STORE_CLOSED``.
        """
        if not self.admitting:
            raise closed_error(self._place)

    def turn(self, session_id: str) -> asyncio.Lock:
        """A lock that all who ask for this session meanwhile share."""
        return self._turns.setdefault(session_id, asyncio.Lock())

    async def reserve(self, session_id: str, refusal: Callable[[str], SessionError]) -> DiskWriter:
        """Take an id, once what its last session left is written.

        Raises:
            SessionError: What `refusal` makes, if somebody has it; what a write of the
                rest raises; ``STORE_CLOSED``.
        """
        await self.check_idle(session_id, refusal)
        writer = self._writers[session_id] = DiskWriter(self.journal, session_id, self.forget)
        return writer

    async def check_idle(self, session_id: str, refusal: Callable[[str], SessionError]) -> None:
        """Do nothing for an id that nobody has; raises as `reserve`."""
        await self._left(session_id)
        if session_id in self._writers:
            raise refusal(session_id)

    async def live(self, session_id: str) -> DiskWriter | None:
        """The writer of a live session, or None; what one that has gone left is written."""
        await self._left(session_id)
        writer = self._writers.get(session_id)
        return writer if writer is not None and writer.attached else None

    async def _left(self, session_id: str) -> None:
        """Wait for what a session left that has gone."""
        self.check()
        while (writer := self._writers.get(session_id)) is not None:
            if writer.unclaimed is not None:
                await asyncio.wait((writer.unclaimed,))
                await asyncio.sleep(0)  # until it has been given back
                writer.unclaimed = None
            elif not writer.releasing:
                return
            elif (rest := writer.release()) is not None:
                await rest
            self.check()

    def forget(self, writer: DiskWriter) -> None:
        """Give an id free; a stale writer leaves a later one alone."""
        if self._writers.get(writer.id) is writer:
            del self._writers[writer.id]

    def run(self, coro: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Begin what must come to its end, whoever waits for it; `close` does."""
        task: asyncio.Task[T] = self._host.spawn(coro, name=name)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def flush(self) -> None:
        """Write everything of every session; raises what the first failure raised."""
        failures = await _failures([writer.barrier() for writer in self if writer.unsettled])
        if failures:
            raise failures[0]

    async def close(self) -> list[Exception]:
        """Let everybody leave, and say why it could not be stored."""
        self.admitting = False
        if self._under_way:
            await asyncio.wait(tuple(self._under_way))
        # One that was reserved, and is still being looked for, has nothing to leave.
        leaving = [writer.release() for writer in self if writer.header is not None]
        return await _failures([rest for rest in leaving if rest is not None])

    async def abandon(self) -> None:
        """Let go of whoever is still there."""
        for writer in self:
            self.journal.abandon(writer, closed_error(self._place))
        await self.journal.close()


async def _failures(waits: list[asyncio.Future[None]]) -> list[Exception]:
    """Wait for all of them; why some of them failed."""
    if waits:
        await asyncio.wait(waits)
    errors = [wait.exception() for wait in waits]
    return [error for error in errors if isinstance(error, Exception)]
