"""Waiting until an agent has nothing left to do."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agent import Agent


async def until_idle(agent: Agent) -> None:
    """Wait until no turn of the agent is in progress or due; at once if that is so. Loop only."""
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    then = partial(_resolve, waiter)
    agent.on_idle(then)
    try:
        await waiter
    finally:
        agent.forget(then)


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
