"""How the log of a session appears in a store of files, grows, and is found again."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.store import Lease
from broodline.actors.stores.backend import Portion
from broodline.actors.stores.holder import Holder
from broodline.actors.stores.jsonl_backend import JsonlBackend
from broodline.messages.errors import (
    ConfigurationError,
    SessionCorruptError,
    SessionError,
    SessionFormatUnsupportedError,
)
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import OpaquePayload

HEADER = SessionHeader("s", 5, "/w/x", delegation_depth=0)
NOTE = OpaquePayload("session/title", {})
NOW = 100.0


def notes(start: int, stop: int) -> list[Event]:
    return [Event(seq, 1, NOTE) for seq in range(start, stop)]


def holder(name: str) -> Holder:
    return Holder(name, os.getpid(), "", "", 30.0, NOW + 30.0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def words() -> list[str]:
    return []


@pytest.fixture
def store(root: Path, words: list[str]) -> Iterator[JsonlBackend]:
    backend = JsonlBackend(root, trace=words.append)
    backend.open(holder("h"))
    yield backend
    backend.close()


def put(
    store: JsonlBackend,
    events: Sequence[Event],
    *,
    header: SessionHeader = HEADER,
    fence: int = 1,
    **changes: Any,
) -> Exception | None:
    """Write one portion; what came of it."""
    first = changes.pop("first_seq", events[0].seq if events else 0)
    lease = Lease(header.id, fence, 0)
    return store.write([Portion(header, lease, first, events, **changes)], NOW)[0]


def made(store: JsonlBackend, count: int = 3, header: SessionHeader = HEADER) -> None:
    assert put(store, notes(0, count), header=header, create=True) is None


def refusal(error: Exception | None) -> str:
    assert isinstance(error, SessionError)
    return str(error.code)


def files(root: Path) -> list[str]:
    """Every file of the sessions, without the store's own."""
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if not str(path).startswith(".holders"))


def log_of(root: Path, folder: str = "--w-x--/s") -> Path:
    return root / folder / "session.jsonl"


def read(store: JsonlBackend, session_id: str = "s") -> list[int]:
    return [event.seq for event in store.read(session_id, NOW).log.events]


def test_nothing_is_there_before_the_first_event(root: Path, store: JsonlBackend) -> None:
    """core #80, #85: an open store without events, and an empty batch, make no file."""
    store.check_new("s", NOW)
    assert put(store, [], create=True) is None
    assert put(store, [], create=True, release=True) is None
    assert list(root.rglob("*")) == []
    assert store.snapshots(NOW, None) == []


def test_first_events_make_the_log(root: Path, store: JsonlBackend) -> None:
    """core 5.5: the first batch makes a log of a header and one event a line."""
    made(store, 2)
    assert files(root) == [
        "--w-x--/s/lease.json",
        "--w-x--/s/session.jsonl",
        "--w-x--/s/session.lock",
    ]
    assert log_of(root).read_bytes() == (
        b'{"type":"session","version":0,"id":"s","createdAt":5,"cwd":"/w/x","delegationDepth":0}\n'
        b'{"type":"session/title","seq":0,"time":1,"data":{}}\n'
        b'{"type":"session/title","seq":1,"time":1,"data":{}}\n'
    )


def test_depth_is_always_written(root: Path, store: JsonlBackend) -> None:
    """core 5.5: a header without delegationDepth is written with 0."""
    made(store, 1, SessionHeader("s", 5))
    header = json.loads(log_of(root, "_no-cwd/s").read_text().splitlines()[0])
    assert header["delegationDepth"] == 0
    assert "cwd" not in header


def test_later_events_follow(root: Path, store: JsonlBackend) -> None:
    """core 5.5: later batches stand behind the first, and the bytes before them stay."""
    made(store)
    before = log_of(root).read_bytes()
    assert put(store, notes(3, 5)) is None
    assert put(store, notes(5, 6)) is None
    assert log_of(root).read_bytes().startswith(before)
    assert read(store) == [0, 1, 2, 3, 4, 5]


