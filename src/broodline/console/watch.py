"""Keeps the board and tells the voice: hears of agents from the hooks, of work from the logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..actors.notice import AgentCreated, AgentDisposed
from ..actors.registration import Registration
from ..messages.chunk import BlockEnd, Chunk, ReasoningDelta, TextDelta, ToolCallDelta, UsageChunk
from ..messages.content import Reasoning, Text, ToolResult, text_of
from ..messages.event import Event
from ..messages.payload import (
    AssistantReplied,
    ChunkReceived,
    Descriptor,
    RetryPlanned,
    RetryStarted,
    StepStart,
    ToolAnswered,
    ToolCalled,
    TurnEnd,
    TurnStart,
)
from ..supervision.runtime import Runtime
from ..survey.width import shortened
from .advice import said
from .board import RunBoard, Worker
from .neutral import one_line
from .voice import DELEGATION, Voice

CHILD_ENDED = frozenset(
    f"SUBAGENT_{end}" for end in ("ABORTED", "ERROR", "FAULT", "MAX_TOKENS", "REFUSAL")
)
"""Error codes of a delegation that had a child."""

NAME_KEPT = 40
"""Columns of a tool's name in a line of the tree; a model may write any."""


def watch(runtime: Runtime, board: RunBoard, voice: Voice) -> Registration:
    """Keep `board` up to date with every agent created from now on, and tell `voice`."""

    def created(notice: AgentCreated) -> None:
        session = notice.agent.session
        worker = board.hired(session.id, session.header.parent_session)
        session.observe(_Follower(board, worker, voice))

    def disposed(notice: AgentDisposed) -> None:
        worker = board.workers[notice.agent.id]
        board.ended(worker.id, worker.how_it_ended())
        voice.ended(worker)

    first = runtime.hooks.observe("agent/created", created)
    second = runtime.hooks.observe("agent/disposed", disposed)

    def undo() -> None:
        first.dispose()
        second.dispose()

    return Registration(undo)


