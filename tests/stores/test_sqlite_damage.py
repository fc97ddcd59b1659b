"""Damage inside a SQLite store: named by place, session and number, never read around."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.store import Lease
from broodline.actors.stores.backend import Portion
from broodline.actors.stores.holder import this_process
from broodline.actors.stores.sqlite_backend import SqliteBackend
from broodline.messages.errors import (
    SessionCorruptError,
    SessionError,
    SessionFormatUnsupportedError,
)
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import StepEnd

NOW = 1000.0
BASE = 1 << 32
"""The place of the first event of the first session."""


def steps(count: int, first: int = 0) -> list[Event]:
    return [Event(seq, 5, StepEnd(1, seq + 1)) for seq in range(first, first + count)]


def made(session_id: str, count: int) -> Portion:
    header = SessionHeader(session_id, 1)
    return Portion(header, Lease(session_id, 1, 0), 0, steps(count), create=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def backend(path: Path) -> Iterator[SqliteBackend]:
    """A store with a session `a` of six events and a session `b` of two."""
    backend = SqliteBackend(path)
    backend.open(this_process("one", 30.0, NOW))
    assert backend.write([made("a", 6), made("b", 2)], NOW) == [None, None]
    yield backend
    backend.close()


def run(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


LINE = json.dumps({"type": "step/end", "seq": 3, "time": 5, "data": {"turn": 1, "step": 4}})
UNKNOWN = LINE.replace("step/end", "from/the-future")


@pytest.mark.parametrize(
    ("harm", "seq"),
    [
        (f"DELETE FROM events WHERE place = {BASE}", 0),
        (f"DELETE FROM events WHERE place = {BASE + 3}", 3),
        (f"DELETE FROM events WHERE place = {BASE + 5}", 5),
        (f"UPDATE events SET place = {BASE + 9} WHERE place = {BASE + 5}", 5),
        (f"UPDATE events SET line = json_set(line, '$.seq', 4) WHERE place = {BASE + 3}", 3),
        (f"UPDATE events SET line = substr(line, 1, 20) WHERE place = {BASE + 3}", 3),
        (f"UPDATE events SET line = '' WHERE place = {BASE + 3}", 3),
        (f"UPDATE events SET line = '[]' WHERE place = {BASE + 3}", 3),
        (f"UPDATE events SET line = CAST(x'80FF' AS TEXT) WHERE place = {BASE + 3}", 3),
        (f"UPDATE events SET line = x'80FF' WHERE place = {BASE + 3}", 3),
        ("UPDATE sessions SET length = 4 WHERE id = 'a'", 4),
        ("UPDATE sessions SET length = 8 WHERE id = 'a'", 6),
    ],
)  # fmt: skip
def test_a_damaged_log_is_refused(backend: SqliteBackend, path: Path, harm: str, seq: int) -> None:
    """Core 18.5: a gap, a wrong number, no JSON, a wrong length: corrupt, and where; b is well."""
    run(path, harm)
    for read in (lambda: backend.read("a", NOW), lambda: backend.read_from("a", 0)):
        with pytest.raises(SessionCorruptError) as caught:
            read()
        assert type(caught.value) is SessionCorruptError
        assert caught.value.details | {"place": str(path), "session": "a", "seq": seq} == (
            caught.value.details
        )
        assert str(path) in caught.value.message
        assert "'a'" in caught.value.message
    assert backend.read_from("b", 0) == steps(2)


def test_damage_before_a_suffix_does_not_hide_it(backend: SqliteBackend, path: Path) -> None:
    """Core 5.1: a suffix is raw: it is judged by what is read of it."""
    run(path, f"DELETE FROM events WHERE place = {BASE + 1}")
    assert backend.read_from("a", 2) == steps(4, 2)
    run(path, f"DELETE FROM events WHERE place = {BASE + 4}")
    with pytest.raises(SessionCorruptError) as caught:
        backend.read_from("a", 2)
    assert caught.value.details["seq"] == 4


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("'no'", SessionCorruptError),
        ("json_set(header, '$.id', 'c')", SessionCorruptError),
        ("json_remove(header, '$.createdAt')", SessionCorruptError),
        ("json_set(header, '$.version', 1)", SessionFormatUnsupportedError),
    ],
)
def test_a_damaged_header_is_refused(
    backend: SqliteBackend, path: Path, header: str, kind: type[SessionError]
) -> None:
    """Core 18.5 #97: a header that is not the session's, or not of this version, says so."""
    run(path, f"UPDATE sessions SET header = {header} WHERE id = 'a'")
    with pytest.raises(kind) as caught:
        backend.read("a", NOW)
    assert type(caught.value) is kind
    assert caught.value.details | {"place": str(path), "session": "a"} == caught.value.details


def test_a_header_that_cannot_be_read_hides_no_other(
    backend: SqliteBackend, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Core 5.7: a listing leaves it out, and says so in the log."""
    run(path, "UPDATE sessions SET header = 'no' WHERE id = 'a'")
    assert [shot.header.id for shot in backend.snapshots(NOW, None)] == ["b"]
    assert "'a'" in caplog.text


def test_an_unknown_required_event_is_unsupported(backend: SqliteBackend, path: Path) -> None:
    """Core 18.5 #94: intact but not understood, naming type, session, place and number."""
    run(path, f"UPDATE events SET line = '{UNKNOWN}' WHERE place = {BASE + 3}")
    with pytest.raises(SessionFormatUnsupportedError, match="from/the-future") as caught:
        backend.read("a", NOW)
    assert caught.value.details["seq"] == 3
    assert caught.value.details["place"] == str(path)
    run(path, f"UPDATE events SET line = json_set(line, '$.ignorable', json('true'))"
              f" WHERE place = {BASE + 3}")  # fmt: skip
    assert len(backend.read("a", NOW).log.events) == 6


def test_events_behind_the_end_are_never_written_over(backend: SqliteBackend, path: Path) -> None:
    """core 5: a session that has more rows than it says takes no event; the others do."""
    run(path, "UPDATE sessions SET length = 4 WHERE id = 'a'")

    def more(session_id: str, first: int) -> Portion:
        header, lease = SessionHeader(session_id, 1), Lease(session_id, 1, 0)
        return Portion(header, lease, first, steps(1, first))

    failed, fine = backend.write([more("a", 4), more("b", 2)], NOW)
    assert isinstance(failed, SessionCorruptError)
    assert fine is None
    assert backend.read_from("b", 0) == steps(3)
    with pytest.raises(SessionCorruptError):
        backend.lease("a", NOW, after=None, events=steps(1, 4), takeover=False)


@pytest.mark.parametrize("page", [2, 5, 8])
def test_a_page_of_rubbish_is_damage(path: Path, page: int) -> None:
    """core 5: what SQLite calls malformed is `SessionCorruptError`, for whoever comes across it."""
    first = SqliteBackend(path)
    first.open(this_process("one", 30.0, NOW))
    assert first.write([made("a", 400), made("b", 2)], NOW) == [None, None]
    first.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)
    second = SqliteBackend(path)
    errors: list[Any] = []
    try:
        second.open(this_process("two", 30.0, NOW))
        second.snapshots(NOW, None)
        second.read("a", NOW)
        errors.extend(second.write([made("c", 1)], NOW))
    except SessionError as error:
        errors.append(error)
    finally:
        second.close()
    assert [type(error) for error in errors] in ([SessionCorruptError], [None.__class__])
