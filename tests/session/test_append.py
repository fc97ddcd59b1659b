"""Appending: numbers, snapshots, refusals, and the validated door."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.messages.errors import BroodlineError, ConfigurationError, SessionError
from broodline.messages.event import Event
from broodline.messages.payload import OpaquePayload, TurnStart

NOTE = "session/title"


def refuse(_: object) -> None:
    """A check that vetoes everything."""
    raise ZeroDivisionError


def test_numbers_are_positions(kit: SimpleNamespace) -> None:
    """core #1: three appends get the numbers 0, 1, 2, and the next is 3."""
    session = kit.session()
    seqs = [session.append(OpaquePayload(NOTE, {})).seq for _ in range(3)]
    assert seqs == [0, 1, 2]
    assert session.seq == 3


def test_snapshot_never_grows(kit: SimpleNamespace) -> None:
    """core #2: a snapshot handed out keeps its length when the log goes on."""
    session = kit.session()
    session.append(TurnStart(1))
    before = session.events
    assert session.events is before
    session.append(kit.ended(1))
    assert len(before) == 1
    assert len(session.events) == 2


def test_caller_keeps_its_own_data(kit: SimpleNamespace) -> None:
    """core #3: what a caller does to its dict after the append changes nothing."""
    session, data = kit.session(), {"list": [1]}
    event = session.append_json(NOTE, data)
    data["list"].append(2)
    data["more"] = []
    assert event.data.data == {"list": [1]}


def test_events_are_frozen(kit: SimpleNamespace) -> None:
    """core #4: neither an event nor what is nested in it can be changed."""
    event = kit.session().append_json(NOTE, {"inner": {"a": 1}, "list": [1]})
    with pytest.raises(FrozenInstanceError):
        event.seq = 7
    with pytest.raises(TypeError):
        event.data.data["inner"]["a"] = 2
    with pytest.raises(TypeError):
        event.data.data["list"].append(2)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -0.0, {1}, (1,), b"x", {1: 2}, object(), "\ud800"]
)
def test_lossy_data_is_refused(kit: SimpleNamespace, value: Any) -> None:
    """core #5: data that JSON would lose is refused and leaves everything as it was."""
    session = kit.session()
    session.append_json(NOTE, {})
    before = kit.snapshot(session)
    with pytest.raises(ConfigurationError):
        session.append_json(NOTE, {"x": [value]})
    assert kit.snapshot(session) == before


def test_shared_part_is_accepted(kit: SimpleNamespace) -> None:
    """core #7: a dict that is referenced twice is stored at both places."""
    part = {"a": [1]}
    event = kit.session().append_json(NOTE, {"one": part, "two": part})
    assert event.data.data == {"one": {"a": [1]}, "two": {"a": [1]}}


def test_cycle_is_refused(kit: SimpleNamespace) -> None:
    """core 1.3: data that contains itself is refused."""
    data: dict[str, Any] = {}
    data["self"] = data
    with pytest.raises(ConfigurationError):
        kit.session().append_json(NOTE, data)


def test_depth_is_no_limit(kit: SimpleNamespace) -> None:
    """core 1.3: six thousand levels of nesting go through."""
    data: Any = []
    for _ in range(6000):
        data = [data]
    assert kit.session().append_json(NOTE, data).seq == 0


@pytest.mark.parametrize("turn", [True, 1.0, "1", None, 0, -1])
def test_turn_number_is_an_integer(kit: SimpleNamespace, turn: Any) -> None:
    """core #9: a bool, a float or a text is no turn number."""
    session = kit.session()
    with pytest.raises(ConfigurationError, match="turn"):
        session.append_json("turn/start", {"turn": turn})
    assert session.seq == 0


@pytest.mark.parametrize("value", [2**53, -(2**53)])
def test_unsafe_integer_is_refused(kit: SimpleNamespace, value: int) -> None:
    """core #10: an integer that other readers would round is refused."""
    session = kit.session()
    with pytest.raises(ConfigurationError):
        session.append_json(NOTE, {"n": value})
    with pytest.raises(ConfigurationError):
        session.append_json("turn/start", {"turn": abs(value)})
    assert session.append_json(NOTE, {"n": 2**53 - 1}).seq == 0


def test_known_types_become_payloads(kit: SimpleNamespace) -> None:
    """core 1.2: an untyped append of a known type means the same as the typed one."""
    session = kit.session()
    session.append_json("turn/start", {"turn": 1})
    message = {
        "id": "m",
        "role": "user",
        "content": [{"type": "text", "text": "hi"}],
        "source": {"kind": "user"},
    }
    session.append_json("user/message", message, surface_op="append")
    assert type(session.events[0].data) is TurnStart
    assert session.open_turn == 1
    assert [shown.id for shown in session.messages()] == ["m"]


