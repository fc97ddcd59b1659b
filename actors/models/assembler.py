"""From chunks to the blocks of one message.

Lenient where a stream can be given a meaning; what it must not do at all is
the matter of `StreamGrammar`. Source: spec core 12.4.
"""

from __future__ import annotations

from typing import TypeAlias

from ...messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from ...messages.content import Block, Reasoning, Text, ToolCall
from .failure import malformed


class _Partial:
    """A block that has not been closed yet."""

    __slots__ = ("id", "kind", "name", "parts")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.id = ""
        self.name = ""
        self.parts: list[str] = []


_Slot: TypeAlias = _Partial | Block


class Assembler:
    """Takes in one response.

    Not thread-safe: it belongs to the turn that reads the stream.

    Attributes:
        usage: The tokens reported so far, or None.
        finish: Why the stream ended; None before it did, and when it never said.
            A stream without a finish counts as ``stop``.
    """

    __slots__ = ("_slots", "finish", "usage")

    def __init__(self) -> None:
        # A dict keeps first-seen order, which is the order of the blocks.
        self._slots: dict[int, _Slot] = {}
        self.usage: Usage | None = None
        self.finish: Finish | None = None

    def feed(self, chunk: Chunk) -> None:
        """Take in the next chunk.

        The first close of an index wins; later chunks for it are ignored.

        Raises:
            ModelError: ``MALFORMED_RESPONSE`` when a delta meets an open block of
                another type, or when `chunk` is not a chunk.
        """
        if isinstance(chunk, TextDelta):
            self._extend(chunk.index, "text", chunk.text)
        elif isinstance(chunk, BlockStart):
            if chunk.index not in self._slots:
                self._slots[chunk.index] = _Partial(chunk.block_type)
        elif isinstance(chunk, BlockEnd):
            self._close(chunk.index, chunk.block)
        elif isinstance(chunk, UsageChunk):
            self.usage = chunk.usage
        elif isinstance(chunk, ToolCallDelta):
            self._extend_call(chunk)
        elif isinstance(chunk, ReasoningDelta):
            self._extend(chunk.index, "reasoning", chunk.text)
        else:
            self._end(chunk)

    def message_content(self) -> tuple[Block, ...]:
        """The blocks of the message, in first-seen order of their indexes.

        After a ``max-tokens`` finish the tool calls are left out: the last one may
        be cut off, and none of them is to run.

        Raises:
            ModelError: ``MALFORMED_RESPONSE`` when a block of an unknown type was
                started and never closed.
        """
        cut = self.finish is not None and self.finish.kind == "max-tokens"
        blocks = tuple(_block(index, slot) for index, slot in self._slots.items())
        if cut:
            return tuple(block for block in blocks if not isinstance(block, ToolCall))
        return blocks

    def interrupted_content(self) -> tuple[Block, ...]:
        """What a person could have read: text and reasoning that is not only whitespace."""
        kept: list[Block] = []
        for slot in self._slots.values():
            block: Block | None = _readable(slot) if isinstance(slot, _Partial) else slot
            if isinstance(block, Text | Reasoning) and block.text.strip():
                kept.append(block)
        return tuple(kept)

    def _end(self, chunk: object) -> None:
        if not isinstance(chunk, Finish):
            raise malformed(f"a model streamed a {type(chunk).__name__}, which is not a chunk")
        if self.finish is None:
            self.finish = chunk

    def _extend(self, index: int, kind: str, text: str) -> None:
        slot = self._slots.get(index)
        if slot is None:
            slot = self._slots[index] = _Partial(kind)
        if isinstance(slot, _Partial):
            if slot.kind != kind:
                raise malformed(f"a {kind} delta for block {index}, which is {slot.kind}")
            slot.parts.append(text)

    def _extend_call(self, chunk: ToolCallDelta) -> None:
        self._extend(chunk.index, "tool-call", chunk.arguments_delta)
        slot = self._slots[chunk.index]
        if isinstance(slot, _Partial):
            slot.id = slot.id or chunk.id
            slot.name = slot.name or chunk.name or ""

    def _close(self, index: int, block: Block) -> None:
        slot = self._slots.get(index)
        if slot is not None and not isinstance(slot, _Partial):
            return
        if isinstance(block, ToolCall) and not block.id:
            known = slot.id if slot is not None else ""
            block = ToolCall(known or f"call-{index}", block.name, block.arguments)
        self._slots[index] = block


def _readable(partial: _Partial) -> Block | None:
    if partial.kind == "text":
        return Text("".join(partial.parts))
    return Reasoning("".join(partial.parts)) if partial.kind == "reasoning" else None


def _block(index: int, slot: _Slot) -> Block:
    if not isinstance(slot, _Partial):
        return slot
    if slot.kind == "tool-call":
        return ToolCall(slot.id or f"call-{index}", slot.name, "".join(slot.parts))
    block = _readable(slot)
    if block is None:
        raise malformed(f"block {index} of unknown type {slot.kind!r} was started and not closed")
    return block
