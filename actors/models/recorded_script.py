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
    TurnStart,
)
from .entry import Entry

RECORDING_ENDED = "RECORDING_ENDED"
"""The code of a request whose answer was not recorded; no policy but ``always`` repeats it."""


def entries_of(payloads: Iterable[Payload], name: str = "log") -> list[Entry]:
    """One entry for each request that a model was asked in a log.

    - A response is its chunks up to the finish; a finish that tells of a failure too.
    - A request that failed without a finish raises what the log says of it, behind the
      chunks that had come: the failure of the retry, or the error of the turn.
    - One that was cancelled (its message is marked as interrupted, or its turn ended
      ``aborted``) streams what had come and then waits to be cancelled.
    - One whose end was not recorded (the log stops there, or was closed by a repair)
      streams what had come and then fails with ``RECORDING_ENDED``. So does the request
      that a turn still had to make where it stops: its first one, or one for the
      results of its tools, or a retry.
    - A response whose chunks were not recorded is made from its message.

    An error or a cancellation that came before the first chunk of a step is taken for
    the request's: the log does not tell it from one that came before the request.

    Args:
        payloads: Of the session's own events, without what a fork inherited.
        name: What to call the log in an error.
    """
    script = _Script(name)
    for payload in payloads:
        script.feed(payload)
    script.end()
    return script.entries


class _Script:
    """The entries so far, and the request that is under way."""

    def __init__(self, name: str) -> None:
        self.entries: list[Entry] = []
        self._name = name
        self._chunks: list[Chunk] = []
        self._step = (0, 0)
        self._in_turn = False
        # A request was begun and is not ended; or the turn has to make one next.
        self._asked = self._owed = False

    def feed(self, payload: Payload) -> None:
        """Take in the next event."""
        if isinstance(payload, ChunkReceived):
            self._stream(payload)
        elif isinstance(payload, StepStart | RetryStarted):
            self._ask((payload.turn, payload.step))
            self._in_turn = True
        elif isinstance(payload, TurnStart):
            self._flush()
            self._in_turn = self._owed = True
        elif isinstance(payload, AssistantReplied):
            self._reply(payload)
        elif isinstance(payload, RetryPlanned):
            if self._asked:
                self._fail(payload.failure)
            self._owed = True
        elif isinstance(payload, TurnEnd):
            self._end_turn(payload)

    def end(self) -> None:
        """Take in the end of the log; in the middle of a turn it is not the end of the run."""
        if self._in_turn:
            self._stop("ends")
        else:
            self._flush("ends")

    def _ask(self, step: tuple[int, int]) -> None:
        self._flush()
        self._asked, self._owed, self._step = True, False, step

    def _flush(self, verb: str = "breaks off") -> None:
        """Close a request that had brought something, and of whose end nothing is said."""
        if self._chunks:
            self._break_off(verb)
        self._asked = False

    def _stop(self, verb: str) -> None:
        """Close what the turn was at when it stopped."""
        if self._asked or self._owed:
            self._break_off(verb)

    def _stream(self, payload: ChunkReceived) -> None:
        if self._step != (payload.turn, payload.step) or self._aborted():
            self._ask((payload.turn, payload.step))
        self._asked = True
        self._chunks.append(payload.chunk)
        # An aborted one may be the echo of a cancellation; what follows tells.
        if isinstance(payload.chunk, Finish) and payload.chunk.kind != "aborted":
            self._add(Entry(verbatim=tuple(self._chunks)))
            self._owed = payload.chunk.kind == "tool-calls"

    def _reply(self, payload: AssistantReplied) -> None:
        content = payload.message.content
        calls = any(isinstance(block, ToolCall) for block in content)
        if self._asked and payload.interrupted:
            self._hang(payload)
        elif self._asked and (self._chunks or content == ()):
            self._add(Entry(verbatim=tuple(self._chunks)))
        elif self._asked:
            finish = Finish("tool-calls" if calls else "stop")
            self._add(Entry(content, payload.usage, finish))
        self._owed = calls and not payload.interrupted

    def _end_turn(self, payload: TurnEnd) -> None:
        reason = payload.reason
        if self._asked and reason.error is not None:
            self._fail(reason.error)
        elif self._asked and reason.kind == "aborted":
            self._hang()
        elif reason.kind == "interrupted":  # by a repair, when who wrote the log had gone
            self._stop("breaks off")
        elif self._asked and reason.kind == "error":  # of what nobody wrote down
            self._break_off("breaks off")
        self._flush()
        self._in_turn = self._owed = False

    def _fail(self, failure: ModelFailure) -> None:
        chunks = tuple(self._chunks)
        self._add(Entry(verbatim=chunks, failure=None if self._aborted() else failure))

    def _hang(self, kept: AssistantReplied | None = None) -> None:
        """Stream what had come; the finish of a cancelled stream is made anew."""
        chunks = self._chunks[:-1] if self._aborted() else self._chunks
        if kept is not None and not self._chunks:
            self._add(Entry(kept.message.content, hangs=True))
        else:
            self._add(Entry(verbatim=tuple(chunks), hangs=True))

    def _break_off(self, verb: str) -> None:
        """Stream what had come, and fail with what the log lacks; a finish is an end."""
        number, chunks = len(self.entries) + 1, tuple(self._chunks)
        where = "in the middle of" if self._asked else "inside a turn, before"
        text = (
            f"log {self._name} {verb} {where} request {number}; what followed was not recorded: "
            "record the run again, or say with overrides= what to play there"
        )
        failure = None if self._aborted() else ModelFailure(text, RECORDING_ENDED)
        self._add(Entry(verbatim=chunks, failure=failure))

    def _aborted(self) -> bool:
        last = self._chunks[-1] if self._chunks else None
        return isinstance(last, Finish) and last.failure is not None and last.kind == "aborted"

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._chunks = []
        self._asked = self._owed = False
