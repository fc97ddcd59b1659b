"""Which runtime and which actor the running code belongs to."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .actor import EventLoopActor
    from .system import ActorSystem

current_system: ContextVar[ActorSystem | None] = ContextVar("broodline_system", default=None)
"""The runtime entered by this thread or task, or whose actor or operation is running."""

current_actor: ContextVar[EventLoopActor | None] = ContextVar("broodline_actor", default=None)
"""The actor whose handler is running, also in the tasks and plain tools it starts."""
