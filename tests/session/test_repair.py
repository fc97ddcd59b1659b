"""Repair: what follows from a log that was cut off, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.abandonment import abandon
from broodline.actors.repair import closers
from broodline.messages.content import OpaqueBlock, ToolResult
from broodline.messages.event import Event, Replace
from broodline.messages.payload import (
    AbortCause,
    EndSeed,
    OpaquePayload,
    StepEnd,
    ToolAnswered,
    TurnEnd,
    TurnEndReason,
)

END = TurnEnd(1, TurnEndReason("interrupted"))


def cut(kit: SimpleNamespace, *more: Any) -> list[Event]:
    """A log with an open step, a prompt in it, and what comes then."""
    started = (kit.turn_start(1), kit.step_start(1, 1), kit.user_logged())
    return list(kit.events_of(*started, *more))


def asked(kit: SimpleNamespace, *ids: str) -> Any:
    return kit.replied(1, 1, "m", *(kit.ToolCall(id, "probe", "{}") for id in ids))


def told(made: Sequence[Event]) -> list[tuple[str, str, tuple[int, ...] | None]]:
    """Of each result: the call, the code, what it cites."""
    return [
        (event.data.message.source["callId"], event.data.error.code, event.source_event_seqs)
        for event in made
        if isinstance(event.data, ToolAnswered) and event.data.error is not None
    ]


def ends(made: Sequence[Event]) -> list[Any]:
    return [event.data for event in made if not isinstance(event.data, ToolAnswered)]


def test_an_empty_log_needs_nothing() -> None:
    """core 4: no event, no closer."""
    assert closers(()) == closers([]) == ()


def test_a_closed_log_needs_nothing(kit: SimpleNamespace) -> None:
    """core #67: behind the end of a turn nothing is closed, whatever stands there."""
    log = cut(kit, kit.step_end(1, 1), kit.ended(1))
    assert closers(log) == ()
    later = [*log, *kit.events_of(kit.splice("next-turn", 0), EndSeed(), kit.user_logged("u2"))]
    assert closers([replace(event, seq=seq) for seq, event in enumerate(later)]) == ()


def test_a_log_before_its_first_turn_needs_nothing(kit: SimpleNamespace) -> None:
    """core #67: a log without any turn is closed."""
    assert closers(kit.events_of(EndSeed(), kit.splice("next-turn", 0))) == ()


def test_a_cut_after_the_start_of_a_turn(kit: SimpleNamespace) -> None:
    """core #68: a turn without a step is ended as interrupted."""
    log = kit.events_of(kit.turn_start(1))
    assert closers(log) == (Event(1, 5, END),)


@pytest.mark.parametrize("opening", ["none", "prompt", "header"])
def test_a_cut_after_the_start_of_a_step(kit: SimpleNamespace, opening: str) -> None:
    """core #69: the open step is ended, then the turn."""
    more = {"none": (), "prompt": (kit.user_logged(),), "header": (kit.header_logged(),)}[opening]
    made = closers(kit.events_of(kit.turn_start(1), kit.step_start(1, 1), *more))
    assert [event.data for event in made] == [StepEnd(1, 1), END]


def test_a_cut_between_two_steps(kit: SimpleNamespace) -> None:
    """core #69: a step that has ended is not ended again."""
    assert ends(closers(cut(kit, asked(kit, "a"), kit.step_end(1, 1)))) == [END]
    made = closers(cut(kit, kit.step_end(1, 1), kit.step_start(1, 2)))
    assert ends(made) == [StepEnd(1, 2), END]


def test_calls_that_never_began(kit: SimpleNamespace) -> None:
    """core #70: each gets a result that says so, in the order of the blocks, citing nothing."""
    made = closers(cut(kit, asked(kit, "b", "a")))
    assert told(made) == [("b", "TOOL_NOT_STARTED", None), ("a", "TOOL_NOT_STARTED", None)]
    assert ends(made) == [StepEnd(1, 1), END]


