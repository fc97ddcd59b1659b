"""What an event says: one frozen, slotted class a type of event that we write.

The class variable ``TYPE`` is the wire name. Everything else that stands in a
log (other products' events) is an `OpaquePayload`. Source: spec core section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from .chunk import Chunk, ModelFailure, Usage
from .lossless import freeze
from .message import AssistantMessage, MessageId, ToolMessage, UserMessage
from .plain import name_text

InboxTarget: TypeAlias = Literal["next-turn", "next-step"]
AbortKind: TypeAlias = Literal["user", "parent", "hook", "disposed", "legacy"]
TurnEndKind: TypeAlias = Literal[
    "completed", "max-tokens", "blocked", "error", "aborted", "interrupted"
]


@dataclass(frozen=True, slots=True)
class AbortCause:
    """Why work was cancelled; `reason` only with kind ``hook``."""

    kind: AbortKind
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TurnEndReason:
    """How a turn ended: `error` with kind error, `reason` with kind aborted."""

    kind: TurnEndKind
    error: ModelFailure | None = None
    reason: AbortCause | None = None


@dataclass(frozen=True, slots=True)
class TurnStart:
    TYPE: ClassVar[str] = "turn/start"
    turn: int


@dataclass(frozen=True, slots=True)
class TurnEnd:
    TYPE: ClassVar[str] = "turn/end"
    turn: int
    reason: TurnEndReason


@dataclass(frozen=True, slots=True)
class StepStart:
    TYPE: ClassVar[str] = "step/start"
    turn: int
    step: int


@dataclass(frozen=True, slots=True)
class StepEnd:
    TYPE: ClassVar[str] = "step/end"
    turn: int
    step: int


@dataclass(frozen=True, slots=True)
class UserMessageLogged:
    """Wire data is the message object itself."""

    TYPE: ClassVar[str] = "user/message"
    message: UserMessage


@dataclass(frozen=True, slots=True)
class ChunkReceived:
    TYPE: ClassVar[str] = "assistant/chunk"
    turn: int
    step: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class AssistantReplied:
    """`interrupted` is True for the kept prefix of a cancelled stream."""

    TYPE: ClassVar[str] = "assistant/message"
    turn: int
    step: int
    message: AssistantMessage
    usage: Usage | None = None
    interrupted: bool | None = None


@dataclass(frozen=True, slots=True)
class ToolCalled:
    TYPE: ClassVar[str] = "tool/call"
    turn: int
    step: int
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Stable identity of a failure: class name and code."""

    name: str
    code: str


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    TYPE: ClassVar[str] = "tool/result"
    turn: int
    step: int
    message: ToolMessage
    error: ErrorInfo | None = None
    meta: Any = None


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """The part of a tool that a model sees; `parameters` is a frozen JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallConfig:
    """Which model is asked, and how."""

    provider: str
    model: str
    reasoning_effort: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """The whole request but its history. Empty system text and tool list are None."""

    config: CallConfig
    system: str | None = None
    tools: tuple[ToolSchema, ...] | None = None
    adapter_defaults: dict[str, Any] | None = None


class UnrecordedTools(tuple[ToolSchema, ...]):
    """No tools, where a recording has a placeholder for them: written back as that."""

    __slots__ = ()
    PLACEHOLDER: ClassVar[str] = "{{tools}}"


@dataclass(frozen=True, slots=True)
class HeaderLogged:
    TYPE: ClassVar[str] = "request/header"
    header: RequestHeader
    reason: Literal["initial", "resume", "change"]


@dataclass(frozen=True, slots=True)
class EndSeed:
    TYPE: ClassVar[str] = "session/end-seed"


@dataclass(frozen=True, slots=True)
class InboxSpliced:
    """One change of a list of the inbox. Absent counts and outcomes are None on the wire."""

    TYPE: ClassVar[str] = "agent/inbox/spliced"
    target: InboxTarget
    start: int
    removed_count: int = 0
    inserted: tuple[UserMessage, ...] = ()
    outcome: Literal["canceled"] | None = None


@dataclass(frozen=True, slots=True)
class RetryPlanned:
    TYPE: ClassVar[str] = "llm/retry"
    retry_id: str
    turn: int
    step: int
    provider: str
    mode: Literal["normal", "always"]
    policy_key: str
    retry: int
    delay_ms: int
    failure: ModelFailure
    max_retries: int | None = None


@dataclass(frozen=True, slots=True)
class RetryStarted:
    TYPE: ClassVar[str] = "llm/retry-started"
    retry_id: str
    turn: int
    step: int
    retry: int


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """Which inherited tools a child sees: `allow` first, then `deny`; at least one is set."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What a child is, version 3. Source: DESIGN section 5, spec service section 9.

    The continuable-only fields stay None for a one-shot child; `label` is
    required for a continuable one.
    """

    TYPE: ClassVar[str] = "subagent/descriptor"
    mode: Literal["one-shot", "continuable"]
    provider: str
    label: str | None = None
    agent_provider: str | None = None
    agent_model: str | None = None
    agent_reasoning_effort: str | None = None
    persona: str | None = None
    tool_filter: ToolFilter | None = None
    version: int = 3


@dataclass(frozen=True, slots=True)
class CatalogChanged:
    """A direct child joined or left the parent's catalogue. Written ``ignorable``."""

    TYPE: ClassVar[str] = "subagent/catalog"
    change: Literal["added", "removed"]
    id: str
    mode: Literal["one-shot", "continuable"]
    provider: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class DeliveryRefused:
    """An accepted message was none: its insert could not be stored. Written ``ignorable``.

    `seq` is the number of the splice that took it back; that dropped no work.
    """

    TYPE: ClassVar[str] = "agent/inbox/refused"
    seq: int
    id: MessageId
    code: str


@dataclass(frozen=True, slots=True)
class OptionsChosen:
    """What an agent is run with where that is not its runtime's default. Written ``ignorable``.

    The latest own one counts when the agent is resumed. Source: DESIGN section 5 (W16).
    """

    TYPE: ClassVar[str] = "agent/options"
    provider: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None


@dataclass(frozen=True, slots=True)
class OpaquePayload:
    """An event that this build keeps but does not interpret.

    `data` is lossless JSON; copied and frozen here, so that the log's own cannot change.

    Raises:
        ConfigurationError: If JSON would lose a part of it, or `type` is no name.
    """

    type: str
    data: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", name_text(self.type, "type of an event"))
        object.__setattr__(self, "data", freeze(self.data, f"data of {self.type}"))


TypedPayload: TypeAlias = (
    TurnStart
    | TurnEnd
    | StepStart
    | StepEnd
    | UserMessageLogged
    | ChunkReceived
    | AssistantReplied
    | ToolCalled
    | ToolAnswered
    | HeaderLogged
    | EndSeed
    | InboxSpliced
    | RetryPlanned
    | RetryStarted
    | Descriptor
    | CatalogChanged
    | DeliveryRefused
    | OptionsChosen
)
Payload: TypeAlias = TypedPayload | OpaquePayload
