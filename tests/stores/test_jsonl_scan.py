"""What is read from the file of a log, and what of a damaged one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.stores.jsonl_scan import Scan, scan
from broodline.messages.errors import SessionCorruptError, SessionFormatUnsupportedError

PATH = "/store/--w--/s/session.jsonl"
HEADER: dict[str, Any] = {
    "type": "session",
    "version": 0,
    "id": "s",
    "createdAt": 1,
    "cwd": "/w",
    "delegationDepth": 0,
}
COMPLETED = {"turn": 1, "reason": {"kind": "completed"}}


def event(seq: int, name: str = "session/title", **data: Any) -> dict[str, Any]:
    return {"type": name, "seq": seq, "time": 7, "data": data}


def start(seq: int) -> dict[str, Any]:
    return event(seq, "turn/start", turn=1)


def end(seq: int) -> dict[str, Any]:
    return event(seq, "turn/end", **COMPLETED)


def packed(seq: int, **changes: Any) -> dict[str, Any]:
    data = {"turn": 1, "step": 1, "index": 0, "dt": [1, 2], "texts": ["a", "b", "c"]}
    return {"type": "text-chunks", "seq0": seq, "time0": 9, "data": data | changes}


def file(*rows: dict[str, Any] | bytes, header: Any = HEADER) -> bytes:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in (header, *rows)]
    return b"".join(line + b"\n" for line in lines)


def read(data: bytes) -> Scan:
    return scan(PATH, "s", data)


def refused(data: bytes) -> SessionCorruptError:
    with pytest.raises(SessionCorruptError) as caught:
        read(data)
    assert PATH in caught.value.message
    assert caught.value.details["place"] == PATH
    return caught.value


def test_whole_log() -> None:
    """core 5.5: a log of whole lines is read whole, and nothing is cut."""
    data = file(start(0), event(1), end(2))
    found = read(data)
    assert [each.type for each in found.events] == ["turn/start", "session/title", "turn/end"]
    assert (found.header.id, found.good, found.cut, found.projected) == (
        "s",
        len(data),
        None,
        False,
    )


def test_packed_rows_are_read() -> None:
    """core 15.2: a packed row is read as its members."""
    found = read(file(start(0), packed(1), end(4)))
    assert [(each.seq, each.time) for each in found.events] == [
        (0, 7),
        (1, 9),
        (2, 10),
        (3, 12),
        (4, 7),
    ]


@pytest.mark.parametrize("tail", [b'{"type":"turn/e', json.dumps(end(1)).encode(), b"\0" * 9])
def test_line_without_end_is_cut(tail: bytes) -> None:
    """core #88: a final line without newline is left out and told, whatever stands on it."""
    data = file(start(0))
    found = read(data + tail)
    assert [each.seq for each in found.events] == [0]
    assert found.good == len(data)
    assert found.cut is not None
    assert "line 3 is cut off" in found.cut


BAD: dict[str, Callable[[int], bytes]] = {
    "no JSON": lambda seq: b'{"type":"turn/start","seq":',
    "zeros": lambda seq: b"\0\0\0\0",
    "no UTF-8": lambda seq: json.dumps(event(seq)).encode().replace(b"title", b"tit\xff"),
    "no object": lambda seq: b"[]",
    "gap": lambda seq: json.dumps(event(seq + 1)).encode(),
    "again": lambda seq: json.dumps(event(seq - 1)).encode(),
    "no time": lambda seq: json.dumps({"type": "turn/start", "seq": seq, "data": {}}).encode(),
    "no number": lambda seq: json.dumps({"type": "session/title", "data": {}}).encode(),
    "odd data": lambda seq: json.dumps(event(seq, "turn/start", turn="x")).encode(),
    "extra key": lambda seq: json.dumps({**event(seq), "extra": 1}).encode(),
    "wrong dt": lambda seq: json.dumps(packed(seq, dt=[1])).encode(),
    "no member": lambda seq: json.dumps(packed(seq, texts=["a", 1, "c"])).encode(),
    "odd key": lambda seq: json.dumps(packed(seq, more=1)).encode(),
    "packed gap": lambda seq: json.dumps(packed(seq + 1)).encode(),
    "header": lambda seq: json.dumps(HEADER).encode(),
    "NaN": lambda seq: json.dumps(event(seq, x=float("nan"))).encode(),
}

