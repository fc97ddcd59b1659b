"""The folder of a store of files: which can be one, and what happens when it goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from broodline.actors.store import Lease
from broodline.actors.stores.backend import Portion
from broodline.actors.stores.holder import Holder
from broodline.actors.stores.jsonl_backend import JsonlBackend
from broodline.messages.errors import ConfigurationError, SessionError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import OpaquePayload

HEADER = SessionHeader("s", 5, "/w")
NOW = 100.0


def holder() -> Holder:
    return Holder("h", os.getpid(), "", "", 30.0, NOW + 30.0)


def note(seq: int) -> list[Event]:
    return [Event(seq, 1, OpaquePayload("session/title", {}))]


def refused(path: Path | str, *, create: bool = True) -> ConfigurationError:
    store = JsonlBackend(path, create=create)
    with pytest.raises(ConfigurationError) as caught:
        store.open(holder())
    assert caught.value.message.startswith(f"{path} cannot be used as a JSONL store: ")
    assert caught.value.message.count("cannot be used as") == 1
    return caught.value


def tree(path: Path) -> dict[str, bytes | None]:
    return {
        str(each.relative_to(path)): each.read_bytes() if each.is_file() else None
        for each in path.rglob("*")
    }


def test_new_folder(tmp_path: Path) -> None:
    """core 5.5: opening makes the folder, empty, and opening it again changes nothing."""
    store = JsonlBackend(tmp_path / "store")
    for _ in range(2):
        store.open(holder())
        store.close()
        assert tree(tmp_path) == {"store": None}
    assert store.place == str(tmp_path / "store")


@pytest.mark.parametrize("other", ["folder", "file"])
def test_somebody_else_is_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """core 5.5: a folder that another process makes at the same moment is used, a file refused."""
    place, real = tmp_path / "store", os.mkdir

    def late(path: str) -> None:
        if other == "folder":
            real(path)
        else:
            Path(path).touch()
        real(path)

    monkeypatch.setattr(os, "mkdir", late)
    if other == "file":
        assert "it is a file" in str(refused(place))
        return
    store = JsonlBackend(place)
    store.open(holder())
    store.close()
    assert tree(tmp_path) == {"store": None}


def test_folder_that_must_be_there(tmp_path: Path) -> None:
    """core 5.5: without leave to make it, a folder that is not there is refused."""
    assert "no such folder" in refused(tmp_path / "store", create=False).message
    assert tree(tmp_path) == {}


def test_missing_parent(tmp_path: Path) -> None:
    """core 5.5: a folder in one that is not there is refused, and none is made."""
    assert f"there is no folder {tmp_path / 'a'};" in refused(tmp_path / "a" / "store").message
    assert tree(tmp_path) == {}


def test_file_in_its_place(tmp_path: Path) -> None:
    """core 5.5: a file in the folder's place, or its parent's, is refused and stays."""
    (tmp_path / "store").write_bytes(b"SQLite format 3\0")
    before = tree(tmp_path)
    assert "is a file" in refused(tmp_path / "store").message
    refused(tmp_path / "store" / "below")
    assert tree(tmp_path) == before


def test_odd_paths(tmp_path: Path) -> None:
    """core 5.5: a path that no system takes is refused with an error of ours."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("gone")
    for name in ("a\0b", "x" * 300, "loop", "nowhere"):
        refused(tmp_path / name)
    assert sorted(tree(tmp_path)) == ["loop", "nowhere"]


def test_holders_that_are_no_folder(tmp_path: Path) -> None:
    """core 5.5: a file in the place of the holders' folder is refused when opening."""
    (tmp_path / ".holders").write_text("x")
    assert ".holders in it is no folder" in refused(tmp_path).message


@pytest.mark.parametrize("there", [True, False])
def test_folder_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    """core 5.5: a folder that may not be written is refused, and nothing is made."""
    if there:
        # The superuser may write everywhere; what the system would say is put in its mouth.
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        assert "read-only" in refused(tmp_path).message
    else:

        def refuse(path: str, mode: int = 0o777) -> None:
            raise PermissionError(13, "Permission denied", path)

        monkeypatch.setattr(os, "mkdir", refuse)
        assert "permission denied" in refused(tmp_path / "store").message
    assert tree(tmp_path) == {}


def test_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """core 5.6: without locks that end with their process the store points to the other one."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    assert "SqliteStore" in refused(tmp_path / "store").message
    assert tree(tmp_path) == {}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> Iterator[JsonlBackend]:
    backend = JsonlBackend(root)
    backend.open(holder())
    yield backend
    backend.close()


def put(store: JsonlBackend, seq: int, session_id: str = "s") -> Exception | None:
    header = SessionHeader(session_id, 5, "/w")
    portion = Portion(header, Lease(session_id, 1, 0), seq, note(seq), create=not seq)
    return store.write([portion], NOW)[0]


def check_unavailable(error: BaseException | None, root: Path) -> None:
    assert isinstance(error, SessionError)
    assert (error.code, error.retryable) == ("STORE_UNAVAILABLE", True)
    assert str(root) in error.details["place"]
    assert error.details["reason"] == "no such file or directory"


def test_folder_that_vanishes(root: Path, store: JsonlBackend) -> None:
    """core 5.5: without its folder every use is refused as unavailable, and none makes it anew."""
    assert put(store, 0) is None
    away = root.rename(root.with_name("away"))
    for error in (put(store, 1), put(store, 0, "new")):
        check_unavailable(error, root)
    for use in (
        lambda: store.read("s", NOW),
        lambda: store.read_from("s", 0),
        lambda: store.snapshots(NOW, None),
        lambda: store.check_new("x", NOW),
        lambda: store.lease("s", NOW, after=None, events=(), takeover=False),
        lambda: store.renew(holder()),
    ):
        with pytest.raises(SessionError) as caught:
            use()
        check_unavailable(caught.value, root)
    assert not root.exists()
    away.rename(root)
    assert put(store, 1) is None
    assert put(store, 0, "new") is None
    store.renew(holder())
    assert [event.seq for event in store.read("s", NOW).log.events] == [0, 1]


def test_folder_that_is_emptied(root: Path, store: JsonlBackend) -> None:
    """core 5.5: in a folder that lost everything new sessions are made; the lost one is told."""
    assert put(store, 0) is None
    root.rename(root.with_name("away"))
    root.mkdir()
    assert put(store, 0, "new") is not None  # the sign of life is gone, which is found out here
    assert put(store, 0, "new") is None
    check_unavailable(put(store, 1), root)


def test_log_that_vanishes(root: Path, store: JsonlBackend) -> None:
    """core 5.5: a log that is gone is unavailable to its holder, until it is back."""
    assert put(store, 0) is None
    path = root / "--w--" / "s" / "session.jsonl"
    away = path.rename(path.with_name("away"))
    check_unavailable(put(store, 1), root)
    away.rename(path)
    assert put(store, 1) is None


def test_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """core 5.5: a store stays where it was when the process changes its folder."""
    monkeypatch.chdir(tmp_path)
    store = JsonlBackend("store")
    store.open(holder())
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert put(store, 0) is None
    assert (tmp_path / "store" / "--w--" / "s" / "session.jsonl").exists()
    store.close()
