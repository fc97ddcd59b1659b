"""Tools that nobody recorded: kept in a stored recording, refused in a log of our own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from broodline.actors.stores.jsonl import JsonlStore
from broodline.actors.stores.sqlite import SqliteStore
from broodline.messages.errors import SessionError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import CallConfig, HeaderLogged, RequestHeader, UnrecordedTools

HEADER = SessionHeader("s", 1)
LOGGED = HeaderLogged(RequestHeader(CallConfig("p", "m"), tools=UnrecordedTools()), "initial")
EVENTS = [Event(0, 0, LOGGED), Event(1, 0, LOGGED)]

Place = Callable[[Path], SqliteStore | JsonlStore]
STORES: dict[str, Place] = {
    "sqlite": lambda folder: SqliteStore(folder / "store.db"),
    "jsonl": lambda folder: JsonlStore(folder / "store"),
}


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest) -> Place:
    return STORES[request.param]


async def test_kept(place: Place, tmp_path: Path) -> None:
    """core 15.3: a stored recording keeps the placeholder, whatever is added to it."""
    async with place(tmp_path) as store:
        lease = await store.create(HEADER, projected=True)
        await store.append(lease, EVENTS[:1])
        await store.append(lease, EVENTS[1:])
        store.release(lease)
    async with place(tmp_path) as store:
        log = await store.load("s")
    assert log.projected
    tools = [e.data.header.tools for e in log.events if isinstance(e.data, HeaderLogged)]
    assert [type(each) for each in tools] == [UnrecordedTools, UnrecordedTools]


async def test_refused(place: Place, tmp_path: Path) -> None:
    """core 15.1: what could never be read again is refused, and nothing is made of it."""
    async with place(tmp_path) as store:
        lease = await store.create(HEADER)
        with pytest.raises(SessionError) as caught:
            await store.append(lease, EVENTS)
        assert caught.value.code == "EVENT_UNWRITABLE"
        assert await store.list() == ()
        store.release(lease)
