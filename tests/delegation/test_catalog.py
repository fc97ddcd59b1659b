"""The parent's catalogue as a fold of its log."""

from __future__ import annotations

from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import CatalogChanged, EndSeed, OpaquePayload
from broodline.supervision.catalog import CatalogEntry, CatalogFold, subagent_catalog

HEADER = SessionHeader("p", 0)


def added(seq: int, child: str, label: str | None = None) -> Event:
    return Event(seq, 0, CatalogChanged("added", child, "one-shot", "spawn", label), ignorable=True)


def removed(seq: int, child: str) -> Event:
    return Event(seq, 0, CatalogChanged("removed", child, "one-shot", "spawn"), ignorable=True)


def test_empty() -> None:
    """DESIGN 5 catalogue: a log without catalogue events has no children."""
    assert subagent_catalog(HEADER, [Event(0, 0, EndSeed())]) == ()


def test_added_and_removed() -> None:
    """DESIGN 5 catalogue: it holds the children in order of their coming, less those gone."""
    events = [added(0, "a", "first"), added(1, "b"), removed(2, "a"), added(3, "c")]
    assert [entry.id for entry in subagent_catalog(HEADER, events)] == ["b", "c"]
    assert subagent_catalog(HEADER, events[:1]) == (
        CatalogEntry("a", "one-shot", "spawn", "first"),
    )


def test_unknown_removal_and_foreign_events() -> None:
    """DESIGN 5 catalogue: what it does not know changes nothing."""
    events = [
        removed(0, "ghost"),
        Event(1, 0, OpaquePayload("subagent/catalog", {})),
        added(2, "a"),
    ]
    assert [entry.id for entry in subagent_catalog(HEADER, events)] == ["a"]


def test_seed_facts_do_not_count() -> None:
    """DESIGN 5 catalogue: facts that came in through a fork seed are not its children."""
    forked = SessionHeader("f", 0, seed_length=2)
    events = [added(0, "a"), added(1, "b"), added(2, "c"), removed(3, "b")]
    assert [entry.id for entry in subagent_catalog(forked, events)] == ["c"]


def test_incremental() -> None:
    """DESIGN 5 catalogue: fed in parts, even overlapping ones, it is the same."""
    events = [added(0, "a"), added(1, "b"), removed(2, "a"), added(3, "c")]
    fold = CatalogFold(HEADER)
    fold.advance(events[:2])
    assert fold.next_seq == 2
    assert fold.advance(events[1:]) == subagent_catalog(HEADER, events)
    assert fold.advance([]) == subagent_catalog(HEADER, events)
    assert fold.advance(events[:1]) == subagent_catalog(HEADER, events)


def test_wire_form() -> None:
    """DESIGN 5 catalogue: the wire form has no label where there is none."""
    assert CatalogEntry("a", "one-shot", "spawn").to_dict() == {
        "id": "a",
        "mode": "one-shot",
        "provider": "spawn",
    }
    assert CatalogEntry("a", "one-shot", "spawn", "").to_dict()["label"] == ""
