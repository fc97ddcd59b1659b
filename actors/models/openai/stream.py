"""From the chunks of a streamed chat completion to ours.

Pure: one `ChatStream` a response, fed with decoded frames. What leaves it keeps to
the `StreamGrammar`. Source: spec core 12.3, 12.4;
https://platform.openai.com/docs/api-reference/chat/streaming.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from ....messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    FinishKind,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from ....messages.content import Reasoning, Text, ToolCall
from ....messages.errors import ModelError
from ....messages.plain import quoted
from ..failure import malformed
from .calls import CallPiece, CallSlot, CallTable
from .failure import failure_in_frame
from .request import REASONING_FIELD, REASONING_FIELDS
from .usage import usage_of
from .value import as_list, as_object, is_object, mended

_CUT_OFF = frozenset({"length", "max_tokens", "model_length"})
_REFUSED = frozenset({"content_filter", "refusal", "safety"})
_BROKEN = frozenset({"error", "abort", "insufficient_system_resource"})
"""The server gave up in the middle, by its own fault."""


class _Prose:
    """The block of text or reasoning that is open."""

    __slots__ = ("index", "kind", "parts")

    def __init__(self, index: int, kind: Literal["text", "reasoning"]) -> None:
        self.index = index
        self.kind: Literal["text", "reasoning"] = kind
        self.parts: list[str] = []


class ChatStream:
    """Takes in one response, frame by frame.

    A block of text or reasoning ends when another block begins; tool calls may
    interleave and end with the response. Only the first choice counts. The counts of
    the last usage leave, once.

    Args:
        names: Of tools that were told under another name: from that name to their own.

    """

    __slots__ = (
        "_blocks",
        "_calls",
        "_field",
        "_names",
        "_prose",
        "_reason",
        "_refusal",
        "_usage",
    )

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._blocks = 0
        self._calls = CallTable()
        self._prose: _Prose | None = None
        self._field: str | None = None
        self._reason: str | None = None
        self._refusal: list[str] = []
        self._usage: Usage | None = None

    def feed(self, frame: object) -> Iterator[Chunk]:
        """What a frame brings.

        Raises:
            ModelError: What an error frame says, or ``MALFORMED_RESPONSE`` when it is
                not of the format.
        """
        data = as_object(frame)
        if data is None:
            raise malformed(f"a frame of {quoted(frame)}")
        failure = failure_in_frame(data)
        if failure is not None:
            raise failure
        if "choices" not in data and "usage" not in data:
            raise malformed(f"a frame without choices: {quoted(frame)}")
        self._usage = usage_of(data.get("usage")) or self._usage
        choice = _first(data.get("choices"))
        if choice is not None:
            yield from self._delta(choice.get("delta") or {})
            self._take_reason(choice.get("finish_reason"))

    def end(self) -> Iterator[Chunk]:
        """What the end of the body brings; the last chunk is the finish.

        Raises:
            ModelError: ``TRANSPORT`` when the answer had not ended, ``REFUSAL``,
                ``EMPTY_RESPONSE``, ``SERVER`` when the server says that it gave up, or
                ``MALFORMED_RESPONSE`` for a call without a name.
        """
        if self._reason is None:
            raise ModelError("the body ended before the answer did", "TRANSPORT")
        cut_off = self._reason in _CUT_OFF
        yield from self._close_prose()
        for slot in self._calls.slots:
            yield from self._close_call(slot, cut_off)
        if (spent := self.spent()) is not None:
            yield spent
        failure = self._failure()
        if failure is not None:
            raise failure
        kind: FinishKind = (
            "max-tokens" if cut_off else "tool-calls" if self._calls.slots else "stop"
        )
        wants_back = self._field is not None and kind == "tool-calls"
        yield Finish(kind, replay_state={REASONING_FIELD: self._field} if wants_back else None)

    def spent(self) -> UsageChunk | None:
        """The counts that came and were not given yet, of an answer that failed too; or None."""
        usage, self._usage = self._usage, None
        return None if usage is None else UsageChunk(usage)

    def _failure(self) -> ModelError | None:
        """Why an answer that has ended is of no use, or None."""
        if self._refusal or self._reason in _REFUSED:
            words = "".join(self._refusal).strip()
            said = f": {words}" if words else f" (finish reason {self._reason})"
            return ModelError(f"the model refused to answer{said}", "REFUSAL")
        if self._reason in _BROKEN:
            text = f"the server gave up the answer (finish reason {self._reason})"
            return ModelError(text, "SERVER")
        if self._reason not in _CUT_OFF and not self._blocks:
            text = f"an answer without any content (finish reason {self._reason})"
            return ModelError(text, "EMPTY_RESPONSE")
        return None

    def _take_reason(self, reason: object) -> None:
        if reason is None or reason == "":
            return
        if not isinstance(reason, str):
            raise malformed(f"a finish reason of {quoted(reason)}")
        self._reason = mended(reason)

    def _delta(self, delta: object) -> Iterator[Chunk]:
        parts = as_object(delta)
        if parts is None:
            raise malformed(f"a delta of {quoted(delta)}")
        for field in REASONING_FIELDS:
            thought = parts.get(field)
            if isinstance(thought, str) and thought:
                self._field = self._field or field
                yield from self._prose_delta("reasoning", thought)
                break
        text = _text(parts.get("content"), "content")
        if text:
            yield from self._prose_delta("text", text)
        refusal = _text(parts.get("refusal"), "refusal")
        if refusal:
            self._refusal.append(mended(refusal))
        yield from self._call_deltas(parts.get("tool_calls"))

    def _prose_delta(self, kind: Literal["text", "reasoning"], text: str) -> Iterator[Chunk]:
        prose = self._prose
        if prose is None or prose.kind != kind:
            yield from self._close_prose()
            prose = self._prose = _Prose(self._next_index(), kind)
            yield BlockStart(prose.index, kind)
        sound = mended(text)
        prose.parts.append(sound)
        delta = TextDelta if kind == "text" else ReasoningDelta
        yield delta(prose.index, sound)

    def _close_prose(self) -> Iterator[Chunk]:
        prose, self._prose = self._prose, None
        if prose is not None:
            block = Text if prose.kind == "text" else Reasoning
            yield BlockEnd(prose.index, block("".join(prose.parts)))

    def _call_deltas(self, entries: object) -> Iterator[Chunk]:
        if entries is None:
            return
        pieces = as_list(entries)
        if pieces is None:
            raise malformed(f"tool calls of {quoted(entries)}")
        for place, entry in enumerate(pieces):
            yield from self._call_delta(CallPiece(entry, place))

    def _call_delta(self, piece: CallPiece) -> Iterator[Chunk]:
        yield from self._close_prose()
        slot = self._calls.slot_for(piece, self._blocks)
        began = slot.index == self._blocks
        if began:
            self._next_index()
            yield BlockStart(slot.index, "tool-call")
        named = bool(piece.name) and not slot.name
        slot.name = slot.name or piece.name
        slot.parts.append(piece.arguments)
        if began or named or piece.arguments:
            name = self._own(slot.name) if named else None
            yield ToolCallDelta(slot.index, slot.id, piece.arguments, name)

    def _close_call(self, slot: CallSlot, cut_off: bool) -> Iterator[Chunk]:
        """The end of a call; one that the ceiling cut stays open: nobody knows its rest."""
        arguments = slot.arguments
        if cut_off and not (slot.name and is_object(arguments)):
            return
        if not slot.name:
            raise malformed("a tool call without a name")
        yield BlockEnd(slot.index, ToolCall(slot.id, self._own(slot.name), arguments))

    def _own(self, name: str) -> str:
        return self._names.get(name, name)

    def _next_index(self) -> int:
        index = self._blocks
        self._blocks += 1
        return index


def _first(choices: object) -> Mapping[str, Any] | None:
    """The choice with the index 0, which is what an index that is missing means."""
    if choices is None:
        return None
    listed = as_list(choices)
    if listed is None:
        raise malformed(f"choices of {quoted(choices)}")
    for one in listed:
        choice = as_object(one)
        if choice is None:
            raise malformed(f"a choice of {quoted(one)}")
        if not choice.get("index"):
            return choice
    return None


def _text(value: object, part: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise malformed(f"{part} of {quoted(value)}")
    return value
