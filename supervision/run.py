"""The caller's hold on a one-shot child."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ..actors.reply import Reply
from ..actors.stray import is_stray
from ..messages.errors import (
    BroodlineError,
    ConfigurationError,
    SubagentError,
    SubagentErrorCode,
)
from ..messages.payload import AbortCause
from ..messages.result import SubagentResult
from .lifecycle import emit_end, emit_start
from .outcome import because, said_by, sound_outcome

if TYPE_CHECKING:
    from ..actors.agent import Agent
    from ..actors.cancellation import CancellationToken
    from ..actors.registration import Registration
    from .birth import Birth
    from .driver import Child, Done
    from .service import SubagentService

_logger = logging.getLogger(__name__)

_BY_PARENT = AbortCause("parent")
_ABORTED = SubagentResult((), "aborted")


class SubagentRun:
    """One one-shot delegation, from publication to disposal.

    Whoever started it owns it and must dispose of it; at the latest the end of its
    parent or of the runtime does. Unregistering the provider changes nothing for it.

    Attributes:
        id: The child's id; of a local child, its agent's and session's too.
        run_id: Names this run in ``subagent/start`` and ``subagent/end``.
        provider: The provider's name at creation.
        label: As in the request.
        depth: The child's place in the tree.
        started: When it was published, in seconds of the runtime's clock.
        parent: The delegating agent.
        local_agent: The child's agent, or None for a child outside of this runtime.
        result: Settles once with a `SubagentResult`, also when the child failed; with
            an exception only for a fault that has no stop reason.
    """

    __slots__ = (
        "_begun",
        "_birth",
        "_cancelled",
        "_child",
        "_disposal",
        "_link",
        "_service",
        "depth",
        "id",
        "label",
        "local_agent",
        "parent",
        "provider",
        "result",
        "run_id",
        "started",
    )

    def __init__(self, service: SubagentService, birth: Birth, child: Child) -> None:
        system, descriptor = service.system, birth.descriptor
        self.id = birth.id
        self.run_id = system.ids.new("run")
        self.provider = descriptor.provider
        self.label = descriptor.label
        self.depth = birth.depth
        self.started = system.clock.monotonic()
        self.parent: Agent = birth.parent
        self.local_agent = child.local_agent
        self.result: Reply[SubagentResult] = Reply(system, "result of a child")
        self._begun = False
        self._cancelled = False
        self._service = service
        self._birth = birth
        self._child = child
        self._link: Registration | None = None
        self._disposal: Reply[None] | None = None

    def __repr__(self) -> str:
        return f"<SubagentRun {self.id} of {self.provider!r}>"

    @property
    def settled(self) -> bool:
        """Whether `result` is there. Any thread."""
        return self.result.done()

    def dispose(self) -> Reply[None]:
        """Cancel what is left of the work and free everything the child holds. Any thread.

        Settles when both the release is done and `result` is there; the result's own
        failure is not repeated here. Every call returns the same `Reply`.

        Errors:
            SubagentError: ``TEARDOWN_FAILED`` if something could not be released. The
                parent is free of the child all the same.
            DeadlockError: From inside a turn of the child or of one below it, which the
                disposal would wait for; nothing was disposed.
        """
        if self._disposal is not None:
            return self._disposal
        refusal = self._service.refused_wait(self)
        if refusal is not None:
            return refusal
        reply: Reply[None] = Reply(self._service.system)
        with self._service.lock:
            if self._disposal is not None:
                return self._disposal
            self._disposal = reply
        self._service.dispose_run(self, reply)
        return reply

    # What follows is the service's side; it runs on the loop.

    def begin(self, signal: CancellationToken | None) -> None:
        """Emit ``subagent/start``, then let the child work unless it is cancelled already."""
        if signal is not None:
            self._link = signal.on_cancel(self._on_signal)
        emit_start(self._service.hooks, self)
        self._begun = True
        if self.result.done():
            self._tell_end()
        elif self._cancelled or (signal is not None and signal.cancelled):
            self._settle(_ABORTED)
        else:
            self._set_to_work()

    def cancel(self, cause: AbortCause = _BY_PARENT) -> None:
        """Ask the child to stop, or never let it begin; nothing when the result is there."""
        self._cancelled = True
        if self.result.done() or not self._begun:
            return
        try:
            self._child.cancel(cause)
        except BaseException as error:
            if not is_stray(error, None):
                raise
            _logger.exception("child %r could not be cancelled; dispose of it to free it", self.id)

    def release(self) -> Awaitable[None] | None:
        """Free the child; None when that is done already, else what to await for it.

        Raises:
            SubagentError: ``TEARDOWN_FAILED``.
        """
        try:
            pending = self._child.release()
        except BaseException as error:
            self._released()
            if not is_stray(error, None):
                raise
            raise self._teardown_failed(error) from error
        if pending is not None:
            return self._finish_release(pending)
        self._released()
        return None

    async def _finish_release(self, pending: Awaitable[None]) -> None:
        try:
            if self.local_agent is None:
                await self._released_in_time(pending)
            else:
                await pending  # an agent's end keeps its own time
        except BaseException as error:
            if not is_stray(error, asyncio.current_task()):
                raise
            raise self._teardown_failed(error) from error
        finally:
            self._released()

    async def _released_in_time(self, pending: Awaitable[None]) -> None:
        system = self._service.system
        task = system.spawn(_wait(pending), name=f"release of {self.id}")
        limit = system.settings.dispose_timeout
        done, _ = await asyncio.wait((task,), timeout=limit)
        if not done:
            task.cancel()
            task.add_done_callback(_look_at)
            raise TimeoutError(f"it was not free after {limit:g} s and is left to itself")
        await task

    def _released(self) -> None:
        # What is released can answer no more: a child that never did was aborted.
        self._settle(_ABORTED)
        self._service.forget(self)

    def _on_signal(self, _cause: object) -> None:
        try:
            self._service.system.call(self._service.call_off, self)
        except BroodlineError:
            return  # the runtime is closed, and has ended the child

    def _set_to_work(self) -> None:
        try:
            begin: Callable[[Done], object] = self._child.begin
            answer = begin(self._done)
            if inspect.isawaitable(answer):
                if inspect.iscoroutine(answer):
                    answer.close()
                raise ConfigurationError("begin of a child must be a plain function, not async")
        except BaseException as error:
            if not is_stray(error, None):
                raise
            self._done(error)

    def _done(self, outcome: SubagentResult | BaseException) -> None:
        """What the child's driver calls; on the loop, or left to it."""
        if self.result.done():
            return
        try:
            self._service.system.call(self._settle, sound_outcome(outcome))
        except BroodlineError:
            return  # the runtime is closed, and has ended the child

    def _settle(self, outcome: SubagentResult | Exception) -> None:
        if self.result.done():
            return
        if self._link is not None:
            self._link.dispose()
            self._link = None
        self._birth.withdraw()
        if isinstance(outcome, SubagentResult) and outcome.stop_reason == "aborted":
            outcome = because(outcome, self._service.end_above(self))
        if isinstance(outcome, Exception):
            self.result.fail(outcome)
        else:
            self.result.settle(outcome)
        # In the start edge it waits: every listener hears the start first.
        if self._begun:
            self._tell_end()

    def _tell_end(self) -> None:
        failed = self.result.error() is not None
        emit_end(self._service.hooks, self, None if failed else self.result.get())

    def _teardown_failed(self, error: BaseException) -> SubagentError:
        return SubagentError(
            f"child {self.id} was ended, but not everything it held could be released: "
            f"{said_by(error)}",
            code=SubagentErrorCode.TEARDOWN_FAILED,
            details={"childId": self.id},
        )


async def _wait(pending: Awaitable[None]) -> None:
    await pending


def _look_at(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _logger.error("what was left to itself failed", exc_info=task.exception())