def test_a_call_that_began(kit: SimpleNamespace) -> None:
    """core #71: its outcome is unknown and its tool/call is cited; the next never began."""
    made = closers(cut(kit, asked(kit, "a", "b"), kit.called(1, 1, "a")))
    assert told(made) == [("a", "TOOL_OUTCOME_UNKNOWN", (4,)), ("b", "TOOL_NOT_STARTED", None)]


def test_calls_that_began_out_of_order(kit: SimpleNamespace) -> None:
    """core 4: results stand in the order of the message, not in that of the starts."""
    begun = (kit.called(1, 1, "b"), kit.called(1, 1, "a"))
    made = closers(cut(kit, asked(kit, "a", "b", "c"), *begun))
    assert told(made) == [
        ("a", "TOOL_OUTCOME_UNKNOWN", (5,)),
        ("b", "TOOL_OUTCOME_UNKNOWN", (4,)),
        ("c", "TOOL_NOT_STARTED", None),
    ]


def test_a_call_with_a_result_is_left_alone(kit: SimpleNamespace) -> None:
    """core #72: only the call without a result gets one."""
    answer = (kit.called(1, 1, "a"), kit.answered(1, 1, "a"))
    made = closers(cut(kit, asked(kit, "a", "b"), *answer))
    assert told(made) == [("b", "TOOL_NOT_STARTED", None)]
    made = closers(cut(kit, asked(kit, "a", "b"), *answer, kit.called(1, 1, "b")))
    assert told(made) == [("b", "TOOL_OUTCOME_UNKNOWN", (6,))]


def test_a_step_with_all_results_only_ends(kit: SimpleNamespace) -> None:
    """core #73: where every call has its result, step and turn are ended and no more."""
    both = [part for id in ("a", "b") for part in (kit.called(1, 1, id), kit.answered(1, 1, id))]
    made = closers(cut(kit, asked(kit, "a", "b"), *both))
    assert [event.data for event in made] == [StepEnd(1, 1), END]


def test_chunks_stay(kit: SimpleNamespace) -> None:
    """core #74: a stream that broke off stays as it is; no message is made up of it."""
    log = cut(kit, kit.chunk(1, 1), kit.chunk(1, 1))
    before = list(log)
    assert [event.data for event in closers(log)] == [StepEnd(1, 1), END]
    assert log == before


def test_numbers_and_times(kit: SimpleNamespace) -> None:
    """core #75: closers are numbered on; all have the last event's time, even if it went back."""
    log = cut(kit, asked(kit, "a", "b"), kit.called(1, 1, "b"))
    log = [replace(event, time=time) for event, time in zip(log, (9, 8, 7, 6, 3), strict=True)]
    made = closers(log)
    assert [(event.seq, event.time) for event in made] == [(seq, 3) for seq in range(5, 9)]
    assert [event.ignorable for event in made] == [False] * 4


def test_repaired_again(kit: SimpleNamespace) -> None:
    """core #76: a repaired log needs no repair."""
    log = cut(kit, asked(kit, "a", "b"), kit.called(1, 1, "a"))
    assert closers([*log, *closers(log)]) == ()


def test_a_repair_that_was_cut_off_itself(kit: SimpleNamespace) -> None:
    """core #76: a repair that was written in part goes on where it stopped."""
    log = cut(kit, asked(kit, "a", "b"), kit.called(1, 1, "a"))
    made = closers(log)
    for length in range(1, len(made)):
        rest = closers([*log, *made[:length]])
        assert rest == made[length:]


def test_calls_of_a_step_that_has_ended(kit: SimpleNamespace) -> None:
    """core #77: a call without a result in a step that has ended gets none."""
    again = kit.replied(1, 2, "m2", kit.ToolCall("b", "probe", "{}"))
    log = cut(kit, asked(kit, "a"), kit.step_end(1, 1), kit.step_start(1, 2), again)
    assert told(closers(log)) == [("b", "TOOL_NOT_STARTED", None)]


def test_earlier_turns_are_not_touched(kit: SimpleNamespace) -> None:
    """core #78: an earlier turn with a call without a result stays as it is."""
    log = cut(kit, asked(kit, "a"), kit.step_end(1, 1), kit.ended(1), kit.turn_start(2))
    made = closers(log)
    assert [event.data for event in made] == [TurnEnd(2, TurnEndReason("interrupted"))]


