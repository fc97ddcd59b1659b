"""Packed rows: what may be packed, what a malformed one is, and that nothing is lost."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.session import Session
from broodline.messages.codec import decode_event
from broodline.messages.errors import SessionCorruptError
from broodline.messages.header import SessionHeader
from broodline.messages.lossless import SAFE_INTEGER
from broodline.messages.packed import (
    LARGEST_ROW,
    LONGEST_RUN,
    PACKED_TYPES,
    expand_row,
    expand_rows,
    pack_rows,
)
from broodline.messages.payload import StepStart, TurnStart
from broodline.messages.vocabulary import KNOWN_TYPES


def delta(text: str = "x", seq: int | None = None, time: int = 7, **more: Any) -> dict[str, Any]:
    """One text delta as a row; projected without a `seq`."""
    chunk = {"type": "text-delta", "index": 0, "text": text}
    chunk |= {key: more.pop(key) for key in ("type", "index") if key in more}
    place = {} if seq is None else {"seq": seq, "time": time}
    data = {"turn": more.pop("turn", 1), "step": more.pop("step", 1), "chunk": chunk}
    return {"type": "assistant/chunk", **place, "data": data, **more}


def call_delta(text: str = "x", **chunk: Any) -> dict[str, Any]:
    data = {"type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": text, **chunk}
    return {"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": data}}


def packed(**data: Any) -> dict[str, Any]:
    """A packed row of text in the strict form, with other data."""
    whole = {"turn": 1, "step": 2, "index": 3, "dt": [5, -2], "texts": ["a", "", "c"], **data}
    return {"type": "text-chunks", "seq0": 10, "time0": 100, "data": whole}


def packed_call(**data: Any) -> dict[str, Any]:
    whole = {"turn": 1, "step": 2, "index": 0, "dt": [1], "id": "c", "args": ["", "{}"], **data}
    return {"type": "tool-call-chunks", "data": whole}


def test_members_of_a_strict_row() -> None:
    """core 15.2: member k has seq0 + k and time0 plus the first k gaps, which may be negative."""
    rows = expand_row(packed())
    assert [(row["seq"], row["time"]) for row in rows] == [(10, 100), (11, 105), (12, 103)]
    assert [row["data"]["chunk"]["text"] for row in rows] == ["a", "", "c"]
    assert rows[0] == {
        "type": "assistant/chunk",
        "seq": 10,
        "time": 100,
        "data": {"turn": 1, "step": 2, "chunk": {"type": "text-delta", "index": 3, "text": "a"}},
    }
    assert all(decode_event(row) for row in rows)


@pytest.mark.parametrize("name", ["read", None])
def test_members_of_a_call(name: str | None) -> None:
    """core 15.2: a packed tool call has an id, args, and a name that all members share or none."""
    rows = expand_row(packed_call(**({} if name is None else {"name": name})))
    assert [set(row) for row in rows] == [{"type", "data"}] * 2
    chunk = {"type": "tool-call-delta", "index": 0, "id": "c"} | ({"name": name} if name else {})
    assert [row["data"]["chunk"] for row in rows] == [
        {**chunk, "argumentsDelta": ""},
        {**chunk, "argumentsDelta": "{}"},
    ]


def test_packed_reasoning() -> None:
    """core 15.2: reasoning is packed like text and comes out as reasoning."""
    row = {**packed(), "type": "reasoning-chunks"}
    kinds = {member["data"]["chunk"]["type"] for member in expand_row(row)}
    assert kinds == {"reasoning-delta"}


def test_one_member_is_enough_to_read() -> None:
    """core 15.2: a row is packed from three on, but any number of members is read."""
    assert len(expand_row(packed(dt=[], texts=["a"]))) == 1


@pytest.mark.parametrize("row", [None, 5, [], "text-chunks", {}, {"type": ["text-chunks"]}])
def test_other_rows_come_through(row: Any) -> None:
    """core 15.2: what is no packed row is passed on as it is, for the decoder to judge."""
    assert list(expand_rows([row])) == [row]
    assert list(pack_rows([row])) == [row]


def without(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


MALFORMED = {
    "no seq0": without(packed(), "seq0"),
    "no time0": without(packed(), "time0"),
    "no data": without(packed(), "data"),
    "seq and time": {**without(packed(), "seq0", "time0"), "seq": 1, "time": 1},
    "further key": {**packed(), "ignorable": True},
    "surface": {**packed(), "surfaceOp": "append"},
    "data is a list": {**packed(), "data": []},
    "data is null": {**packed(), "data": None},
    "further data": packed(more=1),
    "name for text": packed(name="n"),
    "id for text": packed(id="c"),
    "args for text": {"type": "text-chunks", "data": packed_call()["data"]},
    "texts for a call": {"type": "tool-call-chunks", "data": packed()["data"]},
    "turn 0": packed(turn=0),
    "turn true": packed(turn=True),
    "step 0": packed(step=0),
    "step text": packed(step="1"),
    "index negative": packed(index=-1),
    "index float": packed(index=1.0),
    "index unsafe": packed(index=SAFE_INTEGER + 1),
    "texts empty": packed(texts=[], dt=[]),
    "texts text": packed(texts="abc"),
    "texts null": packed(texts=None),
    "a member null": packed(texts=["a", None, "c"]),
    "a member number": packed(texts=["a", 1, "c"]),
    "dt short": packed(dt=[1]),
    "dt long": packed(dt=[1, 2, 3]),
    "dt null": packed(dt=None),
    "dt text": packed(dt="12"),
    "gap float": packed(dt=[1, 0.5]),
    "gap true": packed(dt=[1, True]),
    "gap unsafe": packed(dt=[1, -SAFE_INTEGER - 1]),
    "seq0 negative": {**packed(), "seq0": -1},
    "seq0 float": {**packed(), "seq0": 10.0},
    "seq0 true": {**packed(), "seq0": True},
    "last seq unsafe": {**packed(), "seq0": SAFE_INTEGER - 1},
    "time0 negative": {**packed(), "time0": -1},
    "time0 null": {**packed(), "time0": None},
    "time before 0": packed(dt=[-101, 101]),
    "time unsafe": packed(dt=[SAFE_INTEGER, -5]),
    "call without id": {
        "type": "tool-call-chunks",
        "data": without(packed_call()["data"], "id"),
    },
    "id a number": packed_call(id=5),
    "name null": packed_call(name=None),
    "projected with a gap too few": packed_call(dt=[]),
}
WITHOUT = {f"no {key}": {**packed(), "data": without(packed()["data"], key)} for key in
              ("turn", "step", "index", "dt", "texts")}  # fmt: skip


@pytest.mark.parametrize("row", (MALFORMED | WITHOUT).values(), ids=(MALFORMED | WITHOUT).keys())
def test_malformed_rows(row: Any) -> None:
    """core 15.2: a packed row with a wrong key, count, member or number is corrupt, whole."""
    before = copy.deepcopy(row)
    with pytest.raises(SessionCorruptError, match=r"^packed row \S+ is malformed: ") as caught:
        expand_row(row)
    assert row == before
    assert caught.value.details == {"type": row["type"]}


def test_the_last_safe_numbers() -> None:
    """core 15.2: a row may reach the last safe number and time, and begin at 0."""
    row = {**packed(dt=[SAFE_INTEGER, -SAFE_INTEGER]), "seq0": SAFE_INTEGER - 2, "time0": 0}
    assert [member["time"] for member in expand_row(row)] == [0, SAFE_INTEGER, 0]


def test_packed_types_are_no_events() -> None:
    """core 15.2: a packed row is a form of writing, not a type of event."""
    assert not PACKED_TYPES & KNOWN_TYPES


def test_three_are_packed() -> None:
    """core 15.2: three neighbours of one block make one row, two stay as they are."""
    assert len(list(pack_rows([delta(seq=seq, time=0) for seq in range(3)]))) == 1
    rows = [delta(text, seq) for seq, text in enumerate("abc", 4)]
    (row,) = pack_rows(rows)
    assert row == {
        "type": "text-chunks",
        "seq0": 4,
        "time0": 7,
        "data": {"turn": 1, "step": 1, "index": 0, "dt": [0, 0], "texts": ["a", "b", "c"]},
    }
    assert list(pack_rows(rows[:2])) == rows[:2]


def test_projected_rows_are_packed_without_numbers() -> None:
    """core 15.3: a projected run has neither seq0 nor time0; its times, all 0, have no gaps."""
    (row,) = pack_rows([delta("a"), delta("b"), delta("c")])
    assert row["data"]["dt"] == [0, 0]
    assert set(row) == {"type", "data"}


BREAKS: dict[str, list[dict[str, Any]]] = {
    "gap": [delta(seq=0), delta(seq=1), delta(seq=3), delta(seq=4)],
    "backwards": [delta(seq=5), delta(seq=6), delta(seq=6), delta(seq=7)],
    "kind": [delta(), delta(), delta(type="reasoning-delta"), delta(type="reasoning-delta")],
    "index": [delta(), delta(), delta(index=1), delta(index=1)],
    "turn": [delta(), delta(), delta(turn=2), delta(turn=2)],
    "step": [delta(), delta(), delta(step=2), delta(step=2)],
    "id": [call_delta(), call_delta(), call_delta(id="d"), call_delta(id="d")],
    "name": [call_delta(name="a"), call_delta(name="a"), call_delta(name="b"), call_delta()],
    "name left out": [call_delta(name="a"), call_delta(), call_delta(), call_delta(name="a")],
    "form": [delta(), delta(), delta(seq=0), delta(seq=1)],
    "another row between": [delta(), delta(), {"type": "x", "data": {}}, delta(), delta()],
}


@pytest.mark.parametrize("rows", BREAKS.values(), ids=BREAKS.keys())
def test_runs_break(rows: list[dict[str, Any]]) -> None:
    """core 15.2: a run ends at a gap, another kind, index, turn, step, id or name, another form."""
    assert list(pack_rows(rows)) == rows


def test_a_run_goes_on_behind_a_break() -> None:
    """core 15.2: what stands on both sides of a break is packed on its own."""
    first = [delta(seq=seq) for seq in range(3)]
    second = [delta(seq=seq, index=1) for seq in range(3, 6)]
    assert [row["seq0"] for row in pack_rows([*first, *second])] == [0, 3]


UNPACKED: dict[str, dict[str, Any]] = {
    "block-start": {"type": "block-start", "index": 0, "blockType": "text"},
    "block-end": {"type": "block-end", "index": 0, "block": {"type": "text", "text": ""}},
    "usage": {"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 1}},
    "finish": {"type": "finish", "reason": {"kind": "stop"}},
    "further field": {"type": "text-delta", "index": 0, "text": "x", "more": 1},
    "no text": {"type": "text-delta", "index": 0},
    "text null": {"type": "text-delta", "index": 0, "text": None},
    "text with a name": {"type": "text-delta", "index": 0, "text": "x", "name": "n"},
    "index true": {"type": "text-delta", "index": True, "text": "x"},
    "index negative": {"type": "text-delta", "index": -1, "text": "x"},
    "call without id": {"type": "tool-call-delta", "index": 0, "argumentsDelta": "x"},
    "call with a null name": {
        "type": "tool-call-delta", "index": 0, "id": "c", "name": None, "argumentsDelta": "x"
    },
    "type a list": {"type": ["text-delta"], "index": 0, "text": "x"},
}  # fmt: skip


@pytest.mark.parametrize("chunk", UNPACKED.values(), ids=UNPACKED.keys())
def test_other_chunks_are_never_packed(chunk: dict[str, Any]) -> None:
    """core 15.2: starts, ends, usage, finishes and deltas not exactly of the form stay rows."""
    row = {"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": chunk}}
    rows = [copy.deepcopy(row) for _ in range(4)]
    assert list(pack_rows(rows)) == rows


@pytest.mark.parametrize(
    "row",
    [
        delta(seq=0, ignorable=True),
        delta(seq=0, sourceEventSeqs=[]),
        {**delta(), "seq": 0},
        {**delta(), "time": 0},
        {**delta(seq=0), "seq": True},
        {**delta(seq=0), "time": -1},
        {**delta(), "data": None},
        {**delta(), "data": {"turn": 1, "step": 1}},
        {**delta(), "data": {**delta()["data"], "more": 1}},
        {**delta(), "data": {**delta()["data"], "chunk": []}},
        delta(turn=0),
        delta(step=True),
    ],
)
def test_other_rows_are_never_packed(row: dict[str, Any]) -> None:
    """core 15.2: a row with any further field, or out of shape, is written as it is."""
    rows = [copy.deepcopy(row) for _ in range(4)]
    assert list(pack_rows(rows)) == rows


@pytest.mark.parametrize("key", ["seq", "time"])
@pytest.mark.parametrize("value", [True, -1, 1.0, SAFE_INTEGER + 1, None])
def test_numbers_that_a_packed_row_cannot_keep(key: str, value: Any) -> None:
    """core 15.2: a row whose number or time is no safe integer is written as it is."""
    start = value if key == "seq" and type(value) in (int, float) else 0
    rows = [delta(seq=start + place) for place in range(4)]
    rows[0][key] = value
    written = list(pack_rows(rows))
    assert written[0] == rows[0]
    assert list(expand_rows(written)) == rows


def test_packing_changes_no_row_it_is_given() -> None:
    """core 15.2: both directions leave their input as it was."""
    rows = [delta(text, seq) for seq, text in enumerate("abcd")]
    before = copy.deepcopy(rows)
    (row,) = pack_rows(rows)
    kept = copy.deepcopy(row)
    assert list(expand_rows([row])) == before
    assert (rows, row) == (before, kept)


def test_rows_are_taken_one_by_one() -> None:
    """core 15.2: a stream of rows is packed as it comes, without reading it to its end."""

    def endless() -> Any:
        yield from (delta(seq=seq) for seq in range(3))
        yield delta(seq=9)
        raise AssertionError("read too far")

    assert next(pack_rows(endless()))["type"] == "text-chunks"


def test_a_session_packs_and_expands(kit: SimpleNamespace) -> None:
    """core #286: the rows of a live session, packed and expanded, are the rows they were."""

    class Clock:
        now = 1000

        def time_ms(self) -> int:
            self.now += 3
            return self.now

    session = Session(SessionHeader("s", 1), clock=Clock())
    session.append(TurnStart(1))
    session.append(StepStart(1, 1))
    for event in kit.build().start().say("hello").events:
        if event.type == "assistant/chunk":
            for _ in range(4):
                session.append(event.data)
    rows = session.to_json()
    written = list(pack_rows(rows))
    assert len(written) < len(rows)
    assert list(expand_rows(written)) == rows


