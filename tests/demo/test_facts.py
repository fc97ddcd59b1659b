"""Facts and their merging."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.survey.facts import NAMES_KEPT, Facts, Largest, Noted, Place

places: st.SearchStrategy[Place] = st.tuples(st.text(max_size=3), st.integers(0, 3), st.just(""))
noted = st.lists(places, max_size=14).map(Noted.of)
facts = st.builds(
    Facts,
    files=st.integers(0, 99),
    lines=st.integers(0, 99),
    largest=st.none()
    | st.builds(Largest, st.text(max_size=3), st.integers(0, 3), st.integers(0, 3)),
    marks=noted,
    skipped=st.dictionaries(st.sampled_from(["not text", "vanished"]), noted),
)


@given(facts, facts, facts)
def test_merging_is_the_same_in_any_order(one: Facts, two: Facts, three: Facts) -> None:
    """demo: it does not matter which child answers first or how the merges are grouped."""
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + Facts() == one


@given(facts)
def test_an_answer_reads_back(one: Facts) -> None:
    """demo: the JSON line that an agent answers with holds all of its facts."""
    line = one.to_json()
    assert "\n" not in line
    assert Facts.from_json(line) == one


@given(st.lists(st.lists(places, max_size=20), max_size=6))
def test_counts_are_exact_and_names_are_the_first(groups: list[list[Place]]) -> None:
    """demo: merged notes count all places and keep the first few of all, in order."""
    merged = sum(map(Noted.of, groups), Noted())
    every = sorted(place for group in groups for place in group)
    assert merged == Noted(len(every), tuple(every[:NAMES_KEPT]))


def test_an_answer_stays_small() -> None:
    """demo: an answer keeps its size however many names are merged into it."""
    one = Facts(marks=Noted.of((f"file-{number:05}", 1, "") for number in range(5000)))
    merged = sum((one for _ in range(50)), Facts())
    assert merged.marks.count == 250_000
    assert len(merged.to_json()) < 1200


def test_the_largest_of_equal_files_is_the_first_by_name() -> None:
    """demo: which file counts as largest never depends on the order of the merge."""
    a, b = Facts(largest=Largest("a", 5, 1)), Facts(largest=Largest("b", 5, 9))
    assert (b + a).largest == (a + b).largest == Largest("a", 5, 1)


@pytest.mark.parametrize("text", ["", "no", "[]", "{}", "null", '{"folders": 1}'])
def test_what_is_no_answer_is_refused(text: str) -> None:
    """demo: anything that is not the facts of a survey raises ValueError."""
    with pytest.raises(ValueError, match=r"."):
        Facts.from_json(text)


def test_the_document_is_plain_json() -> None:
    """demo: the document of the facts is lossless JSON."""
    document = Facts(skipped={"not text": Noted.of([("a", 0, "")])}).to_dict()
    assert json.loads(json.dumps(document)) == document
