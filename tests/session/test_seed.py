"""What a session starts from: seeds, the marker, forks, and what is its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.fold import completed_turn_prefix, open_bracket, replay_inbox
from broodline.messages.codec import decode_event
from broodline.messages.errors import ConfigurationError, SessionCorruptError
from broodline.messages.event import Event
from broodline.messages.payload import Descriptor, EndSeed, OpaquePayload


def turn(kit: SimpleNamespace, number: int) -> list[Any]:
    return [
        kit.turn_start(number),
        kit.step_start(number, 1),
        kit.user_logged(f"u{number}"),
        kit.replied(number, 1, f"a{number}", kit.Text(f"answer {number}")),
        kit.step_end(number, 1),
        kit.ended(number),
    ]


def test_no_seed(kit: SimpleNamespace) -> None:
    """core #21: without a seed the log is empty and the first live number is 0."""
    session = kit.session()
    assert session.events == ()
    assert session.first_live_seq == 0


def test_empty_seed(kit: SimpleNamespace) -> None:
    """core #22: an empty seed makes a log of exactly one marker, at 0."""
    session = kit.session([])
    assert [(event.seq, type(event.data)) for event in session.events] == [(0, EndSeed)]
    assert session.first_live_seq == 0


def test_marker_follows_the_seed(kit: SimpleNamespace) -> None:
    """core #23: the marker stands at the seed's length, which is the first live number."""
    seed = kit.events_of(*turn(kit, 1))
    session = kit.session(seed)
    assert session.first_live_seq == len(seed)
    assert type(session.events[-1].data) is EndSeed
    assert session.seq == len(seed) + 1
    assert list(session.events[:-1]) == seed


def test_no_second_marker(kit: SimpleNamespace) -> None:
    """core #24: a seed that ends in a marker gets no second one."""
    seed = kit.events_of(*turn(kit, 1), EndSeed())
    session = kit.session(seed)
    assert list(session.events) == seed
    assert session.first_live_seq == len(seed)


@pytest.mark.parametrize(("seqs", "named"), [((0, 2), "2"), ((1, 2), "1"), ((0, 0), "0")])
def test_gap_is_refused(kit: SimpleNamespace, seqs: tuple[int, ...], named: str) -> None:
    """core #25: a gap or a wrong first number is refused, and named."""
    seed = [Event(seq, 1, OpaquePayload("session/title", {})) for seq in seqs]
    with pytest.raises(ConfigurationError, match=f"seq {named}"):
        kit.session(seed)


STORED = {"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"colour": "red"},
        {"seq": True},
        {"seq": -1},
        {"seq": 1.0},
        {"time": None},
        {"ignorable": False},
        {"ignorable": 1},
        {"surfaceOp": "prepend"},
        {"sourceEventSeqs": (1,)},
        {"sourceEventSeqs": [True]},
        {"type": None},
        {"type": []},
    ],
)
def test_envelope_is_closed(wrong: dict[str, Any]) -> None:
    """core #26: an unknown top-level key, or a wrong value of a known one, is refused."""
    with pytest.raises(SessionCorruptError):
        decode_event({**STORED, **wrong})


@pytest.mark.parametrize("missing", sorted(STORED))
def test_envelope_is_whole(missing: str) -> None:
    """core #26: type, seq, time and data are there, or the event is refused."""
    with pytest.raises(SessionCorruptError):
        decode_event({key: value for key, value in STORED.items() if key != missing})


MODEL = {"kind": "model", "provider": "p", "model": "m"}
RESULT: dict[str, Any] = {"type": "tool-result", "toolCallId": "c", "content": [], "isError": False}


