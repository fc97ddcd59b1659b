"""The folds: consumed work, the answer, the pending inbox, the envelope."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.envelope import canonical, same_envelope
from broodline.actors.fold import (
    ConsumedWork,
    ConsumedWorkFold,
    consumed_work,
    replay_inbox,
    select_output,
)
from broodline.messages.chunk import ReasoningDelta
from broodline.messages.errors import SessionCorruptError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.lossless import FrozenDict
from broodline.messages.message import UserMessage
from broodline.messages.payload import (
    CallConfig,
    ChunkReceived,
    InboxSpliced,
    RequestHeader,
    ToolSchema,
)

INSERT = InboxSpliced("next-turn", 0, 0, (UserMessage("q", ()),))
CLAIM = InboxSpliced("next-turn", 0, 1)
CANCEL = InboxSpliced("next-turn", 0, 1, (), "canceled")
REPLACE = InboxSpliced("next-turn", 0, 1, (UserMessage("r", ()),), "canceled")


def stepped(kit: SimpleNamespace, turn: int, kind: str = "completed") -> list[Any]:
    return [
        kit.turn_start(turn),
        CLAIM,
        kit.step_start(turn, 1),
        kit.step_end(turn, 1),
        kit.ended(turn, kind),
    ]


def stepless(kit: SimpleNamespace, turn: int, kind: str, *between: Any) -> list[Any]:
    return [kit.turn_start(turn), *between, kit.ended(turn, kind)]


def folded(kit: SimpleNamespace, *payloads: Any) -> tuple[int | None, bool]:
    work = consumed_work(kit.events_of(*payloads))
    return (None if work.end is None else work.end.turn, work.dropped_unrun)


def test_nothing_consumed(kit: SimpleNamespace) -> None:
    """service LC-15: a message that is only queued consumed nothing and dropped nothing."""
    assert consumed_work(kit.events_of(INSERT)) == ConsumedWork(None, False)
    assert consumed_work([]) == ConsumedWork(None, False)


def test_latest_stepped_turn_wins(kit: SimpleNamespace) -> None:
    """service LC-16: of two turns with steps the later one accounts."""
    assert folded(kit, *stepped(kit, 1), *stepped(kit, 2, "max-tokens")) == (2, False)


def test_claimed_then_failed(kit: SimpleNamespace) -> None:
    """service LC-17: a turn that claimed and failed before a step accounts, not the clean one."""
    assert folded(kit, *stepped(kit, 1), *stepless(kit, 2, "error", CLAIM)) == (2, False)


def test_claimed_then_stopped(kit: SimpleNamespace) -> None:
    """service LC-18, core #173: so does one that claimed and was stopped."""
    assert folded(kit, *stepped(kit, 1), *stepless(kit, 2, "aborted", CLAIM)) == (2, False)


@pytest.mark.parametrize("kind", ["aborted", "error", "blocked"])
def test_turn_without_a_claim(kit: SimpleNamespace, kind: str) -> None:
    """service LC-19: a turn that claimed nothing is ignored, however it ended."""
    assert folded(kit, *stepped(kit, 1), *stepless(kit, 2, kind)) == (1, False)
    assert folded(kit, *stepless(kit, 1, kind, INSERT)) == (None, False)


def test_claimed_then_blocked(kit: SimpleNamespace) -> None:
    """service LC-20, core #173: claimed and blocked counts, claimed and completed does not."""
    assert folded(kit, *stepped(kit, 1), *stepless(kit, 2, "blocked", CLAIM)) == (2, False)
    assert folded(kit, *stepped(kit, 1), *stepless(kit, 2, "completed", CLAIM)) == (1, False)


def test_cancel_after_the_last_turn(kit: SimpleNamespace) -> None:
    """service LC-22, core #174: work cancelled later was dropped; replaced work was not."""
    assert folded(kit, *stepped(kit, 1), CANCEL) == (1, True)
    assert folded(kit, *stepped(kit, 1), REPLACE) == (1, False)
    assert folded(kit, CANCEL) == (None, True)


def test_later_turn_absorbs_a_drop(kit: SimpleNamespace) -> None:
    """service LC-23, core #174: work cancelled before the accounting turn does not show."""
    assert folded(kit, CANCEL, *stepped(kit, 1)) == (1, False)
    assert folded(kit, CANCEL, *stepless(kit, 1, "blocked", CLAIM)) == (1, False)
    assert folded(kit, CANCEL, *stepless(kit, 1, "blocked")) == (None, True)


