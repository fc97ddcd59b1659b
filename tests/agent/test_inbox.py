"""The inbox: two lists, one identity, every change an event."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.inbox import Inbox
from broodline.actors.session import Session
from broodline.actors.splice import normalise_splice
from broodline.messages.content import Text
from broodline.messages.errors import DeliveryError, MailboxFullError
from broodline.messages.header import SessionHeader
from broodline.messages.message import UserMessage


class Still:
    def time_ms(self) -> int:
        return 7


def message(name: str) -> UserMessage:
    return UserMessage(name, (Text(name),))


def inbox_of(*, bound: int | None = None) -> tuple[Inbox, Session, list[tuple[str, str]]]:
    """An inbox, its session, and what it told."""
    told: list[tuple[str, str]] = []
    session = Session(SessionHeader("s", 0), clock=Still())
    inbox = Inbox(session, lambda change, m, target: told.append((change, m.id)), bound)
    return inbox, session, told


def ids(messages: tuple[UserMessage, ...]) -> list[str]:
    return [m.id for m in messages]


def test_removing_the_unknown_is_no_event() -> None:
    """core #145: remove of an unknown id is False and no event."""
    inbox, session, _ = inbox_of()
    assert inbox.remove("nobody") is False
    assert inbox.replace("nobody", message("a")) is False
    assert session.seq == 0


def test_clearing_the_empty_is_no_event() -> None:
    """core #146: clear of an empty inbox is no event."""
    inbox, session, told = inbox_of()
    inbox.clear()
    assert (session.seq, told) == (0, [])


@pytest.mark.parametrize(
    ("start", "count", "left"),
    [(-1, 1, "ab"), (9, 1, "abc"), (-9, 2, "c"), (1, 99, "a"), (1, -5, "abc"), (0, 0, "abc")],
)
def test_a_splice_is_brought_into_range(start: int, count: int, left: str) -> None:
    """core #147: negative and oversized splices behave as those of a list; none is no event."""
    inbox, session, _ = inbox_of()
    for name in "abc":
        inbox.append("next-turn", message(name))
    before = session.seq
    inbox.splice("next-turn", start, count)
    assert "".join(ids(inbox.next_turn)) == left
    assert session.seq - before == (left != "abc")


@given(st.integers(0, 9), st.integers(-20, 20), st.integers(-5, 20))
def test_a_normalised_splice_lies_in_the_list(length: int, start: int, count: int) -> None:
    """core 7: whatever is asked, the normalised splice lies within the list."""
    first, removed = normalise_splice(length, start, count)
    assert 0 <= first <= length
    assert 0 <= removed <= length - first


def test_removed_count_and_outcome_are_written_only_when_true() -> None:
    """core 7: a claim has no outcome, a drop is canceled, a plain insert removes nothing."""
    inbox, session, _ = inbox_of()
    inbox.append("next-turn", message("a"))
    inbox.append("next-turn", message("b"))
    inbox.claim("next-turn")
    inbox.remove("b")
    data: list[Any] = [event.data for event in session.events]
    assert [(d.removed_count, d.outcome) for d in data] == [
        (0, None),
        (0, None),
        (1, None),
        (1, "canceled"),
    ]


def test_replace_tells_discard_then_enqueue() -> None:
    """core 7: replace discards the old and enqueues the new, as one canceled event in its place."""
    inbox, session, told = inbox_of()
    for name in "abc":
        inbox.append("next-step", message(name))
    told.clear()
    assert inbox.replace("b", message("B"))
    assert ids(inbox.next_step) == ["a", "B", "c"]
    assert told == [("discard", "b"), ("enqueue", "B")]
    assert session.events[-1].data.outcome == "canceled"  # type: ignore[union-attr]


def test_replace_may_keep_the_id() -> None:
    """core 7: a message may be replaced by another version of itself."""
    inbox, _, _ = inbox_of()
    inbox.append("next-turn", message("a"))
    assert inbox.replace("a", UserMessage("a", (Text("new"),)))
    assert inbox.next_turn[0].content == (Text("new"),)


def test_clear_drops_next_step_first() -> None:
    """core 7: clear drops the next-step list before the next-turn list."""
    inbox, _, told = inbox_of()
    inbox.append("next-turn", message("t"))
    inbox.append("next-step", message("s"))
    told.clear()
    inbox.clear()
    assert told == [("discard", "s"), ("discard", "t")]


