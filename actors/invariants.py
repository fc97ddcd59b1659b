"""The balance of turns and steps: which event may follow which.

The state advances after a commit only, so an event that was accepted here and
then vetoed elsewhere can be tried again. Source: spec core 3 (I2 to I8, I10);
I1 holds because the log numbers its events itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..messages.errors import ConfigurationError, SessionCorruptError
from ..messages.event import SurfaceOp
from ..messages.payload import (
    AssistantReplied,
    ChunkReceived,
    HeaderLogged,
    OpaquePayload,
    StepEnd,
    StepStart,
    ToolAnswered,
    ToolCalled,
    TurnEnd,
    TurnStart,
)
from ..messages.vocabulary import LENIENT_TYPES, TYPED

NOT_STARTED = "TOOL_NOT_STARTED"
"""Error code of a repair's result for a call that never began."""

TURN_BOUND_TYPES = frozenset({"request/context", "todo/write"})
"""Types that are not interpreted but need an open turn all the same (I8)."""


class Balance:
    """Where a log stands.

    Attributes:
        last_turn: The highest turn number so far; 0 before the first.
        open_turn: Number of the open turn; 0 when none is.
        open_step: Number of the open step; 0 when none is.
        last_step: The highest step number of the last turn; 0 before its first.
        calls: Ids of the calls made in the open step, None when there are none.
    """

    __slots__ = ("calls", "last_step", "last_turn", "open_step", "open_turn")

    def __init__(self) -> None:
        self.last_turn = 0
        self.open_turn = 0
        self.open_step = 0
        self.last_step = 0
        self.calls: set[str] | None = None


Check: TypeAlias = Callable[[Balance, Any, SurfaceOp | None], None]
Advance: TypeAlias = Callable[[Balance, Any], None]


def _fail(rule: str, text: str) -> SessionCorruptError:
    return SessionCorruptError(f"{text} ({rule})", details={"rule": rule})


def _where(balance: Balance) -> str:
    if not balance.open_turn:
        return f"no turn is open, the last was {balance.last_turn}"
    if not balance.open_step:
        return f"turn {balance.open_turn} is open, no step is"
    return f"turn {balance.open_turn}, step {balance.open_step} is open"


def _check_turn_start(balance: Balance, data: TurnStart, _op: SurfaceOp | None) -> None:
    if balance.open_turn or data.turn != balance.last_turn + 1:
        raise _fail("I2", f"turn/start {data.turn} may not come now: {_where(balance)}")


def _check_turn_end(balance: Balance, data: TurnEnd, _op: SurfaceOp | None) -> None:
    if data.turn != balance.open_turn or balance.open_step or not balance.open_turn:
        raise _fail("I3", f"turn/end {data.turn} may not come now: {_where(balance)}")


def _check_step_start(balance: Balance, data: StepStart, _op: SurfaceOp | None) -> None:
    free = balance.open_turn and not balance.open_step
    if not free or data.turn != balance.open_turn or data.step != balance.last_step + 1:
        raise _fail("I4", f"step/start {data.turn}.{data.step} may not come now: {_where(balance)}")


def _check_in_step(
    balance: Balance,
    data: StepEnd | ChunkReceived | AssistantReplied | ToolCalled | ToolAnswered,
    _op: SurfaceOp | None,
) -> None:
    if data.step != balance.open_step or data.turn != balance.open_turn or not balance.open_step:
        raise _fail(
            "I5", f"{data.TYPE} of {data.turn}.{data.step} may not come now: {_where(balance)}"
        )


def _check_result(balance: Balance, data: ToolAnswered, op: SurfaceOp | None) -> None:
    if op != "append":
        if not balance.open_turn:
            raise _fail(
                "I7", f"a tool/result may be replaced in an open turn only: {_where(balance)}"
            )
        return
    _check_in_step(balance, data, op)
    if data.error is not None and data.error.code == NOT_STARTED:
        return
    call_id = data.message.source["callId"]
    if balance.calls is None or call_id not in balance.calls:
        raise _fail(
            "I6", f"tool/result for {call_id!r} has no tool/call in step {data.turn}.{data.step}"
        )


def _check_header(balance: Balance, _data: HeaderLogged, _op: SurfaceOp | None) -> None:
    if not balance.open_turn:
        raise _fail("I8", f"request/header needs an open turn: {_where(balance)}")


def _check_opaque(balance: Balance, data: OpaquePayload, _op: SurfaceOp | None) -> None:
    if data.type in TYPED and data.type not in LENIENT_TYPES:
        raise ConfigurationError(
            f"events of type {data.type} have a class of their own, {TYPED[data.type].__name__}; "
            "append that, or use append_json"
        )
    if not balance.open_turn and data.type in TURN_BOUND_TYPES:
        raise _fail("I8", f"{data.type} needs an open turn: {_where(balance)}")


def _turn_started(balance: Balance, data: TurnStart) -> None:
    balance.last_turn = balance.open_turn = data.turn
    balance.last_step = 0


def _turn_ended(balance: Balance, _data: TurnEnd) -> None:
    balance.open_turn = balance.open_step = 0
    balance.calls = None


def _step_started(balance: Balance, data: StepStart) -> None:
    balance.open_step = balance.last_step = data.step


def _step_ended(balance: Balance, _data: StepEnd) -> None:
    balance.open_step = 0
    balance.calls = None


def _called(balance: Balance, data: ToolCalled) -> None:
    if balance.calls is None:
        balance.calls = {data.call_id}
    else:
        balance.calls.add(data.call_id)


RULES: Mapping[type, tuple[Check | None, Advance | None]] = {
    **dict.fromkeys(TYPED.values(), (None, None)),
    TurnStart: (_check_turn_start, _turn_started),
    TurnEnd: (_check_turn_end, _turn_ended),
    StepStart: (_check_step_start, _step_started),
    StepEnd: (_check_in_step, _step_ended),
    ChunkReceived: (_check_in_step, None),
    AssistantReplied: (_check_in_step, None),
    ToolCalled: (_check_in_step, _called),
    ToolAnswered: (_check_result, None),
    HeaderLogged: (_check_header, None),
    OpaquePayload: (_check_opaque, None),
}
"""What is checked before a commit and taken in after it, for every type of payload."""
