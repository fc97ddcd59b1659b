"""What a SQLite backend writes and reads: blocking, without a store around it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.store import Lease
from broodline.actors.stores.backend import Portion
from broodline.actors.stores.holder import this_process
from broodline.actors.stores.sqlite_backend import SqliteBackend
from broodline.actors.stores.sqlite_reading import ALL, CHILDREN, LINES
from broodline.actors.stores.sqlite_writing import RELEASE_ALL, SWEEP
from broodline.messages.content import Text
from broodline.messages.errors import SessionError, SessionLeasedError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.lossless import FrozenDict
from broodline.messages.message import UserMessage
from broodline.messages.payload import OpaquePayload, StepEnd, UserMessageLogged

NOW = 1000.0
Opener = Callable[..., SqliteBackend]


def steps(count: int, first: int = 0) -> list[Event]:
    return [Event(seq, 5, StepEnd(1, seq + 1)) for seq in range(first, first + count)]


def said(seq: int, text: str) -> Event:
    return Event(seq, 5, UserMessageLogged(UserMessage("u", (Text(text),))), "append")


def made(session_id: str, events: list[Event], **header: Any) -> Portion:
    lease = Lease(session_id, 1, 0)
    return Portion(SessionHeader(session_id, 1, **header), lease, 0, events, create=True)


def more(session_id: str, first: int, events: list[Event], fence: int = 1, **how: Any) -> Portion:
    return Portion(SessionHeader(session_id, 1), Lease(session_id, fence, 0), first, events, **how)


def put(backend: SqliteBackend, *portions: Portion, now: float = NOW) -> None:
    assert backend.write(portions, now) == [None] * len(portions)


def take(backend: SqliteBackend, session_id: str, *, now: float = NOW, **how: Any) -> Lease:
    what: dict[str, Any] = {"after": None, "events": (), "takeover": False}
    return backend.lease(session_id, now, **(what | how))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def opener(path: Path) -> Iterator[Opener]:
    """Opens stores of this process, each another holder's, and closes them."""
    opened: list[SqliteBackend] = []

    def make(holder: str = "one", now: float = NOW, **options: Any) -> SqliteBackend:
        backend = SqliteBackend(path, **options)
        backend.open(this_process(holder, 30.0, now))
        opened.append(backend)
        return backend

    yield make
    for backend in opened:
        backend.close()


@pytest.fixture
def backend(opener: Opener) -> SqliteBackend:
    return opener()


def rows(path: Path, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
    db = sqlite3.connect(path)
    try:
        return db.execute(query, values).fetchall()
    finally:
        db.close()


# --- writing


def test_a_session_is_made_by_its_first_events(backend: SqliteBackend, path: Path) -> None:
    """Core 18.5 #80: what has no event yet leaves nothing behind, not even its holder."""
    put(backend, made("a", []))
    assert rows(path, "SELECT id FROM sessions UNION SELECT id FROM holders") == []
    put(backend, made("a", steps(2)))
    assert backend.read("a", NOW).log.events == steps(2)


def test_events_follow_without_a_gap(backend: SqliteBackend) -> None:
    """Core 18.5 #83: what starts behind or before the stored end is refused, and nothing stored."""
    put(backend, made("a", steps(5)))
    for first in (4, 6):
        (error,) = backend.write([more("a", first, steps(1, first))], NOW)
        assert isinstance(error, SessionError)
        assert error.code == "SEQ_MISMATCH"
        assert error.details["stored"] == 5
    assert backend.read_from("a", 0) == steps(5)


def test_a_batch_with_a_gap_is_refused_as_a_whole(backend: SqliteBackend) -> None:
    """Core 18.5 #84: of a batch whose numbers do not count on, nothing is stored."""
    put(backend, made("a", steps(2)))
    (error,) = backend.write([more("a", 2, [*steps(1, 2), *steps(1, 4)])], NOW)
    assert isinstance(error, SessionError)
    assert error.code == "SEQ_MISMATCH"
    assert len(backend.read_from("a", 0)) == 2


def test_a_portion_that_fails_takes_nothing_down(backend: SqliteBackend) -> None:
    """Core 18.5 #107: in one commit each session fails or is stored for itself."""
    put(backend, made("a", steps(1)), made("b", steps(1)), made("c", steps(1)))
    lossy = Event(1, 5, OpaquePayload("x/y", FrozenDict({"n": float("nan")})), ignorable=True)
    results = backend.write(
        [
            more("a", 1, [lossy]),
            more("b", 1, steps(2, 1)),
            more("c", 7, steps(1, 7)),
            more("none", 0, steps(1)),
            made("d", steps(3)),
            made("b", steps(1)),
        ],
        NOW,
    )
    codes = [None if error is None else getattr(error, "code", "?") for error in results]
    assert codes == [
        "EVENT_UNWRITABLE", None, "SEQ_MISMATCH", "SESSION_LEASED", None, "SESSION_ALREADY_EXISTS",
    ]  # fmt: skip
    lengths = [(shot.header.id, shot.length) for shot in backend.snapshots(NOW, None)]
    assert lengths == [("a", 1), ("b", 3), ("c", 1), ("d", 3)]


def test_an_event_that_sqlite_cannot_hold_is_left_out_alone(backend: SqliteBackend) -> None:
    """DESIGN 3: an event past SQLite's largest value is named; what came with it is stored."""
    put(backend, made("a", steps(1)), made("b", steps(1)))
    vars(backend)["_links"][0].db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000)
    big = more("a", 1, [*steps(1, 1), said(2, "x" * 20_000)])
    failed, fine = backend.write([big, more("b", 1, steps(1, 1))], NOW)
    assert isinstance(failed, SessionError)
    assert (failed.code, failed.details["seq"]) == ("EVENT_UNWRITABLE", 2)
    assert fine is None
    assert (len(backend.read_from("a", 0)), len(backend.read_from("b", 0))) == (1, 2)


