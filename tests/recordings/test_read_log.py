"""Reading a log from a file: both forms, every kind of damage, and where it is."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.recording import RecordedLog, read_log, read_recording
from broodline.actors.session import Session
from broodline.messages.codec import encode_event
from broodline.messages.content import Text
from broodline.messages.errors import (
    ConfigurationError,
    SessionCorruptError,
    SessionError,
    SessionFormatUnsupportedError,
)
from broodline.messages.event import Replace
from broodline.messages.header import SessionHeader
from broodline.messages.message import UserMessage
from broodline.messages.payload import (
    ChunkReceived,
    HeaderLogged,
    OpaquePayload,
    TurnStart,
    UnrecordedTools,
    UserMessageLogged,
)

HEADER: dict[str, Any] = {"type": "session", "version": 0, "id": "s", "createdAt": 0}
STRICT: dict[str, Any] = {**HEADER, "delegationDepth": 0}
TURN: dict[str, Any] = {"type": "turn/start", "data": {"turn": 1}}
STEP: dict[str, Any] = {"type": "step/start", "data": {"turn": 1, "step": 1}}
PACKED: dict[str, Any] = {
    "type": "text-chunks",
    "data": {"turn": 1, "step": 1, "index": 0, "dt": [3, 3], "texts": ["a", "b", "c"]},
}


def numbered(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**row, "seq": seq, "time": 9} for seq, row in enumerate(rows)]


def read(*rows: Any, form: Any = "auto") -> RecordedLog:
    return read_log([json.dumps(row) for row in rows], form=form)


def refused(content: str | bytes, kit: SimpleNamespace, form: Any = "auto") -> SessionError:
    """The error that a file with this content is refused with, its place checked."""
    path = kit.written(content)
    with pytest.raises(SessionError) as caught:
        read_log(path, form=form)
    error = caught.value
    place = f"{path}:{error.details['line']}: "
    assert error.message.startswith(place)
    assert error.details["log"] == str(path)
    error.args = (error.message.removeprefix(place),)
    return error


def test_projected_events_are_numbered_by_position() -> None:
    """core 15.3: in a projected log an event's place is its number and its time is 0."""
    log = read(HEADER, TURN, STEP, PACKED, {"type": "step/end", "data": {"turn": 1, "step": 1}})
    assert log.projected
    assert [(event.seq, event.time) for event in log.events] == [(n, 0) for n in range(6)]
    assert [type(event.data) is ChunkReceived for event in log.events] == [False] * 2 + [
        True
    ] * 3 + [False]


def test_strict_events_keep_their_numbers_and_times() -> None:
    """core 15.1: a strict log is read with its own numbers and times, packed ones too."""
    packed = {**PACKED, "seq0": 2, "time0": 20}
    log = read(STRICT, *numbered(TURN, STEP), packed, {**TURN, "seq": 5, "time": 1})
    assert not log.projected
    assert [event.time for event in log.events] == [9, 9, 20, 23, 26, 1]
    assert [event.seq for event in log.events] == list(range(6))


def test_a_log_has_a_name(kit: SimpleNamespace) -> None:
    """core 15: a log from a file is called by its path, one from lines by its session."""
    path = kit.written(kit.lines(HEADER, TURN))
    assert read_log(path).name == read_log(str(path)).name == str(path)
    assert read(HEADER).name == "s"


def test_what_is_read_already_is_taken_as_it_is() -> None:
    """core 15: a log that was read is a log."""
    log = read(HEADER, TURN)
    assert read_log(log) is log


class StoppedClock:
    def time_ms(self) -> int:
        return 3


def session() -> Session:
    made = Session(SessionHeader("live", 1), clock=StoppedClock())
    made.append(UserMessageLogged(UserMessage("u", (Text("é\u2028"),))), surface="append")
    made.append_json("weather/report", {"rain": [1, {"x": None}]}, ignorable=True)
    made.append(
        UserMessageLogged(UserMessage("v", (Text("short"),))), surface=Replace(0, 0), sources=(0,)
    )
    return made


