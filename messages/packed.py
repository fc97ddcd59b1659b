"""Packed rows: a run of neighbouring deltas of one block as one row of a log file.

A row is a decoded JSON object: ``{"type", "seq", "time", "data"}`` as a store
writes it (strict), or without ``seq`` and ``time`` (projected). Both directions
take one pass, change no row they are given, and keep every value: what
`pack_rows` makes, `expand_rows` makes undone. Source: spec core 15.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, TypeAlias, cast

from .errors import SessionCorruptError
from .lossless import SAFE_INTEGER
from .plain import quoted

Row: TypeAlias = dict[str, Any]

SHORTEST_RUN = 3
"""Deltas that are worth a packed row; fewer are written one by one."""

LONGEST_RUN = 1024
"""Members of a row that is written; one that is read may have more."""

LARGEST_ROW = 1 << 20
"""Bytes of UTF-8 that the texts of a row that is written come to."""


@dataclass(frozen=True, slots=True, eq=False)
class _Kind:
    """One kind of packed row: its type, that of its members, and where their texts stand."""

    row: str
    delta: str
    members: str
    member: str
    marks: frozenset[str] = frozenset()

    @property
    def keys(self) -> frozenset[str]:
        return frozenset({"turn", "step", "index", "dt", self.members}) | self.marks


_KINDS = (
    _Kind("text-chunks", "text-delta", "texts", "text"),
    _Kind("reasoning-chunks", "reasoning-delta", "texts", "text"),
    _Kind("tool-call-chunks", "tool-call-delta", "args", "argumentsDelta", frozenset({"id"})),
)
_OF_ROW: Mapping[object, _Kind] = {kind.row: kind for kind in _KINDS}
_OF_DELTA: Mapping[object, _Kind] = {kind.delta: kind for kind in _KINDS}

PACKED_TYPES: frozenset[str] = frozenset(kind.row for kind in _KINDS)
"""The types of packed rows; none of them is the type of an event."""

_PROJECTED = frozenset({"type", "data"})
_STRICT = frozenset({"type", "seq", "time", "data"})
_PACKED_STRICT = frozenset({"type", "seq0", "time0", "data"})
_EVENT = frozenset({"turn", "step", "chunk"})


def expand_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows that `rows` stand for, in order; what is not packed comes through as it is.

    Args:
        rows: Header, events and packed rows, strict or projected.

    Raises:
        SessionCorruptError: At the first malformed packed row.
    """
    for row in rows:
        yield from expand_row(row)


def expand_row(row: Any) -> Sequence[Row]:
    """The rows that one row stands for: its members, or the row itself.

    Member k of a strict row has ``seq0 + k`` and ``time0 + sum(dt[:k])``; the members
    of a projected one have neither.

    Raises:
        SessionCorruptError: If it is of a packed type and malformed, saying in what.
    """
    given: object = row
    name = row.get("type") if isinstance(given, dict) else None
    kind = _OF_ROW.get(name) if type(name) is str else None
    if kind is None:
        return (row,)
    fault = _row_fault(kind, row)
    if fault is not None:
        raise SessionCorruptError(
            f"packed row {kind.row} is malformed: {fault}", details={"type": kind.row}
        )
    events = _events(kind, row["data"])
    if "seq0" not in row:
        return [{"type": "assistant/chunk", "data": data} for data in events]
    times = accumulate(row["data"]["dt"], initial=row["time0"])
    return [
        {"type": "assistant/chunk", "seq": seq, "time": time, "data": data}
        for seq, (time, data) in enumerate(zip(times, events, strict=True), row["seq0"])
    ]


def _events(kind: _Kind, data: Row) -> list[Row]:
    turn, step = data["turn"], data["step"]
    head = {"type": kind.delta, "index": data["index"]}
    head |= {key: data[key] for key in ("id", "name") if key in data}
    return [
        {"turn": turn, "step": step, "chunk": {**head, kind.member: text}}
        for text in data[kind.members]
    ]


def _row_fault(kind: _Kind, row: Row) -> str | None:
    """What is wrong with a packed row, or None."""
    keys = row.keys()
    if keys != _PROJECTED and keys != _PACKED_STRICT:
        return (
            f"it has the keys {_listed(row)}; beside type and data it has seq0 and time0, or none"
        )
    data: object = row["data"]
    if not isinstance(data, dict):
        return f"data is {quoted(data)}, not an object"
    fault = _data_fault(kind, cast(Row, data))
    return fault if fault is not None or keys == _PROJECTED else _place_fault(kind, row)


def _data_fault(kind: _Kind, data: Row) -> str | None:
    allowed = kind.keys | {"name"} if kind.marks else kind.keys
    if not kind.keys <= data.keys() <= allowed:
        return f"data has the keys {_listed(data)}, not {', '.join(sorted(kind.keys))}"
    for key, least in (("turn", 1), ("step", 1), ("index", 0)):
        if not _is_safe(data[key], least):
            return f"{key} is {quoted(data[key])}, not a whole number from {least}"
    for key in ("id", "name"):
        if key in data and type(data[key]) is not str:
            return f"{key} is {quoted(data[key])}, not text"
    return _list_fault(kind, data["dt"], data[kind.members])


