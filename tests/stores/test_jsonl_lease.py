"""One writer of a log in a store of files: leases, their holders, and what a crash leaves."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.store import Lease, StoredLog
from broodline.actors.stores.backend import Portion
from broodline.actors.stores.holder import Holder, this_process
from broodline.actors.stores.jsonl_backend import JsonlBackend
from broodline.actors.stores.jsonl_lock import locked
from broodline.messages.errors import SessionCorruptError, SessionError, SessionLeasedError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import OpaquePayload

HEADER = SessionHeader("s", 5, "/w", delegation_depth=0)
NOTE = OpaquePayload("session/title", {})
NOW = 100.0
LATER = NOW + 31.0
FIRST = '{"type":"session","version":0,"id":"s","createdAt":5,"cwd":"/w","delegationDepth":0}\n'


def notes(start: int, stop: int) -> list[Event]:
    return [Event(seq, 1, NOTE) for seq in range(start, stop)]


def line(seq: int) -> str:
    return f'{{"type":"session/title","seq":{seq},"time":1,"data":{{}}}}\n'


def holder(name: str, until: float = NOW + 30.0) -> Holder:
    return Holder(name, os.getpid(), "", "", 30.0, until)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def folder(root: Path) -> Path:
    """The session's, with a log of three events that no store has written yet."""
    folder = root / "--w--" / "s"
    folder.mkdir(parents=True)
    (folder / "session.jsonl").write_text(FIRST + "".join(map(line, range(3))))
    return folder


@pytest.fixture
def opened(root: Path) -> Iterator[Callable[..., JsonlBackend]]:
    """Opens stores on the same folder, each a holder of its own."""
    stores: list[JsonlBackend] = []

    def open_store(name: str, now: float = NOW, **changes: Any) -> JsonlBackend:
        store = JsonlBackend(root, **changes)
        store.open(holder(name, now + 30.0))
        stores.append(store)
        return store

    yield open_store
    for store in stores:
        store.close()


Opened = Callable[..., JsonlBackend]


def take(
    store: JsonlBackend,
    events: Sequence[Event] = (),
    now: float = NOW,
    *,
    after: StoredLog | None = None,
    takeover: bool = False,
) -> Lease:
    return store.lease("s", now, after=after, events=events, takeover=takeover)


def put(
    store: JsonlBackend, lease: Lease, events: Sequence[Event], now: float = NOW, **changes: Any
) -> Exception | None:
    first = events[0].seq if events else 0
    return store.write([Portion(HEADER, lease, first, events, **changes)], now)[0]


def refusal(error: Exception | None) -> str:
    assert isinstance(error, SessionError)
    return str(error.code)


def refused(call: Callable[[], object]) -> SessionError:
    with pytest.raises(SessionError) as caught:
        call()
    return caught.value


def tenure(folder: Path) -> tuple[int, str | None]:
    found = json.loads((folder / "lease.json").read_text())
    return found["fence"], found["holder"]


def log(folder: Path) -> str:
    return (folder / "session.jsonl").read_text().removeprefix(FIRST)


def lines(*seqs: int) -> str:
    return "".join(map(line, seqs))


def test_new_session_belongs_to_its_maker(root: Path, opened: Opened) -> None:
    """DESIGN 3: a session is made with its first fence, in the hands of its maker."""
    store = opened("h")
    put(store, Lease("s", 1, 0), notes(0, 1), create=True)
    assert tenure(root / "--w--" / "s") == (1, "h")
    assert store.read("s", NOW).standing == "mine"
    assert opened("other").read("s", NOW).standing == "alive"


def test_fence_grows_with_every_lease(folder: Path, opened: Opened) -> None:
    """DESIGN 3: every lease has a greater fence, also after it was given back."""
    store = opened("h")
    for fence in (1, 2, 3):
        lease = take(store)
        assert (lease.fence, lease.next_seq) == (fence, 3)
        assert put(store, lease, [], release=True) is None
        assert tenure(folder) == (fence, None)
        assert store.read("s", NOW).standing == "free"


def test_second_process_is_refused(folder: Path, opened: Opened) -> None:
    """DESIGN 3, D10: while a holder lives another gets SESSION_LEASED, and writes nothing."""
    take(opened("one"))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    other = opened("other")
    error = refused(lambda: take(other, notes(3, 4)))
    assert isinstance(error, SessionLeasedError)
    assert error.retryable
    assert error.details["pid"] == os.getpid()
    assert refused(lambda: other.check_new("s", NOW)).code == "SESSION_LEASED"
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_dead_holder_is_followed(folder: Path, opened: Opened) -> None:
    """DESIGN 3: the lease of a holder whose time is over is taken over, with a greater fence."""
    one, other = opened("one"), opened("other", LATER)
    lease = take(one)
    assert other.read("s", LATER).standing == "dead"
    assert take(other, now=LATER).fence == lease.fence + 1
    assert tenure(folder) == (2, "other")


