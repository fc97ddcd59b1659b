"""The children of one parent that are starting or not yet disposed of."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ..actors.waiter import Waiter
from ..messages.errors import SubagentError, SubagentErrorCode
from ..messages.payload import AbortCause
from .catalog import CatalogEntry, CatalogFold

if TYPE_CHECKING:
    from ..actors.agent import Agent
    from ..actors.operation import Operation
    from .birth import Birth
    from .run import SubagentRun

_logger = logging.getLogger(__name__)

_ENDED = AbortCause("disposed")


class Brood:
    """One parent's children; ends, child-first, with the parent's scope. Loop only.

    Args:
        parent: Whose children these are.
        ended: Called once, when all of them are gone for good.

    Attributes:
        parent: As given.
        births: Starts in progress, oldest first.
        under_end: Whether all below was cancelled because an agent above, or the runtime,
            ends: nothing new begins here any more.
        runs: Published and not released, oldest first.
    """

    __slots__ = ("_catalog", "_on_end", "births", "parent", "runs", "under_end")

    def __init__(self, parent: Agent, ended: Callable[[Brood], None]) -> None:
        self.parent = parent
        self.births: dict[Birth, None] = {}
        self.runs: dict[SubagentRun, None] = {}
        self.under_end = False
        self._on_end = ended
        self._catalog: CatalogFold | None = None
        parent.scope.add_cleanup(self.end)

    def catalog(self) -> tuple[CatalogEntry, ...]:
        """The children that the parent's log tells of; folds only what is new."""
        session = self.parent.session
        if self._catalog is None:
            self._catalog = CatalogFold(session.header)
        return self._catalog.advance(session.own_events(self._catalog.next_seq))

    def cut_off(self) -> list[Operation[Any]]:
        """Take back every start and cancel the work of every child, without waiting.

        Returns:
            The starts, which settle when they have cleaned up.
        """
        starts = [birth.operation for birth in self.births if birth.operation is not None]
        for start in starts:
            start.cancel(parent_gone(self.parent.id))
        for run in tuple(self.runs):
            run.cancel(_ENDED)
        return starts

    def end(self) -> Awaitable[None] | None:
        """Take back every start and dispose of every child; None when there is none."""
        starts = self.cut_off()
        if not starts and not self.runs:
            self._on_end(self)
            return None
        # Not disposed of right here: down a long chain that would exhaust the call stack.
        return self._ended(starts)

    async def _ended(self, starts: list[Operation[Any]]) -> None:
        failures: list[Exception] = []
        for disposal in [run.dispose() for run in reversed(tuple(self.runs))]:
            try:
                await disposal
            except Exception as error:
                failures.append(error)
        await self._taken_back(starts)
        self._on_end(self)
        if failures:
            raise ExceptionGroup(f"children of {self.parent.id} could not be released", failures)

    async def _taken_back(self, starts: list[Operation[Any]]) -> None:
        """Wait until the starts have cleaned up; their callers are told how that went.

        One that ignores its cancellation is left to itself in time: what it brings
        forth later is refused, or released at once.
        """
        if not starts:
            return
        loop = asyncio.get_running_loop()
        waiters = [Waiter(loop) for _ in starts]
        for start, waiter in zip(starts, waiters, strict=True):
            start.add_done_callback(waiter)
        limit = self.parent.runtime.settings.dispose_timeout
        _, deaf = await asyncio.wait([waiter.future for waiter in waiters], timeout=limit)
        if deaf:
            _logger.error(
                "%d starts under %r ignored their cancellation for %g s and were left alone",
                len(deaf),
                self.parent.id,
                limit,
            )


def check_live(parent: Agent) -> None:
    """Let no parent delegate that is about to end.

    Raises:
        SubagentError: ``UNAUTHORIZED`` if it or an agent above it is being disposed.
    """
    above: Agent | None = parent
    while above is not None:
        if above.closing:
            raise parent_gone(parent.id)
        above = above.parent


def parent_gone(parent_id: str) -> SubagentError:
    """The refusal of a start whose parent is not, or no longer, a live agent here."""
    return SubagentError(
        f"agent {parent_id} is not live in this runtime, so it cannot delegate; "
        "create or resume it first",
        code=SubagentErrorCode.UNAUTHORIZED,
        details={"parentId": parent_id},
    )
