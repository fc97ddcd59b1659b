"""What other threads want started on the loop."""

from __future__ import annotations

import contextvars
from collections import deque
from typing import TYPE_CHECKING, Any

from .cancellation import CancellationToken
from .context import current_system
from .operation import Operation
from .reply import Reply

if TYPE_CHECKING:
    from .system import ActorSystem


class Launch:
    """One thing to start, with the context variables of whoever asked for it.

    Args:
        reply: An `Operation`, or the reply of a plain function.
        work: What the operation runs, or the function.
        args: For `work`.
        signal: For an operation.
    """

    __slots__ = ("_args", "_context", "_reply", "_signal", "_work")

    def __init__(
        self,
        reply: Reply[Any],
        work: Any,
        args: tuple[Any, ...],
        signal: CancellationToken | None = None,
    ) -> None:
        self._reply = reply
        self._work = work
        self._args = args
        self._signal = signal
        self._context = contextvars.copy_context()

    def run(self, system: ActorSystem) -> None:
        """Start it; loop only."""
        self._context.run(self._begin, system)

    def _begin(self, system: ActorSystem) -> None:
        current_system.set(system)
        if isinstance(self._reply, Operation):
            self._reply.begin(self._work, self._args, self._signal)
            return
        reply = self._reply
        del self._reply  # an error's traceback holds this frame, and its callers
        try:
            reply.settle(self._work(*self._args))
        except BaseException as error:
            reply.fail(error)
        finally:
            del reply

    def refuse(self, error: BaseException) -> None:
        """Answer without starting it; any thread."""
        if isinstance(self._reply, Operation):
            self._reply.refuse(self._work, error)
        else:
            self._reply.fail(error)


class Launches:
    """The line of launches; each is either run by the loop or refused, never forgotten.

    Args:
        system: The runtime whose loop runs them.
    """

    __slots__ = ("_line", "_system")

    def __init__(self, system: ActorSystem) -> None:
        self._system = system
        self._line: deque[Launch] = deque()

    def add(self, launch: Launch) -> None:
        """Have the loop run `launch`; any thread."""
        self._line.append(launch)
        if self._system.refusal() is None:
            try:
                self._system.loop.call_soon_threadsafe(self._run_next)
            except RuntimeError:
                self.refuse()
        # Closing empties the line after it has set the state, so none is forgotten.
        if self._system.refusal() is not None:
            self.refuse()

    def _run_next(self) -> None:
        if self._line:
            self._line.popleft().run(self._system)

    def refuse(self) -> None:
        """Answer all that can no longer be started; any thread."""
        while True:
            try:
                launch = self._line.popleft()
            except IndexError:
                return
            launch.refuse(self._system.refusal() or self._system.closed_error())