def test_takeover_by_order(folder: Path, opened: Opened) -> None:
    """DESIGN 3: a holder that is known to be dead is followed at once."""
    take(opened("one"))
    assert take(opened("other"), takeover=True).fence == 2


def test_stale_holder_is_refused(folder: Path, opened: Opened) -> None:
    """DESIGN 3: a holder that wakes up after it was followed writes nothing more."""
    one, other = opened("one"), opened("other")
    old = take(one)
    take(other, takeover=True)
    before = log(folder)
    for events, release in ((notes(3, 4), False), ([], True)):
        error = put(one, old, events, release=release)
        assert isinstance(error, SessionLeasedError)
        assert not error.retryable
        assert error.details["fence"] == 1
        assert error.details["current"] == 2
    assert log(folder) == before
    assert tenure(folder) == (2, "other")


def test_stale_fence_of_the_same_holder(folder: Path, opened: Opened) -> None:
    """DESIGN 3: of two leases of one holder the older is stale too."""
    store = opened("h")
    old, new = take(store), take(store)
    assert refusal(put(store, old, notes(3, 4))) == "SESSION_LEASED"
    assert put(store, new, notes(3, 4)) is None
    assert log(folder) == lines(0, 1, 2, 3)


def test_lease_that_was_given_back(folder: Path, opened: Opened) -> None:
    """DESIGN 3: with the last events the lease is given back, and with it the right to write."""
    store = opened("h")
    lease = take(store)
    assert put(store, lease, notes(3, 5), release=True) is None
    assert tenure(folder) == (1, None)
    assert refusal(put(store, lease, notes(5, 6))) == "SESSION_LEASED"
    assert log(folder) == lines(*range(5))


def test_lease_and_events_in_one(folder: Path, opened: Opened) -> None:
    """DESIGN 3: taking a lease writes the repair and the mark of the resume with it."""
    store = opened("h")
    after = store.read("s", NOW).log
    lease = take(store, notes(3, 5), after=after)
    assert (lease.fence, lease.next_seq) == (1, 5)
    assert log(folder) == lines(*range(5))
    assert put(store, lease, notes(5, 6)) is None


@pytest.mark.parametrize("seq", [2, 4])
def test_lease_with_events_that_do_not_continue(folder: Path, opened: Opened, seq: int) -> None:
    """core #83: events that do not continue the log are refused, and no lease is taken."""
    store = opened("h")
    assert refused(lambda: take(store, notes(seq, seq + 1))).code == "SEQ_MISMATCH"
    assert log(folder) == lines(0, 1, 2)
    assert not (folder / "lease.json").exists()


def test_log_that_has_changed_since(folder: Path, opened: Opened) -> None:
    """DESIGN 3: a log that somebody wrote on since it was read is not written on."""
    one, other = opened("one"), opened("other")
    after = one.read("s", NOW).log
    lease = take(other)
    put(other, lease, notes(3, 4), release=True)
    error = refused(lambda: take(one, notes(3, 4), after=after))
    assert error.code == "SESSION_LEASED"
    assert log(folder) == lines(0, 1, 2, 3)
    assert take(one, notes(4, 5), after=one.read("s", NOW).log).fence == 2


def test_bad_end_is_cut_by_the_lease(folder: Path, opened: Opened) -> None:
    """core #88: what follows a torn end stands on lines of its own, and the end is gone."""
    words: list[str] = []
    store = opened("h", trace=words.append)
    with (folder / "session.jsonl").open("a") as file:
        file.write(line(3)[:-9])
    after = store.read("s", NOW).log
    assert after.cut is not None
    lease = take(store, notes(3, 5), after=after)
    assert lease.next_seq == 5
    assert log(folder) == lines(*range(5))
    assert words == [
        f"{when} {step}" for step in ("truncate", "append", "lease") for when in ("before", "after")
    ]
    assert store.read("s", NOW).log.revision != after.revision