class _Follower:
    """Reads one agent's log as it grows."""

    __slots__ = ("board", "streamed", "voice", "waits", "worker")

    def __init__(self, board: RunBoard, worker: Worker, voice: Voice) -> None:
        self.board = board
        self.worker = worker
        self.voice = voice
        self.waits: dict[str, ToolCalled] = {}
        self.streamed: set[int] = set()  # blocks of this response that came in pieces

    def __call__(self, event: Event) -> None:
        """Take one event of the log."""
        react = _REACTIONS.get(type(event.data))
        if react is not None:
            react(self, event.data)

    def described(self, descriptor: Descriptor) -> None:
        """A child knows what it is."""
        self.board.name(self.worker, descriptor.label)
        self.voice.started(self.worker)

    def turn(self, _start: TurnStart) -> None:
        """A turn began."""
        self.board.turns += 1
        self.worker.turns += 1

    def step(self, _start: StepStart) -> None:
        """A request is about to be made."""
        self._fresh()

    def received(self, received: ChunkReceived) -> None:
        """A piece of a response came in."""
        chunk: Chunk = received.chunk
        if type(chunk) is TextDelta:
            self.streamed.add(chunk.index)
            self._say(chunk.text)
        elif type(chunk) is ReasoningDelta:
            self.streamed.add(chunk.index)
            self.voice.thought(self.worker, chunk.text)
        elif type(chunk) is ToolCallDelta:
            if chunk.name:
                self.worker.writing = one_line(shortened(chunk.name, NAME_KEPT))
        elif type(chunk) is BlockEnd and chunk.index not in self.streamed:
            self._whole(chunk)
        elif type(chunk) is UsageChunk:
            self.board.tokens.add(chunk.usage)
            self.worker.tokens.add(chunk.usage)

    def replied(self, reply: AssistantReplied) -> None:
        """A message is complete, or was kept as far as it had come."""
        self.worker.said.append(text_of(reply.message.content))
        if not reply.interrupted:
            self.board.requests += 1
            self.worker.retry = None
        self._fresh()
        self.voice.finished(self.worker)

    def called(self, call: ToolCalled) -> None:
        """A tool call began."""
        self.board.calls += 1
        self.worker.calls += 1
        self.waits[call.call_id] = call
        self._tell()
        self.voice.called(self.worker, call)

    def answered(self, answer: ToolAnswered) -> None:
        """A tool call ended."""
        result = answer.message.content[0]
        if not isinstance(result, ToolResult):
            return
        call = self.waits.pop(result.tool_call_id, None)
        self._tell()
        # Of a child that ran its own end tells.
        ran = answer.error is not None and answer.error.code in CHILD_ENDED
        if call is not None and result.is_error and not ran:
            self.voice.refused(self.worker, call.name, text_of(result.content))

    def retrying(self, retry: RetryPlanned) -> None:
        """A request failed and is to be made again."""
        self.board.requests += 1
        known = self.worker.retry is not None and same_cause(self.worker.retry, retry)
        self.worker.retry = retry
        self.worker.waiting = retry_words(retry, known)
        self.voice.retrying(self.worker, retry, known)
        self._fresh()

    def again(self, _retry: RetryStarted) -> None:
        """The wait is over; one that is cut short is no retry."""
        self.board.retries += 1
        self.worker.retries += 1
        self.worker.waiting = ""

    def ended(self, end: TurnEnd) -> None:
        """A turn is over."""
        self.worker.waiting = ""
        self.worker.end = end.reason.kind
        self.worker.failure = end.reason.error
        if end.reason.error is not None:
            self.board.requests += 1
            self.worker.retry = None

    def _say(self, text: str) -> None:
        self.worker.attempt.add(text)
        self.voice.said(self.worker, text)

    def _whole(self, end: BlockEnd) -> None:
        """A block that did not come in pieces."""
        if type(end.block) is Text:
            self._say(end.block.text)
        elif type(end.block) is Reasoning:
            self.voice.thought(self.worker, end.block.text)

    def _fresh(self) -> None:
        self.worker.attempt.clear()
        self.worker.writing = ""
        self.streamed.clear()

    def _tell(self) -> None:
        names = dict.fromkeys(call.name for call in self.waits.values())
        self.worker.doing = ", ".join(
            one_line(shortened(name, NAME_KEPT)) for name in names if name != DELEGATION
        )


def same_cause(first: RetryPlanned, second: RetryPlanned) -> bool:
    """Whether both are made for what a person would call the same reason."""
    one, other = first.failure, second.failure
    return (one.code, one.status, said(one)) == (other.code, other.status, said(other))


def retry_words(retry: RetryPlanned, known: bool = False) -> str:
    """``retrying in 2.0 s (RATE_LIMIT 429)``; where that is `known` ``(… again, 3 of 5)``."""
    seconds = retry.delay_ms / 1000
    failure = retry.failure
    why = failure.code if failure.status is None else f"{failure.code} {failure.status}"
    if known:
        most = "" if retry.max_retries is None else f" of {retry.max_retries:,}"
        why = f"{why} again, {retry.retry:,}{most}"
    wait = f"{seconds:.1f}" if seconds >= 0.95 or not seconds else f"{seconds:.2f}"
    return f"retrying in {wait} s ({why})"


_REACTIONS: dict[type[Any], Callable[[_Follower, Any], None]] = {
    Descriptor: _Follower.described,
    TurnStart: _Follower.turn,
    StepStart: _Follower.step,
    ChunkReceived: _Follower.received,
    AssistantReplied: _Follower.replied,
    ToolCalled: _Follower.called,
    ToolAnswered: _Follower.answered,
    RetryPlanned: _Follower.retrying,
    RetryStarted: _Follower.again,
    TurnEnd: _Follower.ended,
}
