"""What the tests of tools share: a registry, a port that records, a clock that is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.executor import InlineExecutor
from broodline.actors.hooks import Hooks
from broodline.actors.tools import Tool, ToolContext, ToolOutcome, ToolRegistry
from broodline.messages.content import Text, ToolCall
from broodline.messages.message import UserMessage

ANY_OBJECT = {"type": "object"}


def _tool(name: str = "echo", execute: Any = None, **fields: Any) -> Tool:
    """A tool with open parameters; without a body it returns its arguments."""

    async def echo(arguments: Any, context: ToolContext) -> Any:
        return arguments

    fields.setdefault("parameters", ANY_OBJECT)
    return Tool(name, f"Does {name}.", execute=execute or echo, **fields)


def _call(name: str = "echo", arguments: str = "{}", id: str = "c1") -> ToolCall:
    return ToolCall(id, name, arguments)


def _message(text: str) -> UserMessage:
    return UserMessage(f"note-{text}", (Text(text),))


def _shown(outcome: ToolOutcome) -> str:
    return "".join(block.text for block in outcome.content if type(block) is Text)


class Port:
    """Records what the scheduler writes down; `fail_at` makes one of its calls raise."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []
        self.outcomes: dict[str, ToolOutcome] = {}
        self.cited: dict[str, int] = {}
        self.started: dict[str, int] = {}
        self.queued: list[UserMessage] = []
        self.fail_at: Callable[[str, str], BaseException | None] = lambda kind, id: None

    def _note(self, kind: str, id: str) -> None:
        error = self.fail_at(kind, id)
        if error is not None:
            raise error
        self.log.append((kind, id))

    def call_started(self, call: ToolCall) -> int:
        self._note("call", call.id)
        self.started[call.id] = 100 + len(self.log)
        return self.started[call.id]

    def call_finished(self, call: ToolCall, seq: int, outcome: ToolOutcome) -> None:
        self._note("result", call.id)
        self.cited[call.id] = seq
        self.outcomes[call.id] = outcome

    def contexts(self, messages: Sequence[UserMessage]) -> None:
        self._note("contexts", ",".join(message.id for message in messages))
        self.queued.extend(messages)

    def results(self) -> list[str]:
        return [id for kind, id in self.log if kind == "result"]

    def codes(self) -> dict[str, str | None]:
        return {
            id: outcome.error.code if outcome.error is not None else None
            for id, outcome in self.outcomes.items()
        }


class Bodies:
    """Bodies that wait at gates, so that a test decides their order.

    Attributes:
        running: Names of the calls whose bodies are under way, in the order they began.
        begun: All that ever began.
    """

    def __init__(self) -> None:
        self.running: list[str] = []
        self.begun: list[str] = []
        self.most = 0
        self._gates: dict[str, asyncio.Event] = {}

    def gate(self, key: str) -> asyncio.Event:
        return self._gates.setdefault(key, asyncio.Event())

    async def __call__(self, arguments: Any, context: ToolContext) -> Any:
        key = context.call_id
        self.running.append(key)
        self.begun.append(key)
        self.most = max(self.most, len(self.running))
        try:
            await self.gate(key).wait()
        finally:
            self.running.remove(key)
        return key

    async def until(self, *keys: str) -> None:
        """Let ready callbacks run until exactly these bodies are under way."""
        for _ in range(50):
            await asyncio.sleep(0)
        assert self.running == list(keys)


class ToldClock:
    """A clock whose sleepers wake when the test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.due = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self.due.wait()


@pytest.fixture
def make_tool() -> Callable[..., Tool]:
    return _tool


@pytest.fixture
def make_call() -> Callable[..., ToolCall]:
    return _call


@pytest.fixture
def note() -> Callable[[str], UserMessage]:
    return _message


@pytest.fixture
def shown() -> Callable[[ToolOutcome], str]:
    return _shown


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry(Hooks())


@pytest.fixture
def port() -> Port:
    return Port()


@pytest.fixture
def bodies() -> Bodies:
    return Bodies()


@pytest.fixture
def system() -> Any:
    return SimpleNamespace(clock=ToldClock(), executor=InlineExecutor())
