"""Sessions against a plain model of the rules, over random events."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broodline.messages.chunk import TextDelta
from broodline.messages.codec import decode_event, encode_event
from broodline.messages.content import Text, ToolResult
from broodline.messages.errors import ConfigurationError, SessionCorruptError
from broodline.messages.event import Event, Replace
from broodline.messages.lossless import FrozenDict
from broodline.messages.message import AssistantMessage, ToolMessage, UserMessage
from broodline.messages.payload import (
    AssistantReplied,
    CallConfig,
    ChunkReceived,
    EndSeed,
    ErrorInfo,
    HeaderLogged,
    OpaquePayload,
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

SHOWN = (UserMessageLogged, AssistantReplied, ToolAnswered)
IN_STEP = (StepEnd, ChunkReceived, AssistantReplied, ToolCalled)
IN_TURN = ("todo/write", "request/context")
MODEL = FrozenDict({"kind": "model", "provider": "p", "model": "m"})


def said(turn: int, step: int, text: str) -> AssistantReplied:
    content = (Text(text),) if text else ()
    return AssistantReplied(turn, step, AssistantMessage("m", content, MODEL))


def answered(turn: int, step: int, call: str, text: str, code: str | None) -> ToolAnswered:
    source = FrozenDict({"kind": "tool", "callId": call})
    message = ToolMessage("t", (ToolResult(call, (Text(text),)),), source)
    return ToolAnswered(turn, step, message, None if code is None else ErrorInfo("X", code))


class Naive:
    """The rules of core 1.8 and 3, read off the whole log each time."""

    def __init__(self) -> None:
        self.log: list[Event] = []
        self.nodes: list[int] = []

    def place(self) -> tuple[int, int, int, int, set[str]]:
        """Open turn, open step, last turn, steps closed in it, calls of the step."""
        turn = step = last = closed = 0
        calls: set[str] = set()
        for event in self.log:
            data = event.data
            if isinstance(data, TurnStart):
                turn, last, closed = data.turn, data.turn, 0
            elif isinstance(data, TurnEnd):
                turn = 0
            elif isinstance(data, StepStart):
                step, calls = data.step, set()
            elif isinstance(data, StepEnd):
                step, closed = 0, closed + 1
            elif isinstance(data, ToolCalled):
                calls.add(data.call_id)
        return turn, step, last, closed, calls

    def balanced(self, data: Any, op: Any) -> bool:
        turn, step, last, closed, calls = self.place()
        if isinstance(data, TurnStart):
            return not turn and data.turn == last + 1
        if isinstance(data, TurnEnd):
            return bool(turn) and not step and data.turn == turn
        if isinstance(data, StepStart):
            return bool(turn) and not step and (data.turn, data.step) == (turn, closed + 1)
        appended = isinstance(data, ToolAnswered) and op == "append"
        inside = bool(turn and step)
        if (isinstance(data, IN_STEP) or appended) and (
            not inside or (data.turn, data.step) != (turn, step)
        ):
            return False
        if isinstance(data, ToolAnswered):
            if not appended:
                return bool(turn)
            synthetic = data.error is not None and data.error.code == "TOOL_NOT_STARTED"
            return synthetic or data.message.source["callId"] in calls
        bound = isinstance(data, OpaquePayload) and data.type in IN_TURN
        return bool(turn) if bound or isinstance(data, HeaderLogged) else True

    def shows(self, data: Any, op: Any, sources: tuple[int, ...] | None) -> bool:
        if not isinstance(data, SHOWN):
            return op is None and sources is None
        if op is None:
            return False
        if sources is not None:
            if not sources and not isinstance(data, AssistantReplied):
                return False
            if any(not 0 <= seq < len(self.log) for seq in sources):
                return False
            if len(set(sources)) != len(sources):
                return False
        return op == "append" or self.replaces(data, op, sources or ())

    def replaces(self, data: Any, op: Replace, sources: tuple[int, ...]) -> bool:
        if op.start not in self.nodes or op.end not in self.nodes:
            return False
        shadowed = self.nodes[self.nodes.index(op.start) : self.nodes.index(op.end) + 1]
        if not shadowed or not set(shadowed) <= set(sources):
            return False
        if not isinstance(data, ToolAnswered):
            return True
        old = self.log[shadowed[0]].data
        if len(shadowed) > 1 or not isinstance(old, ToolAnswered):
            return False
        return bool(without_text(old) == without_text(data))

    def take(self, event: Event) -> None:
        self.log.append(event)
        op = event.surface_op
        if op == "append":
            self.nodes.append(event.seq)
        elif isinstance(op, Replace):
            first, last = self.nodes.index(op.start), self.nodes.index(op.end)
            self.nodes[first : last + 1] = [event.seq]

    def messages(self) -> list[Any]:
        shown: list[Any] = [self.log[seq].data for seq in self.nodes]
        return [
            data.message
            for data in shown
            if data.message.content or not isinstance(data, AssistantReplied)
        ]


def without_text(data: ToolAnswered) -> Any:
    block: Any = data.message.content[0]
    return replace(data, message=replace(data.message, content=(replace(block, content=()),)))


number = st.integers(1, 3)
call = st.sampled_from(["a", "b"])
payloads: Any = st.one_of(
    st.builds(TurnStart, number),
    st.builds(TurnEnd, number, st.just(TurnEndReason("completed"))),
    st.builds(StepStart, number, number),
    st.builds(StepEnd, number, number),
    st.builds(UserMessageLogged, st.builds(UserMessage, call, st.just((Text("x"),)))),
    st.builds(ChunkReceived, number, number, st.just(TextDelta(0, "x"))),
    st.builds(said, number, number, st.sampled_from(["", "x"])),
    st.builds(ToolCalled, number, number, call, st.just("n"), st.just("{}")),
    st.builds(
        answered, number, number, call, call, st.sampled_from([None, "TOOL_NOT_STARTED", "X"])
    ),
    st.just(HeaderLogged(RequestHeader(CallConfig("p", "m")), "initial")),
    st.just(EndSeed()),
    st.builds(OpaquePayload, st.sampled_from([*IN_TURN, "session/title"]), st.none()),
)


def fitting(payload: Any, naive: Naive) -> Any:
    """The payload with the numbers that would be right for it now."""
    turn, step, last, closed, _ = naive.place()
    names = {field.name for field in fields(payload)}
    right: dict[str, int] = {}
    if "turn" in names:
        right["turn"] = last + 1 if isinstance(payload, TurnStart) else turn or 1
    if "step" in names:
        right["step"] = closed + 1 if isinstance(payload, StepStart) else step or 1
    return replace(payload, **right)


def proposal(data: Any, naive: Naive) -> tuple[Any, Any, Any]:
    """A payload with an operation and sources: mostly plausible, often not right."""
    payload = data.draw(payloads)
    if data.draw(st.integers(0, 9)):
        payload = fitting(payload, naive)
    if not isinstance(payload, SHOWN) and data.draw(st.integers(0, 9)):
        return payload, None, None
    seq = st.sampled_from(naive.nodes) if naive.nodes else st.integers(-1, 9)
    replacing = st.builds(Replace, seq, seq) | st.builds(Replace, st.integers(-1, 9), seq)
    op = data.draw(st.one_of(st.just("append"), st.just("append"), st.none(), replacing))
    some = st.lists(st.integers(-1, 9), max_size=4).map(tuple)
    sources = data.draw(st.one_of(st.none(), st.just(tuple(naive.nodes)), some))
    return payload, op, sources


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_a_session_is_what_its_rules_say(kit: SimpleNamespace, data: Any) -> None:
    """core 1.8, 3 (I1 to I10): any event is taken or refused, and shown, as a plain model says."""
    session, naive = kit.session(), Naive()
    for _ in range(data.draw(st.integers(1, 25))):
        payload, op, sources = proposal(data, naive)
        before = (session.seq, session.surface, session.messages())
        allowed = naive.balanced(payload, op) and naive.shows(payload, op, sources)
        try:
            naive.take(session.append(payload, surface=op, sources=sources))
        except (ConfigurationError, SessionCorruptError):
            assert not allowed
            assert before == (session.seq, session.surface, session.messages())
        else:
            assert allowed
        assert list(session.surface) == naive.nodes
        assert session.messages() == naive.messages()
        assert (session.open_turn, session.open_step, session.last_turn) == naive.place()[:3]
    stored = json.dumps([encode_event(event) for event in session.events])
    read = [decode_event(event) for event in json.loads(stored)]
    assert tuple(read) == session.events
    if not session.open_turn:
        again = kit.session(seed=read, resumed=True)
        assert (again.messages(), again.surface) == (session.messages(), session.surface)
        assert again.request_header == session.request_header