bad = pytest.mark.parametrize("fault", BAD.values(), ids=BAD)


@bad
def test_bad_end_is_cut(fault: Callable[[int], bytes]) -> None:
    """core 5.5: from a damaged line on the log is left out and told, if no turn ends behind it."""
    good = file(start(0), event(1))
    data = good + fault(2) + b"\n" + json.dumps(event(3)).encode() + b"\n" + b"{"
    found = read(data)
    assert [each.seq for each in found.events] == [0, 1]
    assert found.good == len(good)
    assert found.cut is not None
    assert f"from line 4 on, {len(data) - len(good)} bytes: " in found.cut


@bad
def test_damage_before_the_end_of_a_turn(fault: Callable[[int], bytes]) -> None:
    """core 5.5: a damaged line with the end of a turn behind it is damage, named with its line."""
    error = refused(file(start(0), event(1), fault(2), event(3), end(4)))
    assert error.details == {"place": PATH, "session": "s", "line": 4}
    assert f"{PATH}:4: " in error.message
    assert "line 6 ends a turn" in error.message


def test_missing_line_before_the_end_of_a_turn() -> None:
    """core 5.5: the first line behind a gap counts too: what it ends had been committed."""
    assert refused(file(start(0), end(2))).details["line"] == 3


def test_end_of_a_turn_that_was_not_finished() -> None:
    """core 5.5: the end of a turn on a line without newline was not committed."""
    found = read(file(start(0), b"{") + json.dumps(end(2)).encode())
    assert len(found.events) == 1
    assert found.cut is not None


def test_several_turns_before_the_damage() -> None:
    """core 5.5: ends of turns before the damaged line say nothing about it."""
    found = read(file(start(0), end(1), b"{"))
    assert len(found.events) == 2
    assert found.cut is not None


@given(st.data())
def test_every_end_of_the_file(data: st.DataObject) -> None:
    """core 5.5: a file that ends anywhere gives its whole lines and tells of the rest."""
    whole = file(start(0), event(1), end(2), event(3, text="é\u2028"))
    first = whole.index(b"\n") + 1
    size = data.draw(st.integers(first, len(whole)))
    found = read(whole[:size])
    assert len(found.events) == whole[:size].count(b"\n") - 1
    assert (found.cut is None) is (found.good == size)


def test_empty_file() -> None:
    """core 5.5: a file without a byte is refused, with its place: no store leaves one."""
    assert "is empty" in refused(b"").message


def test_torn_header() -> None:
    """core 5.5: a header without newline is refused: a log is published with its first events."""
    assert "first line" in refused(json.dumps(HEADER).encode()).message


def test_header_only() -> None:
    """core 5.5: a header alone is a log without events."""
    found = read(file())
    assert (found.events, found.cut, found.projected) == ([], None, False)


@pytest.mark.parametrize(
    "line",
    [b"[]", b"{", b"\xff", b"\0\0", b"", json.dumps(start(0)).encode(), b'{"type":"session"}'],
)
def test_no_header(line: bytes) -> None:
    """core 5.5: a first line that is no header is refused, never cut."""
    assert refused(file(start(0), header=line)).details["line"] == 1


def test_header_needs_its_depth() -> None:
    """core #96: a header without delegationDepth is rejected."""
    header = {key: value for key, value in HEADER.items() if key != "delegationDepth"}
    assert "delegationDepth" in refused(file(start(0), header=header)).message


@pytest.mark.parametrize("change", [{"createdAt": -1}, {"cwd": "w"}, {"extra": 1}, {"id": ""}])
def test_odd_header(change: dict[str, Any]) -> None:
    """core 1.1: a header with a field that does not fit is refused."""
    assert refused(file(start(0), header=HEADER | change)).details["line"] == 1