def test_each_step_is_told(store: JsonlBackend, words: list[str]) -> None:
    """core 5.5: each durable step of a session is told before and after it, in their order."""
    made(store)
    put(store, notes(3, 4), release=True)
    assert words == [
        f"{when} {step}"
        for step in ("draft", "lease", "publish", "append", "lease")
        for when in ("before", "after")
    ]


@pytest.mark.parametrize("start", [2, 4])
def test_batch_that_does_not_continue(root: Path, store: JsonlBackend, start: int) -> None:
    """core #83: a batch that begins before or behind the end is refused, the file untouched."""
    made(store)
    before = log_of(root).read_bytes()
    assert refusal(put(store, notes(start, start + 1))) == "SEQ_MISMATCH"
    assert log_of(root).read_bytes() == before
    assert put(store, notes(3, 4)) is None


@pytest.mark.parametrize("create", [False, True])
def test_batch_with_a_gap(root: Path, store: JsonlBackend, create: bool) -> None:
    """core #84: a batch with a gap inside is refused as a whole, also as the first one."""
    header = HEADER if not create else SessionHeader("other", 1)
    made(store)
    before = files(root)
    start = 0 if create else 3
    events = [*notes(start, start + 2), *notes(start + 3, start + 4)]
    assert refusal(put(store, events, header=header, create=create)) == "SEQ_MISMATCH"
    assert read(store) == [0, 1, 2]
    assert files(root) == before


def test_portions_stand_alone(store: JsonlBackend) -> None:
    """core #107: a portion that fails does not keep the others from being written."""
    made(store)
    other = SessionHeader("other", 1)
    results = store.write(
        [
            Portion(HEADER, Lease("s", 1, 3), 9, notes(9, 10)),
            Portion(other, Lease("other", 1, 0), 0, notes(0, 1), create=True),
        ],
        NOW,
    )
    assert refusal(results[0]) == "SEQ_MISMATCH"
    assert results[1] is None
    assert read(store, "other") == [0]


def test_id_that_is_stored(store: JsonlBackend) -> None:
    """core #81: an id that is stored is taken, under every working directory."""
    made(store)
    for cwd in ("/w/x", "/other", None):
        with pytest.raises(SessionError) as caught:
            store.check_new("s", NOW)
        assert caught.value.code == "SESSION_ALREADY_EXISTS"
        header = SessionHeader("s", 1, cwd)
        error = put(store, notes(0, 1), header=header, create=True)
        assert refusal(error) == "SESSION_ALREADY_EXISTS"
    assert read(store) == [0, 1, 2]


