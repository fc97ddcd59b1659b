"""Whether the messages of a log are what their sources made, and stand where they must.

Source: spec core 15.6, 18.14 (#284, #285); 16 (D3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..messages.chunk import Chunk
from ..messages.content import ToolCall
from ..messages.errors import ModelError
from ..messages.event import Event
from ..messages.message import AssistantMessage, Message, ToolMessage
from ..messages.payload import (
    AssistantReplied,
    ChunkReceived,
    Payload,
    StepStart,
    ToolAnswered,
    ToolCalled,
)
from .invariants import NOT_STARTED
from .models.assembler import Assembler
from .models.grammar import StreamGrammar


def reply_fault(event: Event, data: AssistantReplied, events: Sequence[Event]) -> str | None:
    """Why a message is not what the chunks it cites make, or None.

    Args:
        event: Of the message.
        data: Its payload.
        events: The log, ``seq == index``.
    """
    if event.source_event_seqs is None:
        return None  # not recorded
    chunks: list[Chunk] = []
    last = -1
    for seq in event.source_event_seqs:
        cited = events[seq].data if 0 <= seq < event.seq else None
        if type(cited) is not ChunkReceived:
            return f"the message cites event {seq}, which is no chunk before it"
        if (cited.turn, cited.step) != (data.turn, data.step):
            return f"the message cites event {seq}, a chunk of step {cited.turn}.{cited.step}"
        if seq < last:
            return f"the message cites event {seq} behind event {last}"
        last = seq
        chunks.append(cited.chunk)
    try:
        return _assembly_fault(data, assembled(chunks))
    except ModelError as error:
        return f"the chunks of the message: {error.message}"


def assembled(chunks: Iterable[Chunk]) -> Assembler:
    """What a stream comes to.

    Raises:
        ModelError: ``MALFORMED_RESPONSE`` if it breaks the grammar.
    """
    grammar, assembler = StreamGrammar(), Assembler()
    for chunk in chunks:
        grammar.check(chunk)
        assembler.feed(chunk)
    return assembler


def _assembly_fault(data: AssistantReplied, made: Assembler) -> str | None:
    if data.interrupted:
        kept = made.interrupted_content()
        return None if kept == data.message.content else _differs("content")
    if made.finish is not None and made.finish.failure is not None:
        return "the message cites a response that failed"
    if made.message_content() != data.message.content:
        return _differs("content")
    return None if made.usage == data.usage else _differs("usage")


def _differs(what: str) -> str:
    return f"the chunks of the message make another {what} than it has"


class ResultOrder:
    """Whether the results of each step stand in the order of its calls and cite them."""

    __slots__ = ("_asked", "_called", "_next")

    def __init__(self) -> None:
        self._asked: list[str] | None = None
        self._called: dict[str, list[int]] = {}
        self._next = 0

    def fault(self, event: Event) -> str | None:
        """Take in the next event; why it may not stand here, or None."""
        data: Payload = event.data
        if isinstance(data, StepStart):
            self._asked, self._called, self._next = None, {}, 0
        elif isinstance(data, AssistantReplied):
            self._asked = _call_ids(data.message)
            self._next = 0
        elif isinstance(data, ToolCalled):
            self._called.setdefault(data.call_id, []).append(event.seq)
        elif isinstance(data, ToolAnswered) and event.surface_op == "append":
            call_id: str = data.message.source["callId"]
            return self._order_fault(call_id) or self._source_fault(event, data, call_id)
        return None

    def _order_fault(self, call_id: str) -> str | None:
        asked = self._asked
        if asked is None or call_id not in asked:
            return f"the result for {call_id!r} answers no call of the message of its step"
        if call_id not in asked[self._next :]:
            return f"the result for {call_id!r} does not stand in the order of the calls"
        self._next = asked.index(call_id, self._next) + 1
        return None

    def _source_fault(self, event: Event, data: ToolAnswered, call_id: str) -> str | None:
        sources = event.source_event_seqs or ()
        if len(sources) == 1 and sources[0] in self._called.get(call_id, ()):
            return None
        if not sources and data.error is not None and data.error.code == NOT_STARTED:
            return None
        return f"the result for {call_id!r} does not cite the tool/call of its step for it"


def history_faults(messages: Iterable[Message], *, ended: bool) -> Iterator[str]:
    """Every place where a history is not one that a provider takes.

    The results of a message's calls stand directly behind it, all of them.

    Args:
        messages: What a model is shown.
        ended: No step is open, so that no result can still come.
    """
    open_calls: list[str] = []
    last: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            call_id: str = message.source["callId"]
            if call_id not in last:
                yield f"the history shows a result for {call_id!r} that is not behind its call"
            elif call_id in open_calls:
                open_calls.remove(call_id)
            continue
        yield from map(_unanswered, open_calls)
        last = _call_ids(message) if isinstance(message, AssistantMessage) else []
        open_calls = last.copy()
    if ended:
        yield from map(_unanswered, open_calls)


def _unanswered(call_id: str) -> str:
    return f"the history shows the call {call_id!r} without a result behind it"


def _call_ids(message: AssistantMessage) -> list[str]:
    return [block.id for block in message.content if isinstance(block, ToolCall)]
