"""Events and headers to try a store with: some of everything that may stand in a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...actors.session import Session
from ...messages.chunk import (
    BlockEnd,
    BlockStart,
    Finish,
    ModelFailure,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from ...messages.content import Block, OpaqueBlock, Reasoning, Text, ToolCall, ToolResult
from ...messages.event import Event, Replace
from ...messages.header import SessionHeader
from ...messages.lossless import freeze
from ...messages.message import AssistantMessage, ToolMessage, UserMessage
from ...messages.payload import (
    AbortCause,
    AssistantReplied,
    CallConfig,
    CatalogChanged,
    ChunkReceived,
    DeliveryRefused,
    Descriptor,
    EndSeed,
    ErrorInfo,
    HeaderLogged,
    InboxSpliced,
    OpaquePayload,
    OptionsChosen,
    RequestHeader,
    RetryPlanned,
    RetryStarted,
    StepEnd,
    StepStart,
    ToolAnswered,
    ToolCalled,
    ToolFilter,
    ToolSchema,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    UserMessageLogged,
)
from .clock import ManualClock

HARD_TEXT = (
    'quote " backslash \\ slash / null \0 tab \t line\nreturn\r\nform\f escape \x1b delete \x7f '
    "line separator \u2028 paragraph \u2029 next line \x85 byte order mark \ufeff "
    "accent e\u0301 \u00e9 emoji \U0001f426\u200d\u2b1b flag \U0001f1e9\U0001f1ea end \U0010ffff"
)
"""Text with what a line, a quoted string or an encoding may stumble over."""

HARD_JSON: dict[str, Any] = {
    "z": 1,
    "a": [None, True, False, 0, -1, 2**53 - 1, -(2**53 - 1), 0.1, -1e-7, 1e300, 5e-324],
    "": {"": [[], {}, ""]},
    "key \0\n\u2028\U0001f426": HARD_TEXT,
    "type": "not the envelope's",
    "seq": "nor this",
}
"""JSON with odd keys, extreme numbers and empty containers; the order of its keys is kept."""

FAILURE = ModelFailure("no answer: " + HARD_TEXT, "SERVER", 503, 1500, "request-1")
MODEL_SOURCE: dict[str, Any] = freeze({"kind": "model", "provider": "p", "model": "m"})


def note(seq: int, text: str = "", *, time: int = 1) -> Event:
    """An event that means nothing to a turn."""
    return Event(seq, time, OpaquePayload("session/title", {"title": text}))


def notes(start: int, stop: int, *, time: int = 1) -> list[Event]:
    """Such events, numbered from `start` up to `stop`."""
    return [note(seq, f"note {seq}", time=time) for seq in range(start, stop)]


def header(session_id: str = "s", *, parent: str | None = None, at: int = 1) -> SessionHeader:
    """The header of a root, or of a child of `parent`."""
    if parent is None:
        return SessionHeader(session_id, at, delegation_depth=0)
    return SessionHeader(
        session_id, at, parent_session=parent, origin="subagent", delegation_depth=1
    )


def full_header(session_id: str = "full") -> SessionHeader:
    """A header with every field."""
    return SessionHeader(
        session_id,
        2**53 - 1,
        cwd="/some where/\u00fcber/\U0001f426",
        parent_session="../a parent\n",
        seed_length=2,
        origin="subagent",
        delegation_depth=7,
        agent_preset="a preset \0",
    )


def user(message_id: str, *content: Block) -> UserMessage:
    """A message of the user."""
    return UserMessage(message_id, content or (Text("hello"),))


def reply(turn: int, step: int, message_id: str, *content: Block) -> AssistantReplied:
    """A message of the model."""
    return AssistantReplied(turn, step, AssistantMessage(message_id, content, MODEL_SOURCE))


def answer(turn: int, step: int, call_id: str, **more: Any) -> ToolAnswered:
    """The result of a tool call."""
    block = ToolResult(call_id, (Text(HARD_TEXT), OpaqueBlock(IMAGE)), is_error="error" in more)
    source = freeze({"kind": "tool", "callId": call_id})
    return ToolAnswered(turn, step, ToolMessage(f"result-{call_id}", (block,), source), **more)


IMAGE: dict[str, Any] = freeze({"type": "image", "data": "AAAA", "more": HARD_JSON})


def sample_log(events_before: Sequence[Event] = ()) -> tuple[Event, ...]:
    """A balanced log with every type of event, and every form that one may have.

    Args:
        events_before: What it continues.
    """
    session = Session(header(), seed=events_before or None, clock=ManualClock())
    for part in (_outside_turns, _streaming_turn, _calling_turn, _rewriting_turn, _short_turns):
        part(session)
    return session.events


def interrupted_log() -> tuple[Event, ...]:
    """A log that ends inside a step: one call was started, one was not."""
    session = Session(header(), clock=ManualClock())
    _streaming_turn(session)
    turn = session.last_turn + 1
    session.append(TurnStart(turn))
    session.append(StepStart(turn, 1))
    calls = [ToolCall(f"call-{number}", "probe", "{}") for number in range(2)]
    session.append(reply(turn, 1, "asking", *calls), surface="append")
    session.append(ToolCalled(turn, 1, "call-0", "probe", "{}"))
    return session.events


def _outside_turns(session: Session) -> None:
    add = session.append
    add(Descriptor("one-shot", "spawn"))
    tools = ToolFilter(("one", "two"), ("three",))
    add(Descriptor("continuable", "fork", "label", "p", "m", "high", "persona", tools))
    add(Descriptor("continuable", "fork", "label", tool_filter=ToolFilter(deny=())))
    add(CatalogChanged("added", "c1", "continuable", "spawn", "label"), ignorable=True)
    add(CatalogChanged("removed", "c1", "one-shot", "spawn"), ignorable=True)
    add(OptionsChosen("p", "m", 100, "low"), ignorable=True)
    add(OptionsChosen(), ignorable=True)
    add(InboxSpliced("next-turn", 0, inserted=(user("u1"), user("u2", Text(HARD_TEXT)))))
    add(InboxSpliced("next-turn", 1, removed_count=1, outcome="canceled"))
    add(DeliveryRefused(session.seq - 1, "u2", "STORE_UNAVAILABLE"), ignorable=True)
    add(InboxSpliced("next-turn", 0, removed_count=1))
    add(InboxSpliced("next-step", 0, inserted=(user("u3", OpaqueBlock(IMAGE)),)))
    add(InboxSpliced("next-step", 0, removed_count=1))
    add(OpaquePayload("session/title", HARD_JSON))
    add(OpaquePayload("of another product/\0", HARD_JSON), ignorable=True)
    bare: list[Any] = [None, True, 0, 0.5, "", HARD_TEXT, [], {}]
    for data in bare:
        add(OpaquePayload("x", data), ignorable=True)
    add(EndSeed())


def _streaming_turn(session: Session) -> None:
    turn = _open(session)
    session.append(
        HeaderLogged(
            RequestHeader(
                CallConfig("p", "m", "high", 0.5, 100, ("stop", "")),
                HARD_TEXT,
                (ToolSchema("probe", "Look.", freeze({"type": "object", **HARD_JSON})),),
                freeze({"maxTokens": True}),
            ),
            "initial",
        )
    )
    session.append(OpaquePayload("request/context", HARD_JSON))
    session.append(UserMessageLogged(user("u4", Text(HARD_TEXT))), surface="append")
    first = session.seq
    for chunk in (
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, HARD_TEXT),
        BlockEnd(0, Reasoning(HARD_TEXT)),
        BlockStart(1, "text"),
        TextDelta(1, ""),
        TextDelta(1, HARD_TEXT),
        TextDelta(1, "more"),
        TextDelta(1, "and more"),
        TextDelta(1, "and \U0001f426"),
        BlockEnd(1, Text(HARD_TEXT)),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, "call", '{"a":', "probe"),
        ToolCallDelta(2, "call", "1}"),
        BlockEnd(2, ToolCall("call", "probe", '{"a":1}')),
        UsageChunk(Usage(1, 2, 3, 4, 5)),
        Finish("stop", replay_state=HARD_JSON),
    ):
        session.append(ChunkReceived(turn, 1, chunk))
    sources = tuple(range(first, session.seq))
    message = AssistantMessage(f"a{turn}", (Reasoning("why"), Text(HARD_TEXT)), MODEL_SOURCE)
    said = AssistantReplied(turn, 1, message, Usage(1, 2, 3, 4, 5))
    session.append(said, surface="append", sources=sources)
    _close(session, "completed")


def _calling_turn(session: Session) -> None:
    turn = _open(session)
    call = ToolCall("call", "probe", HARD_TEXT)
    session.append(reply(turn, 1, "a2", call, OpaqueBlock(IMAGE)), surface="append", sources=())
    started = session.append(ToolCalled(turn, 1, "call", "probe", HARD_TEXT)).seq
    result = answer(turn, 1, "call", error=ErrorInfo("ToolError", "TOOL"), meta=HARD_JSON)
    session.append(result, surface="append", sources=(started,))
    session.append(StepEnd(turn, 1))
    session.append(StepStart(turn, 2))
    session.append(RetryPlanned("r", turn, 2, "p", "normal", "k", 1, 250, FAILURE, 5))
    session.append(RetryStarted("r", turn, 2, 1))
    session.append(RetryPlanned("r", turn, 2, "p", "always", "k", 2, 0, ModelFailure("no")))
    session.append(ChunkReceived(turn, 2, Finish("error", FAILURE)))
    cut = AssistantReplied(turn, 2, AssistantMessage("a3", (), MODEL_SOURCE), interrupted=True)
    session.append(cut, surface="append")
    session.append(StepEnd(turn, 2))
    session.append(TurnEnd(turn, TurnEndReason("error", error=FAILURE)))


def _rewriting_turn(session: Session) -> None:
    turn = _open(session)
    session.append(OpaquePayload("compaction/start", {"turn": turn}))
    old = session.append(UserMessageLogged(user("u5")), surface="append").seq
    session.append(
        UserMessageLogged(user("u6", Text("in short"))), surface=Replace(old, old), sources=(old,)
    )
    session.append(OpaquePayload("compaction/end", {"turn": turn}))
    session.append(HeaderLogged(RequestHeader(CallConfig("p", "m")), "change"))
    _close(session, "max-tokens")


def _short_turns(session: Session) -> None:
    reasons = [TurnEndReason("blocked"), TurnEndReason("interrupted")]
    reasons += [TurnEndReason("aborted", reason=AbortCause("user"))]
    reasons += [TurnEndReason("aborted", reason=AbortCause("hook", HARD_TEXT))]
    for reason in reasons:
        session.append(TurnStart(session.last_turn + 1))
        session.append(TurnEnd(session.open_turn, reason))


def _open(session: Session) -> int:
    turn = session.last_turn + 1
    session.append(TurnStart(turn))
    session.append(StepStart(turn, 1))
    return turn


def _close(session: Session, kind: Any) -> None:
    session.append(StepEnd(session.open_turn, session.open_step))
    session.append(TurnEnd(session.open_turn, TurnEndReason(kind)))