def test_repair_of_the_same_size(folder: Path, opened: Opened) -> None:
    """core #101: a repair changes the revision, also where the file keeps its size."""
    store = opened("h")
    with (folder / "session.jsonl").open("a") as file:
        file.write("x" * len(line(3)))
    after = store.read("s", NOW).log
    size = (folder / "session.jsonl").stat().st_size
    take(store, notes(3, 4), after=after)
    assert (folder / "session.jsonl").stat().st_size == size
    assert store.read("s", NOW).log.revision != after.revision


def test_bad_end_is_cut_without_events_too(folder: Path, opened: Opened) -> None:
    """core 5.5: a lease alone cuts a bad end off as well, so that the next event stands clear."""
    store = opened("h")
    with (folder / "session.jsonl").open("a") as file:
        file.write(line(3) + "{}\n" + line(4) + '{"type"')
    lease = take(store)
    assert lease.next_seq == 4
    assert log(folder) == lines(*range(4))
    assert put(store, lease, notes(4, 5)) is None
    assert log(folder) == lines(*range(5))


def test_damage_is_not_leased(folder: Path, opened: Opened) -> None:
    """core 5.5: a damaged log is refused before anything is written, and stays as it is."""
    store = opened("h")
    path = folder / "session.jsonl"
    end = '{"type":"turn/end","seq":4,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}\n'
    path.write_text(path.read_text() + "{\n" + end)
    before = path.read_bytes()
    with pytest.raises(SessionCorruptError):
        take(store)
    assert path.read_bytes() == before
    assert not (folder / "lease.json").exists()


def test_log_that_somebody_else_wrote_on(folder: Path, opened: Opened) -> None:
    """DESIGN 3: a file that is not as its holder left it is not written on."""
    store = opened("h")
    lease = take(store)
    with (folder / "session.jsonl").open("a") as file:
        file.write(line(3))
    before = log(folder)
    assert refusal(put(store, lease, notes(3, 4))) == "SEQ_MISMATCH"
    assert log(folder) == before


LEFT: dict[str, dict[str, str]] = {
    "no lease": {},
    "an empty lease": {"lease.json": ""},
    "zeros for a lease": {"lease.json": "\0" * 40},
    "half a lease": {"lease.json": '{"fence": 1, "hol'},
    "a lease of another shape": {"lease.json": '["fence", 1]'},
    "odd values": {"lease.json": '{"fence": -1, "holder": 5, "order": true}'},
    "an unfinished lease": {"lease.json.new": '{"fen'},
    "a draft": {"session.new": FIRST},
    "a lock": {"session.lock": ""},
}


def test_repair_without_its_lease(folder: Path, opened: Opened) -> None:
    """core 5.5: a repair that was written, but not the lease with it, is the log from then on."""
    (folder / "lease.json").write_text('{"fence": 4, "holder": "gone", "order": 1}')
    with (folder / "session.jsonl").open("a") as file:
        file.write(line(3))
    store = opened("h")
    lease = take(store, notes(4, 5), after=store.read("s", NOW).log)
    assert (lease.fence, lease.next_seq) == (5, 5)
    assert log(folder) == lines(*range(5))


@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT)
def test_what_a_crash_leaves(folder: Path, opened: Opened, left: dict[str, str]) -> None:
    """core 5.5: whatever a crash leaves beside a log, the next lease makes it good."""
    for name, text in left.items():
        (folder / name).write_text(text)
    store = opened("h")
    assert store.read("s", NOW).standing == "free"
    assert [shot.live for shot in store.snapshots(NOW, None)] == [False]
    lease = take(store, notes(3, 4))
    assert (lease.fence, tenure(folder)) == (1, (1, "h"))
    assert put(store, lease, notes(4, 5), release=True) is None
    assert log(folder) == lines(*range(5))
    assert sorted(path.name for path in folder.iterdir()) == [
        "lease.json",
        "session.jsonl",
        "session.lock",
    ]


def test_lease_of_an_unknown_holder(folder: Path, opened: Opened) -> None:
    """DESIGN 3: a holder without a sign of life is dead; its fence is not forgotten."""
    (folder / "lease.json").write_text('{"fence": 7, "holder": "gone", "order": 3}')
    store = opened("h")
    assert store.read("s", NOW).standing == "dead"
    assert take(store).fence == 8


def test_sign_of_life_of_another(root: Path, folder: Path, opened: Opened) -> None:
    """DESIGN 3: a sign of life counts for the holder that it names, not for its file's name."""
    take(opened("one"))
    (root / ".holders" / "one.json").rename(root / ".holders" / "two.json")
    (folder / "lease.json").write_text('{"fence": 7, "holder": "two"}')
    assert opened("h").read("s", NOW).standing == "dead"


