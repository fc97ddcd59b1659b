"""Whether the messages of a log are what their sources made, and stand where they must.

Source: spec core 15.6, 18.14 (#284, #285); 16 (D3).
"""

from __future__ import annotations

from collections import Counter, deque
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
    StepEnd,
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
    if event.source_event_seqs is None or event.surface_op != "append":
        return None  # not recorded; or a rewrite, which cites the messages that it stands for
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


class StepOrder:
    """Whether each step holds one response, then its calls and, in their order, their results.

    A step is one response of the model and the calls that it asks for, so nothing of a
    response stands behind the message that it came to. Source: spec core 0, 2, 10.3.
    """

    __slots__ = ("_called", "_next", "_open", "_places", "_replied", "_waiting")

    def __init__(self) -> None:
        self._open = False
        self._start()

    def _start(self) -> None:
        self._replied = False
        self._next = 0
        # By id, for two calls may have the same: the places of the calls not answered yet,
        # the calls not begun yet, the events of those begun.
        self._places: dict[str, deque[int]] = {}
        self._waiting: dict[str, list[ToolCall]] = {}
        self._called: dict[str, list[int]] = {}

    def fault(self, event: Event) -> str | None:
        """Take in the next event; why it may not stand here, or None."""
        data: Payload = event.data
        if isinstance(data, StepStart):
            self._open = True
            self._start()
        elif isinstance(data, StepEnd):
            self._open = False
        elif isinstance(data, ChunkReceived):
            if self._open and self._replied:
                return "a chunk behind the message of its step"
        elif isinstance(data, AssistantReplied):
            return self._reply(event, data)
        elif isinstance(data, ToolCalled):
            self._called.setdefault(data.call_id, []).append(event.seq)
            return self._call_fault(data)
        elif isinstance(data, ToolAnswered) and event.surface_op == "append":
            call_id: str = data.message.source["callId"]
            return self._order_fault(call_id) or self._source_fault(event, data, call_id)
        return None

    def _reply(self, event: Event, data: AssistantReplied) -> str | None:
        if event.surface_op != "append":
            return None
        again = self._open and self._replied
        self._replied, self._next = True, 0
        self._places, self._waiting = {}, {}
        for place, call in enumerate(_calls(data.message)):
            self._places.setdefault(call.id, deque()).append(place)
            self._waiting.setdefault(call.id, []).append(call)
        return "a second message in its step" if again else None

    def _call_fault(self, data: ToolCalled) -> str | None:
        if not self._open or not self._replied:
            return None
        waiting = self._waiting.get(data.call_id)
        if waiting is None:
            return f"the call {data.call_id!r} is none that the message of its step asks for"
        for place, call in enumerate(waiting):
            if (call.name, call.arguments) == (data.name, data.arguments):
                del waiting[place]
                return None
        fault = "is not as the message of its step asks for it" if waiting else "begins twice"
        return f"the call {data.call_id!r} {fault}"

    def _order_fault(self, call_id: str) -> str | None:
        places = self._places.get(call_id)
        if places is None:
            return f"the result for {call_id!r} answers no call of the message of its step"
        while places and places[0] < self._next:
            places.popleft()
        if not places:
            return f"the result for {call_id!r} does not stand in the order of the calls"
        self._next = places.popleft() + 1
        return None

    def _source_fault(self, event: Event, data: ToolAnswered, call_id: str) -> str | None:
        sources, called = event.source_event_seqs or (), self._called.get(call_id, [])
        if len(sources) == 1 and sources[0] in called:
            called.remove(sources[0])  # no other result is that of the same call
            return None
        if not sources and data.error is not None and data.error.code == NOT_STARTED:
            return None
        return f"the result for {call_id!r} does not cite the tool/call of its step for it"


def history_faults(messages: Iterable[Message], *, ended: bool) -> Iterator[tuple[Message, str]]:
    """Every place where a history is not one that a provider takes.

    The results of a message's calls stand directly behind it, all of them.

    Args:
        messages: What a model is shown.
        ended: No step is open, so that no result can still come.

    Returns:
        The message at fault (of a call without a result, the one that asks for it), and
        what is wrong.
    """
    asking: Message | None = None
    open_calls, last = Counter[str](), frozenset[str]()
    for message in messages:
        if isinstance(message, ToolMessage):
            call_id: str = message.source["callId"]
            if call_id not in last:
                text = f"the history shows a result for {call_id!r} that is not behind its call"
                yield message, text
            elif open_calls[call_id]:
                open_calls[call_id] -= 1
            continue
        yield from _unanswered(asking, open_calls)
        calls = _calls(message) if isinstance(message, AssistantMessage) else []
        asking, open_calls = message, Counter(call.id for call in calls)
        last = frozenset(open_calls)
    if ended:
        yield from _unanswered(asking, open_calls)


def _unanswered(asking: Message | None, open_calls: Counter[str]) -> Iterator[tuple[Message, str]]:
    if asking is not None:
        for call_id in open_calls.elements():
            yield asking, f"the history shows the call {call_id!r} without a result behind it"


def _calls(message: AssistantMessage) -> list[ToolCall]:
    return [block for block in message.content if isinstance(block, ToolCall)]