def test_a_live_session_is_a_log() -> None:
    """core 15.1: a live session, and what its to_json gives, are the same strict log."""
    made = session()
    log = read_log(made)
    assert log == RecordedLog("live", made.header, made.events, projected=False)
    made.append(TurnStart(1))
    assert len(log.events) == 3
    again = read_log(made.to_json())
    assert (again.name, again.events, again.projected) == ("live", made.events, False)
    assert read_log(json.dumps(row) + "\n" for row in made.to_json()).events == made.events
    assert read_log(made.to_json(), form="strict").header.delegation_depth == 0


def test_placeholders() -> None:
    """core 15.3: cwd, id and system stay as they stand; tools that nobody recorded are none."""
    header = {**HEADER, "id": "{{sessionId}}", "cwd": "{{cwd}}"}
    envelope = {"config": {"provider": "p", "model": "m"}, "system": "{{system}}"}
    row = {"type": "request/header", "data": {"header": envelope, "reason": "initial"}}
    placed = json.loads(json.dumps(row))
    placed["data"]["header"]["tools"] = "{{tools}}"
    log = read(header, placed)
    assert (log.header.id, log.header.cwd, log.header.created_at) == ("{{sessionId}}", "{{cwd}}", 0)
    data = log.events[0].data
    assert isinstance(data, HeaderLogged)
    assert (data.header.system, data.header.tools) == ("{{system}}", ())
    assert isinstance(data.header.tools, UnrecordedTools)
    assert encode_event(log.events[0])["data"] == placed["data"]
    without = read(header, row).events[0].data
    assert isinstance(without, HeaderLogged)
    assert without.header.tools is None


@pytest.mark.parametrize("tools", ["{{tool}}", ["{{tools}}"], "", 5])
def test_other_words_are_no_tools(tools: object) -> None:
    """core 15.3: only the placeholder stands for tools; in a strict log not even that."""
    envelope = {"config": {"provider": "p", "model": "m"}, "tools": tools}
    row = {"type": "request/header", "data": {"header": envelope, "reason": "initial"}}
    with pytest.raises(SessionCorruptError, match="tools"):
        read(HEADER, row)
    envelope["tools"] = "{{tools}}"
    with pytest.raises(SessionCorruptError, match="tools"):
        read(STRICT, *numbered(row), form="strict")


@pytest.mark.parametrize("cwd", ["{{cwd}}", "work/here", "C:"])
def test_a_relative_cwd_is_projected_only(cwd: str) -> None:
    """core 15.3: the absolute path is asked for in the strict form only, told or found out."""
    header = {**STRICT, "cwd": cwd}
    assert read(header, TURN).header.cwd == cwd
    for form in ("auto", "strict"):
        with pytest.raises(SessionCorruptError, match=r":1: cwd must be an absolute path.*form="):
            read(header, *numbered(TURN), form=form)


@pytest.mark.parametrize("cwd", ["", None, 5, "\ud800"])
def test_a_cwd_is_text(cwd: Any) -> None:
    """core 1.1: what is no text is no working directory in either form."""
    with pytest.raises(SessionCorruptError, match=r":1: .*cwd"):
        read({**HEADER, "cwd": cwd}, TURN)


def test_an_absolute_cwd_is_strict() -> None:
    """core 15.1: a strict header has an absolute path, or none."""
    for header in ({**STRICT, "cwd": "/srv"}, STRICT):
        assert read(header, *numbered(TURN), form="strict").header.cwd == header.get("cwd")


def test_tools_placeholder_is_projected_only() -> None:
    """core 15.3: in a strict log the tools of a request are a list."""
    envelope = {"config": {"provider": "p", "model": "m"}, "tools": "{{tools}}"}
    row = {"type": "request/header", "data": {"header": envelope, "reason": "initial"}}
    with pytest.raises(SessionCorruptError, match="tools"):
        read(STRICT, *numbered(row))


def test_strict_asks_for_the_depth() -> None:
    """core 5.5: delegationDepth is required in a strict header and not in a projected one."""
    assert read(HEADER, TURN).header.delegation_depth is None
    with pytest.raises(SessionCorruptError, match=r"log:1: .*delegationDepth"):
        read(HEADER, *numbered(TURN))


