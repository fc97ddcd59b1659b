"""A runtime for delegation, and short looks at what went out and what was left."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from broodline.actors.agent import Agent
from broodline.actors.models import Model, ScriptedModel, text
from broodline.providers.contract import InProcessSpec, ProviderCapabilities, ResolvedRequest
from broodline.supervision.runtime import Runtime

ALL = ProviderCapabilities(True, True, True, True, True)
EDGES = ("subagent/start", "subagent/end")
PUBLICATION = (
    "session/created",
    "agent/created",
    "subagent/start",
    "subagent/end",
    "agent/disposed",
    "session/disposed",
)


@pytest.fixture
async def open_runtime() -> AsyncIterator[Callable[..., Awaitable[Runtime]]]:
    """Opens runtimes, with the balance of the log checked, that are left behind the test."""
    async with AsyncExitStack() as stack:

        async def open_one(model: Model | None = None, **options: Any) -> Runtime:
            options.setdefault("check_invariants", True)
            chosen = ScriptedModel(each=[text("done")] * 9) if model is None else model
            runtime = Runtime(model=chosen, **options)
            return await stack.enter_async_context(runtime)

        yield open_one


class Ledger:
    """What the hooks said, in order: pairs of event name and payload."""

    def __init__(self, runtime: Runtime, *events: str) -> None:
        self.said: list[tuple[str, Any]] = []
        for event in events or PUBLICATION:
            runtime.hooks.observe(event, self._listener(event))

    def _listener(self, event: str) -> Callable[[Any], None]:
        return lambda payload: self.said.append((event, payload))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.said]

    def of(self, event: str) -> list[Any]:
        return [payload for name, payload in self.said if name == event]


@pytest.fixture
def ledger() -> Callable[..., Ledger]:
    """Keeps what the given events say; without any, the edges of sessions, agents and runs."""
    return Ledger


class Stub:
    """A provider whose preparation a test decides: a spec, an error, or a function."""

    inherits_parent_context = False

    def __init__(
        self, answer: Any = None, *, name: str = "stub", capabilities: ProviderCapabilities = ALL
    ) -> None:
        self.name = name
        self.capabilities = capabilities
        self.answer = InProcessSpec() if answer is None else answer
        self.requests: list[ResolvedRequest] = []

    async def prepare_one_shot(self, request: ResolvedRequest) -> object:
        self.requests.append(request)
        if isinstance(self.answer, BaseException):
            raise self.answer
        answer: Any = self.answer
        return await answer(request) if inspect.isfunction(answer) else answer


@pytest.fixture
def stub() -> type[Stub]:
    """A provider whose preparation a test decides."""
    return Stub


@pytest.fixture
def census() -> Callable[[Runtime], tuple[int, int, int]]:
    """How many agents, sessions and runs there are."""

    def count(runtime: Runtime) -> tuple[int, int, int]:
        return len(runtime.agents), len(runtime.sessions.list()), len(runtime.subagents.runs)

    return count


@pytest.fixture
def types_of() -> Callable[[Agent], list[str]]:
    """The event types of an agent's log, chunks left out."""

    def types(agent: Agent) -> list[str]:
        return [e.type for e in agent.session.events if e.type != "assistant/chunk"]

    return types


@pytest.fixture
def settle() -> Callable[[], Awaitable[None]]:
    """Lets everything that is ready run."""

    async def run_ready() -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    return run_ready
