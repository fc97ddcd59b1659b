"""Requests to ask with, and what came of asking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from broodline.actors.models import Assembler, Entry, LocalModel, StreamGrammar
from broodline.messages.chunk import Chunk
from broodline.messages.content import Block
from broodline.messages.message import Message
from broodline.messages.payload import CallConfig, ToolSchema
from broodline.messages.request import ModelRequest

Ask = Callable[..., ModelRequest]
Play = Callable[..., Awaitable["Played"]]


@dataclass
class Played:
    """One response, taken in as an agent would."""

    chunks: list[Chunk]
    error: Exception | None
    assembler: Assembler

    @property
    def content(self) -> tuple[Block, ...]:
        return self.assembler.message_content()

    @property
    def kinds(self) -> list[str]:
        return [type(chunk).__name__ for chunk in self.chunks]


def _ask(
    session_id: str = "s1",
    *,
    messages: list[Message] | None = None,
    signal: Any = None,
    tools: tuple[str, ...] = (),
    system: str | None = None,
) -> ModelRequest:
    schemas = tuple(ToolSchema(name, "", {"type": "object"}) for name in tools)
    config = CallConfig("scripted", "scripted")
    return ModelRequest(config, messages or [], system, schemas, session_id, signal)


async def _play(model: LocalModel, request: ModelRequest | None = None) -> Played:
    played = Played([], None, Assembler())
    grammar = StreamGrammar()
    async with aclosing(model.stream(request or _ask())) as stream:
        try:
            async for chunk in stream:
                grammar.check(chunk)
                played.chunks.append(chunk)
                played.assembler.feed(chunk)
        except Exception as error:
            played.error = error
        else:
            grammar.end()
    return played


@pytest.fixture
def ask() -> Ask:
    """Make a request: ``ask(session_id, messages=, signal=, tools=, system=)``."""
    return _ask


@pytest.fixture
def play() -> Play:
    """What asks a model once and checks the grammar: awaited with the model and the request."""
    return _play


@pytest.fixture
def rendered() -> Callable[[Entry], list[Chunk]]:
    """The chunks of an entry."""
    return lambda entry: list(entry.chunks(_ask()))