def test_cancel_inside_a_turn_is_no_claim(kit: SimpleNamespace) -> None:
    """service 6: a removal that was cancelled claims nothing."""
    assert folded(kit, *stepless(kit, 1, "error", CANCEL)) == (None, True)
    assert folded(kit, *stepless(kit, 1, "error", REPLACE)) == (None, False)


def test_claim_outside_a_turn(kit: SimpleNamespace) -> None:
    """core 8: a claim while no turn is open counts for nothing."""
    assert folded(kit, CLAIM, *stepless(kit, 1, "error")) == (None, False)
    assert folded(kit, CLAIM, kit.ended(1, "error")) == (None, False)


def test_step_does_not_carry_over(kit: SimpleNamespace) -> None:
    """core 8: what one turn did is not credited to the next."""
    log = [*stepped(kit, 1), *stepless(kit, 2, "error")]
    assert folded(kit, *log) == (1, False)


def test_fold_can_be_fed(kit: SimpleNamespace) -> None:
    """core 8: fed event by event the fold says at each point what the whole would say."""
    events = kit.events_of(INSERT, *stepped(kit, 1), CANCEL, *stepless(kit, 2, "error", CLAIM))
    fold = ConsumedWorkFold()
    for count, event in enumerate(events, 1):
        fold.feed(event)
        assert fold.result() == consumed_work(events[:count])


def output(events: list[Event], start: int = 0) -> list[Any]:
    return [getattr(block, "text", block) for block in select_output(events, start)]


def test_empty_answer_replaces_nothing(kit: SimpleNamespace) -> None:
    """service LC-24, core #175: an answer that only carries usage leaves the earlier one."""
    events = kit.events_of(kit.replied(1, 1, "a", kit.Text("yes")), kit.replied(1, 2, "b"))
    assert output(events) == ["yes"]


def test_message_beats_streamed_text(kit: SimpleNamespace) -> None:
    """service LC-25: a message with content beats text streamed before and after it."""
    events = kit.events_of(
        kit.chunk(1, 1, "before"), kit.replied(1, 1, "a", kit.Text("yes")), kit.chunk(1, 2, "after")
    )
    assert output(events) == ["yes"]


def test_last_message_wins(kit: SimpleNamespace) -> None:
    """core 8: of several messages with content the last one is the answer."""
    one, two = (kit.replied(1, n, f"a{n}", kit.Text(str(n))) for n in (1, 2))
    assert output(kit.events_of(one, two)) == ["2"]


def test_streamed_text_is_the_fallback(kit: SimpleNamespace) -> None:
    """service LC-27, core #175: without a message the text deltas count, nothing else does."""
    events = kit.events_of(
        kit.chunk(1, 1, "Hel"),
        ChunkReceived(1, 1, ReasoningDelta(0, "thinking")),
        kit.answered(1, 1, "c", "tool text"),
        kit.replied(1, 1, "a"),
        kit.chunk(1, 2, "lo"),
    )
    assert output(events) == ["Hello"]


def test_nothing_said(kit: SimpleNamespace) -> None:
    """service LC-28: empty pieces are ignored; where nothing was said there is no answer."""
    assert output(kit.events_of(kit.chunk(1, 1, ""), kit.replied(1, 1, "a"))) == []
    assert output([]) == []
    assert output(kit.events_of(kit.chunk(1, 1, ""), kit.chunk(1, 1, "x"))) == ["x"]


def test_tool_only_step_keeps_the_message(kit: SimpleNamespace) -> None:
    """service LC-29: the message before a cut-off step stays, its call included, no result."""
    call = kit.ToolCall("c", "probe", "{}")
    events = kit.events_of(
        kit.replied(1, 1, "a", kit.Text("looking"), call),
        kit.answered(1, 1, "c", "tool text"),
        kit.replied(1, 2, "b"),
    )
    assert output(events) == ["looking", call]


def test_inherited_text_is_no_answer(kit: SimpleNamespace) -> None:
    """core 1.6: only events from the start on count, so a fork never answers with its parent."""
    events = kit.events_of(
        kit.chunk(1, 1, "old"), kit.replied(1, 1, "a", kit.Text("old")), kit.chunk(2, 1, "new")
    )
    assert output(events, 2) == ["new"]
    assert output(events, 3) == []