def test_a_header_alone() -> None:
    """core 15.3: a header without events is a projected log; a store writes none."""
    log = read(HEADER)
    assert (log.events, log.projected, log.is_script) == ((), True, False)
    assert read(HEADER, form="projected") == log
    with pytest.raises(SessionCorruptError, match=r"log:1: a header without events.*projected"):
        read(STRICT, form="strict")


@pytest.mark.parametrize(
    ("form", "rows"),
    [
        ("strict", [TURN]),
        ("strict", [PACKED]),
        ("projected", numbered(TURN)),
        ("projected", [{**PACKED, "seq0": 0, "time0": 0}]),
        ("projected", [{**TURN, "seq": 0}]),
        ("projected", [{**TURN, "time": 0}]),
    ],
)
def test_the_other_form_is_refused(form: Any, rows: list[Any]) -> None:
    """core #282: a log of the other form than was asked for is refused, and told which it is."""
    with pytest.raises(SessionCorruptError, match=r"log:2: a row with.*form=") as caught:
        read(STRICT, *rows, form=form)
    assert f'form="{form}"' not in caught.value.message


@pytest.mark.parametrize(
    "rows",
    [
        [*numbered(TURN), STEP],
        [TURN, {**STEP, "seq": 1, "time": 0}],
        [*numbered(TURN, STEP), PACKED],
        [TURN, STEP, {**PACKED, "seq0": 2, "time0": 0}],
    ],
)
def test_two_forms_in_one_file(rows: list[Any]) -> None:
    """core 15.3: numbered and unnumbered events in one log are refused where they meet."""
    with pytest.raises(SessionCorruptError, match="a log has one form") as caught:
        read(STRICT, *rows)
    assert caught.value.details["line"] == 1 + len(rows)


@pytest.mark.parametrize("key", ["seq", "time"])
def test_half_a_number(key: str) -> None:
    """core 1.2: an event with only one of seq and time is of neither form."""
    with pytest.raises(SessionCorruptError, match=r"log:2: .*missing"):
        read(STRICT, {**TURN, key: 0})


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([{**TURN, "seq": 1, "time": 0}], 2),
        ([*numbered(TURN), {**STEP, "seq": 0, "time": 0}], 3),
        ([*numbered(TURN), {**STEP, "seq": 2, "time": 0}], 3),
        ([*numbered(TURN, STEP), {**PACKED, "seq0": 3, "time0": 0}], 4),
        ([*numbered(TURN, STEP), {**PACKED, "seq0": 2, "time0": 0}, {**TURN, "seq": 4, "time": 0}],
         5),
    ],
)  # fmt: skip
def test_gaps(rows: list[Any], line: int) -> None:
    """core I1: a strict log counts from 0 without gaps; the first wrong number is named."""
    with pytest.raises(SessionCorruptError, match=rf"log:{line}: the event has seq \d, but \d"):
        read(STRICT, *rows)


@pytest.mark.parametrize("content", ["", "\n", " \r\n\n", "\ufeff"])
def test_an_empty_file(content: str, kit: SimpleNamespace) -> None:
    """core 15.1: a file without a line is no log."""
    error = refused(content, kit)
    assert isinstance(error, SessionCorruptError)
    assert error.message == "the log is empty; its first line must be a header"
    assert error.details["line"] == 1


def test_what_an_editor_leaves_behind(kit: SimpleNamespace) -> None:
    """core 15.1: a byte order mark, CRLF, blank lines and a missing last line end lose nothing."""
    plain = kit.lines(HEADER, TURN, STEP)
    expected = read_log(kit.written(plain)).events
    for content in (
        "\ufeff" + plain,
        plain.replace("\n", "\r\n"),
        "\n" + plain.replace("\n", "\n \t\n") + "\n\n",
        plain.removesuffix("\n"),
    ):
        assert read_log(kit.written(content)).events == expected