def test_a_lone_surrogate_is_no_ones_trouble(backend: SqliteBackend) -> None:
    """Core 1.3: a text that UTF-8 cannot write fails its own portion, whoever let it through."""
    put(backend, made("b", steps(1)))
    failed, fine = backend.write([made("a", [said(0, "\ud800")]), more("b", 1, steps(1, 1))], NOW)
    assert isinstance(failed, SessionError)
    assert failed.code == "EVENT_UNWRITABLE"
    assert fine is None


@pytest.mark.parametrize("text", ["\0", "a\nb\r\u2028\u0085", "é漢🜚\x7f", "\\u0000", '"', ""])
def test_any_text_comes_back(backend: SqliteBackend, text: str) -> None:
    """core 5: null bytes, raw newlines and any unicode are kept, in texts and in ids."""
    session_id = f"../{text}x"
    put(backend, made(session_id, [said(0, text)], parent_session=session_id))
    assert backend.read(session_id, NOW).log.events == [said(0, text)]
    (shot,) = backend.snapshots(NOW, session_id)
    assert shot.header.id == session_id


def test_an_id_is_data(backend: SqliteBackend, tmp_path: Path) -> None:
    """Core 18.5 #98: ids that look like paths or SQL name sessions and nothing else."""
    ids = [
        "../../x",
        ".",
        "..",
        "a/b",
        "a",
        "A",
        "é",
        "e\u0301",
        "'; DROP TABLE events; --",
        "a\0b",
    ]
    put(backend, *(made(session_id, steps(1)) for session_id in ids))
    assert [shot.header.id for shot in backend.snapshots(NOW, None)] == ids
    assert {file.name.partition("-")[0] for file in tmp_path.iterdir()} == {"store.db"}


def test_an_event_of_twenty_megabytes(backend: SqliteBackend) -> None:
    """core 5: an event of 20 MB is stored and read."""
    event = said(0, "x" * 20_000_000)
    put(backend, made("a", [event]))
    assert backend.read_from("a", 0) == [event]


# --- reading


def test_a_suffix_is_read_from_its_number(backend: SqliteBackend) -> None:
    """Core 18.5 #100: at and past the end there is nothing; an absent id is said to be."""
    put(backend, made("a", steps(5)), made("b", steps(2)))
    assert backend.read_from("a", 3) == steps(2, 3)
    assert backend.read_from("a", 5) == backend.read_from("a", 1 << 40) == []
    with pytest.raises(SessionError) as caught:
        backend.read_from("none", 0)
    assert caught.value.code == "SESSION_NOT_FOUND"


