"""What a provider is, what it is asked, and what it answers with.

Source: DESIGN section 4, spec providers section 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..messages.content import Block, ContentLike
from ..messages.event import Event
from ..messages.options import AgentOptions
from ..messages.payload import Descriptor, ToolFilter

if TYPE_CHECKING:
    from ..actors.agent import Agent
    from ..actors.cancellation import CancellationToken
    from ..actors.handle import AgentHandle


@dataclass(frozen=True, slots=True)
class ProviderCapabilities:
    """What a one-shot start through the provider may ask for.

    A flag is true only when the thing works; a request for anything else is
    refused before the provider is called.

    Attributes:
        agent_options: Another provider, model, token ceiling or effort than the parent's.
        output_schema: A structured result.
        depth_limit: A ceiling on the depth of the child.
        tool_filter: Fewer tools than the child would see otherwise.
        persona: A persona of its own.
    """

    agent_options: bool = False
    output_schema: bool = False
    depth_limit: bool = False
    tool_filter: bool = False
    persona: bool = False


@dataclass(frozen=True, slots=True)
class SubagentRequest:
    """What a caller wants delegated. A field counts as requested when it is not None.

    Attributes:
        prompt: The task, delivered word for word as one user message.
        parent: The live agent that delegates, or its handle.
        label: A short name for people; recorded, never shown to the child.
        signal: The one channel of cancellation: before publication the start is
            taken back, afterwards the child's remaining work is cancelled.
        agent_options: Overrides, field by field, what the child inherits from its parent.
        output_schema: JSON schema of a structured result.
        max_depth: Deepest place in the tree the child may take; 0 forbids delegation.
        tool_filter: Which of the inherited tools the child sees.
        persona: Takes the place of the deployment's persona; an empty text is none at all.
    """

    prompt: ContentLike
    parent: Agent | AgentHandle
    label: str | None = None
    signal: CancellationToken | None = None
    agent_options: AgentOptions | None = None
    output_schema: Mapping[str, Any] | None = None
    max_depth: int | None = None
    tool_filter: ToolFilter | None = None
    persona: str | None = None


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """A checked request as providers and drivers get it: a new object, the caller's untouched.

    Attributes:
        prompt: The task as content blocks.
        parent: The exact live parent.
        descriptor: What will be recorded in the child's log.
        depth: The child's place in the tree; a root is 0.
        signal: Fires when the start is no longer wanted, whoever says so.
        label: See `SubagentRequest`, as the fields below.
    """

    prompt: tuple[Block, ...]
    parent: Agent
    descriptor: Descriptor
    depth: int
    signal: CancellationToken
    label: str | None = None
    agent_options: AgentOptions | None = None
    output_schema: Mapping[str, Any] | None = None
    max_depth: int | None = None
    tool_filter: ToolFilter | None = None
    persona: str | None = None


@dataclass(frozen=True, slots=True)
class InProcessSpec:
    """A child that runs as an actor of this runtime.

    Attributes:
        seed: Leading events of the child's log, taken from another log; None starts fresh.
    """

    seed: tuple[Event, ...] | None = None


@runtime_checkable
class SubagentProvider(Protocol):
    """A named way to make children. It returns frozen data and starts nothing itself.

    One provider may be asked for many children at once: it keeps no state of a
    single request, so that the failure of one never touches another.
    """

    @property
    def name(self) -> str:
        """The name that callers and tools choose it by; unique in a runtime."""
        ...

    @property
    def capabilities(self) -> ProviderCapabilities:
        """What a one-shot start may ask for."""
        ...

    @property
    def inherits_parent_context(self) -> bool:
        """Whether the child knows the parent's conversation; only words tool descriptions."""
        ...

    async def prepare_one_shot(self, request: ResolvedRequest) -> object:
        """Say how the child is created.

        Args:
            request: The checked request. Its signal need not be watched: the service
                gives up waiting as soon as it fires.

        Returns:
            A creation spec: an `InProcessSpec`, or any other type that a driver is
            registered for.
        """
        ...
