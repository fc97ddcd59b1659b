"""How a path becomes a SQLite store, and what is refused untouched."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.store import Lease
from broodline.actors.stores.backend import Portion
from broodline.actors.stores.holder import this_process
from broodline.actors.stores.sqlite_backend import SqliteBackend
from broodline.actors.stores.sqlite_opening import open_store
from broodline.actors.stores.sqlite_schema import APPLICATION_ID, STEPS
from broodline.messages.errors import (
    ConfigurationError,
    SessionCorruptError,
    SessionError,
    SessionFormatUnsupportedError,
)
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import StepEnd

NOW = 1000.0
PIPES: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)


def opened(path: Path | str, holder: str = "one", **options: Any) -> SqliteBackend:
    backend = SqliteBackend(path, **options)
    backend.open(this_process(holder, 30.0, NOW))
    return backend


def made(session_id: str) -> Portion:
    event = Event(0, 5, StepEnd(1, 1))
    return Portion(SessionHeader(session_id, 1), Lease(session_id, 1, 0), 0, [event], create=True)


def state(folder: Path) -> dict[str, Any]:
    """Every file of a folder: its bytes, when they last changed, its mode."""
    return {
        str(file.relative_to(folder)): (
            file.read_bytes() if file.is_file() else None,
            file.lstat().st_mtime_ns,
            file.lstat().st_mode,
        )
        for file in [folder, *sorted(folder.rglob("*"))]
    }


def run(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        for statement in statements:
            db.execute(statement)
    finally:
        db.close()


def store(path: Path) -> None:
    backend = opened(path)
    assert backend.write([made("a")], NOW) == [None]
    backend.close()


def test_a_new_path_becomes_a_store(tmp_path: Path) -> None:
    """core 5: made in one piece, in WAL mode, with our application id and version 1."""
    path = tmp_path / "a b%3f#é?.db"
    backend = opened(path)
    db = sqlite3.connect(path)
    pragmas = ("application_id", "user_version", "journal_mode")
    found = [db.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas]
    db.close()
    assert found == [APPLICATION_ID, 1, "wal"]
    assert vars(backend)["_links"][0].db.execute("PRAGMA synchronous").fetchone() == (2,)
    backend.close()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """Contract: what `touch` made, or a database without a table, is as good as nothing."""
    for name, statements in (("touched", ()), ("bare", ("PRAGMA journal_mode = WAL",))):
        path = tmp_path / name
        path.touch()
        run(path, *statements)
        backend = opened(path)
        assert backend.write([made("a")], NOW) == [None]
        backend.close()


def test_an_empty_file_is_no_store_that_is_there(tmp_path: Path) -> None:
    """Contract: where none may be made an empty file, or database, is refused, and left alone."""
    for name, statements in (("touched", ()), ("bare", ("PRAGMA journal_mode = WAL",))):
        path = tmp_path / name
        path.touch()
        run(path, *statements)
        before = state(tmp_path)
        with pytest.raises(ConfigurationError, match="no store is in the file yet"):
            opened(path, create=False)
        assert state(tmp_path) == before


def test_a_relative_path_counts_from_where_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contract: a working directory that changes afterwards changes nothing."""
    monkeypatch.chdir(tmp_path)
    backend = SqliteBackend("store.db")
    monkeypatch.chdir("/")
    backend.open(this_process("one", 30.0, NOW))
    backend.close()
    assert backend.place == str(tmp_path / "store.db")
    assert (tmp_path / "store.db").exists()


def foreign(path: Path) -> None:
    run(path, "CREATE TABLE theirs (a)", "INSERT INTO theirs VALUES (1)")


def foreign_in_its_log(path: Path) -> None:
    """A database that somebody is writing: its tables are not in the file yet."""
    source = path.with_name("source")
    db = sqlite3.connect(source, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE theirs (a)")
    path.write_bytes(source.read_bytes())
    path.with_name(f"{path.name}-wal").write_bytes(source.with_name("source-wal").read_bytes())
    db.close()
    source.unlink()


def foreign_with_a_journal(path: Path) -> None:
    foreign(path)
    path.with_name(f"{path.name}-journal").write_bytes(b"theirs")


def newer_in_its_log(path: Path) -> None:
    """Brought up by a newer version that was killed before it moved its log into the file."""
    source = path.with_name("source")
    store(source)
    db = sqlite3.connect(source, isolation_level=None)
    db.execute("PRAGMA user_version = 7")
    path.write_bytes(source.read_bytes())
    path.with_name(f"{path.name}-wal").write_bytes(source.with_name("source-wal").read_bytes())
    db.close()
    source.unlink()


def newer(path: Path) -> None:
    store(path)
    run(path, "PRAGMA user_version = 2")


def without_a_table(path: Path) -> None:
    store(path)
    run(path, "DROP TABLE events")


def without_an_id(path: Path) -> None:
    store(path)
    run(path, "DELETE FROM meta")


def cut_off(path: Path) -> None:
    store(path)
    os.truncate(path, path.stat().st_size // 2)


def no_database(path: Path) -> None:
    path.write_text("Dear diary,\n" * 1000)


def one_byte(path: Path) -> None:
    path.write_bytes(b"x")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("lay", "kind", "says"),
    [
        (Path.mkdir, ConfigurationError, "folder"),
        (a_pipe, ConfigurationError, "no ordinary file"),
        (no_database, ConfigurationError, "not a SQLite database"),
        (one_byte, ConfigurationError, "something else"),
        (foreign, ConfigurationError, "something else"),
        (foreign_in_its_log, ConfigurationError, "something else"),
        (foreign_with_a_journal, ConfigurationError, "something else"),
        (newer, SessionFormatUnsupportedError, "version 2, newer than 1"),
        (newer_in_its_log, SessionFormatUnsupportedError, "version 7, newer than 1"),
        (without_a_table, SessionCorruptError, "no table events"),
        (without_an_id, SessionCorruptError, "lost its id"),
        (cut_off, SessionCorruptError, "damaged"),
    ],
)
def test_what_cannot_be_used_is_untouched(
    tmp_path: Path, lay: Callable[[Path], None], kind: type[Exception], says: str
) -> None:
    """core 5: a typed error that names the place; every byte beside it is as it was."""
    path = tmp_path / "store.db"
    lay(path)
    before = {name: entry for name, entry in state(tmp_path).items() if name != "."}
    with pytest.raises(kind, match=says) as caught:
        opened(path)
    assert str(path) in str(caught.value)
    after = {name: entry for name, entry in state(tmp_path).items() if name != "."}
    assert after == before


def test_what_is_not_there_is_not_made_unless_asked(tmp_path: Path) -> None:
    """Contract: no parent folder is made, and with create=False no file either."""
    for path, create in ((tmp_path / "none" / "store.db", True), (tmp_path / "store.db", False)):
        with pytest.raises(ConfigurationError, match="there is no"):
            opened(path, create=create)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["", "a\0b", ":memory:", 7])
