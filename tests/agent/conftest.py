"""A house for agents, and short looks into their logs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from broodline.actors.agent import Agent
from broodline.actors.host import AgentHost
from broodline.actors.models import Model
from broodline.actors.settings import AgentSettings
from broodline.actors.stores.memory import MemoryStore

OpenHost = Callable[..., Awaitable[AgentHost]]


@pytest.fixture
async def open_host() -> AsyncIterator[OpenHost]:
    """Opens hosts that are closed, agents first, behind the test."""
    async with AsyncExitStack() as stack:

        async def open_one(model: Model | None = None, **options: Any) -> AgentHost:
            store = options.pop("store", None) or MemoryStore()
            retry = options.pop("retry", None)
            seams = {k: options.pop(k) for k in ("clock", "ids", "random") if k in options}
            settings = AgentSettings(**{"check_invariants": True, **options})
            host = AgentHost(
                store=store, settings=settings, retry=retry, default_model=model, **seams
            )
            await stack.enter_async_context(host)
            stack.push_async_callback(_end_all, host)
            return host

        yield open_one


async def _end_all(host: AgentHost) -> None:
    for agent in host.agents.list():
        await host.agents.end(agent)


@pytest.fixture
def types_of() -> Callable[[Agent], list[str]]:
    """The event types of an agent's log, chunks left out."""

    def types(agent: Agent) -> list[str]:
        return [e.type for e in agent.session.events if e.type != "assistant/chunk"]

    return types


@pytest.fixture
def ends_of() -> Callable[[Agent], list[str]]:
    """How the turns of an agent ended, in order."""

    def ends(agent: Agent) -> list[str]:
        return [e.data.reason.kind for e in agent.session.events if e.type == "turn/end"]  # type: ignore[union-attr]

    return ends
