"""A backend on a host: its threads, its holder and its signs of life."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

from ...messages.errors import ActorDeadError, ConfigurationError
from ..executor import Executor, lane_of
from ..store import StoreHost
from .backend import Backend
from .holder import Holder, this_process
from .refusal import closed_error

_logger = logging.getLogger("broodline.store")

T = TypeVar("T")

_SIDE_BY_SIDE = 4
_GRACE = 5.0  # seconds for the threads to end
_HASTE = 1.0  # the same for a close that was called off


class Hosted:
    """Runs a backend's functions in two lanes of a host's executor. Loop only.

    Args:
        backend: What is run.
        timeout: Seconds that a sign of life counts for.

    Attributes:
        backend: As given.
        host: None while it is closed.
    """

    def __init__(self, backend: Backend, timeout: float) -> None:
        self.backend = backend
        self.host: StoreHost | None = None
        self._timeout = timeout
        self._writing: Executor | None = None
        self._reading: Executor | None = None
        self._holder: Holder | None = None
        self._renewal: asyncio.Task[None] | None = None

    @property
    def lane(self) -> Executor:
        """Where writing happens.

        Raises:
            SessionError: ``STORE_CLOSED``.
        """
        if self._writing is None:
            raise closed_error(self.backend.place)
        return self._writing

    def now(self) -> float:
        """Seconds of the host's monotonic clock; any thread.

        Raises:
            SessionError: ``STORE_CLOSED``.
        """
        if self.host is None:
            raise closed_error(self.backend.place)
        return self.host.clock.monotonic()

    async def open(self, host: StoreHost) -> None:
        """Open the backend on `host`.

        Raises:
            ConfigurationError: If it is open already.
            Exception: What the backend raises; it is closed again then.
        """
        if self.host is not None:
            raise ConfigurationError(
                f"the store {self.backend.place!r} is in use already; make one of its own for "
                "every runtime, they may share the place"
            )
        self.host = host
        threads = 1 if self.backend.grouped else _SIDE_BY_SIDE
        self._writing = lane_of(host.executor, "store-writer", threads)
        self._reading = lane_of(host.executor, "store-reader", 1)
        # Not from the host's ids: a seeded simulation would make the same one twice.
        name = secrets.token_hex(8)
        self._holder = this_process(name, self._timeout, host.clock.monotonic())
        opening = asyncio.ensure_future(self._writing.run(self.backend.open, self._holder))
        try:
            await asyncio.shield(opening)
        except asyncio.CancelledError:
            # Else it would be open behind our back.
            await asyncio.wait((opening,), timeout=_HASTE)
            await self.close(hasty=True)
            raise
        except BaseException:
            await self._let_go(_GRACE)
            raise

    async def close(self, *, hasty: bool = False) -> None:
        """Close the backend and end the threads; raises what the backend raises, then.

        Args:
            hasty: Wait no longer than about two seconds; a thread that hangs is left behind.
        """
        if self.host is None:
            return
        grace = _HASTE if hasty else _GRACE
        try:
            await _ended(self._renewal)
            await self._close_lane(self._reading, grace)
            closing = asyncio.ensure_future(self.lane.run(self.backend.close))
            closing.add_done_callback(_look_at)
            await asyncio.wait((closing,), timeout=_HASTE if hasty else None)
            if closing.done():
                closing.result()
        except asyncio.CancelledError:
            grace = _HASTE
            raise
        finally:
            await self._let_go(grace)

    async def read(self, fn: Callable[..., T], *args: Any) -> T:
        """Call ``fn(*args)`` in the reader's lane."""
        if self._reading is None:
            raise closed_error(self.backend.place)
        try:
            return await self._reading.run(fn, *args)
        except ActorDeadError:  # it was closed meanwhile
            raise closed_error(self.backend.place) from None

    async def write(self, fn: Callable[..., T], *args: Any) -> T:
        """Call ``fn(*args)`` in the writer's lane."""
        try:
            return await self.lane.run(fn, *args)
        except ActorDeadError:
            raise closed_error(self.backend.place) from None

    def keep_alive(self, wanted: Callable[[], bool]) -> None:
        """Give signs of life from now on, as long as they are wanted."""
        if self.host is not None and (self._renewal is None or self._renewal.done()):
            self._renewal = self.host.spawn(self._renew(wanted), name="store leases")

    async def _renew(self, wanted: Callable[[], bool]) -> None:
        host, holder = self.host, self._holder
        told = False
        while host is not None and holder is not None:
            await host.clock.sleep(self._timeout / 3)
            if not wanted():
                return
            holder = self._holder = holder.renewed(host.clock.monotonic())
            try:
                await self.write(self.backend.renew, holder)
                told = False
            except Exception as error:
                if not told:
                    self._warn(error)
                told = True

    def _warn(self, error: Exception) -> None:
        _logger.warning(
            "%s took no sign of life: %s; if none gets through for %g s, other processes may take "
            "its sessions over",
            self.backend.place,
            error,
            self._timeout,
        )

    async def _let_go(self, grace: float) -> None:
        lanes = (self._writing, self._reading)
        try:
            for lane in lanes:
                await self._close_lane(lane, grace)
        finally:
            self.host = self._writing = self._reading = self._holder = None

    async def _close_lane(self, lane: Executor | None, grace: float) -> None:
        shared = None if self.host is None else self.host.executor
        if lane is not None and lane is not shared:
            await lane.close(grace)


async def _ended(task: asyncio.Task[None] | None) -> None:
    if task is not None and not task.done():
        task.cancel()
        await asyncio.wait((task,))


def _look_at(closing: asyncio.Future[None]) -> None:
    if not closing.cancelled():
        closing.exception()  # nobody may wait for it any more