def test_lease_of_a_process_that_is_gone(folder: Path, opened: Opened) -> None:
    """DESIGN 3: a process that is known to be gone is dead at once, its time notwithstanding."""
    mine = this_process("h", 30.0, NOW)
    if not mine.process:
        pytest.skip("this system does not tell about processes")
    store = JsonlBackend(folder.parents[1])
    store.open(mine)
    namespace = mine.process.partition(" ")[0]
    gone = {
        "id": "gone",
        "pid": mine.pid,
        "process": f"{namespace} 1",
        "boot": mine.boot,
        "timeout": 30.0,
        "until": NOW + 30.0,
    }
    holders = folder.parents[1] / ".holders"
    holders.mkdir()
    (holders / "gone.json").write_text(json.dumps(gone))
    (folder / "lease.json").write_text('{"fence": 7, "holder": "gone"}')
    assert store.read("s", NOW).standing == "dead"
    (holders / "gone.json").write_text(json.dumps(gone | {"process": mine.process}))
    assert store.read("s", NOW).standing == "alive"
    store.close()


def test_signs_of_life(root: Path, folder: Path, opened: Opened) -> None:
    """DESIGN 3: a holder is alive as long as it renews its sign of life, one for all leases."""
    one, other = opened("one"), opened("other")
    take(one)
    one.renew(holder("one", LATER + 30.0))
    assert other.read("s", LATER).standing == "alive"
    assert refused(lambda: take(other, now=LATER)).code == "SESSION_LEASED"
    assert sorted(path.name for path in (root / ".holders").iterdir()) == ["lock", "one.json"]


def test_no_sign_of_life_without_a_lease(root: Path, folder: Path, opened: Opened) -> None:
    """DESIGN 3: a holder that has no lease writes nothing, not even that it is alive."""
    store = opened("h")
    store.renew(holder("h", LATER))
    store.read("s", NOW)
    assert not (root / ".holders").exists()


def test_write_after_a_long_pause(folder: Path, opened: Opened) -> None:
    """DESIGN 3: a holder whose time is over is alive again before it writes, if none followed."""
    one, other = opened("one"), opened("other")
    lease = take(one)
    assert other.read("s", LATER).standing == "dead"
    assert put(one, lease, notes(3, 4), LATER) is None
    assert other.read("s", LATER).standing == "alive"


def test_close_gives_everything_back(root: Path, folder: Path, opened: Opened) -> None:
    """DESIGN 3: a store that is closed holds nothing and leaves no sign of life; twice is once."""
    store = opened("h")
    take(store)
    store.close()
    store.close()
    assert tenure(folder) == (1, None)
    assert [path.name for path in (root / ".holders").iterdir()] == ["lock"]
    assert refused(lambda: take(store)).code == "STORE_CLOSED"


def test_close_leaves_what_was_taken_over(folder: Path, opened: Opened) -> None:
    """DESIGN 3: closing gives no lease back that another has taken over."""
    one, other = opened("one"), opened("other")
    take(one)
    take(other, takeover=True)
    one.close()
    assert tenure(folder) == (2, "other")


def test_close_of_a_store_that_vanished(root: Path, folder: Path, opened: Opened) -> None:
    """core 5.5: a store whose folder is gone can be closed."""
    store = opened("h")
    take(store)
    root.rename(root.with_name("away"))
    store.close()
    assert not root.exists()


def test_dead_holders_are_swept(root: Path, folder: Path, opened: Opened) -> None:
    """DESIGN 3: a new holder removes the signs of life of the dead, and those alone."""
    holders = root / ".holders"
    take(opened("living"))
    for name, text in {
        "dead.json": json.dumps(
            {"id": "dead", "pid": 1, "process": "", "boot": "", "timeout": 30.0, "until": 1.0}
        ),
        "broken.json": '{"id"',
        "odd.json": '{"id": 1}',
        "half.json.new": "",
        "note.txt": "",
    }.items():
        (holders / name).write_text(text)
    other = opened("other")
    put(other, Lease("t", 1, 0), notes(0, 1))
    assert sorted(path.name for path in holders.iterdir()) == [
        "living.json",
        "lock",
        "note.txt",
        "other.json",
    ]


