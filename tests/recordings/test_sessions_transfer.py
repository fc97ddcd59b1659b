"""Sessions moved between stores, logs and recordings: whole, equal, or not at all."""

from __future__ import annotations

import json
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.recording import RecordedLog, read_log, read_recording
from broodline.actors.recording_writer import write_log, write_recording
from broodline.actors.stores.own_host import OwnHost
from broodline.messages.errors import ConfigurationError, SessionError
from broodline.messages.header import SessionHeader
from broodline.messages.packed import expand_rows
from broodline.sessions import transfer
from broodline.sessions.archive import opened
from broodline.sessions.errand import export_sessions, import_sessions
from broodline.sessions.place import StorePlace, any_place
from broodline.sessions.selection import Piece, store_pieces
from broodline.sessions.sheet import Ticker
from broodline.sessions.transfer import to_folder, to_store
from broodline.supervision.furnishing import store_named

Stored = Callable[..., StorePlace]
Log = Callable[..., RecordedLog]


@pytest.fixture
def log(kit: SimpleNamespace) -> Log:
    """A log with a packed stream, a call and an open turn."""

    def make(session_id: str, parent: str | None = None, **more: Any) -> RecordedLog:
        build = kit.build().start()
        build.stream(*kit.said("é")[:1], *[kit.said("\x00\u2028é")[1]] * 5)
        build.end("aborted")
        build.start(2).ask(kit.ToolCall("a", "probe", '{"x": "\\n"}'))
        build.call("a")
        header = SessionHeader(session_id, 7, "/srv", parent, delegation_depth=0)
        made: RecordedLog = build.log(replace(header, **more))
        return made

    return make


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a log file as they stand there, packed ones expanded."""
    with path.open() as file:
        return list(expand_rows([json.loads(line) for line in file]))


def logs_in(place: StorePlace) -> dict[str, RecordedLog]:
    """Everything in a store."""
    with opened(place) as archive:
        read = [archive.read(one.header.id).log for one in archive.snapshots()]
    return {
        each.header.id: RecordedLog("", each.header, tuple(each.events), each.projected)
        for each in read
    }


def given(log: RecordedLog) -> RecordedLog:
    return log


def place_at(kind: Any, path: Path) -> StorePlace:
    return StorePlace(kind, str(path))


def test_every_recording_comes_back(scenario: Path, tmp_path: Path) -> None:
    """core #282, 15.3: a recording goes into SQLite, a folder of lines, and comes out equal."""
    database, lines = place_at("sqlite", tmp_path / "a.db"), place_at("jsonl", tmp_path / "lines")
    assert import_sessions(any_place(str(scenario)), database) == 0
    originals = [rows_of(path) for path in sorted(scenario.glob("session*.jsonl"))]
    kept = {rows[0]["id"]: rows for rows in originals if len(rows) > 1}
    assert set(logs_in(database)) == set(kept)
    if not kept:
        return
    assert export_sessions(database, str(lines)) == 0
    assert export_sessions(database, str(tmp_path / "one")) == 0
    assert export_sessions(lines, str(tmp_path / "two")) == 0
    for folder in ("lines", "one", "two"):
        written = map(rows_of, _logs(tmp_path / folder))
        assert {rows[0]["id"]: rows for rows in written} == kept