@pytest.mark.parametrize("end", ["\n", ""])
def test_blank_lines_count(end: str, kit: SimpleNamespace) -> None:
    """core 15.1: the number of a line is what an editor shows, blank lines too."""
    assert refused(kit.lines(HEADER) + "\n\n{}" + end, kit).details["line"] == 4
    error = refused("\n\n" + kit.lines(STRICT), kit, form="strict")
    assert error.details["line"] == 3


def test_what_is_found_later_is_told_where_it_is(kit: SimpleNamespace) -> None:
    """core 15.1: a header that only its events show to be wrong is told by its own line, once."""
    error = refused(kit.lines(HEADER, *numbered(TURN, STEP)), kit)
    assert error.details["line"] == 1
    assert error.message.startswith("the header has no delegationDepth")


def test_blank_lines_in_a_list() -> None:
    """core 15.1: blank lines do no harm in a list of lines either."""
    lines = ["", json.dumps(HEADER) + "\r\n", " \n", json.dumps(TURN), ""]
    assert len(read_log(lines).events) == 1


def test_only_line_feeds_end_lines(kit: SimpleNamespace) -> None:
    """core 15.1: the other line ends of Unicode may stand in a text and end no line."""
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"
    source = {"kind": "user"}
    content = [{"type": "text", "text": text}]
    data = {"content": content, "source": source, "role": "user", "id": "u"}
    row = {"type": "user/message", "data": data, "surfaceOp": "append"}
    raw = json.dumps(row, ensure_ascii=False)
    log = read_log(kit.written(kit.lines(HEADER) + raw + "\n"))
    logged = log.events[0].data
    assert isinstance(logged, UserMessageLogged)
    assert logged.message.content == (Text(text),)


@pytest.mark.parametrize("place", [0, 1])
def test_not_utf_8(place: int, kit: SimpleNamespace) -> None:
    """core 5.5: a log is UTF-8; the first byte that is not is named by its line."""
    lines = [json.dumps(HEADER).encode(), json.dumps(TURN).encode()]
    lines[place] = lines[place][:-1] + b"\xff}"
    error = refused(b"\n".join(lines) + b"\n", kit)
    assert error.details["line"] == place + 1
    assert f"byte {len(lines[place]) - 1} of the line is not UTF-8" in error.message


def test_utf_16_is_not_utf_8(kit: SimpleNamespace) -> None:
    """core 5.5: a file in another encoding is refused at its first byte."""
    error = refused(kit.lines(HEADER).encode("utf-16"), kit)
    assert error.message.startswith("byte 1 of the line is not UTF-8")


@pytest.mark.parametrize("keep", [1, 10, -2])
def test_a_last_line_that_is_cut_off(keep: int, kit: SimpleNamespace) -> None:
    """core 5.5: a torn last line is told as such, with its number and what to do."""
    error = refused(kit.lines(HEADER, TURN) + kit.lines(STEP)[:keep], kit)
    assert error.details["line"] == 3
    assert error.message.startswith("the last line is cut off")
    assert "take it away" in error.message


def test_a_cut_inside_a_character(kit: SimpleNamespace) -> None:
    """core 5.5: a tail torn inside a character is a torn line, too."""
    tail = '{"type": "é'.encode()[:-1]
    error = refused(kit.lines(HEADER).encode() + tail, kit)
    assert error.message.startswith("the last line is cut off")


def test_a_torn_line_is_told_in_one_go(kit: SimpleNamespace) -> None:
    """DESIGN 8: a torn line is told with its place once, and with what to do at the end."""
    error = refused(kit.lines(HEADER) + '{"type": "tur', kit)
    assert error.message == (
        "the last line is cut off: it has no line end, and column 10 is no JSON: a string begins "
        "there and does not end; take it away to read what stands before it"
    )
    error = refused('{"type": "tur', kit)
    assert error.message.endswith("begins there and does not end")