def test_log_that_appears_meanwhile(
    root: Path, store: JsonlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """core 5.5: publishing never overwrites a log that another process made at that moment."""
    link = os.link

    def late(source: str, target: str) -> None:
        Path(target).write_text("theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    assert refusal(put(store, notes(0, 1), create=True)) == "SESSION_ALREADY_EXISTS"
    assert log_of(root).read_text() == "theirs"
    assert "session.new" not in str(files(root))


@pytest.mark.parametrize("session_id", ["../../x", ".", "..", "a/b", "\N{GRINNING FACE}é", "a\0b"])
def test_odd_ids(root: Path, store: JsonlBackend, session_id: str) -> None:
    """core #98: whatever an id holds, its log lies inside the root and is found again."""
    made(store, 1, SessionHeader(session_id, 1, "/w/../.."))
    made(store, 2, SessionHeader("x", 1))
    assert read(store, session_id) == [0]
    assert read(store, "x") == [0, 1]
    assert {path.name for path in root.parent.iterdir()} == {"store"}
    assert {shot.header.id for shot in store.snapshots(NOW, None)} == {session_id, "x"}


def test_id_that_is_too_long(root: Path, store: JsonlBackend) -> None:
    """core 5.5: an id too long for a folder is refused, named, and nothing is made."""
    long = "ü" * 60
    with pytest.raises(ConfigurationError, match="shorter id") as caught:
        store.check_new(long, NOW)
    assert "üüü" in caught.value.message
    error = put(store, notes(0, 1), header=SessionHeader(long, 1), create=True)
    assert refusal(error) == "EVENT_UNWRITABLE"
    assert list(root.iterdir()) == []
    made(store)
    with pytest.raises(SessionError) as missing:
        store.read(long, NOW)
    assert missing.value.code == "SESSION_NOT_FOUND"


def test_empty_id(store: JsonlBackend) -> None:
    """core #99: an empty id is refused as a new one, and found nowhere."""
    with pytest.raises(ConfigurationError, match="empty"):
        store.check_new("", NOW)
    with pytest.raises(SessionError) as caught:
        store.read("", NOW)
    assert caught.value.code == "SESSION_NOT_FOUND"


def test_long_cwd(root: Path, store: JsonlBackend) -> None:
    """core 5.5: a working directory too long for a folder gets one of its own all the same."""
    one, other = (SessionHeader(name, 1, f"/{'x' * 400}/{name}") for name in "ab")
    made(store, 1, one)
    made(store, 1, other)
    assert (read(store, "a"), read(store, "b")) == ([0], [0])
    assert len([path for path in root.iterdir() if path.name != ".holders"]) == 2


def test_text_of_every_kind(root: Path, store: JsonlBackend) -> None:
    """core 5.5: null bytes, raw newlines and other line ends in texts stay within one line."""
    text = 'a\0b\nc\r\nd\u2028e\x85"\\\N{GRINNING FACE}'
    event = Event(0, 1, OpaquePayload("session/title", {"text": text}))
    assert put(store, [event], create=True) is None
    assert store.read("s", NOW).log.events == (event,)
    assert log_of(root).read_bytes().count(b"\n") == 2


def test_large_event(store: JsonlBackend) -> None:
    """core 5.5: an event of 20 MB is written and read."""
    event = Event(3, 1, OpaquePayload("session/title", {"text": "x" * 20_000_000}))
    made(store)
    assert put(store, [event]) is None
    assert store.read("s", NOW).log.events[3] == event


def test_reading_from_a_number(store: JsonlBackend) -> None:
    """core #100: what is stored from a number on; at the end and behind it nothing."""
    made(store)
    assert [event.seq for event in store.read_from("s", 1)] == [1, 2]
    assert store.read_from("s", 3) == []
    assert store.read_from("s", 99) == []
    with pytest.raises(SessionError) as caught:
        store.read_from("absent", 0)
    assert caught.value.code == "SESSION_NOT_FOUND"


def failing(real: Callable[..., Any], times: int, code: int) -> Callable[..., Any]:
    """A system call that is refused some times."""
    left = [times]

    def call(*args: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise OSError(code, os.strerror(code))
        return real(*args)

    return call


def partial(real: Callable[..., int]) -> Callable[..., int]:
    """A write that writes ten bytes, and is refused the next time."""
    state = [0]

    def call(descriptor: int, data: Any) -> int:
        state[0] += 1
        if state[0] == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data[:10]) if state[0] == 1 else real(descriptor, data)

    return call


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_append_that_fails(
    root: Path, store: JsonlBackend, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """core 5.5: a write or sync that fails leaves the file as it was, and the next one works."""
    made(store)
    before = log_of(root).read_bytes()
    revision = store.read("s", NOW).log.revision
    broken = partial(os.write) if call == "write" else failing(os.fsync, 1, errno.EIO)
    monkeypatch.setattr(os, call, broken)
    error = put(store, notes(3, 6))
    assert refusal(error) == "STORE_UNAVAILABLE"
    assert isinstance(error, SessionError)
    assert error.retryable
    assert error.details["reason"] in ("no space left on device", "input/output error")
    assert log_of(root).read_bytes() == before
    assert store.read("s", NOW).log.revision == revision
    assert put(store, notes(3, 6)) is None
    assert read(store) == [0, 1, 2, 3, 4, 5]


def test_append_that_cannot_be_taken_back(
    root: Path, store: JsonlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """core 5.5: both failures are told, and the next write begins with taking it back."""
    made(store)
    monkeypatch.setattr(os, "write", partial(os.write))
    monkeypatch.setattr(os, "ftruncate", failing(os.ftruncate, 1, errno.EIO))
    error = put(store, notes(3, 6))
    assert isinstance(error, SessionError)
    assert "no space left on device" in error.message
    assert "input/output error" in error.message
    assert error.retryable
    assert error.details["rollback"] == "input/output error"
    assert put(store, notes(3, 4)) is None
    assert store.read("s", NOW).log.cut is None
    assert read(store) == [0, 1, 2, 3]


@pytest.mark.parametrize("call", ["write", "fsync", "link", "ftruncate"])
def test_making_that_fails(
    root: Path, store: JsonlBackend, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """core 5.5: whatever step of making a log fails, there is none, and the next try makes it."""
    broken = failing(getattr(os, call), 1, errno.ENOSPC)
    if call == "ftruncate":  # never called for a new log: the folder cannot be synced instead
        call, broken = "fsync", failing_second(os.fsync)
    monkeypatch.setattr(os, call, broken)
    assert refusal(put(store, notes(0, 2), create=True)) == "STORE_UNAVAILABLE"
    assert not [name for name in files(root) if name.endswith((".jsonl", ".new"))]
    with pytest.raises(SessionError) as caught:
        store.read("s", NOW)
    assert caught.value.code == "SESSION_NOT_FOUND"
    assert put(store, notes(0, 2), create=True) is None
    assert read(store) == [0, 1]


def test_what_is_synced(store: JsonlBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """core 5.5: a log is on disk before it gets its name, and the name before it is confirmed."""
    steps: list[str] = []

    def told(name: str, real: Callable[..., Any]) -> None:
        def call(*args: Any) -> Any:
            target = args[0]
            if isinstance(target, int):
                target = os.readlink(f"/proc/self/fd/{target}")
            steps.append(f"{name} {os.path.basename(target)}")
            return real(*args)

        monkeypatch.setattr(os, name, call)

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("this system does not tell what a descriptor stands for")
    for name, real in (("write", os.write), ("fsync", os.fsync), ("link", os.link)):
        told(name, real)
    made(store)
    assert put(store, notes(3, 4)) is None
    assert steps == [
        "write session.new",
        "fsync session.new",
        "link session.new",
        "fsync s",
        "fsync --w-x--",
        "fsync store",
        "write session.jsonl",
        "fsync session.jsonl",
    ]


def test_id_that_appears_elsewhere_meanwhile(root: Path) -> None:
    """core #118: an id that another process makes under another cwd meanwhile is not made twice."""
    other = JsonlBackend(root)
    theirs = SessionHeader("s", 1, "/other")

    def meanwhile(word: str) -> None:
        if word == "after draft":
            made(other, 1, theirs)

    store = JsonlBackend(root, trace=meanwhile)
    store.open(holder("h"))
    other.open(holder("o"))
    assert refusal(put(store, notes(0, 2), create=True)) == "SESSION_LEASED"
    assert read(store) == [0]
    store.close()
    other.close()


def test_session_made_and_given_back_at_once(root: Path, store: JsonlBackend) -> None:
    """DESIGN 3: a session whose first events are its last is free when it appears."""
    assert put(store, notes(0, 2), create=True, release=True) is None
    assert store.read("s", NOW).standing == "free"
    assert refusal(put(store, notes(2, 3))) == "SESSION_LEASED"
    assert read(store) == [0, 1]


def failing_second(real: Callable[..., Any]) -> Callable[..., Any]:
    calls = [0]

    def call(*args: Any) -> Any:
        calls[0] += 1
        if calls[0] == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(*args)

    return call


def test_publishing_that_cannot_be_taken_back(
    store: JsonlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """core 5.5: a log that was not confirmed and not taken back is replaced by the next try."""
    monkeypatch.setattr(os, "fsync", failing_second(os.fsync))
    monkeypatch.setattr(os, "unlink", failing_second(os.unlink))
    error = put(store, notes(0, 2), create=True)
    assert isinstance(error, SessionError)
    assert "rollback" in error.details
    assert put(store, notes(0, 3), create=True) is None
    assert read(store) == [0, 1, 2]


def test_draft_of_a_dead_process(root: Path, store: JsonlBackend) -> None:
    """core 5.5: a draft that was left behind is no log, and is overwritten."""
    folder = root / "--w-x--" / "s"
    folder.mkdir(parents=True)
    (folder / "session.new").write_text("half of a longer log than the one that is made")
    (folder / "lease.json").write_text('{"fence": 1, "holder": "dead"}')
    store.check_new("s", NOW)
    assert store.snapshots(NOW, None) == []
    made(store)
    assert read(store) == [0, 1, 2]
    assert not (folder / "session.new").exists()


def test_header_of_another_session(root: Path, store: JsonlBackend) -> None:
    """core #97: a log whose header has another id is refused, and its bytes stay."""
    made(store)
    (root / "--w-x--" / "s").rename(root / "--w-x--" / "t")
    path = log_of(root, "--w-x--/t")
    before = path.read_bytes()
    for use in (lambda: store.read("t", NOW), lambda: lease(store, "t")):
        with pytest.raises(SessionCorruptError, match="names session 's'"):
            use()
    assert path.read_bytes() == before
    assert store.snapshots(NOW, None) == []


def lease(store: JsonlBackend, session_id: str = "s") -> Lease:
    return store.lease(session_id, NOW, after=None, events=(), takeover=False)


def test_header_of_another_place(root: Path, store: JsonlBackend) -> None:
    """core 5.5: a log that lies in another folder than its cwd says is refused."""
    made(store)
    (root / "--w-x--").rename(root / "--w-y--")
    for use in (lambda: store.read("s", NOW), lambda: lease(store)):
        with pytest.raises(SessionCorruptError, match="--w-x--"):
            use()
    assert store.snapshots(NOW, None) == []


def test_same_id_twice(root: Path, store: JsonlBackend) -> None:
    """core #118: one id in two project folders is refused, naming both."""
    made(store)
    other = root / "--w-y--" / "s"
    other.mkdir(parents=True)
    (other / "session.jsonl").write_bytes(log_of(root).read_bytes())
    for use in (lambda: store.read("s", NOW), lambda: lease(store)):
        with pytest.raises(SessionCorruptError) as caught:
            use()
        assert str(root / "--w-x--" / "s") in caught.value.message
        assert str(other) in caught.value.message


@pytest.mark.parametrize("place", ["s.jsonl", "--w-x--/s.jsonl", "--w-x--/s/session.jsonl.zstd"])
def test_obsolete_layout(root: Path, store: JsonlBackend, place: str) -> None:
    """core 5.5: a log in a layout that is not read is refused as such, and stays."""
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    for use in (lambda: store.read("s", NOW), lambda: store.check_new("s", NOW)):
        with pytest.raises(SessionFormatUnsupportedError) as caught:
            use()
        assert str(path) in caught.value.message
    error = put(store, notes(0, 1), create=True)
    assert refusal(error) == "SESSION_FORMAT_UNSUPPORTED"
    assert path.read_text() == "{}"


def test_no_file_in_the_place_of_a_log(root: Path, store: JsonlBackend) -> None:
    """core 5.5: a folder or a pipe in the place of a log is refused, without waiting for it."""
    (log_of(root, "--w-x--/s")).mkdir(parents=True)
    (root / "--w-x--" / "t").mkdir()
    os.mkfifo(log_of(root, "--w-x--/t"))
    for name in "st":
        with pytest.raises(SessionCorruptError, match="no file"):
            store.read(name, NOW)
    assert store.snapshots(NOW, None) == []


def test_reading_writes_nothing(root: Path, store: JsonlBackend) -> None:
    """core #89, #101: looking at a log with a bad end leaves its bytes and its revision."""
    made(store)
    with log_of(root).open("ab") as file:
        file.write(b'{"type":')
    before = log_of(root).read_bytes()
    first = store.read("s", NOW).log
    assert first.cut is not None
    assert store.read("s", NOW).log.revision == first.revision
    assert store.snapshots(NOW, None)[0].revision == first.revision
    assert log_of(root).read_bytes() == before


def test_revision(root: Path, tmp_path: Path, store: JsonlBackend) -> None:
    """core 5.1: a revision changes with the log, and is none of another store's."""
    made(store)
    first = store.read("s", NOW).log.revision
    put(store, notes(3, 4))
    second = store.read("s", NOW).log.revision
    put(store, [], first_seq=4, release=True)
    assert store.read("s", NOW).log.revision == second
    other = JsonlBackend(tmp_path / "other")
    other.open(holder("o"))
    made(other)
    assert len({first, second, other.read("s", NOW).log.revision}) == 3
    other.close()


def test_snapshots(root: Path, store: JsonlBackend) -> None:
    """core 5.1: a listing tells headers in the order of creation, whatever their own times."""
    for number, name in enumerate("zab"):
        made(store, 1, SessionHeader(name, 9 - number, parent_session="p" if number else None))
    put(store, [], header=SessionHeader("a", 8), first_seq=1, release=True)
    found = store.snapshots(NOW, None)
    assert [shot.header.id for shot in found] == ["z", "a", "b"]
    assert [shot.live for shot in found] == [True, False, True]
    assert [shot.length for shot in found] == [None] * 3
    assert [shot.header.id for shot in store.snapshots(NOW, "p")] == ["a", "b"]


HALF = b'{"type":"session","version":0,"id":"t","createdAt":5,"cwd":"/w/x","delegationDepth":0}'


@pytest.mark.parametrize(
    "data", [b"", b"x", b"{}\n", b'{"type":"session"}\n', b"\xff\n", HALF, b"[]\n" + HALF]
)
def test_listing_passes_over_what_is_no_header(
    root: Path, store: JsonlBackend, data: bytes
) -> None:
    """core 5.7: a listing skips what has no header, and tells the others."""
    made(store)
    for folder in ("--w-x--/t", "--w-x--/~zz", "_no-cwd/u"):
        (root / folder).mkdir(parents=True)
        log_of(root, folder).write_bytes(data)
    (root / "--w-x--" / "file").write_text("x")
    (root / "note.txt").write_text("x")
    assert [shot.header.id for shot in store.snapshots(NOW, None)] == ["s"]


def test_recording_is_kept(root: Path, store: JsonlBackend) -> None:
    """core 15.3: a recording is written in its own form, found in listings, and not written on."""
    header = SessionHeader("r", 0, "{{cwd}}")
    error = put(store, notes(0, 2), header=header, create=True, projected=True)
    assert error is None
    assert put(store, notes(2, 3), header=header, release=True) is None
    assert (
        log_of(root, "--{{cwd}}--/r").read_text().splitlines()[1:]
        == ['{"type":"session/title","data":{}}'] * 3
    )
    image = store.read("r", NOW).log
    assert image.projected
    assert image.header == header
    assert len(image.events) == 3
    assert [shot.projected for shot in store.snapshots(NOW, None)] == [True]
    with pytest.raises(SessionError) as caught:
        lease(store, "r")
    assert caught.value.code == "PROJECTED"