def test_a_recording_without_events(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.2, 15.3: no store keeps a session without an event: it is told, and no failure."""
    path, target = tmp_path / "session.jsonl", place_at(kind, tmp_path / "store")
    path.write_text('{"type":"session","version":0,"id":"bare","createdAt":1}\n')
    assert import_sessions(any_place(str(path)), target) == 0
    out, err = capsys.readouterr()
    assert out == f"imported 0 sessions of 1, 0 events, into {target}\n"
    assert "import: bare is passed over: a store keeps no session without an event" in err
    assert logs_in(target) == {}
    assert import_sessions(any_place(str(path)), target, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["empty"] == ["bare"]


def _logs(folder: Path) -> list[Path]:
    return sorted(folder.rglob("session*.jsonl"))


def test_a_log_of_our_own_comes_back(kind: str, log: Log, tmp_path: Path) -> None:
    """core 15.1: a strict log comes back with its numbers and times, line for line."""
    source, target = tmp_path / "in", tmp_path / "out"
    write_recording(source, log("a"), log("b", "a"), log("c", "b"))
    place = place_at(kind, tmp_path / "store")
    assert import_sessions(any_place(str(source)), place) == 0
    assert export_sessions(place, str(target)) == 0
    names = sorted(path.name for path in source.iterdir())
    assert sorted(path.name for path in target.iterdir()) == names
    for name in names:
        assert (target / name).read_bytes() == (source / name).read_bytes()


@pytest.mark.parametrize("other", ["sqlite", "jsonl"])
def test_from_store_to_store(
    kind: str, other: str, stored: Stored, log: Log, tmp_path: Path
) -> None:
    """core 5.1: what is exported into a store is there as it was, the open turn too."""
    source = stored(kind, log("a"), log("b", "a"))
    target = place_at(other, tmp_path / "target")
    assert export_sessions(source, str(target)) == 0
    assert logs_in(target) == logs_in(source)
    again = place_at(kind, tmp_path / "again")
    assert import_sessions(target, again) == 0
    assert logs_in(again) == logs_in(source)


def test_what_was_imported_can_be_resumed(kind: str, stored: Stored, log: Log) -> None:
    """core 5.6: an import leaves no lease behind, so its session can be taken at once."""
    place = stored(kind, log("a"))
    with opened(place) as archive:
        assert archive.read("a").standing == "free"


async def test_a_recording_is_not_written_on(
    kind: str, kit: SimpleNamespace, tmp_path: Path
) -> None:
    """core 15.3: what is imported in the recorded form is kept as that, and not resumed."""
    log = read_log([kit.HEADER | {"cwd": "{{cwd}}"}, {"type": "turn/start", "data": {"turn": 1}}])
    store, host = store_named(f"{kind}:{tmp_path / 'store'}"), OwnHost()
    await store.open(host)
    await to_store(store, [Piece(log.header, True, "here", lambda: log)])
    with pytest.raises(SessionError) as caught:
        await store.prepare("s")
    assert caught.value.code == "PROJECTED"
    await store.close()
    await host.close()


def test_selected_sessions(kind: str, stored: Stored, log: Log, tmp_path: Path) -> None:
    """core 5.1: --session and --tree choose what goes: the named, and all below a root."""
    parents = {"r": None, "a": "r", "b": "a", "o": None, "p": "o"}
    source = stored(kind, *(log(name, parent) for name, parent in parents.items()))
    for number, (ids, tree, expected) in enumerate(
        [
            ((), None, {*parents}),
            (("b", "o"), None, {"b", "o"}),
            ((), "a", {"a", "b"}),
            (("p",), "r", {"r", "a", "b", "p"}),
        ]
    ):
        target = place_at("sqlite", tmp_path / f"{number}.db")
        assert export_sessions(source, str(target), ids=ids, tree=tree) == 0
        assert set(logs_in(target)) == expected


def test_a_selection_that_is_not_there(stored: Stored, log: Log, tmp_path: Path) -> None:
    """core 5.1: a session that is not stored is refused, and nothing is made for it."""
    source = stored("sqlite", log("a"))
    wrong: list[dict[str, Any]] = [{"ids": ("a", "b")}, {"tree": "b"}]
    for more in wrong:
        with pytest.raises(SessionError, match="no session 'b'"):
            export_sessions(source, str(tmp_path / "x.db"), **more)
    assert not (tmp_path / "x.db").exists()


def test_one_tree_is_one_recording(kind: str, stored: Stored, log: Log, tmp_path: Path) -> None:
    """core 15: a tree is session.jsonl and its children in the order of their creation."""
    source = stored(kind, log("child", "root"), log("root"), log("other", "root"))
    assert export_sessions(source, str(tmp_path / "out" / "deep")) == 0
    recording = read_recording(tmp_path / "out" / "deep")
    assert [each.header.id for each in recording.logs] == ["root", "child", "other"]


def test_several_trees_are_a_folder_each(
    kind: str, stored: Stored, log: Log, tmp_path: Path
) -> None:
    """core 15: each tree of several is a recording of its own, which an import reads back."""
    source = stored(kind, log("a"), log("../b"), log("c", "a"), log("d", "gone"))
    assert export_sessions(source, str(tmp_path / "out")) == 0
    folders = {path.name for path in (tmp_path / "out").iterdir()}
    assert folders == {"a", "..~002Fb", "d"}
    assert len(read_recording(tmp_path / "out" / "a").children) == 1
    target = place_at("sqlite", tmp_path / "t.db")
    assert import_sessions(any_place(str(tmp_path / "out")), target) == 0
    assert set(logs_in(target)) == {"a", "../b", "c", "d"}


def test_an_id_that_is_taken(kind: str, stored: Stored, log: Log, tmp_path: Path) -> None:
    """core 5.1: if one id is stored already nothing is imported at all, and nothing changes."""
    target = stored(kind, log("b", delegation_depth=3))
    before = logs_in(target)
    write_recording(tmp_path / "in", log("a"), log("b", "a"), log("c", "a"))
    with pytest.raises(ConfigurationError, match="one id is taken there already: 'b'; nothing was"):
        import_sessions(any_place(str(tmp_path / "in")), target)
    assert logs_in(target) == before


def test_two_recordings_of_one_id(log: Log, tmp_path: Path) -> None:
    """core 15.3: scenarios that share an id are refused together; a store each is the way."""
    write_recording(tmp_path / "in" / "one", log("a"))
    write_recording(tmp_path / "in" / "two", log("a"))
    target = place_at("sqlite", tmp_path / "t.db")
    with pytest.raises(ConfigurationError, match=r"two.*is that of .*one.*a store each"):
        import_sessions(any_place(str(tmp_path / "in")), target)
    assert not (tmp_path / "t.db").exists()


def test_a_log_that_cannot_be_read(log: Log, tmp_path: Path) -> None:
    """core 5.7: one damaged file of a recording, and nothing is made of the others."""
    write_recording(tmp_path / "in", log("a"), log("b", "a"))
    with (tmp_path / "in" / "session.1.jsonl").open("a") as file:
        file.write("{]\n")
    target = place_at("jsonl", tmp_path / "t")
    with pytest.raises(SessionError, match=r"session\.1\.jsonl:1"):
        import_sessions(any_place(str(tmp_path / "in")), target)
    assert not (tmp_path / "t").exists()


def test_a_damaged_session_does_not_stop_the_others(
    stored: Stored, log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.7: what can be read of a store is exported, the rest is told; the code is 1."""
    source = stored("sqlite", log("a"), log("b"), log("c"))
    with closing(sqlite3.connect(source.path)) as db:
        db.execute("UPDATE events SET line = '{]' WHERE place = (2 << 32) + 3")
        db.commit()
    target = place_at("jsonl", tmp_path / "t")
    assert export_sessions(source, str(target)) == 1
    out, err = capsys.readouterr()
    assert out == f"exported 2 sessions of 3, 40 events, to {target}\n"
    assert err.startswith("broodline sessions: export: b is left out: session 'b' in ")
    assert set(logs_in(target)) == {"a", "c"}


def test_the_document(
    kind: str, stored: Stored, log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 9: --json tells what arrived where."""
    source = stored(kind, log("a"), log("b", "a"))
    assert export_sessions(source, str(tmp_path / "out"), as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["total"], document["failed"], document["error"]) == (2, [], None)
    assert document["interrupted"] is False
    assert [(row["id"], row["events"], row["to"]) for row in document["sessions"]] == [
        ("a", 20, str(tmp_path / "out" / "session.jsonl")),
        ("b", 20, str(tmp_path / "out" / "session.1.jsonl")),
    ]


def test_a_folder_that_holds_something(stored: Stored, log: Log, tmp_path: Path) -> None:
    """DESIGN 8: neither a recording nor the folder of a store is written over."""
    source = stored("sqlite", log("a"), log("b"))
    held = tmp_path / "out" / "b"
    held.mkdir(parents=True)
    (held / "session.1.jsonl").write_text("mine")
    with pytest.raises(ConfigurationError, match=r"b holds a recording already \(session\.1"):
        export_sessions(source, str(tmp_path / "out"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b"]
    lines = stored("jsonl", log("a"), name="lines")
    with pytest.raises(ConfigurationError, match="write jsonl:"):
        export_sessions(source, lines.path)


def test_an_interrupted_export_leaves_nothing(stored: Stored, log: Log, tmp_path: Path) -> None:
    """DESIGN 9: Ctrl-C in an export takes back what was written, and the folders made for it."""
    source = stored("sqlite", log("a"), log("b"), log("c", "b"))

    def interrupt() -> None:
        if len(_logs(tmp_path / "out")) == 2:
            raise KeyboardInterrupt

    with opened(source) as archive:
        pieces = store_pieces(source, archive)
        with pytest.raises(KeyboardInterrupt):
            to_folder(str(tmp_path / "out" / "deep"), pieces, interrupt)
    assert not (tmp_path / "out").exists()


def test_a_disk_that_refuses(
    stored: Stored, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN 8: an export that fails at its second file leaves nothing of the first."""
    source = stored("sqlite", log("a"), log("b", "a"))

    def refuse(log: RecordedLog, path: Path) -> None:
        if path.name != "session.jsonl":
            raise ConfigurationError(f"{path} cannot be written: no space left on device")
        write_log(log, path)

    monkeypatch.setattr(transfer, "write_log", refuse)
    with pytest.raises(ConfigurationError, match="no space left"):
        export_sessions(source, str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


async def test_an_import_that_is_stopped(kind: str, log: Log, tmp_path: Path) -> None:
    """core 5.1: an import that is stopped has each session whole or not at all."""
    store, host = store_named(f"{kind}:{tmp_path / 'store'}"), OwnHost()
    await store.open(host)
    logs = [log(name) for name in "abc"]
    pieces = [Piece(each.header, False, "here", partial(given, each)) for each in logs]
    asked = iter([None, None, signal.SIGINT])
    move = await to_store(store, pieces, stop=lambda: next(asked))
    await store.close()
    await host.close()
    assert (move.stopped, [moved.id for moved in move.moved]) == (signal.SIGINT, ["a", "b"])
    there = logs_in(place_at(kind, tmp_path / "store"))
    assert [len(each.events) for each in there.values()] == [20, 20]


def test_a_store_that_fails(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 8: when the store goes in the middle, what had arrived is told, and why no more."""
    write_recording(tmp_path / "in", log("a"), log("b", "a"), log("c", "a"))
    target = place_at("jsonl", tmp_path / "store")

    def take_away(_ticker: Ticker) -> None:
        # Renamed, not removed: a lease that is still being given back cannot come between.
        if Path(target.path).exists():
            Path(target.path).rename(tmp_path / "elsewhere")

    monkeypatch.setattr(Ticker, "tick", take_away)
    assert import_sessions(any_place(str(tmp_path / "in")), target) == 1
    out, err = capsys.readouterr()
    assert out == f"imported 1 session of 3, 20 events, into {target}\n"
    assert err.startswith("broodline sessions: import: ")
    assert "put it back where it was" in err


def test_nothing_to_move(stored: Stored, tmp_path: Path) -> None:
    """DESIGN 8: a store without sessions is refused as a source, and no target is made."""
    source = stored("sqlite")
    target = place_at("sqlite", tmp_path / "t.db")
    with pytest.raises(ConfigurationError, match="no session that can be read is there"):
        import_sessions(source, target)
    with pytest.raises(ConfigurationError, match="no session that can be read is there"):
        export_sessions(source, str(tmp_path / "out"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"]


def test_a_source_is_not_changed(kind: str, stored: Stored, log: Log, tmp_path: Path) -> None:
    """core 5.1: exporting writes nothing where it reads."""
    source = stored(kind, log("a"))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    assert export_sessions(source, f"sqlite:{tmp_path / 't.db'}") == 0
    assert {path: path.read_bytes() for path in files} == before
    left = {path.name for path in tmp_path.rglob("*") if path.is_file() and path not in files}
    assert left == {"t.db"}