def test_inbox_replay(kit: SimpleNamespace) -> None:
    """core 7: the pending lists are what the splices of the log leave."""
    a, b, c, d = (kit.user(name) for name in "abcd")
    events = kit.events_of(
        InboxSpliced("next-turn", 0, 0, (a, b)),
        InboxSpliced("next-step", 0, 0, (c,)),
        InboxSpliced("next-turn", 1, 1, (d,), "canceled"),
        InboxSpliced("next-step", 0, 1),
    )
    assert replay_inbox(SessionHeader("s", 1), events) == ([a, d], [])


@pytest.mark.parametrize(
    "splice",
    [
        InboxSpliced("next-turn", 0, 2),
        InboxSpliced("next-turn", 2, 0, (UserMessage("x", ()),)),
        InboxSpliced("next-step", 0, 1),
        InboxSpliced("next-turn", -1, 1),
    ],
)
def test_splice_out_of_range(kit: SimpleNamespace, splice: InboxSpliced) -> None:
    """core 7: a splice that is out of range raises and names its seq."""
    with pytest.raises(SessionCorruptError, match="event 1 ") as caught:
        replay_inbox(SessionHeader("s", 1), kit.events_of(INSERT, splice))
    assert caught.value.details["seq"] == 1


def test_inherited_splices_do_not_count(kit: SimpleNamespace) -> None:
    """core 1.6: only a session's own splices make its inbox."""
    own = InboxSpliced("next-turn", 0, 0, (kit.user("own"),))
    events = kit.events_of(INSERT, own)
    header = SessionHeader("s", 1, seed_length=1)
    assert [message.id for message in replay_inbox(header, events)[0]] == ["own"]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 3)), max_size=20))
def test_replay_is_list_splicing(steps: list[tuple[int, int, int]]) -> None:
    """core 7: replaying splices gives the list that they were taken from."""
    live: list[UserMessage] = []
    events: list[Event] = []
    for number, (start, removed, inserted) in enumerate(steps):
        first = min(start, len(live))
        count = min(removed, len(live) - first)
        new = tuple(UserMessage(f"{number}-{n}", ()) for n in range(inserted))
        live[first : first + count] = new
        events.append(Event(number, 1, InboxSpliced("next-step", first, count, new)))
    assert replay_inbox(SessionHeader("s", 1), events) == ([], live)


def tool(name: str) -> ToolSchema:
    return ToolSchema(name, "does it", FrozenDict({"type": "object"}))


def test_latest_envelope_wins(kit: SimpleNamespace) -> None:
    """core 1.9: the envelope is the last one logged, in its canonical form."""
    session = kit.session()
    before = session.request_header
    session.append(kit.turn_start(1))
    first = kit.header_logged("one")
    session.append(first)
    assert before is None
    assert session.request_header is first.header
    session.append(kit.header_logged(""))
    assert session.request_header == RequestHeader(CallConfig("p", "m"))


def test_canonical_form() -> None:
    """core 1.9: an empty system text and an empty tool list are nothing; the rest is kept."""
    config = CallConfig("p", "m")
    assert canonical(RequestHeader(config, "", ())) == RequestHeader(config)
    full = RequestHeader(config, "x", (tool("a"),))
    assert canonical(full) is full
    half = canonical(RequestHeader(config, "x", ()))
    assert half == RequestHeader(config, "x")


def test_envelope_equality() -> None:
    """core 1.9: config, markers, system and tools in their order make an envelope the same."""
    base = RequestHeader(CallConfig("p", "m", stop=("a", "b")), "x", (tool("a"), tool("b")))
    same = RequestHeader(CallConfig("p", "m", stop=("a", "b")), "x", (tool("a"), tool("b")))
    assert same_envelope(base, base)
    assert same_envelope(base, same)
    assert same_envelope(None, None)
    for other in (
        RequestHeader(CallConfig("p", "m", stop=("b", "a")), "x", base.tools),
        RequestHeader(base.config, "y", base.tools),
        RequestHeader(base.config, "x", (tool("b"), tool("a"))),
        RequestHeader(base.config, "x", base.tools, FrozenDict({"maxTokens": True})),
        None,
    ):
        assert not same_envelope(base, other)
