"""One run from start to end: a root agent with a real model, its tree, and what it answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext

from ..actors.handle import AgentHandle
from ..actors.models.protocol import Model
from ..actors.models.retry import RetryPolicy
from ..actors.stores.memory import MemoryStore
from ..actors.tools.tool import Tool
from ..messages.errors import BroodlineError, SessionError
from ..supervision.runtime import Runtime
from ..supervision.tool import SubagentTool
from ..survey.folder import system_words
from ..survey.ground import Ground
from ..survey.survey import LONGEST_HOLD, Interruption, finished
from ..survey.toolset import survey_tools
from .board import RunBoard
from .order import Order
from .outcome import Outcome, Status
from .page import show_tool
from .persona import DELEGATES, ROOT, Delegation
from .record import Record
from .voice import Voice
from .watch import watch

PAGE = 200
"""Most names in one listing: a model reads every one of them."""

PATIENCE = 5.0
"""Seconds that work in progress may take to stop."""

_VARIABLE = "root_persona"  # what a user writes is no template, so it comes as a value


async def carry_out(
    order: Order,
    model: Model,
    board: RunBoard,
    voice: Voice,
    interruption: Interruption,
    tick: Callable[[], None] = lambda: None,
    record: Record | None = None,
) -> Outcome:
    """Do what was ordered, or as much as there is until an interruption. Leaves nothing running.

    Args:
        order: What to do.
        model: Who does it.
        board: Kept up to date meanwhile.
        voice: Told of everything as it happens.
        interruption: Stops the whole tree.
        tick: Called about ten times a second, on the loop.
        record: Takes the logs.
    """
    start = asyncio.get_running_loop().time()
    problem: str | None = None

    def look() -> None:
        if record is not None:
            _write(record)
        tick()

    try:
        async with _runtime(order, model) as runtime:
            with record.follow(runtime) if record is not None else nullcontext():
                await _run(runtime, order, board, voice, interruption, look)
    except (BroodlineError, ExceptionGroup) as error:
        # The runtime did not let go of everything, or could not even begin: told, not raised.
        problem = str(error)
    return _outcome(board, interruption.cause, problem, asyncio.get_running_loop().time() - start)


def _write(record: Record) -> None:
    try:
        record.write()
    except OSError as error:
        raise SessionError(f"the recording could not be written: {system_words(error)}") from error


async def _run(
    runtime: Runtime,
    order: Order,
    board: RunBoard,
    voice: Voice,
    interruption: Interruption,
    look: Callable[[], None],
) -> None:
    if interruption.cause is not None:
        return
    with watch(runtime, board, voice):
        root = await runtime.agents.create(cwd=order.path)
        try:
            await root.followup(order.task)
            if not await finished(root, interruption, look):
                await _stop(root)
        finally:
            try:
                await root.dispose()
            finally:
                look()


async def _stop(root: AgentHandle) -> None:
    """Cancel the tree as a user does, so that the logs say so, and wait a while for it."""

    async def idle() -> None:
        await root.cancel()
        await root.when_idle()

    waits = asyncio.create_task(idle())
    await asyncio.wait((waits,), timeout=PATIENCE)
    waits.cancel()
    await asyncio.gather(waits, return_exceptions=True)


def _runtime(order: Order, model: Model) -> Runtime:
    runtime = Runtime(
        model=model,
        tools=tools_of(order),
        persona=f"{{{{{_VARIABLE}}}}}",
        store=MemoryStore(keep_ended=False),
        retry=RetryPolicy(retries=order.retries),
        tool_parallelism=order.jobs,
        max_steps=order.max_steps,
        request_timeout=order.timeout,
        dispose_timeout=PATIENCE,
        stall_threshold=LONGEST_HOLD,
    )
    runtime.prompts.variable(_VARIABLE, lambda _context: system_of(order))
    return runtime


def tools_of(order: Order) -> list[Tool | SubagentTool]:
    """What the root may call."""
    ground = Ground(order.path, page=PAGE)
    tools: list[Tool | SubagentTool] = [*survey_tools(ground), show_tool(ground)]
    return [*tools, Delegation(order.depth)] if order.depth else tools


def system_of(order: Order) -> str:
    """What the root is told it is."""
    return order.system or ROOT + (DELEGATES if order.depth else "")


def _outcome(board: RunBoard, cause: str | None, problem: str | None, seconds: float) -> Outcome:
    root = board.top
    if root is None:
        status: Status = "failed" if cause is None else "interrupted"
        return Outcome(status, problem=problem or cause, seconds=seconds)
    said = [text for text in root.said if text]
    answer = str(root.attempt) or (said[-1] if said else None)
    status = "completed" if root.end == "completed" and problem is None else "failed"
    if status == "failed" and cause is not None:
        status, problem = "interrupted", cause
    return Outcome(status, answer, root.end, root.failure, problem, seconds)
