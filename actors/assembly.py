"""What a prompt is made for, and what comes out: plain frozen data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from .scope import Scope


@dataclass(frozen=True, slots=True)
class PromptContext:
    """Who asks for a prompt; handed to every provider.

    Attributes:
        agent_id: Id of the agent, which is also its session's.
        cwd: Absolute path, or None; the variable ``{{cwd}}``.
        provider: Of the model that will be asked, or None; ``{{provider}}``.
        model: Its own name, or None; ``{{model}}``.
        scope: Whose registrations count; None sees the global ones only.
        agent: The live ``Agent``, or None outside of one.
        signal: The turn's ``CancellationToken``, or None.
    """

    agent_id: str = ""
    cwd: str | None = None
    provider: str | None = None
    model: str | None = None
    scope: Scope | None = None
    agent: Any = None
    signal: Any = None


@dataclass(frozen=True, slots=True)
class Assembly:
    """The prompt of one step.

    Attributes:
        system: The sections, rendered and joined by a blank line; None when empty.
        contexts: Name and text of each runtime context that has something to say,
            in order; `snapshot.py` makes the message of them.
    """

    system: str | None = None
    contexts: tuple[tuple[str, str], ...] = ()


EMPTY_ASSEMBLY = Assembly()


@dataclass(frozen=True, slots=True)
class PromptAssembling:
    """``system-prompt/assemble``, intercepted: is this the prompt?

    The answer is the `Assembly` to go on with, or None for "as it is"; the next
    interceptor sees it. It counts for this step only. When a section is
    `complete`, its text takes the place of whatever `system` the answers had.
    """

    context: PromptContext
    assembly: Assembly


ProvidedText: TypeAlias = str | None
TextProvider: TypeAlias = Callable[[PromptContext], ProvidedText | Awaitable[ProvidedText]]
TextSource: TypeAlias = str | TextProvider
"""A text, or a plain or async function that gives one for a `PromptContext`."""
