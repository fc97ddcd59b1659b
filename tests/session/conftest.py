"""What the tests of sessions share: a counted clock, a session, and ready payloads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.session import Session
from broodline.messages.chunk import TextDelta
from broodline.messages.content import Block, Text, ToolCall, ToolResult
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.lossless import FrozenDict
from broodline.messages.message import AssistantMessage, ToolMessage, UserMessage
from broodline.messages.payload import (
    AssistantReplied,
    CallConfig,
    ChunkReceived,
    ErrorInfo,
    HeaderLogged,
    InboxSpliced,
    Payload,
    RequestHeader,
    StepEnd,
    StepStart,
    ToolAnswered,
    ToolCalled,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    UserMessageLogged,
)


class CountedClock:
    """Every reading is one millisecond later."""

    def __init__(self) -> None:
        self.now = 1000

    def time_ms(self) -> int:
        self.now += 1
        return self.now


def user(id: str = "u1", text: str = "hello") -> UserMessage:
    return UserMessage(id, (Text(text),))


def user_logged(id: str = "u1", text: str = "hello") -> UserMessageLogged:
    return UserMessageLogged(user(id, text))


def assistant(id: str, *content: Block) -> AssistantMessage:
    return AssistantMessage(
        id, content, FrozenDict({"kind": "model", "provider": "p", "model": "m"})
    )


def replied(turn: int, step: int, id: str, *content: Block) -> AssistantReplied:
    return AssistantReplied(turn, step, assistant(id, *content))


def answered(
    turn: int, step: int, call_id: str, text: str = "ok", error: ErrorInfo | None = None
) -> ToolAnswered:
    block = ToolResult(call_id, (Text(text),))
    source = FrozenDict({"kind": "tool", "callId": call_id})
    return ToolAnswered(turn, step, ToolMessage(f"r-{call_id}", (block,), source), error)


def ended(turn: int, kind: Any = "completed") -> TurnEnd:
    return TurnEnd(turn, TurnEndReason(kind))


def header_logged(system: str | None = "be kind", reason: Any = "initial") -> HeaderLogged:
    return HeaderLogged(RequestHeader(CallConfig("p", "m"), system), reason)


def chunk(turn: int, step: int, text: str = "x") -> ChunkReceived:
    return ChunkReceived(turn, step, TextDelta(0, text))


def called(turn: int, step: int, call_id: str) -> ToolCalled:
    return ToolCalled(turn, step, call_id, "probe", "{}")


def run_turn(session: Session, text: str = "answer", kind: Any = "completed") -> int:
    """Append one whole turn with one step; returns its number."""
    turn = session.last_turn + 1
    session.append(TurnStart(turn))
    session.append(StepStart(turn, 1))
    session.append(user_logged(f"u{turn}"), surface="append")
    seq = session.append(chunk(turn, 1, text)).seq
    session.append(replied(turn, 1, f"a{turn}", Text(text)), surface="append", sources=(seq,))
    session.append(StepEnd(turn, 1))
    session.append(ended(turn, kind))
    return turn


def events_of(*payloads: Payload) -> list[Event]:
    """Number payloads as a log; messages join the surface."""
    shown = (UserMessageLogged, AssistantReplied, ToolAnswered)
    return [
        Event(seq, 5, payload, "append" if isinstance(payload, shown) else None)
        for seq, payload in enumerate(payloads)
    ]


def make_session(
    seed: Sequence[Event] | None = None,
    *,
    id: str = "s",
    seed_length: int | None = None,
    **options: Any,
) -> Session:
    header = SessionHeader(id, 1, seed_length=seed_length)
    return Session(header, seed=seed, clock=CountedClock(), **options)


def snapshot(session: Session) -> tuple[Any, ...]:
    """Everything that a refused append must leave as it was."""
    return (session.events, session.seq, session.surface, session.messages())


@pytest.fixture
def kit() -> SimpleNamespace:
    """The makers above, under one name, because test folders are no packages."""
    return SimpleNamespace(
        CountedClock=CountedClock,
        Text=Text,
        ToolCall=ToolCall,
        answered=answered,
        assistant=assistant,
        called=called,
        chunk=chunk,
        ended=ended,
        events_of=events_of,
        header_logged=header_logged,
        replied=replied,
        run_turn=run_turn,
        session=make_session,
        snapshot=snapshot,
        splice=InboxSpliced,
        step_end=StepEnd,
        step_start=StepStart,
        turn_start=TurnStart,
        user=user,
        user_logged=user_logged,
    )


Kit = Callable[[], SimpleNamespace]