def test_a_whole_line_without_an_end_is_not_cut_off(kit: SimpleNamespace) -> None:
    """core 5.5: what is wrong with a whole value is not put down to a missing line end."""
    for line, text in (('{"a": 1, "a": 2}', "an object has"), ('{"a": NaN}', "NaN is no")):
        assert refused(kit.lines(HEADER) + line, kit).message.startswith(text)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "column 2 is no JSON: a key in double quotes is missing"),
        ('{"a" 1}', "column 6 is no JSON: a colon is missing"),
        ('{"a": ', "column 7 is no JSON: a value is missing"),
        ("[1 2]", "column 4 is no JSON: a comma or a closing bracket is missing"),
        ('{"a', "column 2 is no JSON: a string begins there and does not end"),
        ('"\x01"', "column 2 is no JSON: a control character stands in a string"),
        ('"\\q"', "column 2 is no JSON: an escape in a string is none of JSON's"),
        ('"\\u12"', "column 3 is no JSON: an escape in a string is none of JSON's"),
        ("{} {}", "column 4 is no JSON: more follows behind the value"),
    ],
)
def test_what_is_no_json_is_told_in_whole_words(line: str, told: str, kit: SimpleNamespace) -> None:
    """DESIGN 8: no words of the decoder that want a place behind them are passed on."""
    assert refused(kit.lines(HEADER) + line + "\n", kit).message == told


def test_a_broken_line_in_the_middle_is_not_cut_off(kit: SimpleNamespace) -> None:
    """core 5.5: damage before the last line is damage, not a torn tail."""
    error = refused(kit.lines(HEADER) + '{"type"\n' + kit.lines(TURN), kit)
    assert error.details["line"] == 2
    assert error.message.startswith("column 8 is no JSON")


CALL = '{"turn": 1, "step": 1, "callId": "a", "name": "n", "arguments": "%s"}'
DELTAS = '{"turn": 1, "step": 1, "index": 0, "dt": [], "texts": ["%s"]}'


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"type": "turn/start", "data": {"turn": 1, "turn": 1}}', "the key 'turn' twice"),
        ('{"type": "turn/start", "type": "x", "data": {"turn": 1}}', "the key 'type' twice"),
        ('{"type": "todo/write", "data": {"a": 1, "b": 2, "b": 3}}', "the key 'b' twice"),
        ('{"type": "todo/write", "data": {"n": NaN}}', "NaN is no JSON number"),
        ('{"type": "todo/write", "data": {"n": -Infinity}}', "-Infinity is no JSON number"),
        ('{"type": "todo/write", "data": {"n": 1e999}}', "not a finite number"),
        ('{"type": "todo/write", "data": {"n": -0.0}}', "negative zero"),
        ('{"type": "todo/write", "data": {"n": 9007199254740993}}', "beyond 2"),
        ('{"type": "todo/write", "data": {"n": ' + "9" * 5000 + "}}", "too many digits"),
        ('{"type": "todo/write", "data": {"n": "\\ud800"}}', "lone surrogate"),
        ('{"type": "tool/call", "data": ' + CALL % "\\ud800" + "}", "data.arguments"),
        ('{"type": "text-chunks", "data": ' + DELTAS % "\\udfff" + "}", "text-delta.text"),
        ('{"type": "turn/start", "data": {"turn": 1}, "surfaceOp": null}', "surfaceOp may be"),
        ('{"type": "turn/end", "data": {}, "sourceEventSeqs": null}', "sourceEventSeqs may be"),
        ('{"type": "todo/write", "data": ' + "[" * 100000 + "]" * 99999 + "}", "is missing at"),
        ('{"a": ' + "[" * 3000 + "]" * 3000 + ', "a": 1}', "the key 'a' twice"),
        ("\0\0\0", "column 1 is no JSON"),
        ("not json", "column 1 is no JSON"),
        ('{"type": "turn/start"} {}', "column 24 is no JSON"),
        ("[]", "one JSON object, not list"),
        ("null", "one JSON object, not NoneType"),
        ('"text"', "one JSON object, not str"),
        ("{}", "'type' is missing"),
        ('{"type": "turn/start"}', "'data' is missing"),
        ('{"type": 5, "data": {}}', "must be a name"),
        ('{"type": null, "data": {}}', "must be a name"),
        ('{"type": ["turn/start"], "data": {}}', "must be a name"),
        ('{"type": "turn/start", "data": {}}', "turn/start: data.turn"),
        ('{"type": "turn/start", "data": {"turn": 1}, "more": 1}', "'more' are unknown"),
        ('{"type": "turn/start", "data": {"turn": 1}, "ignorable": false}', "ignorable"),
        ('{"type": "user/message", "data": {}, "surfaceOp": "prepend"}', "surfaceOp"),
        ('{"type": "text-chunks", "data": {}}', "packed row text-chunks is malformed"),
        ('{"type": "request/header", "data": null}', "request/header"),
        ('{"type": "request/header", "data": {"header": "{{tools}}"}}', "request/header"),
        (json.dumps(HEADER), "a second header"),
        ('{"type": "session"}', "a second header"),
    ],
)  # fmt: skip
def test_a_damaged_line(line: str, text: str, kit: SimpleNamespace) -> None:
    """core 5.7: every kind of damage is corruption, told with the line and what is wrong."""
    error = refused(kit.lines(HEADER, TURN) + line + "\n", kit)
    assert type(error) is SessionCorruptError
    assert error.details["line"] == 3
    assert text in error.message


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([TURN, HEADER], "the first line must be the header"),
        ([{}], "not a row of type None"),
        ([PACKED], "the first line must be the header"),
        ([[HEADER]], "one JSON object"),
        ([{"type": "session"}], "needs an id"),
        ([{k: v for k, v in HEADER.items() if k != "version"}], "no version"),
        ([{**HEADER, "version": True}], "version"),
        ([{**HEADER, "version": "0"}], "version"),
        ([{**HEADER, "version": None}], "version"),
        ([{**HEADER, "id": ""}], "id"),
        ([{**HEADER, "createdAt": -1}], "createdAt"),
        ([{**HEADER, "createdAt": 0.5}], "createdAt"),
        ([{**HEADER, "seedLength": -1}], "seedLength"),
        ([{**HEADER, "origin": "robot"}], "origin"),
        ([{**HEADER, "more": 1}], "no field 'more'"),
        ([{**HEADER, "seq": 0, "time": 0}], "no field"),
    ],
)  # fmt: skip
def test_a_damaged_header(rows: list[Any], text: str, kit: SimpleNamespace) -> None:
    """core 1.1, 15.1: the first line is a header with sound fields, or the log is corrupt."""
    error = refused(kit.lines(*rows), kit)
    assert type(error) is SessionCorruptError
    assert error.details["line"] == 1
    assert text in error.message