def _list_fault(kind: _Kind, dt: object, texts: object) -> str | None:
    members = cast("list[object]", texts) if isinstance(texts, list) else None
    if not members:
        return f"{kind.members} is not a list with members"
    if not all(type(text) is str for text in members):
        return f"{kind.members} has a member that is not text"
    gaps = cast("list[object]", dt) if isinstance(dt, list) else None
    if gaps is None or len(gaps) != len(members) - 1:
        return f"dt is not a list with one gap less than {kind.members} has members"
    if not all(_is_safe(gap, -SAFE_INTEGER) for gap in gaps):
        return "dt has a gap that is not a whole number"
    return None


def _place_fault(kind: _Kind, row: Row) -> str | None:
    """What is wrong with the numbers and times that the members would have, or None."""
    seq, time = row["seq0"], row["time0"]
    gaps: list[int] = row["data"]["dt"]
    if not _is_safe(seq, 0) or seq + len(gaps) > SAFE_INTEGER:
        return f"seq0 is {quoted(seq)}: its members have no numbers from 0 to 2**53-1"
    if not _is_safe(time, 0):
        return f"time0 is {quoted(time)}, not a whole number from 0"
    times = list(accumulate(gaps, initial=time))
    if min(times) < 0 or max(times) > SAFE_INTEGER:
        return "dt leads to a time outside 0 to 2**53-1"
    return None


def _is_safe(value: object, least: int) -> bool:
    return type(value) is int and least <= value <= SAFE_INTEGER


def _listed(data: Row) -> str:
    return ", ".join(sorted(quoted(key) for key in data)) or "(none)"


def pack_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """The same log with every run of three or more like deltas as one packed row.

    A run ends at a gap in ``seq``, at another turn, step, block, kind, id or name, and
    at whatever is no plain delta: a start or end of a block, usage, a finish, a row with
    any further field, a row that is not of its shape. Rows come through as they are. A
    run that is longer than `LONGEST_RUN` or larger than `LARGEST_ROW` becomes several.

    Args:
        rows: Header and events, strict or projected; packed rows stay as they are.
    """
    run: list[Row] = []
    size = 0
    known: _Likeness | None = None
    for row in rows:
        likeness = _likeness(row)
        added = 0 if likeness is None else _size(likeness[0], row)
        full = len(run) >= LONGEST_RUN or size + added > LARGEST_ROW
        if run and (full or likeness != known or not _follows(run[-1], row)):
            yield from _packed(run, known)
            run, size = [], 0
        known = likeness
        if likeness is None:
            yield row
        else:
            run.append(row)
            size += added
    yield from _packed(run, known)


def _size(kind: _Kind, row: Row) -> int:
    """Bytes of the text of a delta."""
    text: str = row["data"]["chunk"][kind.member]
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


_Likeness: TypeAlias = tuple[_Kind, bool, int, int, int, str | None, str | None]
"""What members of one row share: kind, whether strict, turn, step, index, id, name."""


def _likeness(row: Any) -> _Likeness | None:
    """What a row shares with the others of its run; None if it may not be packed."""
    given: object = row
    if not isinstance(given, dict) or row.get("type") != "assistant/chunk":
        return None
    strict = row.keys() == _STRICT
    if not strict and row.keys() != _PROJECTED:
        return None
    if strict and not (_is_safe(row["seq"], 0) and _is_safe(row["time"], 0)):
        return None
    data: object = row["data"]
    if not isinstance(data, dict) or cast(Row, data).keys() != _EVENT:
        return None
    return _shared(cast(Row, data), strict)


def _shared(data: Row, strict: bool) -> _Likeness | None:
    turn, step, chunk = data["turn"], data["step"], data["chunk"]
    if not (_is_safe(turn, 1) and _is_safe(step, 1) and isinstance(chunk, dict)):
        return None
    delta = cast(Row, chunk)
    name = delta.get("type")
    kind = _OF_DELTA.get(name) if type(name) is str else None
    if kind is None or not _is_plain(kind, delta):
        return None
    return kind, strict, turn, step, delta["index"], delta.get("id"), delta.get("name")


def _is_plain(kind: _Kind, delta: Row) -> bool:
    """Whether a delta has exactly the fields that a packed row keeps."""
    needed = {"type", "index", kind.member} | kind.marks
    allowed = needed | {"name"} if kind.marks else needed
    if not needed <= delta.keys() <= allowed or not _is_safe(delta["index"], 0):
        return False
    texts = delta.keys() - {"type", "index"}
    return all(type(delta[key]) is str for key in texts)


def _follows(row: Row, following: Row) -> bool:
    return "seq" not in row or bool(following["seq"] == row["seq"] + 1)


def _packed(run: list[Row], likeness: _Likeness | None) -> Sequence[Row]:
    """A run as it is written: one row, or its own where it is too short."""
    if likeness is None or len(run) < SHORTEST_RUN:
        return run
    kind, strict, turn, step, index, call_id, name = likeness
    times = [row["time"] for row in run] if strict else [0] * len(run)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    data: Row = {"turn": turn, "step": step, "index": index, "dt": gaps}
    data |= {key: value for key, value in (("id", call_id), ("name", name)) if value is not None}
    data[kind.members] = [row["data"]["chunk"][kind.member] for row in run]
    if strict:
        return [{"type": kind.row, "seq0": run[0]["seq"], "time0": times[0], "data": data}]
    return [{"type": kind.row, "data": data}]