TEXTS = st.sampled_from(["", "a", "é", "\u2028"])
CHUNKS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text-delta", "reasoning-delta"]), "text": TEXTS},
        optional={"index": st.integers(0, 1)},
    ).map(lambda chunk: {"index": 0, **chunk}),
    st.fixed_dictionaries(
        {"type": st.just("tool-call-delta"), "index": st.integers(0, 1), "id": TEXTS,
         "argumentsDelta": TEXTS},
        optional={"name": TEXTS},
    ),
    st.just(UNPACKED["finish"]),
)  # fmt: skip


@given(
    st.lists(
        st.tuples(CHUNKS, st.integers(1, 2), st.integers(0, 9), st.integers(1, 5)), max_size=9
    ),
    st.integers(1, 4),
    st.booleans(),
)
def test_packing_loses_nothing(
    parts: list[tuple[dict[str, Any], int, int, int]], start: int, strict: bool
) -> None:
    """core #286: whatever the rows, packed and expanded again they are the same, in order."""
    rows: list[dict[str, Any]] = []
    for chunk, turn, time, times in parts:
        for _ in range(times):
            place = {"seq": start + len(rows), "time": time} if strict else {}
            data = {"turn": turn, "step": 1, "chunk": chunk}
            rows.append({"type": "assistant/chunk", **place, "data": data})
    written = list(pack_rows(rows))
    assert list(expand_rows(written)) == rows
    assert list(pack_rows(written)) == written
    assert not any(
        len(row["data"]["dt"]) < 2 for row in written if row["type"] != "assistant/chunk"
    )