def test_an_id_of_an_earlier_step_used_again(kit: SimpleNamespace) -> None:
    """core 4: a call is one of its own step, though an earlier one had its id."""
    answer = (kit.called(1, 1, "a"), kit.answered(1, 1, "a"))
    again = kit.replied(1, 2, "m2", kit.ToolCall("a", "probe", "{}"))
    next_step = (kit.step_end(1, 1), kit.step_start(1, 2), again)
    log = cut(kit, asked(kit, "a"), *answer, *next_step)
    assert told(closers(log)) == [("a", "TOOL_NOT_STARTED", None)]
    log = cut(kit, asked(kit, "a"), *next_step, kit.called(1, 2, "a"), kit.answered(1, 2, "a"))
    assert told(closers(log)) == []


def test_a_call_that_nobody_asked_for(kit: SimpleNamespace) -> None:
    """core 4: a tool/call of an id that the message does not have is passed over."""
    assert told(closers(cut(kit, kit.called(1, 1, "x")))) == []
    made = closers(cut(kit, asked(kit, "a"), kit.called(1, 1, "x"), kit.answered(1, 1, "y")))
    assert told(made) == [("a", "TOOL_NOT_STARTED", None)]


def test_calls_with_the_same_id(kit: SimpleNamespace) -> None:
    """core 4: of two calls with one id each has its own start and its own result."""
    twice = asked(kit, "a", "a")
    one, done = kit.called(1, 1, "a"), kit.answered(1, 1, "a")
    never, lost = ("a", "TOOL_NOT_STARTED", None), ("a", "TOOL_OUTCOME_UNKNOWN", (4,))
    assert told(closers(cut(kit, twice))) == [never, never]
    assert told(closers(cut(kit, twice, one))) == [lost, never]
    assert told(closers(cut(kit, twice, one, done))) == [never]
    assert told(closers(cut(kit, twice, one, one))) == [lost, ("a", "TOOL_OUTCOME_UNKNOWN", (5,))]
    log = cut(kit, twice, one, one, done)
    log[-1] = replace(log[-1], source_event_seqs=(5,))
    assert told(closers(log)) == [lost]
    made = closers(cut(kit, twice))
    ids = {event.data.message.id for event in made if isinstance(event.data, ToolAnswered)}
    assert ids == {"interrupted-tool-result-a-4", "interrupted-tool-result-a-5"}


def test_a_rewritten_result_answers_nothing(kit: SimpleNamespace) -> None:
    """core 3 (I7): a result that replaces an earlier one is not that of a call of this step."""
    answer = (kit.called(1, 1, "a"), kit.answered(1, 1, "a"))
    again = kit.replied(1, 2, "m2", kit.ToolCall("a", "probe", "{}"))
    steps = (kit.step_end(1, 1), kit.step_start(1, 2), again)
    log = cut(kit, asked(kit, "a"), *answer, *steps, kit.answered(1, 1, "a", "shorter"))
    log[-1] = replace(log[-1], surface_op=Replace(5, 5), source_event_seqs=(5,))
    assert told(closers(log)) == [("a", "TOOL_NOT_STARTED", None)]


def test_a_rewritten_message_asks_for_nothing(kit: SimpleNamespace) -> None:
    """core 4: a message that stands for an earlier one has its calls answered there."""
    log = cut(kit, kit.chunk(1, 1), asked(kit, "a"))
    log[-1] = replace(log[-1], surface_op=Replace(2, 2), source_event_seqs=(2,))
    assert told(closers(log)) == []


def test_a_block_that_is_not_understood_is_no_call(kit: SimpleNamespace) -> None:
    """core 1.4: a call with keys that this build does not know is nobody's, so not answered."""
    block = OpaqueBlock(
        {"type": "tool-call", "id": "a", "name": "n", "arguments": "{}", "signature": "x"}
    )
    assert told(closers(cut(kit, kit.replied(1, 1, "m", block)))) == []


