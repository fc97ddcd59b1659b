"""The calls of one message, in the model's order.

One coroutine starts calls and settles results; only bodies overlap. A call is
parallel if its tool says so now, else it is a barrier. Whatever happens, every
call has a result before this returns or raises: a history with an unanswered
call is refused by every provider.

Source: spec core 10.3, deviation D3.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from ...messages.content import ToolCall
from ...messages.errors import ConfigurationError, SessionError
from ...messages.message import UserMessage
from ...messages.plain import quoted
from ..cancellation import CancellationToken
from ..scope import Scope
from .call_site import CallSite
from .decision import ToolOutcome
from .failure import aborted, failed
from .pipeline import ToolRun
from .registry import ToolRegistry
from .tool import ToolContext

_LOGGER = logging.getLogger("broodline.tools")
DEFAULT_CAP = 10


class SchedulerPort(Protocol):
    """Where calls and results are written down; the turn implements it."""

    def call_started(self, call: ToolCall) -> int:
        """Log that a call begins; returns the event's seq."""
        ...

    def call_finished(self, call: ToolCall, seq: int, outcome: ToolOutcome) -> None:
        """Log a result; `seq` is its call's. Called in model order."""
        ...

    def contexts(self, messages: Sequence[UserMessage]) -> None:
        """Queue what goes before the model at the next step; called behind all results."""
        ...


class _Started:
    """A call that is logged and has no result yet."""

    __slots__ = ("call", "run", "seq", "task")

    def __init__(self, call: ToolCall, seq: int) -> None:
        self.call = call
        self.seq = seq
        self.run: ToolRun | None = None
        self.task: asyncio.Task[None] | None = None


async def run_calls(
    calls: Sequence[ToolCall],
    *,
    port: SchedulerPort,
    registry: ToolRegistry,
    scope: Scope | None = None,
    agent: Any = None,
    signal: CancellationToken | None = None,
    system: Any = None,
    cap: int = DEFAULT_CAP,
    parent: ToolContext | None = None,
    before_body: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Run all calls of one message to their results.

    Once the signal has fired nothing more starts: bodies that run are awaited, the
    calls behind them get their pair of events all the same. Cancelling the calling
    task instead cancels the bodies.

    Args:
        calls: In the model's order.
        port: Where they are written down.
        registry: Whose tools, hooks and guards count.
        scope: Whose view counts, read again before each start.
        agent: The live ``Agent``, or None.
        signal: Fires when the calls are to end.
        system: The ``ActorSystem`` with executor and clock.
        cap: How many bodies may overlap; 1 is one after the other.
        parent: The call in whose body these are made, or None.
        before_body: See `CallSite`.

    Raises:
        ConfigurationError: If `cap` is not a positive integer; nothing was started.
        Exception: What the port raised, once every call has a result.
    """
    if type(cap) is not int or cap < 1:
        raise ConfigurationError(f"cap must be a positive integer, not {quoted(cap)}")
    token = CancellationToken() if signal is None else signal
    site = CallSite(registry, scope, agent, token, system, parent, before_body)
    batch = _Batch(tuple(calls), port, site, cap)
    try:
        await batch.run()
    except GeneratorExit:
        raise
    except BaseException as fault:
        await batch.fail(fault)
        raise


class _Batch:
    """The calls of one message on their way."""

    __slots__ = ("_calls", "_cap", "_contexts", "_next", "_open", "_port", "_site")

    def __init__(
        self, calls: tuple[ToolCall, ...], port: SchedulerPort, site: CallSite, cap: int
    ) -> None:
        self._calls = calls
        self._port = port
        self._site = site
        self._cap = cap
        self._next = 0
        self._open: list[_Started] = []
        self._contexts: list[UserMessage] = []

    async def run(self) -> None:
        calls = self._calls
        last = len(calls) - 1
        while self._next <= last:
            run = ToolRun(calls[self._next], self._site)
            if (self._next < last or self._open) and await self._turn_of(run):
                await self._start(run, overlap=True)
            else:
                await self._start(run, overlap=False)
                await self._settle_ready()
        while self._open:
            await self._advance()
        self._hand_over()

    async def _turn_of(self, run: ToolRun) -> bool:
        """Wait until a call may start; returns whether it may overlap.

        Asked again after every wait: what ran meanwhile may have changed the tools.
        """
        while True:
            parallel = run.parallel()
            if not self._open:
                return parallel
            if parallel and self._running() < self._cap:
                return True
            await self._advance()

    async def _start(self, run: ToolRun, *, overlap: bool) -> None:
        call = self._calls[self._next]
        started = _Started(call, self._port.call_started(call))
        self._open.append(started)
        self._next += 1
        started.run = run
        await run.admit()
        if not overlap or run.outcome is not None:
            await run.execute()
            return
        started.task = asyncio.create_task(run.execute(), name=f"tool {call.name}")
        await asyncio.sleep(0)  # the body begins before anybody is asked about the next call

    def _running(self) -> int:
        return sum(one.task is not None and not one.task.done() for one in self._open)

    async def _advance(self) -> None:
        """Wait for a body to end, then settle what is next in order."""
        running = [one.task for one in self._open if one.task is not None and not one.task.done()]
        head = self._open[0].task
        if running and head is not None and not head.done():
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        await self._settle_ready()

    async def _settle_ready(self) -> None:
        """Settle and log results from the first open call on, as far as bodies have ended."""
        while self._open:
            started = self._open[0]
            if started.task is not None:
                if not started.task.done():
                    return
                started.task.result()
            assert started.run is not None
            outcome = await started.run.settle()
            self._port.call_finished(started.call, started.seq, outcome)
            del self._open[0]
            self._contexts.extend(outcome.contexts)

    def _hand_over(self) -> None:
        if self._contexts:
            messages, self._contexts = tuple(self._contexts), []
            self._port.contexts(messages)

    async def fail(self, fault: BaseException) -> None:
        """Answer every call that has no result, after the bodies have ended."""
        tasks = [one.task for one in self._open if one.task is not None]
        if not isinstance(fault, Exception):
            for task in tasks:
                task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:  # cancelled once more: no time for the bodies, but for their results
            self._answer_all(cancelled=isinstance(fault, asyncio.CancelledError))

    def _answer_all(self, *, cancelled: bool) -> None:
        for started in self._open:
            outcome = aborted(dispatched=True) if cancelled else _broken(started=True)
            self._answer(started.call, started.seq, outcome)
        for call in self._calls[self._next :]:
            outcome = aborted(dispatched=False) if cancelled else _broken(started=False)
            self._answer(call, None, outcome)
        try:
            self._hand_over()
        except Exception:
            _LOGGER.exception("contexts of tool results could not be queued")

    def _answer(self, call: ToolCall, seq: int | None, outcome: ToolOutcome) -> None:
        try:
            if seq is None:
                seq = self._port.call_started(call)
            self._port.call_finished(call, seq, outcome)
        except SessionError as error:
            # The log is sealed: its agent was let go of, which has been told already.
            _LOGGER.info("call %s of tool %r has no result: %s", call.id, call.name, error)
        except Exception:
            _LOGGER.exception("call %s of tool %r could not be given a result", call.id, call.name)


def _broken(*, started: bool) -> ToolOutcome:
    if started:
        return failed(
            "the runtime failed while this call was under way; it may have taken effect",
            "SCHEDULER_FAULT",
        )
    return failed("the runtime failed before this call was started", "SCHEDULER_FAULT")