def test_a_long_run_becomes_several_rows() -> None:
    """core 5.8: a row that is written has at most 1,024 members; what is left of a run goes on."""
    rows = [delta("x", seq) for seq in range(2 * LONGEST_RUN + 2)]
    made = list(pack_rows(rows))
    sizes = [len(row["data"].get("texts", "x")) for row in made]
    assert sizes == [LONGEST_RUN, LONGEST_RUN, 1, 1]
    assert list(expand_rows(made)) == rows


@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_large_run_becomes_several_rows(letter: str) -> None:
    """core 5.8: the texts of a row that is written come to 1 MiB of UTF-8 at most."""
    text = letter * (LARGEST_ROW // 8 // len(letter.encode()))
    rows = [delta(text, seq) for seq in range(16)]
    made = list(pack_rows(rows))
    assert [len(row["data"]["texts"]) for row in made] == [8, 8]
    assert list(expand_rows(made)) == rows


def test_a_delta_that_is_too_large_stands_alone() -> None:
    """core 5.8: a delta larger than a row may be is written as it is, the others are packed."""
    texts = ["x", "y", "z", "x" * (LARGEST_ROW + 1), "x", "y", "z"]
    rows = [delta(text, seq) for seq, text in enumerate(texts)]
    assert [row["type"] for row in pack_rows(rows)] == [
        "text-chunks",
        "assistant/chunk",
        "text-chunks",
    ]
