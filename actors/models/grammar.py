"""What a model's stream must not do.

Source: spec core 12.3. Two things are left to the `Assembler`, which gives them a
meaning (spec core 12.4): a block may come without a start or an end, and what
follows the end of a block at the same index is ignored.
"""

from __future__ import annotations

from ...messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    ModelFailure,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from ...messages.content import Block, OpaqueBlock, Reasoning, Text, ToolCall, opaque_fault
from ...messages.lossless import type_name
from ...messages.plain import quoted
from .cargo import check_block, check_failure, check_index, check_kind, check_text, check_usage
from .failure import malformed

_SUCCESSES = ("stop", "tool-calls", "max-tokens")
_FAILURES = ("aborted", "error")
_CUT_OFF = (*_FAILURES, "max-tokens")
"""Finishes that may come in the middle of a block."""


class StreamGrammar:
    """Checks one response, chunk by chunk; make a new one for each.

    - An index is a whole number from 0; a block is not started while it is open.
    - A delta and an end match the type of the block at their index.
    - There is at most one usage, and one finish, which is last.
    - Texts, blocks, counts and failures are fit for a log: what passes can be
      written as JSON and read back as it was.
    - ``aborted`` and ``error`` carry a failure, the others none; at a ``stop`` or
      ``tool-calls`` no started block is open.
    """

    __slots__ = ("_finished", "_kinds", "_open", "_reported")

    def __init__(self) -> None:
        self._kinds: dict[int, str] = {}
        self._open: dict[int, None] = {}
        self._reported = False
        self._finished = False

    def check(self, chunk: Chunk) -> None:
        """Accept the next chunk.

        Raises:
            ModelError: ``MALFORMED_RESPONSE`` when it may not come here; the response
                is then of no use, and the grammar neither.
        """
        if self._finished:
            raise malformed(f"{type(chunk).__name__} after the finish")
        if isinstance(chunk, TextDelta):
            self._match(chunk.index, "text")
            check_text(chunk.text, "a delta")
        elif isinstance(chunk, BlockStart):
            self._start(chunk)
        elif isinstance(chunk, BlockEnd):
            self._match(chunk.index, kind_of(chunk.block))
            check_block(chunk.block)
            self._open.pop(chunk.index, None)
        elif isinstance(chunk, UsageChunk):
            if self._reported:
                raise malformed("a second usage")
            check_usage(chunk.usage)
            self._reported = True
        elif isinstance(chunk, ToolCallDelta):
            self._match(chunk.index, "tool-call")
            check_text(chunk.arguments_delta, "a delta")
            check_text(chunk.id, "id of a tool call")
            if chunk.name is not None:
                check_text(chunk.name, "name of a tool call")
        elif isinstance(chunk, ReasoningDelta):
            self._match(chunk.index, "reasoning")
            check_text(chunk.text, "a delta")
        else:
            self._finish(chunk)

    def end(self) -> None:
        """Accept the end of the stream.

        An agent takes a stream without a finish as a ``stop``; a model that can
        tell a broken connection from an end should not rely on that.

        Raises:
            ModelError: ``MALFORMED_RESPONSE`` when no finish has come.
        """
        if not self._finished:
            raise malformed("no finish")

    def _match(self, index: int, kind: str) -> None:
        if type(index) is not int:
            check_index(index)
        known = self._kinds.get(index)
        if known is None:
            check_index(index)
            self._kinds[index] = kind
        elif known != kind:
            raise malformed(f"a {kind} chunk for block {index}, which is {known}")

    def _start(self, chunk: BlockStart) -> None:
        check_index(chunk.index)
        check_kind(chunk.block_type, chunk.index)
        if chunk.index in self._open:
            raise malformed(f"a second start of block {chunk.index}, which is open")
        self._kinds[chunk.index] = chunk.block_type
        self._open[chunk.index] = None

    def _finish(self, chunk: object) -> None:
        if not isinstance(chunk, Finish):
            raise malformed(f"{type(chunk).__name__}, which is not a chunk")
        failed = chunk.kind in _FAILURES
        if not failed and chunk.kind not in _SUCCESSES:
            raise malformed(f"a finish of unknown kind {quoted(chunk.kind)}")
        if failed != isinstance(chunk.failure, ModelFailure):
            raise malformed(f"a finish {chunk.kind!r} {'without' if failed else 'with'} a failure")
        if chunk.failure is not None:
            check_failure(chunk.failure)
        if chunk.kind not in _CUT_OFF and self._open:
            raise malformed(f"a finish {chunk.kind!r} while block {min(self._open)} is open")
        self._finished = True


def kind_of(block: Block) -> str:
    """The wire name of a block's type.

    Raises:
        ModelError: ``MALFORMED_RESPONSE`` for what a model cannot say.
    """
    if isinstance(block, Text):
        return "text"
    if isinstance(block, ToolCall):
        return "tool-call"
    if isinstance(block, Reasoning):
        return "reasoning"
    if isinstance(block, OpaqueBlock):
        fault = opaque_fault(block.data)
        if fault is not None:
            raise malformed(fault)
        return str(block.data["type"])
    raise malformed(f"a block of {type_name(block)}")
