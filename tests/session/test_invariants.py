"""The balance of turns and steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.session import Session
from broodline.messages.errors import SessionCorruptError
from broodline.messages.event import Replace
from broodline.messages.payload import ErrorInfo, OpaquePayload


def refuse(_: object) -> None:
    """A check that vetoes everything."""
    raise ZeroDivisionError


def refused(kit: SimpleNamespace, session: Session, rule: str, payload: Any, **opts: Any) -> None:
    before = kit.snapshot(session)
    with pytest.raises(SessionCorruptError) as caught:
        session.append(payload, **opts)
    assert caught.value.details["rule"] == rule
    assert kit.snapshot(session) == before


def open_step(kit: SimpleNamespace) -> Session:
    session: Session = kit.session()
    session.append(kit.turn_start(1))
    session.append(kit.step_start(1, 1))
    return session


def test_one_turn_at_a_time(kit: SimpleNamespace) -> None:
    """core #59: no turn opens inside another."""
    session = kit.session()
    session.append(kit.turn_start(1))
    refused(kit, session, "I2", kit.turn_start(2))
    refused(kit, session, "I2", kit.turn_start(1))


def test_turns_are_counted(kit: SimpleNamespace) -> None:
    """core #60: the first turn is 1, and behind 3 only 4 may come."""
    session = kit.session()
    refused(kit, session, "I2", kit.turn_start(0))
    refused(kit, session, "I2", kit.turn_start(2))
    for _ in range(3):
        kit.run_turn(session)
    refused(kit, session, "I2", kit.turn_start(5))
    refused(kit, session, "I2", kit.turn_start(3))
    session.append(kit.turn_start(4))


def test_turn_end_needs_closed_steps(kit: SimpleNamespace) -> None:
    """core #61: a turn does not end while a step is open, nor under another number."""
    session = open_step(kit)
    refused(kit, session, "I3", kit.ended(1))
    session.append(kit.step_end(1, 1))
    refused(kit, session, "I3", kit.ended(2))
    session.append(kit.ended(1))
    refused(kit, session, "I3", kit.ended(1))
    refused(kit, session, "I3", kit.ended(0))


def test_steps_are_counted_in_their_turn(kit: SimpleNamespace) -> None:
    """core #62: behind one closed step only step 2 may come, and each turn starts at 1."""
    session = kit.session()
    refused(kit, session, "I4", kit.step_start(1, 1))
    kit.run_turn(session)
    session.append(kit.turn_start(2))
    refused(kit, session, "I4", kit.step_start(2, 2))
    refused(kit, session, "I4", kit.step_start(1, 1))
    session.append(kit.step_start(2, 1))
    refused(kit, session, "I4", kit.step_start(2, 2))
    session.append(kit.step_end(2, 1))
    refused(kit, session, "I4", kit.step_start(2, 1))
    refused(kit, session, "I4", kit.step_start(2, 3))
    session.append(kit.step_start(2, 2))


def test_step_work_needs_the_step(kit: SimpleNamespace) -> None:
    """core #63: chunks, answers, calls and step ends name the open turn and step."""
    session = kit.session()

    def work(turn: int, step: int) -> list[tuple[Any, dict[str, Any]]]:
        return [
            (kit.chunk(turn, step), {}),
            (kit.replied(turn, step, "a"), {"surface": "append"}),
            (kit.called(turn, step, "c"), {}),
            (kit.answered(turn, step, "c"), {"surface": "append"}),
            (kit.step_end(turn, step), {}),
        ]

    for payload, options in work(1, 1) + work(0, 0):
        refused(kit, session, "I5", payload, **options)
    session.append(kit.turn_start(1))
    for payload, options in work(1, 1) + work(1, 0):
        refused(kit, session, "I5", payload, **options)
    session.append(kit.step_start(1, 1))
    for payload, options in work(1, 2) + work(2, 1):
        refused(kit, session, "I5", payload, **options)
    for payload, options in work(1, 1):
        session.append(payload, **options)


def test_result_belongs_to_the_calls_step(kit: SimpleNamespace) -> None:
    """core #64: a result in step 2 does not answer a call of step 1."""
    session = open_step(kit)
    refused(kit, session, "I6", kit.answered(1, 1, "c"), surface="append")
    session.append(kit.called(1, 1, "c"))
    refused(kit, session, "I6", kit.answered(1, 1, "other"), surface="append")
    session.append(kit.step_end(1, 1))
    session.append(kit.step_start(1, 2))
    refused(kit, session, "I6", kit.answered(1, 2, "c"), surface="append")
    session.append(kit.called(1, 2, "c"))
    session.append(kit.answered(1, 2, "c"), surface="append")


