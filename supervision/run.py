"""The caller's hold on a one-shot child."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from ..actors.reply import Reply
from ..messages.errors import SubagentError, SubagentErrorCode
from ..messages.payload import AbortCause
from ..messages.result import SubagentResult
from .lifecycle import emit_end, emit_start

if TYPE_CHECKING:
    from ..actors.agent import Agent
    from ..actors.cancellation import CancellationToken
    from ..actors.registration import Registration
    from .birth import Birth
    from .driver import Child
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
        system, descriptor = service.system, birth.request.descriptor
        self.id = birth.id
        self.run_id = system.ids.new("run")
        self.provider = descriptor.provider
        self.label = descriptor.label
        self.depth = birth.request.depth
        self.started = system.clock.monotonic()
        self.parent: Agent = birth.parent
        self.local_agent = child.local_agent
        self.result: Reply[SubagentResult] = Reply(system)
        self._begun = False
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
        self._begun = True
        emit_start(self._service.hooks, self)
        if self.result.done():
            return
        if signal is not None:
            if signal.cancelled:
                self._settle(_ABORTED)
                return
            self._link = signal.on_cancel(self._on_signal)
        try:
            self._child.begin(self._settle)
        except Exception as error:
            self._settle(error)

    def cancel(self, cause: AbortCause = _BY_PARENT) -> None:
        """Ask the child to stop; nothing when the result is there."""
        if self.result.done():
            return
        try:
            self._child.cancel(cause)
        except Exception:
            _logger.exception("child %s could not be cancelled; dispose of it to free it", self.id)

    def release(self) -> Awaitable[None] | None:
        """Free the child; None when that is done already, else what to await for it.

        Raises:
            SubagentError: ``TEARDOWN_FAILED``.
        """
        try:
            pending = self._child.release()
        except Exception as error:
            self._released()
            raise self._teardown_failed(error) from error
        if pending is not None:
            return self._finish_release(pending)
        self._released()
        return None

    async def _finish_release(self, pending: Awaitable[None]) -> None:
        try:
            await pending
        except Exception as error:
            raise self._teardown_failed(error) from error
        finally:
            self._released()

    def _released(self) -> None:
        # What is released can answer no more: a child that never did was aborted.
        self._settle(_ABORTED)
        self._service.forget(self)

    def _on_signal(self, _cause: object) -> None:
        self._service.system.call(self.cancel)

    def _settle(self, outcome: SubagentResult | BaseException) -> None:
        if self.result.done():
            return
        if self._link is not None:
            self._link.dispose()
            self._link = None
        self._birth.withdraw()
        if isinstance(outcome, BaseException):
            self.result.fail(outcome)
        else:
            self.result.settle(outcome)
        if self._begun:
            ended = None if isinstance(outcome, BaseException) else outcome
            emit_end(self._service.hooks, self, ended)

    def _teardown_failed(self, error: BaseException) -> SubagentError:
        return SubagentError(
            f"child {self.id} was ended, but not everything it held could be released: {error}",
            code=SubagentErrorCode.TEARDOWN_FAILED,
            details={"childId": self.id},
        )