def test_other_events_are_passed_over(kit: SimpleNamespace) -> None:
    """core 4: what other products log in an open step changes nothing."""
    noise = (OpaquePayload("session/title", {}), kit.splice("next-step", 0), kit.header_logged())
    made = closers(cut(kit, asked(kit, "a"), *noise, kit.called(1, 1, "a"), *noise))
    assert told(made) == [("a", "TOOL_OUTCOME_UNKNOWN", (7,))]
    assert [event.seq for event in made] == [11, 12, 13]


@pytest.mark.parametrize("started", [False, True])
def test_what_a_result_looks_like(kit: SimpleNamespace, started: bool) -> None:
    """core 4: the id, the error's name, the surface and the one block of a closing result."""
    log = cut(kit, asked(kit, "a"), *([kit.called(1, 1, "a")] if started else []))
    event = closers(log)[0]
    data = event.data
    assert isinstance(data, ToolAnswered)
    assert data.error is not None
    (block,) = data.message.content
    assert isinstance(block, ToolResult)
    assert data.message.id == f"interrupted-tool-result-a-{len(log)}"
    assert data.error.name == ("ToolOutcomeUnknownError" if started else "ToolNotStartedError")
    assert (event.surface_op, block.tool_call_id, block.is_error) == ("append", "a", True)
    assert data.message.source == {"kind": "tool", "callId": "a"}
    assert (data.turn, data.step, data.meta) == (1, 1, None)


def test_what_the_model_is_told(kit: SimpleNamespace) -> None:
    """core 4: one may be made again; the other only if it is harmless, else verify or ask."""
    made = closers(cut(kit, asked(kit, "a", "b"), kit.called(1, 1, "a")))
    answers: list[Any] = [event.data for event in made[:2]]
    texts = [answer.message.content[0].content[0].text for answer in answers]
    unknown, never = texts
    assert "never started" in never
    assert "may be made again" in never
    for word in ("not known", "read-only", "idempotent", "verify", "ask"):
        assert word in unknown


def test_the_end_of_a_log_is_enough(kit: SimpleNamespace) -> None:
    """core 4: from its last turn/start on, a log has all that repair needs."""
    log = cut(kit, kit.step_end(1, 1), kit.ended(1))
    more = (kit.turn_start(2), kit.step_start(2, 1), kit.chunk(2, 1))
    log += [replace(event, seq=len(log) + event.seq) for event in kit.events_of(*more)]
    assert closers(log[-3:]) == closers(log) != ()


class Counting(Sequence[Event]):
    """A log that counts how often it is looked at."""

    def __init__(self, events: list[Event]) -> None:
        self.events, self.looks = events, 0

    def __len__(self) -> int:
        return len(self.events)

    def __getitem__(self, index: Any) -> Any:
        self.looks += 1
        return self.events[index]


@pytest.mark.parametrize("is_open", [False, True])
def test_a_long_log_is_not_read(kit: SimpleNamespace, is_open: bool) -> None:
    """core 4: repair looks at the open turn only, however long the log is before it."""
    payloads: list[Any] = []
    for turn in range(1, 200):
        payloads += [kit.turn_start(turn), kit.step_start(turn, 1), kit.step_end(turn, 1)]
        payloads.append(kit.ended(turn))
    if is_open:
        payloads += [kit.turn_start(200), kit.step_start(200, 1)]
    log = Counting(kit.events_of(*payloads))
    assert bool(closers(log)) is is_open
    assert log.looks <= 6


def test_a_live_turn_is_closed_with_the_same_results(kit: SimpleNamespace) -> None:
    """DESIGN 4 (W3): a turn that is let go of is aborted, its calls answered as by a repair."""
    session = kit.session()
    for event in cut(kit, asked(kit, "a", "b"), kit.called(1, 1, "a")):
        session.append(event.data, surface=event.surface_op)
    expected = closers(session.events)
    abandon(session, AbortCause("disposed"))
    made = session.events[5:]
    assert [event.data for event in made[:-1]] == [event.data for event in expected[:-1]]
    assert told(made) == told(expected)
    assert made[-1].data == TurnEnd(1, TurnEndReason("aborted", reason=AbortCause("disposed")))
    abandon(session, AbortCause("user"))
    assert len(session.events) == 9
