"""A SQLite store whose disk fails, whose file goes away, whose lock is taken."""

from __future__ import annotations

import os
import resource
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.store import Lease
from broodline.actors.stores.backend import Portion
from broodline.actors.stores.holder import this_process
from broodline.actors.stores.sqlite_backend import SqliteBackend
from broodline.messages.errors import SessionError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.lossless import FrozenDict
from broodline.messages.payload import OpaquePayload, StepEnd

NOW = 1000.0


def steps(count: int, first: int = 0) -> list[Event]:
    return [Event(seq, 5, StepEnd(1, seq + 1)) for seq in range(first, first + count)]


def big(seq: int, size: int = 100_000) -> Event:
    return Event(seq, 5, OpaquePayload("x/y", FrozenDict({"text": "x" * size})), ignorable=True)


def made(session_id: str, events: list[Event], **how: Any) -> Portion:
    header = SessionHeader(session_id, 1)
    return Portion(header, Lease(session_id, 1, 0), 0, events, create=True, **how)


def more(session_id: str, first: int, events: list[Event], **how: Any) -> Portion:
    return Portion(SessionHeader(session_id, 1), Lease(session_id, 1, 0), first, events, **how)


def refusal(call: Any, *arguments: Any) -> SessionError:
    """The STORE_UNAVAILABLE that a call must end with."""
    with pytest.raises(SessionError) as caught:
        call(*arguments)
    assert (caught.value.code, caught.value.retryable) == ("STORE_UNAVAILABLE", True)
    assert set(caught.value.details) == {"place", "reason"}
    return caught.value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def backend(path: Path) -> Iterator[SqliteBackend]:
    """A store with a session `a` of two events."""
    backend = SqliteBackend(path, patience=0.01)
    backend.open(this_process("one", 30.0, NOW))
    assert backend.write([made("a", steps(2))], NOW) == [None]
    yield backend
    backend.close()


@contextmanager
def no_longer_file_than(size: int) -> Generator[None]:
    """Writing past `size` bytes of any file fails: a disk that is broken from there on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_database_recovers(backend: SqliteBackend) -> None:
    """core 5: disk full: nothing is stored, and it goes on in order once there is room."""
    db = vars(backend)["_links"][0].db
    db.execute("PRAGMA max_page_count = 1")  # as low as it may be: what there is
    batch = [more("a", 2, [big(2)]), made("b", steps(1))]
    assert refusal(backend.write, batch, NOW).details["reason"] == "disk full"
    assert backend.read_from("a", 0) == steps(2)
    db.execute("PRAGMA max_page_count = 1000000")
    assert backend.write(batch, NOW) == [None, None]
    assert backend.read_from("a", 2) == [big(2)]


def test_a_disk_that_does_not_write_recovers(backend: SqliteBackend, path: Path) -> None:
    """core 5: an I/O error in the middle of a commit: nothing is stored, a retry stores it once."""
    batch = [more("a", 2, [big(2)])]
    for _ in range(2):
        with no_longer_file_than(os.path.getsize(f"{path}-wal")):
            error = refusal(backend.write, batch, NOW)
        assert "I/O error" in error.details["reason"]
        assert backend.read_from("a", 0) == steps(2)
    assert backend.write(batch, NOW) == [None]
    assert backend.write([more("a", 3, steps(1, 3))], NOW) == [None]
    assert len(backend.read_from("a", 0)) == 4


def test_a_lock_that_is_not_given_back_in_time(backend: SqliteBackend, path: Path) -> None:
    """core 5: another process in its transaction for too long; reading goes on meanwhile."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    batch = [more("a", 2, steps(1, 2))]
    for call, arguments in (
        (backend.write, (batch, NOW)),
        (backend.renew, (this_process("one", 30.0, NOW + 1),)),
    ):
        assert refusal(call, *arguments).details["reason"] == "locked too long"
    with pytest.raises(SessionError) as caught:
        backend.lease("a", NOW, after=None, events=(), takeover=False)
    assert caught.value.code == "STORE_UNAVAILABLE"
    assert backend.read("a", NOW).log.events == steps(2)
    other.execute("COMMIT")
    other.close()
    assert backend.write(batch, NOW) == [None]


