"""Runs the body of a tool: on the loop or in the executor, with a limit in time.

Source: spec core 10.2, DESIGN section 2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from functools import partial
from inspect import isawaitable, iscoroutine
from typing import Any, cast

from ...messages.errors import ToolError
from ..cancellation import CancellationToken
from ..watch import StallWatch
from .tool import Tool, ToolContext


async def call_body(tool: Tool, context: ToolContext, system: Any) -> Any:
    """Run a tool's body to its end and return what it returned.

    Raises:
        ToolError: TIMEOUT.
        BaseException: Whatever the body raised.
    """
    if tool.timeout is not None:
        return await _timed(tool, context, system)
    return await _untimed(tool, context, system)


async def _untimed(tool: Tool, context: ToolContext, system: Any) -> Any:
    if tool.plain:
        return await _plain(tool, context, system)
    body = tool.execute(context.arguments, context)
    watch = getattr(system, "watch", None)
    if watch is None or not iscoroutine(body):
        return await body
    return await _Steps(body, context, watch)


class _Steps(Coroutine[Any, Any, Any]):
    """An async body whose every step on the loop is timed, to name the tool of a stall."""

    __slots__ = ("_body", "_context", "_watch")

    def __init__(self, body: Coroutine[Any, Any, Any], context: ToolContext, watch: StallWatch):
        self._body = body
        self._context = context
        self._watch = watch

    def __str__(self) -> str:
        context = self._context
        return f"tool {context.name!r} of agent {getattr(context.agent, 'id', None)}"

    def __await__(self) -> Generator[Any, Any, Any]:
        return cast("Generator[Any, Any, Any]", self)

    def __iter__(self) -> _Steps:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any, /) -> Any:
        """Run one step."""
        start = self._watch.now()
        try:
            return self._body.send(value)
        finally:
            self._check(start)

    def throw(self, typ: Any, val: Any = None, tb: Any = None, /) -> Any:
        """Run one step that begins with an exception."""
        start = self._watch.now()
        try:
            return self._body.throw(typ if isinstance(typ, BaseException) else typ())
        finally:
            self._check(start)

    def close(self) -> None:
        """End the body."""
        self._body.close()

    def _check(self, start: float) -> None:
        elapsed = self._watch.now() - start
        if elapsed > self._watch.threshold:
            self._watch.report(elapsed, self)


async def _plain(tool: Tool, context: ToolContext, system: Any) -> Any:
    if system is None:
        value = tool.execute(context.arguments, context)
    else:
        error, value = await system.executor.run(_outcome, tool.execute, context.arguments, context)
        if error is not None:
            raise error
    return await value if isawaitable(value) else value


def _outcome(execute: Callable[..., Any], *args: Any) -> tuple[BaseException | None, Any]:
    """Call in the executor; what is raised is returned, so that no future has to carry it."""
    try:
        return None, execute(*args)
    except BaseException as error:
        return error, None


async def _timed(tool: Tool, context: ToolContext, system: Any) -> Any:
    """Run the body beside a timer; at the limit fire its signal and cancel it."""
    seconds = tool.timeout
    assert seconds is not None
    outer = context.signal
    limit = CancellationToken()
    with fused(outer, limit) as both:
        context.signal = both
        body = asyncio.ensure_future(_untimed(tool, context, system))
        timer = asyncio.ensure_future(_sleep(system, seconds))
        try:
            await asyncio.wait((body, timer), return_when=asyncio.FIRST_COMPLETED)
            if body.done():
                return body.result()
            error = ToolError(
                f"tool {tool.name!a} did not finish within {seconds:g} s", code="TIMEOUT"
            )
            limit.cancel(error)
            raise error
        finally:
            context.signal = outer
            await _end(body, timer)


def _sleep(system: Any, seconds: float) -> Coroutine[Any, Any, None]:
    sleep: Coroutine[Any, Any, None] = (
        asyncio.sleep(seconds) if system is None else system.clock.sleep(seconds)
    )
    return sleep


async def _end(*tasks: asyncio.Future[Any]) -> None:
    """Leave no task behind, and no failure that nobody has looked at."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def fused(*tokens: CancellationToken) -> Generator[CancellationToken, None, None]:
    """A token that fires with the first of several, for as long as the block lasts."""
    both = CancellationToken()
    links = [token.on_cancel(partial(_fire, both)) for token in tokens]
    try:
        yield both
    finally:
        for link in links:
            link.dispose()


def _fire(token: CancellationToken, cause: object) -> None:
    token.cancel(cause)
