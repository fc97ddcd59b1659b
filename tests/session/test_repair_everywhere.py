"""Repair wherever a log may be cut off: the recorded ones, and generated ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broodline.actors.invariants import RULES, Balance
from broodline.actors.recording import RecordedLog, read_log
from broodline.actors.recording_check import check_log
from broodline.actors.repair import closers, open_turn
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "recordings"
PATHS = sorted(RECORDINGS.glob("*/*/session*.jsonl"))


def checked(log: Sequence[Event], faults: Callable[[Sequence[Event]], Sequence[str]]) -> None:
    """What holds for the repair of a log that was cut off anywhere."""
    whole = [*log, *closers(log)]
    assert whole[: len(log)] == list(log)
    assert closers(whole) == ()
    turn = open_turn(whole[: -2 if len(whole) > len(log) + 1 else None])
    assert turn is None or not turn.unanswered
    balance = Balance()
    for seq, event in enumerate(whole):
        assert event.seq == seq
        check, advance = RULES[type(event.data)]
        if check is not None:
            check(balance, event.data, event.surface_op)
        if advance is not None:
            advance(balance, event.data)
    assert (balance.open_turn, balance.open_step) == (0, 0)
    assert faults(whole) == faults(log) == ()


@pytest.mark.skipif(not PATHS, reason="no recordings beside this checkout")
@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(RECORDINGS)))
def test_every_prefix_of_a_recorded_log(path: Path) -> None:
    """core 4: any prefix of any recorded log is repaired to one that keeps all the rules."""
    log = read_log(path)
    if log.is_script:
        assert closers(log.events) == ()
        return
    header = SessionHeader(log.header.id, 0)  # a prefix may be shorter than a fork's seed

    def faults(events: Sequence[Event]) -> tuple[str, ...]:
        return check_log(RecordedLog("log", header, tuple(events), True))

    for length in range(len(log.events) + 1):
        checked(log.events[:length], faults)


number = st.integers(0, 3)
call_ids = st.lists(st.sampled_from("abc"), max_size=3)
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def step_of(kit: SimpleNamespace, data: Any, turn: int, step: int) -> list[Any]:
    """The payloads of a step; a result also says which ``tool/call`` of the step it is for."""
    made: list[Any] = [kit.step_start(turn, step)]
    made += [kit.user_logged(f"u{turn}.{step}")] * data.draw(st.integers(0, 1))
    ids = data.draw(call_ids)
    blocks = [kit.ToolCall(id, "probe", "{}") for id in ids] or [kit.Text("x")]
    made += [*[kit.chunk(turn, step)] * data.draw(number), kit.replied(turn, step, "m", *blocks)]
    ahead = data.draw(st.integers(1, 2))  # how many calls run at once
    for first in range(0, len(ids), ahead):
        batch = ids[first : first + ahead]
        made += [kit.called(turn, step, id) for id in batch]
        made += [(kit.answered(turn, step, id), len(batch)) for id in batch]
    return [*made, kit.step_end(turn, step)]


def log_of(kit: SimpleNamespace, data: Any) -> list[Event]:
    payloads: list[Any] = []
    for turn in range(1, data.draw(number) + 1):
        payloads += [kit.splice("next-turn", 0), kit.turn_start(turn)]
        for step in range(1, data.draw(number) + 1):
            payloads += step_of(kit, data, turn, step)
        payloads.append(kit.ended(turn))
    plain = [item[0] if isinstance(item, tuple) else item for item in payloads]
    events: list[Event] = []
    for event, item in zip(kit.events_of(*plain), payloads, strict=True):
        sources = (event.seq - item[1],) if isinstance(item, tuple) else None
        events.append(Event(event.seq, 7, event.data, event.surface_op, sources))
    return events


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
def test_every_prefix_of_a_generated_log(kit: SimpleNamespace, data: Any) -> None:
    """core 4: any prefix of a sound log is repaired, calls that share an id included."""
    events = log_of(kit, data)
    for length in range(len(events) + 1):
        checked(events[:length], lambda log: check_log(_recorded(log)))
        made = closers(events[:length])
        assert {event.time for event in made} <= {7}
        for cut in range(len(made)):
            assert closers([*events[:length], *made[:cut]]) == made[cut:]


def _recorded(events: Sequence[Event]) -> RecordedLog:
    return RecordedLog("log", SessionHeader("s", 0), tuple(events), False)