def test_claims() -> None:
    """core 7: a step claims all of next-step; a turn claims that first, then one prompt."""
    inbox, _, _ = inbox_of()
    for name in ("t1", "t2"):
        inbox.append("next-turn", message(name))
    for name in ("s1", "s2"):
        inbox.append("next-step", message(name))
    assert ids(inbox.claim("next-step")) == ["s1", "s2"]
    inbox.append("next-step", message("s3"))
    assert ids(inbox.claim("next-turn")) == ["s3", "t1"]
    assert ids(inbox.next_turn) == ["t2"]


def test_prepend_goes_before_all() -> None:
    """core 7: prepend puts a message at the head."""
    inbox, _, _ = inbox_of()
    inbox.append("next-turn", message("a"))
    inbox.prepend("next-turn", message("b"))
    assert ids(inbox.next_turn) == ["b", "a"]


@pytest.mark.parametrize("inserted", [["a"], ["b", "b"]], ids=["pending", "twice in one splice"])
def test_an_id_is_pending_once(inserted: list[str]) -> None:
    """core 7: an id may be pending once over both lists; a refusal changes nothing."""
    inbox, session, _ = inbox_of()
    inbox.append("next-turn", message("a"))
    with pytest.raises(DeliveryError):
        inbox.splice("next-step", 0, 0, [message(name) for name in inserted])
    assert (session.seq, len(inbox), ids(inbox.next_step)) == (1, 1, [])


def test_the_bound_counts_both_lists() -> None:
    """DESIGN 2: over both lists no more than the bound is accepted; a claim makes room."""
    inbox, session, _ = inbox_of(bound=2)
    inbox.append("next-turn", message("a"))
    inbox.append("next-step", message("b"))
    with pytest.raises(MailboxFullError, match="bound 2"):
        inbox.append("next-turn", message("c"))
    assert session.seq == 2
    inbox.claim("next-step")
    inbox.append("next-turn", message("c"))
    assert ids(inbox.next_turn) == ["a", "c"]


def test_a_refused_event_leaves_the_lists() -> None:
    """core 7: the event is committed first; when the log refuses it the lists stay as they were."""
    inbox, session, told = inbox_of()

    def veto(event: Any) -> None:
        raise OSError("disk full")

    session.add_check(veto)
    with pytest.raises(OSError, match="disk full"):
        inbox.append("next-turn", message("a"))
    assert (len(inbox), told) == (0, [])


def test_an_inbox_is_rebuilt_from_its_log() -> None:
    """core 7: both lists of a new inbox are the fold of the log's splices."""
    inbox, session, _ = inbox_of()
    for name in "abc":
        inbox.append("next-turn", message(name))
    inbox.append("next-step", message("s"))
    inbox.remove("b")
    again = Inbox(session, lambda change, m, target: None, None)
    assert (ids(again.next_turn), ids(again.next_step)) == (["a", "c"], ["s"])
    with pytest.raises(DeliveryError):
        again.append("next-step", message("c"))


def test_a_change_by_an_observer_builds_on_the_change_it_observes() -> None:
    """core D4: what an observer of a splice adds lies behind it, in memory as in the log."""
    inbox, session, told = inbox_of()
    names = ["b", "c"]

    def observer(event: Any) -> None:
        if names:
            inbox.append("next-turn", message(names.pop(0)))

    session.observe(observer)
    inbox.append("next-turn", message("a"))
    again = Inbox(session, lambda change, m, target: None, None)
    assert ids(inbox.next_turn) == ids(again.next_turn) == ["a", "b", "c"]
    assert told == [("enqueue", "a"), ("enqueue", "b"), ("enqueue", "c")]


def test_an_observer_of_a_nested_change_sees_the_lists_before_both() -> None:
    """core #149: while changes are being told the inbox reads as before the first of them."""
    inbox, session, _ = inbox_of()
    inbox.append("next-turn", message("a"))
    seen: list[list[str]] = []
    more = ["c"]

    def observer(event: Any) -> None:
        if more:
            inbox.append("next-turn", message(more.pop()))
            inbox.remove("a")
        seen.append(ids(inbox.next_turn))

    session.observe(observer)
    inbox.append("next-turn", message("b"))
    assert seen == [["a"]] * 3
    assert ids(inbox.next_turn) == ["b", "c"]


@pytest.mark.parametrize("bad", ["", None.__class__, 7])
async def test_an_id_must_be_a_text(open_host: Any, bad: Any) -> None:
    """core 1.1: an agent's id is a text that is not empty."""
    host = await open_host()
    with pytest.raises(ValueError, match="id"):
        await host.agents.create(id=bad)
