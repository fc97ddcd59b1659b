"""What functions that are asked on a call's way may answer, made fit for a result.

Source: spec core 10.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from inspect import isawaitable, iscoroutine
from typing import Any

from ...messages.content import Block, ContentLike, Text, ToolCall, ToolResult, content_of
from ...messages.errors import ConfigurationError
from ...messages.message import UserMessage, sound_message
from ..stray import is_stray, running_task


def contained(error: BaseException) -> bool:
    """Whether an error ends the call only; what was sent to the calling task goes on its way."""
    return not isinstance(error, KeyboardInterrupt) and is_stray(error, running_task())


def answered(answer: Any) -> Any:
    """An answer that has to be there at once.

    Raises:
        ConfigurationError: If it would have to be awaited.
    """
    if answer is None or type(answer) is str or not isawaitable(answer):
        return answer
    if iscoroutine(answer):
        answer.close()
    raise ConfigurationError("a function that is asked here must be plain; it gave an awaitable")


def messages_of(messages: Iterable[object]) -> tuple[UserMessage, ...]:
    """Messages that go before the model, fit to be logged.

    Raises:
        ConfigurationError: If one of them is none, or could not be logged.
    """
    return tuple([sound_message(message) for message in messages])


def sound_content(content: ContentLike) -> tuple[Block, ...]:
    """Content that may stand in a result, deeply frozen.

    Raises:
        ConfigurationError: If there is something else in it.
    """
    if type(content) is str and content.isascii():
        return (Text(content),)
    blocks = content_of(content)
    for block in blocks:
        if isinstance(block, ToolCall | ToolResult):
            raise ConfigurationError(
                f"{type(block).__name__} cannot stand in a tool's result; give text"
            )
    return blocks