WRONG: list[tuple[str, str, dict[str, Any], list[Any]]] = [
    ("assistant/message", "assistant", {"kind": "user"}, []),
    ("assistant/message", "assistant", {"kind": "model", "provider": "p"}, []),
    ("assistant/message", "assistant", {"kind": "model", "provider": "", "model": "m"}, []),
    ("assistant/message", "user", MODEL, []),
    ("tool/result", "user", {"kind": "tool", "callId": "other"}, [RESULT]),
    ("tool/result", "user", {"kind": "tool", "callId": ""}, [RESULT]),
    ("tool/result", "user", {"kind": "user", "callId": "c"}, [RESULT]),
    ("tool/result", "user", {"kind": "tool", "callId": "c"}, []),
    ("tool/result", "user", {"kind": "tool", "callId": "c"}, [RESULT, RESULT]),
    ("tool/result", "user", {"kind": "tool", "callId": "c"}, [{**RESULT, "content": "x"}]),
    ("tool/result", "assistant", {"kind": "tool", "callId": "c"}, [RESULT]),
]


@pytest.mark.parametrize(("type_name", "role", "source", "content"), WRONG)
def test_message_shapes(
    type_name: str, role: str, source: dict[str, Any], content: list[Any]
) -> None:
    """core #27: an answer comes from a model, a result from the call that its block names."""
    message = {"id": "m", "role": role, "content": content, "source": source}
    data = {"turn": 1, "step": 1, "message": message}
    stored = {"type": type_name, "seq": 0, "time": 1, "data": data, "surfaceOp": "append"}
    with pytest.raises(SessionCorruptError):
        decode_event(stored)


def test_seed_is_not_published(kit: SimpleNamespace) -> None:
    """core #28: neither a seed event nor the marker reaches an observer or a store's sink."""
    session = kit.session(kit.events_of(*turn(kit, 1)))
    heard: list[Any] = []
    session.observe(heard.append)
    session.write_to(heard.append)
    assert heard == []


def test_seed_rebuilds_everything(kit: SimpleNamespace) -> None:
    """core 1.4: history, envelope and balance are those of the log that the seed came from."""
    parent = kit.session()
    kit.run_turn(parent, "one")
    parent.append(kit.turn_start(2))
    parent.append(kit.header_logged("be kind"))
    parent.append(kit.ended(2))
    child = kit.session(parent.events, seed_length=parent.seq)
    assert child.messages() == parent.messages()
    assert child.request_header is parent.request_header
    assert (child.last_turn, child.open_turn, child.surface) == (2, 0, parent.surface)


def test_prefix_ends_at_the_last_closed_turn(kit: SimpleNamespace) -> None:
    """core #31: two closed turns and an open third make a prefix up to the second end."""
    events = kit.events_of(*turn(kit, 1), *turn(kit, 2), kit.turn_start(3))
    assert list(completed_turn_prefix(events)) == events[:12]


def test_prefix_of_an_open_first_turn(kit: SimpleNamespace) -> None:
    """core #32: while the first turn is open the prefix is empty."""
    assert list(completed_turn_prefix(kit.events_of(*turn(kit, 1)[:-1]))) == []
    assert list(completed_turn_prefix([])) == []


def test_fork_continues_the_turn_numbers(kit: SimpleNamespace) -> None:
    """core #42: the first turn of a fork is its parent's last plus one."""
    child = kit.session(kit.events_of(*turn(kit, 1), *turn(kit, 2)), seed_length=12)
    assert child.last_turn == 2
    with pytest.raises(SessionCorruptError):
        child.append(kit.turn_start(1))
    assert child.append(kit.turn_start(3)).seq == 13


def test_own_descriptor(kit: SimpleNamespace) -> None:
    """core #44: in a seeded child without a seed length the descriptor at 0 is its own."""
    descriptor = Descriptor("continuable", "spawn", "survey")
    child = kit.session(kit.events_of(descriptor))
    assert [event.data for event in child.own_events()] == [descriptor, EndSeed()]
    assert child.first_live_seq == 1


