"""The seven chunks of a model stream, usage, and why a stream ended.

Source: spec core 12.3. Grammar is checked in ``actors/models/grammar.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .content import Block
from .lossless import freeze

BlockType: TypeAlias = Literal["text", "reasoning", "tool-call"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model response; the counts are disjoint."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """The facts of a failed model request, as they are logged and routed on.

    Attributes:
        message: For people.
        code: ``RATE_LIMIT``, ``SERVER``, ``AUTH``, ``UNKNOWN``...; route on this.
        status: HTTP status, when there was one.
        provider_retry_after_ms: What the provider asked for, in milliseconds.
        request_id: The provider's id of the request.
    """

    message: str
    code: str = "UNKNOWN"
    status: int | None = None
    provider_retry_after_ms: int | None = None
    request_id: str | None = None


FinishKind: TypeAlias = Literal["stop", "tool-calls", "max-tokens", "aborted", "error"]


@dataclass(frozen=True, slots=True)
class BlockStart:
    index: int
    block_type: BlockType


@dataclass(frozen=True, slots=True)
class TextDelta:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    index: int
    id: str
    arguments_delta: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class BlockEnd:
    index: int
    block: Block


@dataclass(frozen=True, slots=True)
class UsageChunk:
    usage: Usage


@dataclass(frozen=True, slots=True)
class Finish:
    """Last chunk; `failure` is set exactly for ``aborted`` and ``error``.

    `replay_state` is JSON that the model wants back; copied and frozen here.

    Raises:
        ConfigurationError: If JSON would lose a part of `replay_state`.
    """

    kind: FinishKind
    failure: ModelFailure | None = None
    replay_state: Any = None

    def __post_init__(self) -> None:
        if self.replay_state is not None:
            object.__setattr__(self, "replay_state", freeze(self.replay_state, "replay_state"))


Chunk: TypeAlias = (
    BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk | Finish
)
