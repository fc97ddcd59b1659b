"""`SqliteStore`: a `DiskStore` over one database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from broodline.actors.store import Writer
from broodline.actors.stores.sqlite import SqliteStore
from broodline.messages.errors import ConfigurationError, SessionError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import StepEnd


def steps(count: int) -> list[Event]:
    return [Event(seq, 5, StepEnd(1, seq + 1)) for seq in range(count)]


async def live(store: SqliteStore, session_id: str, log: list[Event]) -> Writer:
    header = SessionHeader(session_id, 1)
    return store.attach(header, log, await store.create(header))


async def test_what_was_flushed_is_there_for_the_next_one(tmp_path: Path) -> None:
    """core 5: a session that one store has written is listed and read by another."""
    async with SqliteStore(tmp_path / "s.db") as store:
        writer = await live(store, "a", steps(3))
        assert await writer.flush()
        assert writer.stored_seq == 3
    async with SqliteStore(tmp_path / "s.db", create=False) as store:
        assert [header.id for header in await store.list()] == ["a"]
        assert list((await store.inspect("a")).events) == steps(3)
        assert await store.read_from("a", 2) == (steps(3)[2],)
    assert [file.name for file in tmp_path.iterdir()] == ["s.db"]


async def test_sessions_that_write_at_once_share_a_commit(tmp_path: Path) -> None:
    """DESIGN 3: group commit: what came up during a commit goes with the next one."""
    words: list[str] = []
    async with SqliteStore(tmp_path / "s.db", trace=words.append) as store:
        writers = [await live(store, f"s{number}", steps(2)) for number in range(20)]
        words.clear()
        assert await store.flush()
        assert words.count("after commit") < 5
        assert {writer.stored_seq for writer in writers} == {2}


async def test_a_path_that_is_refused_leaves_the_store_closed(tmp_path: Path) -> None:
    """core 5: a store that cannot be opened says why, and may be opened when the cause is gone."""
    store = SqliteStore(tmp_path / "none" / "s.db")
    with pytest.raises(ConfigurationError):
        async with store:
            raise AssertionError
    with pytest.raises(SessionError) as caught:
        await store.list()
    assert caught.value.code == "STORE_CLOSED"
    (tmp_path / "none").mkdir()
    async with store:
        assert await store.list() == ()
    assert str(tmp_path) in repr(store)


def test_sqlite_is_loaded_by_who_uses_it() -> None:
    """House rule: the package comes without SQLite until its store is asked for."""
    code = (
        "import sys, broodline; assert 'sqlite3' not in sys.modules; "
        "import broodline.actors.stores.sqlite; assert 'sqlite3' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