def test_own_events_of_a_fork(kit: SimpleNamespace) -> None:
    """core 1.6: own events start at the seed length, or later when asked so."""
    child = kit.session(kit.events_of(*turn(kit, 1)), seed_length=6)
    child.append(OpaquePayload("session/title", {}))
    assert [event.seq for event in child.own_events()] == [6, 7]
    assert [event.seq for event in child.own_events(7)] == [7]
    assert [event.seq for event in child.own_events(2)] == [6, 7]


def test_bracket_of_a_dead_lifecycle(kit: SimpleNamespace) -> None:
    """core #46: a bracket opened before the last marker locks nothing, one behind it does."""
    start, end = OpaquePayload("compaction/start", {}), OpaquePayload("compaction/end", {})
    for payloads, held in (
        ((start, EndSeed()), False),
        ((EndSeed(), start), True),
        ((EndSeed(), start, end), False),
        ((), False),
    ):
        found = open_bracket(kit.events_of(*payloads), "compaction/start", "compaction/end")
        assert (found is not None) is held


def test_fork_leaves_the_queue_behind(kit: SimpleNamespace) -> None:
    """core 16 D7: pending prompts in an inherited part are the parent's, not the fork's."""
    splice = kit.splice("next-turn", 0, 0, (kit.user(),))
    child = kit.session(kit.events_of(splice, *turn(kit, 1)), seed_length=7)
    assert replay_inbox(child.header, child.events) == ([], [])


def test_seed_may_not_revive_a_queue(kit: SimpleNamespace) -> None:
    """core 16 D7: a seed with pending prompts and no seed length is refused."""
    splice = kit.splice("next-turn", 0, 0, (kit.user(),))
    with pytest.raises(ConfigurationError, match="seedLength"):
        kit.session(kit.events_of(splice))


def test_resumed_log_keeps_its_queue(kit: SimpleNamespace) -> None:
    """core 16 D7: in a session's own stored log pending prompts are its own."""
    prompt = kit.user()
    session = kit.session(kit.events_of(kit.splice("next-turn", 0, 0, (prompt,))), resumed=True)
    assert replay_inbox(session.header, session.events) == ([prompt], [])


def test_settled_queue_is_no_obstacle(kit: SimpleNamespace) -> None:
    """core 16 D7: prompts that were claimed are not pending."""
    log = (kit.splice("next-turn", 0, 0, (kit.user(),)), kit.splice("next-turn", 0, 1))
    assert kit.session(kit.events_of(*log)).seq == 3


def test_open_turn_is_refused(kit: SimpleNamespace) -> None:
    """core 16 D7: a seed that ends inside a turn, or inherits half of one, is refused."""
    with pytest.raises(SessionCorruptError, match="turn 1"):
        kit.session(kit.events_of(*turn(kit, 1)[:-1]))
    with pytest.raises(SessionCorruptError, match="seedLength 3"):
        kit.session(kit.events_of(*turn(kit, 1)), seed_length=3)


def test_seed_length_beyond_the_seed(kit: SimpleNamespace) -> None:
    """core 1.1: a header may not claim more inherited events than there are."""
    with pytest.raises(ConfigurationError, match="seedLength 7"):
        kit.session(kit.events_of(*turn(kit, 1)), seed_length=7)


def test_unbalanced_seed_is_refused(kit: SimpleNamespace) -> None:
    """core 16 D7: a seed that breaks an invariant in its middle is refused."""
    with pytest.raises(SessionCorruptError, match="I4"):
        kit.session(kit.events_of(kit.step_start(1, 1)))


def test_seed_surface_is_checked(kit: SimpleNamespace) -> None:
    """core 1.4: the surface rules hold for a seed as for an append."""
    with pytest.raises(ConfigurationError, match="surface"):
        kit.session([Event(0, 1, kit.user_logged())])
    with pytest.raises(ConfigurationError, match="log-only"):
        kit.session([Event(0, 1, OpaquePayload("session/title", {}), "append")])
