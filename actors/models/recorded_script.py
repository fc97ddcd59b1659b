"""From a recorded log to what a model said in it, one entry a request.

Source: spec core 12.7 (llm-replay).
"""

from __future__ import annotations

from collections.abc import Iterable

from ...messages.chunk import Chunk, Finish, ModelFailure
from ...messages.content import ToolCall
from ...messages.payload import (
    AssistantReplied,
    ChunkReceived,
    Payload,
    RetryPlanned,
    RetryStarted,
    StepStart,
    TurnEnd,
)
from .entry import Entry


def entries_of(payloads: Iterable[Payload]) -> list[Entry]:
    """One entry for each request that a model was asked in a log.

    - A response is its chunks up to the finish; a finish that tells of a failure too.
    - A request that failed without a finish raises what the log says of it, behind the
      chunks that had come: the failure of the retry, or the error of the turn.
    - One that was cancelled streams what had come and then waits to be cancelled.
    - A response whose chunks were not recorded is made from its message.

    An error or a cancellation that came before the first chunk of a step is taken for
    the request's: the log does not tell it from one that came before the request.

    Args:
        payloads: Of the session's own events, without what a fork inherited.
    """
    script = _Script()
    for payload in payloads:
        script.feed(payload)
    script.end()
    return script.entries


class _Script:
    """The entries so far, and the request that is under way."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._chunks: list[Chunk] = []
        self._asked = False
        self._step = (0, 0)

    def feed(self, payload: Payload) -> None:
        """Take in the next event."""
        if isinstance(payload, ChunkReceived):
            self._stream(payload)
        elif isinstance(payload, StepStart | RetryStarted):
            self._ask((payload.turn, payload.step))
        elif not self._asked:
            return
        elif isinstance(payload, RetryPlanned):
            self._fail(payload.failure)
        elif isinstance(payload, AssistantReplied):
            self._reply(payload)
        elif isinstance(payload, TurnEnd):
            self._end_turn(payload)

    def end(self) -> None:
        """Take in the end of the log: a request that had brought something was cut off."""
        if self._aborted():
            self._add(Entry(verbatim=tuple(self._chunks)))
        elif self._chunks:
            self._hang()

    def _ask(self, step: tuple[int, int]) -> None:
        self.end()
        self._asked, self._step = True, step

    def _stream(self, payload: ChunkReceived) -> None:
        if self._step != (payload.turn, payload.step) or self._aborted():
            self._ask((payload.turn, payload.step))
        self._asked = True
        self._chunks.append(payload.chunk)
        # An aborted one may be the echo of a cancellation; what follows tells.
        if isinstance(payload.chunk, Finish) and payload.chunk.kind != "aborted":
            self._add(Entry(verbatim=tuple(self._chunks)))

    def _reply(self, payload: AssistantReplied) -> None:
        if payload.interrupted:
            self._hang()
        elif self._chunks or payload.message.content == ():
            self._add(Entry(verbatim=tuple(self._chunks)))
        else:
            calls = any(isinstance(block, ToolCall) for block in payload.message.content)
            finish = Finish("tool-calls" if calls else "stop")
            self._add(Entry(payload.message.content, payload.usage, finish))

    def _end_turn(self, payload: TurnEnd) -> None:
        reason = payload.reason
        if reason.error is not None:
            self._fail(reason.error)
        elif self._chunks or reason.kind in ("aborted", "interrupted"):
            self._hang()
        self._asked = False

    def _fail(self, failure: ModelFailure) -> None:
        chunks = tuple(self._chunks)
        self._add(Entry(verbatim=chunks, failure=None if self._aborted() else failure))

    def _hang(self) -> None:
        """Stream what had come; the finish of a cancelled stream is made anew."""
        chunks = self._chunks[:-1] if self._aborted() else self._chunks
        self._add(Entry(verbatim=tuple(chunks), hangs=True))

    def _aborted(self) -> bool:
        last = self._chunks[-1] if self._chunks else None
        return isinstance(last, Finish) and last.failure is not None and last.kind == "aborted"

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._chunks = []
        self._asked = False
