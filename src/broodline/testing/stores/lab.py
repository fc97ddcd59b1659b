"""What one case of the suite works with: a place, a clock, stores on hosts of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from ...actors.clock import Clock
from ...actors.executor import Executor
from ...actors.session import Session
from ...actors.store import Lease, Store, StoredLog, Writer
from ...messages.errors import SessionLeasedError
from ...messages.event import Event
from ...messages.header import SessionHeader
from .clock import ManualClock
from .host import ManualHost
from .sample import header


class Live:
    """A session that is live in a store.

    Attributes:
        session: Whose log grows.
        writer: Who stores it.
    """

    def __init__(self, store: Store, session: Session, lease: Lease | None) -> None:
        self.session = session
        self.writer: Writer = store.attach(session.header, session.log, lease)
        session.keep_with(self.writer)

    async def leave(self, *, discard: bool = False) -> None:
        """End it as a runtime does: sealed first, then released, or discarded."""
        self.session.seal("the case has ended it")
        self.session.keep_with(None)
        await released(self.writer, discard=discard)


async def released(writer: Writer, *, discard: bool = False) -> None:
    """Release a writer and wait until its last events are stored."""
    rest = writer.release(discard=discard)
    if rest is not None:
        await rest


class Lab:
    """Opens stores at one place and closes them when the case is over.

    Args:
        make: Makes a store object; see `StoreConformance.make`.
        lasting: See `StoreConformance`.
        folder: Empty, and in a folder of its own.

    Attributes:
        folder: As given.
        clock: The clock of every host that gets no other.
    """

    def __init__(self, make: Callable[[Path], Store], lasting: bool, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self._make = make
        self._lasting = lasting
        self._open: list[tuple[Store, ManualHost]] = []

    def store(self, folder: Path | None = None) -> Store:
        """Another store object, not open yet; for the same place unless told otherwise."""
        return self._make(self.folder if folder is None else folder)

    async def open(
        self,
        store: Store | None = None,
        *,
        clock: Clock | None = None,
        executor: Executor | None = None,
    ) -> Store:
        """Open a store, a new object unless one is given, on a host of its own."""
        opened = self.store() if store is None else store
        host = ManualHost(self.clock if clock is None else clock, executor)
        try:
            await opened.open(host)
        except BaseException:
            await host.close()
            raise
        self._open.append((opened, host))
        return opened

    async def close(self, store: Store) -> None:
        """Close it, and what it ran on."""
        for index, (opened, host) in enumerate(self._open):
            if opened is store:
                del self._open[index]
                try:
                    await store.close()
                finally:
                    await host.close()
                return
        raise ValueError("this store is not open in the lab")

    async def again(self, store: Store) -> Store:
        """Close a store and open its place anew: by another object, if what it keeps lasts."""
        await self.close(store)
        return await self.open(None if self._lasting else store)

    async def finish(self) -> None:
        """Close what is still open, the newest first; failures do not keep the rest open.

        A store may say that another has taken a session over: cases let that happen.
        """
        failures: list[Exception] = []
        while self._open:
            try:
                await self.close(self._open[-1][0])
            except SessionLeasedError:
                continue
            except Exception as error:
                failures.append(error)
        if failures:
            raise ExceptionGroup("a store could not be closed at the end of its case", failures)

    async def keep(
        self,
        store: Store,
        events: Sequence[Event],
        head: SessionHeader | str = "s",
        *,
        projected: bool = False,
    ) -> Lease:
        """Store a whole session that is not live; the lease was given back."""
        known = header(head) if isinstance(head, str) else head
        lease = await store.create(known, projected=projected)
        await store.append(lease, events)
        store.release(lease)
        await store.flush()  # a release may take a moment
        return lease

    async def enter(
        self, store: Store, head: SessionHeader | str = "s", seed: Sequence[Event] | None = None
    ) -> Live:
        """A new session, live."""
        known = header(head) if isinstance(head, str) else head
        session = Session(known, seed=seed, clock=self.clock)
        return Live(store, session, await store.create(known))

    async def resume(self, store: Store, session_id: str = "s") -> Live:
        """A stored session, live again, as a runtime does it."""
        stored = await store.prepare(session_id)
        session = self.revive(stored)
        rest = session.log[stored.stored :]
        return Live(store, session, await store.lease(session_id, after=stored, events=rest))

    def revive(self, stored: StoredLog) -> Session:
        """The session of a log that `prepare` gave; not live yet."""
        return Session(stored.header, seed=stored.events, clock=self.clock, resumed=True)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for what happens in threads or tasks of a store; the case's time bounds it."""
        while not condition():
            await asyncio.sleep(0.001)


async def stored_events(store: Store, session_id: str = "s") -> list[Event]:
    """What is stored of a session, without a repair."""
    return list(await store.read_from(session_id, 0))
