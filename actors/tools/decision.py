"""What the hooks around a tool call hand over, and what may be answered.

``tools/pre-execute`` and ``tools/post-execute`` are asked in model order, one
call at a time; ``tools/execute`` wraps the body; ``tools/result`` and
``tools/progress`` are told.

Source: spec core 10.2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from ...messages.content import Block as ContentBlock
from ...messages.content import ContentLike
from ...messages.message import UserMessage
from ...messages.payload import ErrorInfo
from ..cancellation import CancellationToken
from .tool import ToolContext


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""Not given, where None would be a value."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a call came to; deeply frozen.

    Attributes:
        content: What the model sees.
        is_error: Whether the call failed; `content` then begins with ``Error: ``,
            unless a `Block` said otherwise.
        error: Class name and code of the failure, for failures that have a code.
        value: The returned value as frozen JSON; None for a failure.
        contexts: What goes before the model at the next step.
        conclude: Whether the turn is to end behind the batch; never for a failure.
        meta: Logged beside the result; frozen JSON.
    """

    content: tuple[ContentBlock, ...]
    is_error: bool = False
    error: ErrorInfo | None = None
    value: Any = None
    contexts: tuple[UserMessage, ...] = ()
    conclude: bool = False
    meta: Any = None


@dataclass(frozen=True, slots=True)
class Allow:
    """Answer to ``tools/pre-execute``: let it run, unless a guard says no."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Answer to ``tools/pre-execute``: the call fails with DENIED, the body never runs."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Answer to ``tools/pre-execute``: somebody must approve; nobody can, so DENIED."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class PostExecute:
    """``tools/post-execute``: what a call came to, as far as the earlier interceptors left it."""

    context: ToolContext
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class Accept:
    """Answer to `PostExecute`: keep the outcome, with another content or another value.

    Attributes:
        content: Shown in place of the content; a failure stays one.
        value: In place of a success's value: checked and rendered again.
        contexts: Added behind those of the body.
    """

    content: ContentLike | None = None
    value: Any = UNSET
    contexts: tuple[UserMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Answer to `PostExecute`: the call fails with this feedback; its contexts are dropped.

    Attributes:
        feedback: What the model sees.
        contexts: In place of those of the body.
    """

    feedback: ContentLike
    contexts: tuple[UserMessage, ...] = ()


class Execution:
    """``tools/execute``: a body about to run; the interceptor answers with its value.

    ::

        async def wrapper(execution):
            return await execution.proceed()
    """

    __slots__ = ("_proceed", "context")

    def __init__(
        self,
        context: ToolContext,
        proceed: Callable[[CancellationToken | None], Awaitable[Any]],
    ) -> None:
        self.context = context
        self._proceed = proceed

    async def proceed(self, signal: CancellationToken | None = None) -> Any:
        """Run the rest: the next wrapper or the body.

        Args:
            signal: Replaces the body's signal; the caller's fires it as well.

        Returns:
            What the body returned.

        Raises:
            BaseException: Whatever the body raised.
        """
        return await self._proceed(signal)


@dataclass(frozen=True, slots=True)
class ToolResulted:
    """``tools/result``: the final outcome, behind every interceptor."""

    context: ToolContext
    outcome: ToolOutcome


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """``tools/progress``: what a body said of how far it is."""

    context: ToolContext
    value: Any
