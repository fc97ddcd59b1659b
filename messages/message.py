"""Messages: the model-visible entries of a conversation.

A message is immutable and shared: the inbox, the log, the derived history and
the model request all hold the same object.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .content import Block
from .lossless import FrozenDict

MessageId: TypeAlias = str

USER_SOURCE: FrozenDict = FrozenDict({"kind": "user"})


def _user_source() -> FrozenDict:
    return USER_SOURCE


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Input for a model: a prompt, a relay, a notice, a context snapshot.

    Attributes:
        id: Unique in its session.
        content: The blocks, in order.
        source: Frozen JSON object; its ``kind`` is the only channel of provenance.
    """

    id: MessageId
    content: tuple[Block, ...]
    source: dict[str, Any] = field(default_factory=_user_source)


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One model response; `source` is ``{"kind": "model", "provider", "model"}``."""

    id: MessageId
    content: tuple[Block, ...]
    source: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """One tool result: exactly one `ToolResult` block; wire role ``user``.

    `source` is ``{"kind": "tool", "callId": ...}``.
    """

    id: MessageId
    content: tuple[Block, ...]
    source: dict[str, Any]


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage
