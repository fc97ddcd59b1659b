"""Runs the body of a tool: on the loop or in the executor, with a limit in time.

Source: spec core 10.2, DESIGN section 2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from functools import partial
from inspect import isawaitable
from typing import Any

from ...messages.errors import ToolError
from ..cancellation import CancellationToken
from .tool import Tool, ToolContext


async def call_body(tool: Tool, context: ToolContext, system: Any) -> Any:
    """Run a tool's body to its end and return what it returned.

    Raises:
        ToolError: TIMEOUT.
        BaseException: Whatever the body raised.
    """
    if tool.timeout is not None:
        return await _timed(tool, context, system)
    if tool.plain:
        return await _plain(tool, context, system)
    return await tool.execute(context.arguments, context)


async def _untimed(tool: Tool, context: ToolContext, system: Any) -> Any:
    if tool.plain:
        return await _plain(tool, context, system)
    return await tool.execute(context.arguments, context)


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