WRONG: list[tuple[Any, Any]] = [
    ("turn/start", {"turn": 1, "more": 1}),
    ("turn/start", {}),
    ("turn/start", []),
    ("turn/start", None),
    ("step/start", {"turn": 1}),
    ("session/end-seed", {"x": 1}),
    ("user/message", {"id": "", "role": "user", "content": [], "source": {"kind": "user"}}),
    ("user/message", {"id": "m", "role": "assistant", "content": [], "source": {"kind": "u"}}),
    ("user/message", {"id": "m", "role": "user", "content": [], "source": {}}),
    ("user/message", {"id": "m", "role": "user", "content": "hi", "source": {"kind": "user"}}),
    ("user/message", {"id": "m", "role": "user", "content": [{}], "source": {"kind": "user"}}),
    ("agent/inbox/spliced", {"target": "next", "start": 0, "inserted": []}),
    ("agent/inbox/spliced", {"target": "next-turn", "start": -1, "inserted": []}),
    ("agent/inbox/spliced", {"target": "next-turn", "start": 0, "outcome": "x"}),
    ("request/header", {"header": {"config": {"provider": "p"}}, "reason": "initial"}),
    (
        "request/header",
        {
            "header": {"config": {"provider": "p", "model": "m", "reasoningEffort": ""}},
            "reason": "initial",
        },
    ),
    (
        "request/header",
        {
            "header": {
                "config": {"provider": "p", "model": "m"},
                "adapterDefaults": {"maxTokens": True},
            },
            "reason": "initial",
        },
    ),
    ("subagent/descriptor", {"version": 3, "mode": "continuable", "provider": "spawn"}),
    (
        "subagent/descriptor",
        {"version": 3, "mode": "one-shot", "provider": "spawn", "persona": "x"},
    ),
    ("", {}),
    (5, {}),
    ([], {}),
]


@pytest.mark.parametrize(("type_name", "data"), WRONG)
def test_wrong_shapes_are_refused(kit: SimpleNamespace, type_name: Any, data: Any) -> None:
    """core 1.4: an untyped append of a known type must have its shape."""
    session = kit.session()
    with pytest.raises(ConfigurationError):
        session.append_json(type_name, data, surface_op=None, ignorable=True)
    assert session.seq == 0


@pytest.mark.parametrize("ignorable", [False, True])
def test_append_does_not_check_the_vocabulary(kit: SimpleNamespace, ignorable: bool) -> None:
    """core 2: an unknown type is taken with its flag; the vocabulary is checked on reading."""
    session = kit.session()
    event = session.append_json("weather/report", {"rain": [1]}, ignorable=ignorable)
    assert (event.type, event.ignorable) == ("weather/report", ignorable)
    assert event.data.data == {"rain": [1]}


def test_sealed_session_refuses(kit: SimpleNamespace) -> None:
    """DESIGN 4: a session whose owner was detached takes nothing more, and can be read."""
    session = kit.session()
    session.append(TurnStart(1))
    session.seal("detached")
    session.seal("again")
    with pytest.raises(SessionError, match="detached") as caught:
        session.append(kit.ended(1))
    assert caught.value.code == "SESSION_SEALED"
    assert session.sealed
    assert session.seq == 1


def test_times_come_from_the_clock(kit: SimpleNamespace) -> None:
    """DESIGN 2: the time of an event is read from the clock that was handed in."""
    session = kit.session()
    assert [session.append(OpaquePayload(NOTE, {})).time for _ in range(2)] == [1001, 1002]


def test_veto_reuses_the_number(kit: SimpleNamespace) -> None:
    """core #13: a check's veto is raised, changes nothing, and the next append gets the number."""
    session = kit.session()
    session.append(TurnStart(1))

    def veto(event: Any) -> None:
        raise LookupError(f"no {event.seq}")

    registration = session.add_check(veto)
    before = kit.snapshot(session)
    with pytest.raises(LookupError, match="no 1"):
        session.append(kit.user_logged(), surface="append")
    assert kit.snapshot(session) == before
    registration.dispose()
    assert session.append(kit.user_logged(), surface="append").seq == 1


def test_veto_tells_nobody(kit: SimpleNamespace) -> None:
    """core 1.2: observers and the store hear of an event after its commit only."""
    session = kit.session()
    heard: list[Any] = []
    stored: list[Any] = []
    session.observe(heard.append)
    session.write_to(stored.append)
    with session.add_check(refuse), pytest.raises(ZeroDivisionError):
        session.append(TurnStart(1))
    event = session.append(TurnStart(1))
    assert heard == stored == [event]


def test_check_may_not_append(kit: SimpleNamespace) -> None:
    """core 1.2: an append from a check would take the number of the event it checks."""
    session = kit.session()

    def appending(_: Event) -> None:
        session.append(TurnStart(1))

    with (
        session.add_check(appending),
        pytest.raises(BroodlineError, match="check"),
    ):
        session.append(OpaquePayload(NOTE, {}))
    assert session.append(OpaquePayload(NOTE, {})).seq == 0