def test_a_file_that_was_taken_away(backend: SqliteBackend, path: Path) -> None:
    """core 5: nothing goes to a file that no path leads to; it recovers when it is put back."""
    hidden = path.with_name("hidden.db")
    path.rename(hidden)
    batch = [more("a", 2, steps(2, 2))]
    for _ in range(2):
        assert "not there" in refusal(backend.write, batch, NOW).details["reason"]
        refusal(backend.read, "a", NOW)
        refusal(backend.snapshots, NOW, None)
        assert not path.exists()
    hidden.rename(path)
    assert backend.write(batch, NOW) == [None]
    assert backend.read_from("a", 0) == steps(4)


def test_a_file_that_was_deleted_is_not_made_anew(backend: SqliteBackend, path: Path) -> None:
    """core 5: a store that is lost is not replaced by an empty one behind everybody's back."""
    for file in path.parent.iterdir():
        file.unlink()
    for _ in range(2):
        refusal(backend.write, [more("a", 2, steps(1, 2))], NOW)
        refusal(backend.read_from, "a", 0)
    backend.close()
    assert list(path.parent.iterdir()) == []


def test_a_file_that_was_replaced(backend: SqliteBackend, path: Path, tmp_path: Path) -> None:
    """core 5: another store in its place is neither written to nor harmed."""
    other = SqliteBackend(tmp_path / "other.db")
    other.open(this_process("other", 30.0, NOW))
    assert other.write([made("a", steps(2))], NOW) == [None]
    other.close()
    hidden = path.with_name("hidden.db")
    path.rename(hidden)
    before = (tmp_path / "other.db").read_bytes()
    (tmp_path / "other.db").rename(path)
    for _ in range(2):
        refusal(backend.write, [more("a", 2, steps(1, 2))], NOW)
        refusal(backend.read_from, "a", 0)
    assert path.read_bytes() == before
    path.unlink()
    hidden.rename(path)
    assert backend.write([more("a", 2, steps(1, 2))], NOW) == [None]


def test_no_database_in_its_place(backend: SqliteBackend, path: Path) -> None:
    """core 5: what is no database any more is unavailable, not corrupt: it may come back."""
    hidden = path.with_name("hidden.db")
    path.rename(hidden)
    diary = "Dear diary,\n" * 1000
    path.write_text(diary)
    for _ in range(2):
        refusal(backend.write, [more("a", 2, steps(1, 2))], NOW)
        refusal(backend.read_from, "a", 0)
    assert path.read_text() == diary
    path.unlink()
    hidden.rename(path)
    assert backend.read_from("a", 0) == steps(2)


def test_a_log_that_was_taken_away(backend: SqliteBackend, path: Path) -> None:
    """core 5: what nobody else could read is not acknowledged; what was written is not lost."""
    os.unlink(f"{path}-wal")
    batch = [more("a", 2, steps(2, 2))]
    refusal(backend.write, batch, NOW)
    assert backend.write(batch, NOW) == [None]
    assert backend.read_from("a", 0) == steps(4)


@pytest.mark.parametrize("release", [False, True])
def test_what_a_doubtful_commit_did_is_not_done_twice(path: Path, release: bool) -> None:
    """core 5: a commit that happened but could not be confirmed is found by the retry."""
    words: list[str] = []

    def take_away(word: str) -> None:
        words.append(word)
        if word == "after commit" and words.count(word) == 2:
            path.rename(path.with_name("hidden.db"))

    backend = SqliteBackend(path, trace=take_away)
    backend.open(this_process("one", 30.0, NOW))
    assert backend.write([made("a", steps(2))], NOW) == [None]
    batch = [more("a", 2, steps(2, 2), release=release), made("b", steps(3), release=release)]
    refusal(backend.write, batch, NOW)
    path.with_name("hidden.db").rename(path)
    if not release:  # what came up meanwhile goes with the retry
        batch = [more("a", 2, steps(3, 2)), made("b", steps(4))]
    assert backend.write(batch, NOW) == [None, None]
    assert None not in backend.write(batch, NOW)
    extra = 0 if release else 1
    assert backend.read_from("a", 0) == steps(4 + extra)
    assert backend.read_from("b", 0) == steps(3 + extra)
    backend.close()


def test_leases_that_cannot_be_given_back_do_not_keep_it_open(
    backend: SqliteBackend, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Contract: closing lets go of the place whatever happens, and says what it could not do."""
    path.rename(path.with_name("hidden.db"))
    backend.close()
    assert "not given back" in caplog.text
    with pytest.raises(SessionError) as caught:
        backend.write([], NOW)
    assert caught.value.code == "STORE_CLOSED"