def test_several_calls_of_one_step(kit: SimpleNamespace) -> None:
    """core 3 I6: every call of a step can be answered in it, in any order."""
    session = open_step(kit)
    for call_id in "abc":
        session.append(kit.called(1, 1, call_id))
    for call_id in "cab":
        session.append(kit.answered(1, 1, call_id), surface="append")
    session.append(kit.step_end(1, 1))


def test_result_of_a_call_that_never_began(kit: SimpleNamespace) -> None:
    """core 3 I6: a repair's result for a call that never began needs no call event."""
    session = open_step(kit)
    error = ErrorInfo("ToolNotStartedError", "TOOL_NOT_STARTED")
    session.append(kit.answered(1, 1, "c", error=error), surface="append")


def test_result_replacement_needs_a_turn(kit: SimpleNamespace) -> None:
    """core 3 I7: a result is rewritten inside a turn, whichever it is."""
    session = open_step(kit)
    session.append(kit.called(1, 1, "c"))
    seq = session.append(kit.answered(1, 1, "c"), surface="append").seq
    session.append(kit.step_end(1, 1))
    session.append(kit.ended(1))
    new = kit.answered(1, 1, "c", "short")
    refused(kit, session, "I7", new, surface=Replace(seq, seq), sources=(seq,))
    session.append(kit.turn_start(2))
    session.append(new, surface=Replace(seq, seq), sources=(seq,))


@pytest.mark.parametrize("type_name", ["request/context", "todo/write"])
def test_turn_bound_types(kit: SimpleNamespace, type_name: str) -> None:
    """core #65: request envelope, its context and todo lists need an open turn."""
    session = kit.session()
    refused(kit, session, "I8", kit.header_logged())
    refused(kit, session, "I8", OpaquePayload(type_name, {}))
    session.append(kit.turn_start(1))
    session.append(kit.header_logged())
    session.append(OpaquePayload(type_name, {}))


def test_what_may_stand_anywhere(kit: SimpleNamespace) -> None:
    """core #65: a message, a splice and other products' events need no turn (I9)."""
    session = kit.session()
    session.append(kit.user_logged(), surface="append")
    session.append(OpaquePayload("session/title", {}))
    session.append(kit.splice("next-turn", 0, 0, (kit.user(),)))
    assert session.seq == 3


def test_veto_does_not_advance(kit: SimpleNamespace) -> None:
    """core #66: what the balance let pass and a check vetoed is accepted when tried again."""
    session = kit.session()
    for payload in (kit.turn_start(1), kit.step_start(1, 1), kit.called(1, 1, "c")):
        with session.add_check(refuse), pytest.raises(ZeroDivisionError):
            session.append(payload)
        session.append(payload)
        with pytest.raises(SessionCorruptError):
            session.append(kit.turn_start(1))
    with session.add_check(refuse), pytest.raises(ZeroDivisionError):
        session.append(kit.step_end(1, 1))
    assert session.open_step == 1
    session.append(kit.answered(1, 1, "c"), surface="append")


def test_refused_surface_does_not_advance(kit: SimpleNamespace) -> None:
    """core 3 I10: what the surface refuses leaves the balance where it was."""
    session = kit.session()
    with pytest.raises(ValueError, match="log-only"):
        session.append(kit.turn_start(1), surface="append")
    assert (session.open_turn, session.last_turn) == (0, 0)
    session.append(kit.turn_start(1))


def test_where_the_log_stands(kit: SimpleNamespace) -> None:
    """core 3: open turn, open step and last turn can be asked at any time."""
    session = kit.session()
    seen: list[tuple[int, int, int]] = []
    for payload in (
        kit.turn_start(1),
        kit.step_start(1, 1),
        kit.step_end(1, 1),
        kit.ended(1),
        kit.turn_start(2),
    ):
        session.append(payload)
        seen.append((session.last_turn, session.open_turn, session.open_step))
    assert seen == [(1, 1, 0), (1, 1, 1), (1, 1, 0), (1, 0, 0), (2, 2, 0)]


def test_invariants_can_be_switched_off(kit: SimpleNamespace) -> None:
    """core 3: a host may do without the checks; the state is kept all the same."""
    session = kit.session(check_invariants=False)
    session.append(kit.turn_start(7))
    assert (session.last_turn, session.open_turn) == (7, 7)
