"""Reading one model response: chunks into the log and into the assembler."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ..messages.chunk import Chunk, Finish, ModelFailure, ReasoningDelta, TextDelta, ToolCallDelta
from ..messages.errors import ModelError
from ..messages.lossless import type_name
from ..messages.payload import ChunkReceived
from ..messages.request import ModelRequest
from .interrupt import Interrupt, Interrupted
from .models.assembler import Assembler
from .models.failure import failure_of, malformed
from .models.grammar import StreamGrammar
from .models.protocol import Model
from .models.redaction import redact, redacted_trace
from .stray import is_stray

if TYPE_CHECKING:
    from .turn import Turn

logger = logging.getLogger("broodline")

# A model that never waits would starve every other actor of the loop.
_CHUNKS_BETWEEN_BREATHS = 64


class Attempt:
    """What one request brought: the logged chunks, the blocks, and a failure if it failed.

    Attributes:
        seqs: Of the chunks' events.
        failure: Why it failed, or None.
        cause: What the model raised, if it raised anything.
        silent: How often the silence watch has looked since the last chunk.
    """

    __slots__ = ("_assembler", "_grammar", "cause", "characters", "failure", "seqs", "silent")

    def __init__(self) -> None:
        # Most of a request is waiting for its first chunk: what takes chunks in comes with it.
        self._assembler: Assembler | None = None
        self._grammar: StreamGrammar | None = None
        self.seqs: tuple[int, ...] | list[int] = ()
        self.characters = 0
        self.failure: ModelFailure | None = None
        self.cause: BaseException | None = None
        self.silent = 0

    def take_cause(self) -> BaseException | None:
        """What the model raised; once, for its traceback holds this attempt."""
        cause, self.cause = self.cause, None
        return cause

    @property
    def assembler(self) -> Assembler:
        """The blocks so far."""
        if self._assembler is None:
            self._assembler = Assembler()
        return self._assembler

    def take(self, turn: Turn, chunk: Chunk) -> bool:
        """Check, log and assemble one chunk; True when it was the last.

        Raises:
            ModelError: If it may not come here.
        """
        grammar, assembler = self._grammar, self._assembler
        if grammar is None or assembler is None:
            grammar = self._grammar = StreamGrammar()
            assembler = self.assembler
            self.seqs = []
        self.silent = 0
        grammar.check(chunk)
        if type(chunk) is Finish and chunk.failure is not None:
            # Streamed or raised: no secret that a provider put into its words is written down.
            said = redact(chunk.failure.message)
            chunk = replace(chunk, failure=replace(chunk.failure, message=said))
        event = turn.session.append(ChunkReceived(turn.number, turn.step, chunk))
        cast("list[int]", self.seqs).append(event.seq)
        assembler.feed(chunk)
        if type(chunk) is Finish:
            self.failure = chunk.failure
            return True
        self.characters += _size(chunk)
        return False


class _ModelRaised(Exception):
    """Carries a model's own exception past the handlers of everything else."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


async def read_response(turn: Turn, model: Model, request: ModelRequest) -> Attempt:
    """Ask the model once and take in what it streams.

    Errors of the model become the attempt's `failure`; errors of the log are
    raised as they are, for they are not the model's. Returns as soon as the
    turn is cancelled, with what had arrived. Source: spec core 8.13, 12.5.
    """
    attempt = Attempt()
    silence = turn.agent.runtime.silence
    stream: AsyncIterator[Chunk] | None = None
    silence.watch(attempt, turn.interrupt)
    try:
        stream = _open(model, request)
        await _take_in(turn, stream, attempt)
    except _ModelRaised as raised:
        attempt.failure = failure_of(raised.error, aborted=turn.token.cancelled)
        attempt.cause = None if turn.token.cancelled else raised.error
    except Interrupted:
        if not turn.token.cancelled:
            attempt.failure = _idle_failure(request, silence.timeout)
    finally:
        if stream is not None:
            # The turn's own interrupt would let a cancellation cut a clean-up short.
            closing = Interrupt(turn.interrupt.task)
            attempt.silent = 0
            silence.watch(attempt, closing)
            await _close(stream, closing, request.session_id)
        silence.forget(attempt)
    return attempt


def _open(model: Model, request: ModelRequest) -> AsyncIterator[Chunk]:
    try:
        return _iterator_of(model.stream(request))
    except BaseException as error:
        if not is_stray(error, None):
            raise
        raise _ModelRaised(error) from error


def _iterator_of(stream: object) -> AsyncIterator[Chunk]:
    if isinstance(stream, AsyncIterable):
        return cast("AsyncIterable[Chunk]", stream).__aiter__()
    if inspect.iscoroutine(stream):
        stream.close()
    raise malformed(
        f"stream() gave a {type_name(stream)}; write it as an async generator, with yield"
    )


async def _take_in(turn: Turn, stream: AsyncIterator[Chunk], attempt: Attempt) -> None:
    token, interrupt = turn.token, turn.interrupt
    limit = turn.agent.runtime.settings.max_response_chars
    while not token.cancelled:
        interrupt.armed = True
        try:
            chunk = await stream.__anext__()
        except BaseException as error:
            if await _ended(turn, error):
                return
            raise
        interrupt.armed = False
        if interrupt.fired:
            await interrupt.absorb()
        try:
            last = attempt.take(turn, chunk)
        except ModelError as error:
            raise _ModelRaised(error) from error
        if last:
            return
        if not len(attempt.seqs) % _CHUNKS_BETWEEN_BREATHS:
            await asyncio.sleep(0)
        if limit is not None and attempt.characters > limit:
            attempt.failure = _size_failure(turn.agent.id, limit)
            return


async def _ended(turn: Turn, error: BaseException) -> bool:
    """Whether the stream is simply at its end; else what it raised is raised as whose it is."""
    error = await turn.interrupt.broken(error)
    if isinstance(error, StopAsyncIteration):
        return True
    if isinstance(error, Interrupted) or not is_stray(error, turn.interrupt.task):
        raise error
    raise _ModelRaised(error) from error


def _size(chunk: Chunk) -> int:
    if type(chunk) is TextDelta or type(chunk) is ReasoningDelta:
        return len(chunk.text)
    return len(chunk.arguments_delta) if type(chunk) is ToolCallDelta else 0


async def _close(stream: AsyncIterator[Chunk], closing: Interrupt, agent_id: str) -> None:
    try:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await closing.wait(close())
    except BaseException as error:
        if not is_stray(error, closing.task):
            raise
        clean = redacted_trace(error)
        logger.warning(
            "the stream of agent %r failed while closing%s",
            agent_id,
            "" if clean is None else "\n" + clean,
            exc_info=clean is None,
        )


def _idle_failure(request: ModelRequest, timeout: float | None) -> ModelFailure:
    return ModelFailure(
        f"model {request.config.provider}:{request.config.model} sent nothing for {timeout:g} s; "
        "raise Runtime(request_timeout=...) if it may take longer",
        code="TIMEOUT",
    )


def _size_failure(agent_id: str, limit: int) -> ModelFailure:
    return ModelFailure(
        f"the response to agent {agent_id} passed {limit} characters without an end; "
        "raise Runtime(max_response_chars=...) if such answers are wanted",
        code="RESPONSE_TOO_LARGE",
    )
