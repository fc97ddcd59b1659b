"""Where tool calls are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ..cancellation import CancellationToken
from ..scope import Scope
from .registry import ToolRegistry
from .tool import ToolContext


@dataclass(frozen=True, slots=True)
class CallSite:
    """Where calls are made: what all calls of one message have in common.

    Attributes:
        registry: Whose tools, hooks and guards count.
        scope: Whose view counts; None sees the global tools.
        agent: The live ``Agent``, or None.
        signal: Fires when the calls are to end.
        system: The ``ActorSystem`` with executor and clock; None runs plain bodies
            on the loop and times with the loop's clock.
        parent: The call in whose body these are made, or None.
        before_body: Awaited before a body runs: what was logged is stored then. None where
            nothing is stored, and in the body of another call, which waited for its own.
    """

    registry: ToolRegistry
    scope: Scope | None
    agent: Any
    signal: CancellationToken
    system: Any = None
    parent: ToolContext | None = None
    before_body: Callable[[], Awaitable[None]] | None = None
