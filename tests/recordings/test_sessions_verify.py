"""What ``broodline sessions verify`` finds in stores and logs, and what it leaves alone."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.recording import RecordedLog
from broodline.actors.recording_writer import write_log
from broodline.messages.header import SessionHeader
from broodline.messages.payload import EndSeed, StepEnd, TurnStart
from broodline.sessions.place import Place, StorePlace, any_place
from broodline.sessions.verifying import verify

Stored = Callable[..., StorePlace]
Log = Callable[..., RecordedLog]


@pytest.fixture
def log(kit: SimpleNamespace) -> Log:
    """A sound log of one turn under an id; `wrong` breaks a rule at its end."""

    def make(session_id: str, *, wrong: bool = False, **more: Any) -> RecordedLog:
        build = kit.build().start().say("x").end()
        if wrong:
            build.add(StepEnd(1, 1))
            build.add(TurnStart(9))
        made: RecordedLog = build.log(replace(SessionHeader(session_id, 0), **more))
        return made

    return make


def contents(folder: str) -> dict[str, bytes]:
    """Every file in the folder of a store, but the index of the log, which is no data."""
    return {
        str(path): path.read_bytes()
        for path in Path(folder).rglob("*")
        if path.is_file() and not path.name.endswith("-shm")
    }


def documented(
    capsys: pytest.CaptureFixture[str], *places: Place, **more: Any
) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code and the document's sessions, by their ids."""
    capsys.readouterr()
    code = verify(places, as_json=True, **more)
    document = json.loads(capsys.readouterr().out)
    assert document["sound"] is (code == 0)
    return code, {row["session"] or row["place"]: row for row in document["sessions"]}


def execute(place: StorePlace, statement: str, *values: Any) -> None:
    """Change a database behind its store's back."""
    with closing(sqlite3.connect(place.path)) as db:
        db.execute(statement, values)
        db.commit()


def log_file(place: StorePlace, session_id: str) -> Path:
    (path,) = Path(place.path).glob(f"*/{session_id}/session.jsonl")
    return path


def spoil(place: StorePlace, text: str | None) -> None:
    """Put a text where event 4 of the session a stands; None takes the event away."""
    if place.kind == "sqlite":
        where = "WHERE place = (1 << 32) + 4"
        if text is None:
            execute(place, f"DELETE FROM events {where}")
        else:
            execute(place, f"UPDATE events SET line = ? {where}", text)
        return
    path = log_file(place, "a")
    lines = path.read_text().split("\n")
    lines[5:6] = [] if text is None else [text]
    path.write_text("\n".join(lines))