@pytest.mark.parametrize(("version", "age"), [(1, "newer"), (99, "newer"), (-1, "older")])
def test_another_version(version: int, age: str, kit: SimpleNamespace) -> None:
    """core 5.7: another version is unsupported, whatever else the file holds, and told its age."""
    header = {"type": "session", "version": version, "shape": {"of": "the future"}}
    error = refused(kit.lines(header) + "\xff not even json", kit)
    assert type(error) is SessionFormatUnsupportedError
    assert age in error.message
    assert error.details["version"] == version


@pytest.mark.parametrize("place", [{}, {"seq": 0, "time": 0}])
def test_an_unknown_type(place: dict[str, Any], kit: SimpleNamespace) -> None:
    """core 2: an unknown type refuses the whole log as unsupported, unless it is ignorable."""
    row = {"type": "weather/report", **place, "data": {"rain": 1}}
    error = refused(kit.lines(STRICT, row), kit)
    assert type(error) is SessionFormatUnsupportedError
    assert error.details["type"] == "weather/report"
    (event,) = read(STRICT, {**row, "ignorable": True}).events
    assert event.data == OpaquePayload("weather/report", {"rain": 1})
    assert event.ignorable


def test_a_foreign_block_is_kept() -> None:
    """core 2.1: a foreign source and a foreign block come through a file untouched."""
    content = [{"type": "image", "attachment": {"id": "x"}}]
    source = {"kind": "goal", "more": [1]}
    data = {"content": content, "source": source, "role": "user", "id": "u"}
    log = read(HEADER, {"type": "user/message", "data": data, "surfaceOp": "append"})
    message = log.events[0].data
    assert isinstance(message, UserMessageLogged)
    assert message.message.source == source


