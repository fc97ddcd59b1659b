"""What a word on the command line of ``broodline sessions`` names."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from broodline.messages.errors import ConfigurationError
from broodline.sessions.place import LogPlace, StorePlace, any_place, store_place


@pytest.mark.parametrize("kind", ["sqlite", "jsonl"])
def test_a_kind_that_is_said(kind: str) -> None:
    """DESIGN 3: sqlite:PATH and jsonl:FOLDER name a store, whatever the path looks like."""
    place = store_place(f"{kind}:a:b.txt")
    assert (place.kind, place.path, place.guessed) == (kind, "a:b.txt", False)
    assert str(place) == f"{kind}:a:b.txt"
    assert any_place(f"{kind}:a:b.txt") == place


def test_a_database_is_told_by_its_bytes(tmp_path: Path) -> None:
    """DESIGN 3: a file with SQLite's first bytes is taken as a database, and that is a guess."""
    path = tmp_path / "anything"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (x)")
    assert store_place(str(path)) == StorePlace("sqlite", str(path), guessed=True)
    assert any_place(str(path)) == StorePlace("sqlite", str(path), guessed=True)


@pytest.mark.parametrize("name", ["a.db", "a.SQLITE", "a.sqlite3"])
def test_a_database_that_is_not_there_is_told_by_its_name(name: str, tmp_path: Path) -> None:
    """DESIGN 3: where nothing is yet, the end of the name tells."""
    path = str(tmp_path / name)
    assert store_place(path, new=True) == StorePlace("sqlite", path, guessed=True)


@pytest.mark.parametrize("inside", ["_no-cwd", "--srv-app--", ".holders"])
def test_the_folder_of_a_store(inside: str, tmp_path: Path) -> None:
    """core 5.5: a folder with what a JSONL store makes in it is taken as one."""
    (tmp_path / inside).mkdir()
    assert store_place(str(tmp_path)) == StorePlace("jsonl", str(tmp_path), guessed=True)
    assert any_place(str(tmp_path)) == store_place(str(tmp_path))


def test_an_empty_folder_can_become_a_store(tmp_path: Path) -> None:
    """core 5.5: an empty folder is taken as a store to be, and as none where one is looked for."""
    assert store_place(str(tmp_path), new=True).kind == "jsonl"
    with pytest.raises(ConfigurationError, match="this folder is no store; write sqlite:PATH"):
        store_place(str(tmp_path))


def test_a_folder_of_recordings(tmp_path: Path) -> None:
    """core 15: a folder with logs is a place of logs: the root first, then children by number."""
    for name in ("b/session.10.jsonl", "b/session.2.jsonl", "b/session.jsonl", "a.jsonl", "a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    place = any_place(str(tmp_path))
    assert isinstance(place, LogPlace)
    assert [str(Path(path).relative_to(tmp_path)) for path in place.files] == [
        "a.jsonl",
        "b/session.jsonl",
        "b/session.2.jsonl",
        "b/session.10.jsonl",
    ]
    with pytest.raises(ConfigurationError, match="this folder is no store"):
        store_place(str(tmp_path), new=True)


def test_one_log(tmp_path: Path) -> None:
    """core 15: another file is one log; as a store it is refused, saying what to write."""
    path = tmp_path / "a.db"
    path.write_text('{"type": "session"}\n')
    assert any_place(str(path)) == LogPlace(str(path), (str(path),))
    with pytest.raises(ConfigurationError, match="what kind of store this is cannot be told"):
        store_place(str(path))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("sqlite:", "is empty"),
        ("jsonl:", "is empty"),
        ("memory", "ends with its process"),
        ("nothing-here", "there is no such store"),
        ("redis:x", "no kind of store"),
    ],
)
def test_what_names_nothing(text: str, why: str) -> None:
    """DESIGN 8: a word that names nothing is refused with what to write instead."""
    for read in (store_place, any_place):
        with pytest.raises(ConfigurationError, match=rf"{why}.*write sqlite:PATH"):
            read(text)


def test_a_folder_with_nothing(tmp_path: Path) -> None:
    """DESIGN 8: a folder without logs and without a store is refused by its name."""
    with pytest.raises(ConfigurationError, match="no log and no store is in this folder"):
        any_place(str(tmp_path))


@pytest.mark.parametrize("text", ["sqllite:demo.db", "redis:x", "json:folder"])
def test_a_kind_that_is_none(text: str) -> None:
    """A kind that is misspelt is no path: it is refused, also where a store is to be made."""
    for new in (False, True):
        with pytest.raises(ConfigurationError, match="no kind of store"):
            store_place(text, new=new)