def test_a_sound_store(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 3: a store without faults is one line with what was looked at; the code is 0."""
    place = stored(kind, log("a"), log("b"))
    assert verify([place]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"{place}: 2 sessions, 22 events: all sound\n", "")


def test_the_first_bad_event_is_named(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 3: of each session that is not sound its first bad event is named; the code is 1."""
    place = stored(kind, log("a"), log("b", wrong=True), log("c"))
    assert verify([place]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "b: not sound, first in event 11: I5, 1 fault behind it",
        "    event 11: step/end of 1.1 may not come now: no turn is open, the last was 1 (I5)",
        f"{place}: 3 sessions, 35 events: 1 not sound, 1 unfinished",
    ]
    code, rows = documented(capsys, place)
    assert code == 1
    assert rows["a"]["first"] is None
    assert (rows["b"]["first"]["seq"], rows["b"]["first"]["rule"]) == (11, "I5")
    assert [fault["rule"] for fault in rows["b"]["faults"]] == ["I5", "I2"]
    assert rows["c"]["sound"]


def test_one_session(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.1: --session checks that one alone; one that is not there is code 2."""
    place = stored(kind, log("a"), log("b", wrong=True))
    assert documented(capsys, place, session="a")[0] == 0
    assert documented(capsys, place, session="b")[0] == 1
    assert verify([place], session="c") == 2
    assert "no session 'c' is stored in" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{]", '{"type":"turn/start"}', "\x00", '"x"'])
def test_an_event_that_cannot_be_read(
    text: str, kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.7: a damaged event is named by its number or line; the other sessions are checked."""
    place = stored(kind, log("a"), log("b"), log("c", wrong=True))
    spoil(place, text)
    code, rows = documented(capsys, place)
    assert code == 1
    assert rows["a"]["code"] == "SESSION_CORRUPT"
    first = rows["a"]["first"]
    assert first["rule"] == "read"
    assert (first["seq"], first["line"]) == ((4, None) if kind == "sqlite" else (None, 6))
    assert rows["b"]["sound"]
    assert not rows["c"]["sound"]
    assert verify([place]) == 1
    assert ": 3 sessions, 1 not read, 24 events in the rest: 2 not sound" in capsys.readouterr().out


def test_an_event_that_is_missing(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 3 (I1): a gap in the numbers is a fault at the number that is missing."""
    place = stored(kind, log("a"))
    spoil(place, None)
    code, rows = documented(capsys, place)
    assert (code, rows["a"]["code"]) == (1, "SESSION_CORRUPT")


def test_an_event_of_an_unknown_type(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.7: what a newer version wrote is told as unsupported, not as damaged."""
    place = stored(kind, log("a"))
    spoil(place, '{"type":"later/thing","seq":4,"time":5,"data":{}}')
    code, rows = documented(capsys, place)
    assert (code, rows["a"]["code"]) == (1, "SESSION_FORMAT_UNSUPPORTED")


def test_a_header_that_cannot_be_read(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.7: a session that no list shows, as its header is damaged, is found all the same."""
    place = stored(kind, log("a"), log("b"))
    if kind == "sqlite":
        execute(place, "UPDATE sessions SET header = '{]' WHERE id = 'a'")
    else:
        path = log_file(place, "a")
        path.write_text("{]\n" + path.read_text().split("\n", 1)[1])
    code, rows = documented(capsys, place)
    assert (code, rows["a"]["code"], rows["b"]["sound"]) == (1, "SESSION_CORRUPT", True)


def test_a_header_of_somebody_else(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.5: a log whose header names another session than its place is a fault."""
    place = stored(kind, log("a"))
    if kind == "sqlite":
        execute(place, "UPDATE sessions SET header = replace(header, '\"a\"', '\"z\"')")
    else:
        path = log_file(place, "a")
        path.write_text(path.read_text().replace('"id":"a"', '"id":"z"', 1))
    code, rows = documented(capsys, place)
    assert (code, rows["a"]["code"]) == (1, "SESSION_CORRUPT")


def test_a_length_that_does_not_fit(
    stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 3: a database that has fewer or more events of a session than it says is not sound."""
    place = stored("sqlite", log("a"), log("b"))
    execute(place, "UPDATE sessions SET length = 9 WHERE id = 'a'")
    execute(place, "DELETE FROM events WHERE place = (2 << 32) + 10")
    code, rows = documented(capsys, place)
    assert code == 1
    assert (rows["a"]["first"]["seq"], rows["b"]["first"]["seq"]) == (9, 10)


def test_events_of_nobody(stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 3: events whose session is not there are a fault of the database."""
    place = stored("sqlite", log("a"))
    execute(place, "INSERT INTO events VALUES ((7 << 32) + 1, '{}')")
    assert verify([place]) == 1
    out = capsys.readouterr().out
    assert f"{place}: not sound, first: SESSION_CORRUPT\n" in out
    assert "events of a session that is not there (key 7)" in out
    assert f"{place}: 1 session, 11 events: 1 not sound" in out


def test_a_damaged_database(stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 8: SQLite's own damage is told; what can still be read is checked; no traceback."""
    place = stored("sqlite", *(log(f"s{number}") for number in range(200)))
    data = bytearray(Path(place.path).read_bytes())
    size = int.from_bytes(data[16:18], "big")
    middle = len(data) // size // 2 * size
    data[middle : middle + size] = b"\xff" * size
    Path(place.path).write_bytes(data)
    code, rows = documented(capsys, place)
    assert code == 1
    assert rows[str(place)]["code"] == "SESSION_CORRUPT"
    assert rows["s0"]["sound"]
    assert rows["s199"]["sound"]
    assert not all(row["sound"] for name, row in rows.items() if name != str(place))


def test_a_folder_that_is_no_session(
    stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.5: a log under a name that no id makes, or of an older layout, is a fault."""
    place = stored("jsonl", log("a"))
    odd = Path(place.path, "_no-cwd", "a b")
    odd.mkdir()
    (odd / "session.jsonl").touch()
    Path(place.path, "_no-cwd", "old.jsonl").touch()
    packed = Path(place.path, "_no-cwd", "packed")
    packed.mkdir()
    (packed / "session.jsonl.zstd").touch()
    code, rows = documented(capsys, place)
    assert code == 1
    assert rows["a"]["sound"]
    assert rows[str(odd)]["code"] == "SESSION_CORRUPT"
    assert rows["old"]["code"] == "SESSION_FORMAT_UNSUPPORTED"
    assert rows["packed"]["code"] == "SESSION_FORMAT_UNSUPPORTED"


def test_a_torn_end_is_told(stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """core 5.5: a last line that was cut off is no fault, as the next load mends it; it is told."""
    place = stored("jsonl", log("a"))
    with log_file(place, "a").open("a") as file:
        file.write('{"type":"turn/st')
    assert verify([place]) == 0
    out = capsys.readouterr().out
    assert out.startswith("a: sound, but its end is incomplete\n    line 13 is cut off")
    assert documented(capsys, place)[1]["a"]["cut"].startswith("line 13 is cut off")


def test_a_seed_that_differs(
    kind: str,
    stored: Stored,
    kit: SimpleNamespace,
    log: Log,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """core 1.4: a fork's seed is compared with its parent's log in the same store."""
    parent = log("parent")
    build = kit.build().start(prompt="something else").say("x").end()
    build.add(EndSeed())
    child = build.log(SessionHeader("child", 0, parent_session="parent", seed_length=11))
    code, rows = documented(capsys, stored(kind, parent, child))
    assert code == 1
    assert (rows["child"]["first"]["seq"], rows["child"]["first"]["rule"]) == (2, "seed")


def test_nothing_is_written(kind: str, stored: Stored, log: Log) -> None:
    """core 5.1: verifying leaves every byte of a store, and no file beside it."""
    place = stored(kind, log("a"), log("b", wrong=True))
    folder = os.path.dirname(place.path)
    before = contents(folder)
    assert verify([place]) == 1
    assert contents(folder) == before


def test_a_store_that_was_killed(stored: Stored, log: Log, tmp_path: Path) -> None:
    """core 5.1: the log beside the database of a killed process is read and stays there."""
    place = stored("sqlite", log("a"))
    with closing(sqlite3.connect(place.path)) as db:
        db.execute("UPDATE events SET line = '{]' WHERE place = (1 << 32) + 4")
        db.commit()
        copy = tmp_path / "copy"
        copy.mkdir()
        for name in ("store", "store-wal", "store-shm"):
            (copy / name).write_bytes((tmp_path / name).read_bytes())
    before = contents(str(copy))
    assert len(before) == 2
    assert verify([StorePlace("sqlite", str(copy / "store"))]) == 1
    assert contents(str(copy)) == before


def test_logs(kit: SimpleNamespace, log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """core 15: log files and folders of them are checked as check does, each by its path."""
    good, bad, torn = (kit.written("", f"r/{name}.jsonl") for name in ("good", "bad", "torn"))
    write_log(log("a"), good)
    write_log(log("b", wrong=True), bad)
    torn.write_text('{"type":"session","version":0,"id":"c","createdAt":0}\n{"type"')
    place = any_place(str(good.parent))
    assert verify([place]) == 1
    out = capsys.readouterr().out
    assert "bad.jsonl" not in out.splitlines()[0]
    assert "b: not sound, first in event 11: I5" in out
    assert f"{torn}: not sound, first in line 2: SESSION_CORRUPT" in out
    assert out.endswith(": 3 logs, 1 not read, 24 events in the rest: 2 not sound, 1 unfinished\n")


def test_many_places(
    stored: Stored, log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 9: several places are told one after the other; one that is not sound is code 1."""
    first, second = stored("sqlite", log("a")), stored("jsonl", log("a", wrong=True), name="f")
    assert verify([first, second]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{first}: 1 session, 11 events: all sound"
    assert lines[-1].startswith(f"{second}: 1 session")


@pytest.mark.parametrize("content", [None, b"", b"text\n" * 200])
def test_a_place_without_a_store(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 8: no file, an empty one, another one: code 2, a line that names it, not a byte."""
    path = tmp_path / "x.db"
    if content is not None:
        path.write_bytes(content)
    assert verify([StorePlace("sqlite", str(path))]) == 2
    assert str(path) in capsys.readouterr().err
    assert contents(str(tmp_path)) == ({} if content is None else {str(path): content})


def test_a_foreign_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 8: a database of another program is refused untouched."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (x)")
    before = contents(str(tmp_path))
    assert verify([StorePlace("sqlite", str(path))]) == 2
    assert "belongs to something else" in capsys.readouterr().err
    assert contents(str(tmp_path)) == before


def test_a_newer_store(stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """core 5.7: a store of a newer version cannot be vouched for: code 1, as unsupported."""
    place = stored("sqlite", log("a"))
    execute(place, "PRAGMA user_version = 99")
    code, rows = documented(capsys, place)
    assert (code, rows[str(place)]["code"]) == (1, "SESSION_FORMAT_UNSUPPORTED")


def test_an_empty_store(kind: str, stored: Stored, capsys: pytest.CaptureFixture[str]) -> None:
    """core 5.1: a store without sessions is sound."""
    place = stored(kind)
    assert verify([place]) == 0
    assert capsys.readouterr().out == f"{place}: no sessions: all sound\n"


@pytest.fixture
def unwritable(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file and no folder may be written, as on a disk that is mounted read-only."""
    access = os.access

    def refuse(path: Any, mode: int, **more: Any) -> bool:
        return not mode & os.W_OK and access(path, mode, **more)

    monkeypatch.setattr(os, "access", refuse)


@pytest.mark.usefixtures("unwritable")
def test_a_store_that_nobody_may_write(
    kind: str, stored: Stored, log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.1: what is only looked at need not be writable; what is no store is refused still."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "access", lambda *_, **__: True)
        place = stored(kind, log("a"))
    code, rows = documented(capsys, place)
    assert (code, rows["a"]["sound"]) == (0, True)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE t (x)")
    assert verify([StorePlace("sqlite", str(other))]) == 2
    assert "belongs to something else" in capsys.readouterr().err
    other.write_text("text\n" * 200)
    assert verify([StorePlace("sqlite", str(other))]) == 2
    assert "not a SQLite database" in capsys.readouterr().err


@pytest.mark.parametrize(("version", "word"), [(99, "newer"), (0, "older")])
@pytest.mark.usefixtures("unwritable")
def test_another_version_that_nobody_may_write(
    version: int,
    word: str,
    stored: Stored,
    log: Log,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """core 5.7: a store of another version is told as newer or older, and left as it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "access", lambda *_, **__: True)
        place = stored("sqlite", log("a"))
    execute(place, f"PRAGMA user_version = {version}")
    code, rows = documented(capsys, place)
    assert code == 1
    assert word in rows[str(place)]["first"]["text"]
