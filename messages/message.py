"""Messages: the model-visible entries of a conversation.

A message is immutable and shared: the inbox, the log, the derived history and
the model request all hold the same object.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .content import Block, ContentLike, content_of
from .errors import ConfigurationError
from .lossless import FrozenDict, freeze, type_name
from .plain import name_text

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


def user_message(message_id: object, content: ContentLike, source: object = None) -> UserMessage:
    """Make an input message, fit to be logged, out of what a caller handed over.

    Args:
        message_id: Text that is not empty.
        content: A string, a block, or a list of blocks.
        source: A JSON object with a ``kind``; None is the user.

    Raises:
        ConfigurationError: If a part is of the wrong kind or JSON would lose it.
    """
    frozen = USER_SOURCE if source is None else sound_source(source)
    return UserMessage(name_text(message_id, "id of a message"), content_of(content), frozen)


def sound_message(message: object) -> UserMessage:
    """A message that a caller built, as one that is fit to be logged.

    Raises:
        ConfigurationError: If it is no `UserMessage`; else as `user_message`.
    """
    if not isinstance(message, UserMessage):
        raise ConfigurationError(
            f"a message for a model must be a UserMessage, not {type_name(message)}"
        )
    return user_message(message.id, message.content, message.source)


def sound_source(source: object) -> FrozenDict:
    """The frozen source of a message, sure to say its kind.

    Raises:
        ConfigurationError: If it is no JSON object with a ``kind``.
    """
    frozen: object = freeze(source, "source of a message")
    if not isinstance(frozen, FrozenDict):
        raise ConfigurationError(f"source of a message must be an object, not {type_name(source)}")
    name_text(frozen.get("kind"), "kind in the source of a message")
    return frozen