def test_own_events_of_a_log() -> None:
    """core 1.6: what a fork inherited is not its own."""
    log = read({**HEADER, "seedLength": 1}, TURN, STEP)
    assert [event.seq for event in log.own_events] == [1]
    assert read(HEADER, TURN).own_events == read(HEADER, TURN).events


def test_scripts() -> None:
    """core 15.6: chunks alone are a script for a model; one other event makes it a log."""
    assert read(HEADER, PACKED).is_script
    assert not read(HEADER, TURN, PACKED).is_script


@pytest.mark.parametrize("path", ["missing.jsonl", "missing/session.jsonl", "a\0b"])
def test_a_file_that_is_not_there(path: str, tmp_path: Path) -> None:
    """DESIGN 8: a path that cannot be read is the caller's, named, and no foreign error."""
    for name in (tmp_path / path, str(tmp_path / path)):
        with pytest.raises(ConfigurationError, match="cannot be read"):
            read_log(name)
        with pytest.raises(ConfigurationError, match="cannot be read"):
            read_recording(name)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """DESIGN 8: a folder is told apart, with what reads it."""
    with pytest.raises(ConfigurationError, match="read_recording"):
        read_log(tmp_path)


@pytest.mark.parametrize("source", [None, 5, b"{}", {"type": "session"}, [5], [b"{}"], [None]])
def test_what_is_no_log(source: Any) -> None:
    """DESIGN 8: what is no path, session, line or row is refused by its type."""
    with pytest.raises(ConfigurationError, match="log"):
        read_log(source)


@pytest.mark.parametrize("form", ["", "raw", None, 5])
def test_an_unknown_form(form: Any) -> None:
    """DESIGN 8: there are three forms to ask for."""
    with pytest.raises(ConfigurationError, match="auto"):
        read(HEADER, form=form)


def test_a_recording(kit: SimpleNamespace, tmp_path: Path) -> None:
    """core 15: children are read in the order of their numbers, other files passed over."""
    for number in ("", ".10", ".2", ".1"):
        kit.written(kit.lines({**HEADER, "id": f"s{number}"}), f"session{number}.jsonl")
    for other in ("session.x.jsonl", "session.jsonl.part", "session.1.json", "notes.txt"):
        kit.written("nothing of ours", other)
    recording = read_recording(tmp_path)
    assert recording.name == str(tmp_path)
    assert [log.header.id for log in recording.logs] == ["s", "s.1", "s.2", "s.10"]
    assert recording.logs == (recording.root, *recording.children)


def test_a_recording_without_a_root(kit: SimpleNamespace, tmp_path: Path) -> None:
    """DESIGN 8: a folder without session.jsonl is no recording, and says so."""
    kit.written(kit.lines(HEADER), "session.1.jsonl")
    with pytest.raises(ConfigurationError, match=r"no session\.jsonl"):
        read_recording(tmp_path)


def test_a_damaged_child_refuses_the_recording(kit: SimpleNamespace, tmp_path: Path) -> None:
    """core 5.7: one damaged file refuses the scenario, by its name and line."""
    kit.written(kit.lines(HEADER))
    path = kit.written(kit.lines(HEADER) + "{}\n", "session.1.jsonl")
    with pytest.raises(SessionCorruptError, match=str(path) + ":2"):
        read_recording(tmp_path)


def test_the_form_holds_for_every_file(kit: SimpleNamespace, tmp_path: Path) -> None:
    """core 15: files of both forms may stand side by side, unless one form is asked for."""
    kit.written(kit.lines(HEADER, TURN))
    kit.written(kit.lines(STRICT, *numbered(TURN)), "session.1.jsonl")
    assert [log.projected for log in read_recording(tmp_path).logs] == [True, False]
    for form in ("strict", "projected"):
        with pytest.raises(SessionCorruptError):
            read_recording(tmp_path, form=form)