@pytest.mark.parametrize(("version", "age"), [(1, "newer"), (-1, "older")])
@pytest.mark.parametrize("rows", [(), (b"{",), (end(0), end(0))])
def test_other_version(version: int, age: str, rows: Sequence[Any]) -> None:
    """core 5.7: another version is unsupported, newer or older, before anything else is read."""
    with pytest.raises(SessionFormatUnsupportedError, match=age) as caught:
        read(file(*rows, header={"type": "log", "version": version, "name": "x"}))
    assert caught.value.details["place"] == PATH
    assert caught.value.details["version"] == version


def test_unknown_event() -> None:
    """core #94: an unknown event without ignorable is unsupported, with its type and the file."""
    with pytest.raises(SessionFormatUnsupportedError) as caught:
        read(file(start(0), event(1, "new/kind"), b"{"))
    assert "new/kind" in caught.value.message
    assert f"{PATH}:3" in caught.value.message
    assert caught.value.details["type"] == "new/kind"


def test_unknown_event_that_may_be_passed_over() -> None:
    """core 1.2: an unknown event with ignorable is kept."""
    found = read(file({**event(0, "new/kind"), "ignorable": True}))
    assert [each.type for each in found.events] == ["new/kind"]


def test_what_an_editor_leaves() -> None:
    """core 5.5: a byte order mark, carriage returns and blank lines hide nothing."""
    rows = (start(0), b"", event(1), b"  ")
    data = b"\xef\xbb\xbf" + file(*rows).replace(b"\n", b"\r\n")
    found = read(data)
    assert (len(found.events), found.cut, found.good) == (2, None, len(data))


def test_lines_are_counted_with_blank_ones() -> None:
    """core 5.5: the line that is named is that of the file."""
    data = file(b"", start(0), b"", b"{")
    found = read(data)
    assert found.cut is not None
    assert found.cut.startswith("from line 5 on, 2 bytes")
    assert found.good == len(data) - 2


def test_other_line_ends_of_unicode() -> None:
    """core 5.5: only a newline ends a line; the other line ends of Unicode may stand in texts."""
    row = json.dumps(event(0, text="a\u2028b\x85\x0c"), ensure_ascii=False).encode()
    assert len(read(file(row)).events) == 1


PROJECTED = {"type": "session", "version": 0, "id": "s", "createdAt": 1, "cwd": "{{cwd}}"}


def bare(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in ("seq", "time", "seq0", "time0")}


def test_recording() -> None:
    """core 15.3: a log without numbers and times is a recording, told by its first event."""
    found = read(file(bare(start(0)), bare(packed(1)), bare(end(4)), header=PROJECTED))
    assert found.projected
    assert found.header.cwd == "{{cwd}}"
    assert [(each.seq, each.time) for each in found.events] == [(seq, 0) for seq in range(5)]


def test_recording_with_a_bad_end() -> None:
    """core 5.5: the end of a recording is cut as any other."""
    found = read(file(bare(start(0)), b"{", header=PROJECTED) + b"x")
    assert len(found.events) == 1
    assert found.cut is not None


@pytest.mark.parametrize("rows", [(), (b"{",)])
def test_recording_without_events(rows: Sequence[Any]) -> None:
    """core 15.3: without an event to tell, a placeholder for the cwd makes a recording."""
    assert read(file(*rows, header=PROJECTED)).projected
    assert not read(file(*rows)).projected


def test_first_event_that_begins_oddly() -> None:
    """core 15.1: the order of keys is cosmetic; a seq within the data is not the event's."""
    row = {"data": {}, "time": 1, "seq": 0, "type": "session/title"}
    assert not read(file(row)).projected
    row = {"type": "session/title", "data": {"x": 1, "seq": 5}}
    assert read(file(row, header=PROJECTED)).projected


_SHARED = Path(__file__).resolve().parents[3] / "shared" / "recordings"
RECORDINGS = sorted(_SHARED.glob("*/*/session*.jsonl"))


@pytest.mark.skipif(not RECORDINGS, reason="the recordings are not here")
def test_all_recordings() -> None:
    """core #282: every recorded file is read as a recording, and nothing of it is cut."""
    for path in RECORDINGS:
        data = path.read_bytes()
        found = scan(str(path), path.stem, data)
        assert found.projected or not found.events
        assert (found.cut, found.good) == (None, len(data)), path
