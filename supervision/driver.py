"""What turns a creation spec into a live child.

A driver is registered for one type of spec (`SubagentService.register_driver`), so
a new kind of child is a new spec type with a driver of its own. Everything here
runs on the runtime's loop. Source: DESIGN section 4, spec providers section 1.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ..messages.payload import AbortCause
from ..messages.result import SubagentResult

if TYPE_CHECKING:
    from ..actors.agent import Agent
    from .birth import Birth

Done: TypeAlias = Callable[[SubagentResult | BaseException], None]
"""Takes the child's one outcome; later calls are ignored."""


class Child(Protocol):
    """A published child as its driver holds it; a `SubagentRun` is made around it."""

    @property
    def local_agent(self) -> Agent | None:
        """The child's agent, when it is one of this runtime."""
        ...

    def begin(self, done: Done) -> None:
        """Start the work: called at most once, after ``subagent/start``.

        Args:
            done: To be called when the child is through, from any thread: with a
                result, also for failures of the child, or with an exception for a fault
                that has no stop reason. Anything else is such a fault.
        """
        ...

    def cancel(self, cause: AbortCause) -> None:
        """Ask the work to stop; does nothing when it has ended. Must not wait."""
        ...

    def release(self) -> Awaitable[None] | None:
        """Stop what runs and free everything the child holds: called once, also before `begin`.

        By its end `done` has been called if `begin` was; if not, the run is settled
        as aborted. What it raises is the outcome of `SubagentRun.dispose`. A child that
        is no agent and not free after ``dispose_timeout`` is left to itself.

        Returns:
            None when everything is free, else what to await for it.
        """
        ...


class Driver(Protocol):
    """Makes children from specs of one type, many at the same time."""

    async def create(self, spec: Any, birth: Birth) -> Child:
        """Make the child and publish it, or leave nothing behind.

        Args:
            spec: What the provider returned.
            birth: The request, the child's id, the signal to watch, and
                `Birth.announce`, to be called right before the child can be seen.

        Returns:
            The child, which has not begun to work.

        Raises:
            Exception: After everything that was made is gone again.
        """
        ...