def test_what_is_no_path_is_refused(path: Any) -> None:
    """Bad input: an empty path, a null byte, SQLite's own word for memory, a number."""
    with pytest.raises(ConfigurationError):
        SqliteBackend(path)


def test_what_the_system_says_of_a_path_is_worded(tmp_path: Path) -> None:
    """DESIGN 8: a path that the system cannot look at is refused in words, with what to do."""
    (tmp_path / "note").write_text("")
    with pytest.raises(ConfigurationError, match=r"db: not a directory; choose a path") as caught:
        opened(tmp_path / "note" / "store.db")
    assert "Errno" not in str(caught.value)


def test_no_permission_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """core 5: a read-only file, or folder, as the system tells it; root cannot make one."""
    path = tmp_path / "store.db"
    store(path)
    allowed = os.access
    for refused in (path, tmp_path):

        def access(asked: Any, mode: int, refused: Path = refused) -> bool:
            return Path(asked) != refused and allowed(asked, mode)

        before = state(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", access)
            with pytest.raises(ConfigurationError, match="cannot be written"):
                opened(path)
        assert state(tmp_path) == before


def test_an_older_store_is_brought_up(tmp_path: Path) -> None:
    """core 5: forward migration: the missing steps are taken in order, the sessions stay."""
    path = tmp_path / "store.db"
    store(path)
    second = ("ALTER TABLE sessions ADD COLUMN note TEXT", "UPDATE sessions SET note = id")
    third = ("ALTER TABLE sessions RENAME COLUMN note TO remark",)
    words: list[str] = []
    steps = (*STEPS, second, third)
    db, _ = open_store(str(path), create=False, patience=1, trace=words.append, steps=steps)
    assert db.execute("SELECT id, length, remark FROM sessions").fetchall() == [("a", 1, "a")]
    assert db.execute("PRAGMA user_version").fetchone() == (3,)
    db.close()
    assert words == ["before layout", "after layout"]
    with pytest.raises(SessionFormatUnsupportedError):
        opened(path)


def test_a_migration_is_all_or_nothing(tmp_path: Path) -> None:
    """core 5: a step that fails leaves the store as it was, for the version that made it."""
    path = tmp_path / "store.db"
    store(path)
    steps = (*STEPS, ("ALTER TABLE sessions ADD COLUMN note TEXT", "UPDATE none SET a = 1"))
    with pytest.raises(SessionError):
        open_store(str(path), create=False, patience=1, steps=steps)
    backend = opened(path)
    assert len(backend.read_from("a", 0)) == 1
    backend.close()


RACE = """
import sys
from broodline.actors.store import Lease
from broodline.actors.stores.backend import Portion
from broodline.actors.stores.holder import this_process
from broodline.actors.stores.sqlite_backend import SqliteBackend
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import StepEnd

path, name = sys.argv[1:]
backend = SqliteBackend(path)
header, events = SessionHeader(name, 1), [Event(0, 5, StepEnd(1, 1))]
print("ready", flush=True)
sys.stdin.readline()
backend.open(this_process(name, 30.0, 1000.0))
print(backend.write([Portion(header, Lease(name, 1, 0), 0, events, create=True)], 1000.0))
backend.close()
"""


def test_processes_that_open_a_new_path_at_once_all_succeed(tmp_path: Path) -> None:
    """core 5: two processes at once: one makes the store, all find it and write."""
    path = tmp_path / "store.db"
    names = {"p0", "p1", "p2"}
    command = [sys.executable, "-c", RACE, str(path)]
    workers = [subprocess.Popen([*command, name], text=True, **PIPES) for name in names]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    assert [worker.communicate() for worker in workers] == [("[None]\n", "")] * 3
    backend = opened(path)
    ids = {shot.header.id for shot in backend.snapshots(NOW, None)}
    backend.close()
    assert ids == names
