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
    """Tokens of one model response, or of several added up; the counts are disjoint.

    Attributes:
        input_tokens: Read, but neither from a cache nor into one.
        output_tokens: Written, without `reasoning_tokens`.
        cache_read_tokens: Read from a cache; None where it was not told.
        cache_write_tokens: Read and put into a cache; None where it was not told.
        reasoning_tokens: Thought; None where it was not told apart.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    @property
    def total(self) -> int:
        """All of them."""
        told = (self.cache_read_tokens, self.cache_write_tokens, self.reasoning_tokens)
        return self.input_tokens + self.output_tokens + sum(count or 0 for count in told)

    def __add__(self, other: Usage) -> Usage:
        """Both together; a count that neither told stays None."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            _sum(self.cache_read_tokens, other.cache_read_tokens),
            _sum(self.cache_write_tokens, other.cache_write_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return one if other is None else (one or 0) + other


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
