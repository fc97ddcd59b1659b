"""What stands for a response in a script, a function entry or a rule."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar, cast

from ...messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from ...messages.content import Block, Text
from ...messages.errors import ConfigurationError, ModelError
from ...messages.request import ModelRequest
from .entry import Entry, blocks, chunks, text
from .failure import malformed
from .playback import ANSWER_TYPES
from .redaction import render_chain

T = TypeVar("T")

_CHUNK_TYPES = (BlockStart, TextDelta, ReasoningDelta, ToolCallDelta, BlockEnd, UsageChunk, Finish)

EntryLike: TypeAlias = Entry | str | Block | Sequence[Block | str] | Sequence[Chunk]
"""What a script, a function entry or a rule may give: see `entry_of`."""

EntryFunction: TypeAlias = Callable[[ModelRequest], EntryLike | Awaitable[EntryLike]]


def entry_of(value: object) -> Entry:
    """Take what stands for a response: an entry, text, a block, a list of blocks, of chunks.

    Raises:
        ConfigurationError: If it is none of them.
    """
    if isinstance(value, Entry):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, ANSWER_TYPES):
        return blocks(value)
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        stream = [item for item in items if isinstance(item, _CHUNK_TYPES)]
        if stream and len(stream) == len(items):
            return chunks(stream)
        return blocks(*(block for item in items for block in _blocks_of(item)))
    raise ConfigurationError(
        f"{type(value).__name__} is no response; give a string, a block, a list of blocks, a list "
        "of chunks, or what text(), call(), calls(), fail(), hang() or max_tokens() made"
    )


def answer_of(value: object, function: Callable[..., object]) -> Entry:
    """Take what a rule or a function entry returned.

    Raises:
        ModelError: ``MALFORMED_RESPONSE``, naming the function.
    """
    try:
        return entry_of(value)
    except ConfigurationError as error:
        raise malformed(f"{_name(function)} returned no response: {error.message}") from None


async def ask_function(function: Callable[[T], object], argument: T) -> Entry:
    """Take what a rule or a function entry makes of its argument, now or later.

    Raises:
        ModelError: Its own; for any other error one that names the function.
    """
    try:
        value = function(argument)
        if inspect.isawaitable(value):
            value = await value
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"{_name(function)} raised {render_chain(error)}") from error
    return answer_of(value, function)


def _name(function: Callable[..., object]) -> str:
    name: str = getattr(function, "__qualname__", type(function).__name__)
    return name.rpartition("<locals>.")[2]


def _blocks_of(item: object) -> tuple[Block, ...]:
    if isinstance(item, str):
        return (Text(item),)
    if isinstance(item, ANSWER_TYPES):
        return (item,)
    if isinstance(item, Entry) and item.finish is not None and item.finish.failure is None:
        return item.content
    raise ConfigurationError(f"a list that is a response cannot hold a {_kind(item)}")


def _kind(item: object) -> str:
    return "fail() or hang()" if isinstance(item, Entry) else type(item).__name__