def failing(real: Callable[..., Any], call: int, code: int = errno.ENOSPC) -> Callable[..., Any]:
    """A system call that is refused the `call`-th time."""
    calls = [0]

    def attempt(*args: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            raise OSError(code, os.strerror(code))
        return real(*args)

    return attempt


def test_lease_that_cannot_be_written(
    folder: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN 3: events and lease are written both or not at all."""
    store = opened("h")
    take(store)
    before = tenure(folder)
    monkeypatch.setattr(os, "replace", failing(os.replace, 1))
    error = refused(lambda: take(store, notes(3, 5)))
    assert error.code == "STORE_UNAVAILABLE"
    assert (log(folder), tenure(folder)) == (lines(0, 1, 2), before)
    assert not (folder / "lease.json.new").exists()
    assert take(store, notes(3, 5)).next_seq == 5


def test_last_events_whose_lease_cannot_be_given_back(
    folder: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN 3: the last events come with giving back the lease, both or none."""
    store = opened("h")
    lease = take(store)
    monkeypatch.setattr(os, "replace", failing(os.replace, 1))
    assert refusal(put(store, lease, notes(3, 5), release=True)) == "STORE_UNAVAILABLE"
    assert log(folder) == lines(0, 1, 2)
    assert put(store, lease, notes(3, 5), release=True) is None
    assert (log(folder), tenure(folder)) == (lines(*range(5)), (1, None))


def test_unsure_end_is_not_cut_under_a_new_lease(
    folder: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DESIGN 3: who could not take back a write cuts nothing of what another wrote since."""
    one, other = opened("one"), opened("other")
    lease = take(one)
    monkeypatch.setattr(os, "fsync", failing(os.fsync, 1, errno.EIO))
    monkeypatch.setattr(os, "ftruncate", failing(os.ftruncate, 1, errno.EIO))
    assert refusal(put(one, lease, notes(3, 4))) == "STORE_UNAVAILABLE"
    theirs = take(other, notes(4, 5), takeover=True)
    put(other, theirs, notes(5, 6), release=True)
    assert take(one).next_seq == 6
    assert log(folder) == lines(*range(6))


def test_own_unsure_end_is_cut_by_the_next_lease(
    folder: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """core 5.5: what a failed write left is taken back by the same holder's next lease."""
    store = opened("h")
    lease = take(store)
    monkeypatch.setattr(os, "fsync", failing(os.fsync, 1, errno.EIO))
    monkeypatch.setattr(os, "ftruncate", failing(os.ftruncate, 1, errno.EIO))
    assert refusal(put(store, lease, notes(3, 4))) == "STORE_UNAVAILABLE"
    assert take(store).next_seq == 3
    assert log(folder) == lines(0, 1, 2)


def test_unsure_end_of_a_new_session(
    root: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """core 5.5: the same for a session that the holder has made itself."""
    store = opened("h")
    lease = Lease("s", 1, 0)
    put(store, lease, notes(0, 1), create=True)
    monkeypatch.setattr(os, "fsync", failing(os.fsync, 1, errno.EIO))
    monkeypatch.setattr(os, "ftruncate", failing(os.ftruncate, 1, errno.EIO))
    assert refusal(put(store, lease, notes(1, 3))) == "STORE_UNAVAILABLE"
    assert take(store).next_seq == 1


def test_lock_that_another_keeps(folder: Path, opened: Opened) -> None:
    """core 5.6: a lock that is kept for long ends in STORE_UNAVAILABLE, and nothing is written."""
    pauses: list[float] = []
    store = opened("h", pause=pauses.append)
    lease = take(store)
    with locked(str(folder / "session.lock"), "s", pauses.append):
        assert refusal(put(store, lease, notes(3, 4))) == "STORE_UNAVAILABLE"
        assert refused(lambda: store.read("s", NOW)).details["reason"] == "locked too long"
    assert 4.0 < sum(pauses) / 2 < 6.0
    assert log(folder) == lines(0, 1, 2)
    assert put(store, lease, notes(3, 4)) is None


def test_lock_that_is_given_back_in_time(folder: Path, opened: Opened) -> None:
    """core 5.6: a write waits for the write of another process."""
    blocker = os.open(folder / "session.lock", os.O_RDWR | os.O_CREAT)
    store = opened("h", pause=lambda _: os.close(blocker))
    import fcntl

    fcntl.flock(blocker, fcntl.LOCK_EX)
    assert take(store).fence == 1


def test_readers_do_not_keep_each_other_out(folder: Path, opened: Opened) -> None:
    """core 5.6: reading waits for writers alone."""
    store = opened("h", pause=lambda _: pytest.fail("it waited"))
    take(store)
    with locked(str(folder / "session.lock"), "s", lambda _: None, shared=True):
        assert len(store.read("s", NOW).log.events) == 3
