"""From the blocks of an answer to the chunks that a provider would stream."""

from __future__ import annotations

from collections.abc import Sequence

from ...messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from ...messages.content import Block, OpaqueBlock, Reasoning, Text, ToolCall
from ...messages.request import ModelRequest

ANSWER_TYPES = (Text, Reasoning, ToolCall, OpaqueBlock)
"""The blocks a model can say."""


def identified(content: tuple[Block, ...], request: ModelRequest) -> tuple[Block, ...]:
    """Give calls without an id one that is new in the session and the same in every run."""
    if all(block.id for block in content if isinstance(block, ToolCall)):
        return content
    # The history only grows, so its length tells one response of a session from
    # the next, also after a resume and without counting anything.
    prefix = f"call-{len(request.messages)}"
    return tuple(
        ToolCall(f"{prefix}-{place}", block.name, block.arguments)
        if isinstance(block, ToolCall) and not block.id
        else block
        for place, block in enumerate(content)
    )


def usage_of(content: Sequence[Block]) -> Usage:
    """Made-up but repeatable counts: one token in, a quarter of the characters out."""
    length = sum(
        len(block.arguments) if isinstance(block, ToolCall) else len(block.text)
        for block in content
        if isinstance(block, Text | Reasoning | ToolCall)
    )
    return Usage(input_tokens=1, output_tokens=length // 4 + 1)


def block_chunks(index: int, block: Block, pieces: int, *, closed: bool) -> list[Chunk]:
    """A block as it is streamed, in at most `pieces` deltas (a tool call: at least two)."""
    rendered: list[Chunk] = []
    if isinstance(block, Text):
        rendered.append(BlockStart(index, "text"))
        rendered += [TextDelta(index, part) for part in _cut(block.text, pieces)]
    elif isinstance(block, Reasoning):
        rendered.append(BlockStart(index, "reasoning"))
        rendered += [ReasoningDelta(index, part) for part in _cut(block.text, pieces)]
    elif isinstance(block, ToolCall):
        rendered.append(BlockStart(index, "tool-call"))
        # Real providers name the call in its first delta and cut its arguments.
        for place, part in enumerate(_cut(block.arguments, max(pieces, 2)) or [""]):
            name = None if place else block.name
            rendered.append(ToolCallDelta(index, block.id, part, name))
    if closed or isinstance(block, OpaqueBlock):
        rendered.append(BlockEnd(index, block))
    return rendered


def _cut(value: str, pieces: int) -> list[str]:
    """At most `pieces` parts of about the same length, none of them empty."""
    size = -(-len(value) // pieces) or 1
    return [value[start : start + size] for start in range(0, len(value), size)]
