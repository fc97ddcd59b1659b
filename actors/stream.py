"""Reading one model response: chunks into the log and into the assembler."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable
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
from .stray import is_stray

if TYPE_CHECKING:
    from .turn import Turn

logger = logging.getLogger("broodline")

# A model that never waits would starve every other actor of the loop.
_CHUNKS_BETWEEN_BREATHS = 64


class Attempt:
    """What one request brought: the logged chunks, the blocks, and a failure if it failed."""

    __slots__ = ("assembler", "characters", "failure", "seqs")

    def __init__(self) -> None:
        self.assembler = Assembler()
        self.seqs: list[int] = []
        self.characters = 0
        self.failure: ModelFailure | None = None


class IdleWatch:
    """Cuts a request short that brings no chunk for `timeout` seconds.

    One timer a request: it re-arms itself instead of being reset at every chunk.
    """

    __slots__ = ("_handle", "_interrupt", "_loop", "expired", "progress", "timeout")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, interrupt: Interrupt, timeout: float
    ) -> None:
        self._loop = loop
        self._interrupt = interrupt
        self.timeout = timeout
        self.expired = False
        self.progress = 0
        self._handle = loop.call_later(timeout, self._check, 0)

    def _check(self, seen: int) -> None:
        if self.progress == seen:
            self.expired = True
            self._interrupt.fire()
        self._handle = self._loop.call_later(self.timeout, self._check, self.progress)

    def stop(self) -> None:
        """Drop the timer."""
        self._handle.cancel()


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
    timeout = turn.agent.runtime.settings.request_timeout
    loop = turn.agent.runtime.loop
    watch = IdleWatch(loop, turn.interrupt, timeout) if timeout is not None else None
    stream: AsyncIterator[Chunk] | None = None
    try:
        stream = _open(model, request)
        await _take_in(turn, stream, attempt, watch)
    except _ModelRaised as raised:
        attempt.failure = failure_of(raised.error, aborted=turn.token.cancelled)
    except Interrupted:
        if not turn.token.cancelled:
            attempt.failure = _idle_failure(request, timeout)
    finally:
        if watch is not None:
            watch.stop()
        if stream is not None:
            await _close(stream, request.session_id)
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


async def _take_in(
    turn: Turn, stream: AsyncIterator[Chunk], attempt: Attempt, watch: IdleWatch | None
) -> None:
    append, token, wait = turn.session.append, turn.token, turn.interrupt.wait
    number, step, limit = turn.number, turn.step, turn.agent.runtime.settings.max_response_chars
    seqs, feed, check = attempt.seqs, attempt.assembler.feed, StreamGrammar().check
    while not token.cancelled:
        try:
            chunk = await wait(anext(stream))
        except StopAsyncIteration:
            return
        except Interrupted:
            raise
        except BaseException as error:
            if not is_stray(error, turn.interrupt.task):
                raise
            raise _ModelRaised(error) from error
        _accept(check, chunk)
        seqs.append(append(ChunkReceived(number, step, chunk)).seq)
        _accept(feed, chunk)
        if type(chunk) is Finish:
            attempt.failure = chunk.failure
            return
        if watch is not None:
            watch.progress += 1
        if not len(seqs) % _CHUNKS_BETWEEN_BREATHS:
            await asyncio.sleep(0)
        attempt.characters += _size(chunk)
        if limit is not None and attempt.characters > limit:
            attempt.failure = _size_failure(turn.agent.id, limit)
            return


def _accept(take: Callable[[Chunk], None], chunk: Chunk) -> None:
    try:
        take(chunk)
    except ModelError as error:
        raise _ModelRaised(error) from error


def _size(chunk: Chunk) -> int:
    if type(chunk) is TextDelta or type(chunk) is ReasoningDelta:
        return len(chunk.text)
    return len(chunk.arguments_delta) if type(chunk) is ToolCallDelta else 0


async def _close(stream: AsyncIterator[Chunk], agent_id: str) -> None:
    try:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    except BaseException as error:
        if not is_stray(error, asyncio.current_task()):
            raise
        logger.warning("the stream of agent %s failed while closing", agent_id, exc_info=True)


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