def test_children_are_found_in_the_order_of_their_creation(backend: SqliteBackend) -> None:
    """core 5: the sessions of one parent, with what is known without reading their logs."""
    put(backend, made("p", steps(1)), made("z", steps(2), parent_session="p"))
    put(backend, made("q", steps(1), parent_session="z"), made("y", steps(3), parent_session="p"))
    shots = backend.snapshots(NOW, "p")
    assert [(shot.header.id, shot.length, shot.live) for shot in shots] == [
        ("z", 2, True),
        ("y", 3, True),
    ]
    assert backend.snapshots(NOW, "nobody") == []


@pytest.mark.parametrize(
    ("query", "values", "through"),
    [
        (CHILDREN, ("p",), "sessions USING INDEX sessions_by_parent (parent=?)"),
        (LINES, (0, 9), "events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        (RELEASE_ALL, ("h",), "sessions USING INDEX sessions_by_holder (holder=?)"),
        (SWEEP, ("h",), "sessions USING COVERING INDEX sessions_by_holder (holder=?)"),
    ],
)
def test_no_table_is_read_through(
    backend: SqliteBackend, path: Path, query: str, values: tuple[Any, ...], through: str
) -> None:
    """core 5: children, newest events and a holder's sessions are found by an index, unsorted."""
    plan = [row[3] for row in rows(path, f"EXPLAIN QUERY PLAN {query}", values)]
    assert any(through in line for line in plan), plan
    assert not any("SCAN" in line or "TEMP B-TREE" in line for line in plan), plan


def test_all_sessions_are_listed_without_their_events(backend: SqliteBackend, path: Path) -> None:
    """Core 5.1: a listing does not touch the table of events."""
    plan = [row[3] for row in rows(path, f"EXPLAIN QUERY PLAN {ALL}")]
    assert not any("events" in line for line in plan)


def test_people_can_look_into_it(backend: SqliteBackend, path: Path) -> None:
    """DESIGN 3: the view `log` shows the events with session, seq, type, time and data."""
    put(backend, made("a", steps(1)), made("b", steps(2)))
    query = "SELECT * FROM log WHERE session = 'b' ORDER BY seq"
    assert rows(path, query) == [
        ("b", 0, "step/end", "1970-01-01T00:00:00.005Z", '{"turn":1,"step":1}'),
        ("b", 1, "step/end", "1970-01-01T00:00:00.005Z", '{"turn":1,"step":2}'),
    ]
    deep = "[" * 3000 + "]" * 3000
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("UPDATE events SET line = ? WHERE place = (2 << 32) + 1", (deep,))
    db.close()
    assert rows(path, query)[1] == ("b", 1, None, None, deep)


def test_a_revision_changes_with_the_log_alone(backend: SqliteBackend) -> None:
    """Core 18.5 #101: it is the same for the same log, and another after an append or a repair."""
    put(backend, made("a", steps(2)), made("b", steps(2)))
    first = backend.read("a", NOW).log.revision
    put(backend, more("a", 2, [], release=True))
    assert backend.read("a", NOW).log.revision == first
    take(backend, "a")
    assert backend.read("a", NOW).log.revision == first
    take(backend, "a", events=steps(1, 2))
    second = backend.read("a", NOW).log.revision
    put(backend, more("a", 3, steps(1, 3), fence=3))
    third = backend.read("a", NOW).log.revision
    assert len({first, second, third, backend.read("b", NOW).log.revision}) == 4


def test_a_revision_is_never_that_of_another_store(opener: Opener, path: Path) -> None:
    """Core 5.1: a store made anew at the same path gives the same log another revision."""
    revisions: set[str] = set()
    for _ in range(2):
        backend = opener()
        put(backend, made("a", steps(2)))
        revisions.add(backend.read("a", NOW).log.revision)
        backend.close()
        path.unlink()
    assert len(revisions) == 2


def test_a_recording_stays_one(backend: SqliteBackend) -> None:
    """core 5: a session in the projected form says so, and cannot be leased to be written on."""
    put(backend, replace(made("a", steps(2)), projected=True, release=True))
    image = backend.read("a", NOW)
    (shot,) = backend.snapshots(NOW, None)
    assert (image.log.projected, shot.projected, image.standing) == (True, True, "free")
    with pytest.raises(SessionError) as caught:
        take(backend, "a")
    assert caught.value.code == "PROJECTED"


# --- leases


def test_a_session_that_is_there_is_not_made_again(backend: SqliteBackend) -> None:
    """Core 18.5 #81: its id is taken, also after its lease was given back."""
    put(backend, made("a", steps(1)))
    for _ in range(2):
        (error,) = backend.write([made("a", steps(3))], NOW)
        assert isinstance(error, SessionError)
        assert error.code == "SESSION_ALREADY_EXISTS"
        with pytest.raises(SessionError) as caught:
            backend.check_new("a", NOW)
        assert caught.value.code == "SESSION_ALREADY_EXISTS"
        backend.write([more("a", 1, [], release=True)], NOW)
    backend.check_new("b", NOW)
    assert backend.read_from("a", 0) == steps(1)


def test_a_living_holder_keeps_everybody_out(opener: Opener) -> None:
    """core 5: SESSION_LEASED at once, and nothing written, for a lease, a new session, a check."""
    first, second = opener("one"), opener("two")
    put(first, made("a", steps(1)))
    revision = first.read("a", NOW).log.revision
    with pytest.raises(SessionLeasedError) as leased:
        take(second, "a", events=steps(1, 1))
    assert leased.value.details["current"] == 1
    with pytest.raises(SessionLeasedError):
        second.check_new("a", NOW)
    (error,) = second.write([made("a", steps(1))], NOW)
    assert isinstance(error, SessionLeasedError)
    assert (second.read("a", NOW).standing, first.read("a", NOW).standing) == ("alive", "mine")
    assert first.read("a", NOW).log.revision == revision


def test_a_dead_holder_is_taken_over_and_fenced_off(opener: Opener) -> None:
    """core 5: the lease goes on with a higher number; the old holder's next write is refused."""
    old, new = opener("old"), opener("new")
    put(old, made("a", steps(2)))
    later = NOW + 31
    assert new.read("a", later).standing == "dead"
    assert take(new, "a", now=later, events=steps(1, 2)) == Lease("a", 2, 3)
    (error,) = old.write([more("a", 2, steps(1, 2))], later)
    assert isinstance(error, SessionLeasedError)
    assert not error.retryable
    assert (error.details["fence"], error.details["current"]) == (1, 2)
    (error,) = old.write([more("a", 2, [], release=True)], later)
    assert isinstance(error, SessionLeasedError)
    assert new.read("a", later).standing == "mine"
    assert new.read_from("a", 0) == steps(3)


def test_a_renewed_holder_lives_on(opener: Opener) -> None:
    """core 5: one sign of life counts for every session of the holder."""
    old, new = opener("old"), opener("new")
    put(old, made("a", steps(1)), made("b", steps(1)))
    old.renew(this_process("old", 30.0, NOW + 20))
    assert {shot.live for shot in new.snapshots(NOW + 45, None)} == {True}
    assert {shot.live for shot in new.snapshots(NOW + 51, None)} == {False}


def test_a_holder_without_a_lease_writes_no_sign_of_life(
    backend: SqliteBackend, path: Path
) -> None:
    """Contract: a store that has taken no lease is not written down."""
    backend.renew(this_process("one", 30.0, NOW + 20))
    assert rows(path, "SELECT * FROM holders") == []


def test_a_fence_grows_and_is_never_reset(backend: SqliteBackend) -> None:
    """core 5: giving a lease back keeps its number; the next one is higher."""
    put(backend, made("a", steps(1)))
    for fence in (1, 2, 3):
        put(backend, more("a", 1, [], fence, release=True))
        assert backend.read("a", NOW).standing == "free"
        assert take(backend, "a").fence == fence + 1
    (error,) = backend.write([more("a", 1, steps(1, 1), fence=2)], NOW)
    assert isinstance(error, SessionLeasedError)


def test_a_lease_is_refused_when_the_log_has_changed(opener: Opener) -> None:
    """core 5: between reading and taking the lease nobody may have written."""
    first, second = opener("one"), opener("two")
    put(first, made("a", steps(1)))
    log = second.read("a", NOW).log
    put(first, more("a", 1, steps(1, 1), release=True))
    with pytest.raises(SessionLeasedError):
        take(second, "a", after=log, events=steps(1, 1))
    assert second.read("a", NOW).standing == "free"
    assert take(second, "a", after=second.read("a", NOW).log) == Lease("a", 2, 2)


def test_a_lease_and_its_events_are_one(backend: SqliteBackend) -> None:
    """core 5: events that do not follow leave the lease untaken as well."""
    put(backend, made("a", steps(1)), made("b", steps(1)))
    put(backend, more("a", 1, [], release=True))
    with pytest.raises(SessionError) as caught:
        take(backend, "a", events=steps(1, 4))
    assert caught.value.code == "SEQ_MISMATCH"
    assert backend.read("a", NOW).standing == "free"
    with pytest.raises(SessionError) as caught:
        take(backend, "none")
    assert caught.value.code == "SESSION_NOT_FOUND"


def test_the_last_events_give_the_lease_back(opener: Opener) -> None:
    """Contract: what is released with its last events is free in the same commit."""
    first, second = opener("one"), opener("two")
    put(first, made("a", steps(1)))
    put(first, more("a", 1, steps(2, 1), release=True))
    put(first, replace(made("b", steps(1)), release=True))
    assert [shot.live for shot in second.snapshots(NOW, None)] == [False, False]
    assert take(second, "a") == Lease("a", 2, 3)


def test_closing_gives_everything_back(opener: Opener, path: Path) -> None:
    """Contract: no lease and no holder is left of a store that was closed."""
    first = opener("one")
    put(first, made("a", steps(1)), made("b", steps(1)))
    first.close()
    first.close()
    assert rows(path, "SELECT holder FROM sessions") == [(None,), (None,)]
    assert rows(path, "SELECT * FROM holders") == []
    with pytest.raises(SessionError) as caught:
        first.read("a", NOW)
    assert caught.value.code == "STORE_CLOSED"


def test_dead_holders_are_swept_once_nothing_needs_them(opener: Opener, path: Path) -> None:
    """Contract: a dead holder is kept while a session names it, and crossed out after that."""
    dead, heir, last = opener("dead"), opener("heir"), opener("last")
    put(dead, made("a", steps(1)))
    put(heir, made("b", steps(1)))
    assert rows(path, "SELECT id FROM holders ORDER BY id") == [("dead",), ("heir",)]
    take(heir, "a", now=NOW + 31)
    put(last, made("c", steps(1)), now=NOW + 40)
    assert rows(path, "SELECT id FROM holders ORDER BY id") == [("heir",), ("last",)]


@pytest.mark.parametrize("renews", [True, False])
def test_a_holder_that_was_swept_signs_again(opener: Opener, renews: bool) -> None:
    """core 5: one that was taken for dead and goes on is alive for what it makes from then on."""
    asleep, other = opener("asleep"), opener("other")
    put(asleep, made("a", steps(1)))
    put(asleep, more("a", 1, [], release=True))
    put(other, made("b", steps(1)), now=NOW + 31)  # crosses the sleeper out
    if renews:
        asleep.renew(this_process("asleep", 30.0, NOW + 40))
    put(asleep, made("c", steps(1)), now=NOW + 40)
    assert other.read("c", NOW + 41).standing == "alive"


def test_a_holder_that_is_not_written_down_is_dead(opener: Opener, path: Path) -> None:
    """Contract: a lease of somebody unknown keeps nobody out, and is not called free either."""
    first, second = opener("one"), opener("two")
    put(first, made("a", steps(1)))
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("DELETE FROM holders")
    db.close()
    assert second.read("a", NOW).standing == "dead"
    assert first.read("a", NOW).standing == "mine"


def test_every_durable_write_is_told_before_and_after(opener: Opener) -> None:
    """Contract: the words that a crash test waits for."""
    words: list[str] = []
    backend = opener(trace=words.append)
    put(backend, made("a", steps(1)))
    put(backend, more("a", 1, [], release=True))
    take(backend, "a", events=steps(1, 1))
    backend.renew(this_process("one", 30.0, NOW + 1))
    backend.close()
    told = ["layout", "commit", "commit", "lease", "renew", "leave"]
    assert words == [f"{when} {word}" for word in told for when in ("before", "after")]
