# ruff: noqa: D101 - the classes are named after the payloads that they describe
"""The shapes of the data of known events, as they stand in JSON.

pydantic checks what comes from outside against them, strictly: a bool is no
integer, nothing is converted, and a key that is not listed is refused, because
this version would lose it. Content blocks and sources are open; the codec reads
them by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from .lossless import SAFE_INTEGER

Natural = Annotated[int, Field(ge=0, le=SAFE_INTEGER)]
"""A safe integer from 0 on."""
Ordinal = Annotated[int, Field(ge=1, le=SAFE_INTEGER)]
"""A safe integer from 1 on: the number of a turn or a step."""
String = Annotated[str, Field(min_length=0)]
"""A text that UTF-8 can write: only a bounded one is looked at for lone surrogates."""
Name = Annotated[str, Field(min_length=1)]
"""A text that is not empty."""
Number = (
    Annotated[int, Field(ge=-SAFE_INTEGER, le=SAFE_INTEGER)]
    | Annotated[float, Field(allow_inf_nan=False)]
)
Mode = Literal["one-shot", "continuable"]

closed = with_config(ConfigDict(extra="forbid", strict=True))


@closed
class Turn(TypedDict):
    turn: Ordinal


@closed
class Step(TypedDict):
    turn: Ordinal
    step: Ordinal


@closed
class Failure(TypedDict):
    message: String
    code: Name
    status: NotRequired[Natural]
    providerRetryAfterMs: NotRequired[Natural]
    requestId: NotRequired[String]


@closed
class Cause(TypedDict):
    kind: Name
    reason: NotRequired[String]


@closed
class EndReason(TypedDict):
    kind: Name
    error: NotRequired[Failure]
    reason: NotRequired[Cause]


@closed
class TurnEnd(TypedDict):
    turn: Ordinal
    reason: EndReason


@closed
class Message(TypedDict):
    id: Name
    role: Literal["user", "assistant"]
    content: list[dict[str, Any]]
    source: dict[str, Any]


@closed
class Usage(TypedDict):
    inputTokens: Natural
    outputTokens: Natural
    cacheReadTokens: NotRequired[Natural]
    cacheWriteTokens: NotRequired[Natural]
    reasoningTokens: NotRequired[Natural]


@closed
class BlockStart(TypedDict):
    type: Literal["block-start"]
    index: Natural
    blockType: Name


@closed
class TextDelta(TypedDict):
    type: Literal["text-delta"]
    index: Natural
    text: String


@closed
class ReasoningDelta(TypedDict):
    type: Literal["reasoning-delta"]
    index: Natural
    text: String


@closed
class ToolCallDelta(TypedDict):
    type: Literal["tool-call-delta"]
    index: Natural
    id: String
    name: NotRequired[String]
    argumentsDelta: String


@closed
class BlockEnd(TypedDict):
    type: Literal["block-end"]
    index: Natural
    block: dict[str, Any]


@closed
class UsageChunk(TypedDict):
    type: Literal["usage"]
    usage: Usage


@closed
class FinishReason(TypedDict):
    kind: Literal["stop", "tool-calls", "max-tokens", "aborted", "error"]
    failure: NotRequired[Failure]


@closed
class Finish(TypedDict):
    type: Literal["finish"]
    reason: FinishReason
    replayState: NotRequired[Any]


Chunk = Annotated[
    BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk | Finish,
    Field(discriminator="type"),
]


@closed
class ChunkReceived(TypedDict):
    turn: Ordinal
    step: Ordinal
    chunk: Chunk


@closed
class AssistantReplied(TypedDict):
    turn: Ordinal
    step: Ordinal
    message: Message
    usage: NotRequired[Usage]
    interrupted: NotRequired[bool]


@closed
class ToolCalled(TypedDict):
    turn: Ordinal
    step: Ordinal
    callId: Name
    name: String
    arguments: String


@closed
class ErrorInfo(TypedDict):
    name: String
    code: String


@closed
class ToolAnswered(TypedDict):
    turn: Ordinal
    step: Ordinal
    message: Message
    error: NotRequired[ErrorInfo]
    meta: NotRequired[Any]


@closed
class CallConfig(TypedDict):
    provider: Name
    model: Name
    reasoningEffort: NotRequired[Name]
    temperature: NotRequired[Number]
    maxTokens: NotRequired[Ordinal]
    stop: NotRequired[list[String]]


@closed
class AdapterDefaults(TypedDict):
    reasoningEffort: NotRequired[Literal[True]]
    maxTokens: NotRequired[Literal[True]]


@closed
class ToolSchema(TypedDict):
    name: Name
    description: String
    parameters: dict[str, Any]


@closed
class RequestHeader(TypedDict):
    config: CallConfig
    adapterDefaults: NotRequired[AdapterDefaults]
    system: NotRequired[String]
    tools: NotRequired[list[ToolSchema]]


@closed
class HeaderLogged(TypedDict):
    header: RequestHeader
    reason: Literal["initial", "resume", "change"]


@closed
class EndSeed(TypedDict):
    pass


@closed
class InboxSpliced(TypedDict):
    target: Literal["next-turn", "next-step"]
    start: Natural
    removedCount: NotRequired[Natural]
    inserted: list[Message]
    outcome: NotRequired[Literal["canceled"]]


@closed
class RetryPlanned(TypedDict):
    retryId: Name
    turn: Ordinal
    step: Ordinal
    provider: Name
    mode: Literal["normal", "always"]
    policyKey: String
    retry: Natural
    maxRetries: NotRequired[Natural]
    delayMs: Natural
    failure: Failure


@closed
class RetryStarted(TypedDict):
    retryId: Name
    turn: Ordinal
    step: Ordinal
    retry: Natural


@closed
class ToolFilter(TypedDict):
    allow: NotRequired[list[String]]
    deny: NotRequired[list[String]]


@closed
class Descriptor(TypedDict):
    version: Literal[3]
    mode: Mode
    provider: Name
    label: NotRequired[String]
    agentProvider: NotRequired[Name]
    agentModel: NotRequired[Name]
    agentReasoningEffort: NotRequired[Name]
    persona: NotRequired[String]
    toolFilter: NotRequired[ToolFilter]


@closed
class CatalogChanged(TypedDict):
    change: Literal["added", "removed"]
    id: Name
    mode: Mode
    provider: Name
    label: NotRequired[String]


@closed
class DeliveryRefused(TypedDict):
    seq: Natural
    id: Name
    code: Name


@closed
class OptionsChosen(TypedDict):
    provider: NotRequired[Name]
    model: NotRequired[Name]
    maxTokens: NotRequired[Ordinal]
    reasoningEffort: NotRequired[Name]


SHAPES: Mapping[str, Any] = {
    "turn/start": Turn,
    "turn/end": TurnEnd,
    "step/start": Step,
    "step/end": Step,
    "user/message": Message,
    "assistant/chunk": ChunkReceived,
    "assistant/message": AssistantReplied,
    "tool/call": ToolCalled,
    "tool/result": ToolAnswered,
    "request/header": HeaderLogged,
    "session/end-seed": EndSeed,
    "agent/inbox/spliced": InboxSpliced,
    "llm/retry": RetryPlanned,
    "llm/retry-started": RetryStarted,
    "subagent/descriptor": Descriptor,
    "subagent/catalog": CatalogChanged,
    "agent/inbox/refused": DeliveryRefused,
    "agent/options": OptionsChosen,
}
"""The shape of the data of every type that is interpreted."""
