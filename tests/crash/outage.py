"""Hazards of the disk: it is full, read-only, taken away, or something else is in its place."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from drive import FailingDisk, filled, read_only, small_disk
from hazard import HazardError, content_of, expect, sound, store_of

from broodline import AgentHandle, ConfigurationError, Runtime, SessionError
from broodline.actors.models import Conversation, RuleModel
from broodline.actors.stores.jsonl_tenure import HOLDERS

LONGEST = 60.0
"""Seconds until what does not happen is taken for a failure."""
LONG = "x" * 20_000
"""Fits into no page that is there already, whatever is left in it."""

Fault = Callable[[], AbstractContextManager[Path]]
"""Begins a fault and ends it; gives the folder in which the store lies meanwhile."""


class Office:
    """A model that notes what it is asked, and answers the first prompt when it is let."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.let = asyncio.Event()
        self._heard = asyncio.Condition()

    async def rule(self, conversation: Conversation) -> str:
        """Answer."""
        name = conversation.prompt.split()[0]
        async with self._heard:
            self.asked.append(name)
            self._heard.notify_all()
        if name == "one":
            await self.let.wait()
        return f"{name} is done"

    async def hear(self, name: str) -> None:
        """Wait until it is asked this."""
        async with self._heard:
            await self._heard.wait_for(lambda: name in self.asked)


def disk_full(kind: str, home: Path) -> None:
    """What cannot be stored on a full disk is refused and never runs; with room all goes on."""
    with small_disk(home / "disk") as disk:
        asyncio.run(_outlast(kind, disk / "store", home, lambda: filled(disk)))


def turned_read_only(kind: str, home: Path) -> None:
    """The same on a disk that turns read-only while it is in use, until it can be written."""
    if kind == "jsonl":  # has no file open between two writes
        with small_disk(home / "disk") as disk:
            asyncio.run(_outlast(kind, disk / "store", home, lambda: read_only(disk)))
        return
    with FailingDisk(home).mounted() as failing:
        asyncio.run(_outlast(kind, failing.folder / "store", home, failing.failed))


def taken_away(kind: str, home: Path) -> None:
    """The same when the store is taken away and something else put there, until it is back."""
    place = home / "here" / "store"
    place.parent.mkdir()

    @contextmanager
    def displaced() -> Generator[Path]:
        away = home / "away"
        place.parent.rename(away)
        place.parent.mkdir()
        if kind == "sqlite":
            place.mkdir()
        else:
            place.touch()
        try:
            yield away
        finally:
            found = os.listdir(place.parent)
            shutil.rmtree(place.parent)
            away.rename(place.parent)
        expect("what is where the store was", found, ["store"])

    asyncio.run(_outlast(kind, place, home, displaced))


async def _outlast(kind: str, place: Path, home: Path, fault: Fault) -> None:
    """An agent at work, another prompt waiting: the store fails, and answers again."""
    office, accepted = Office(), list[tuple[str, str]]()

    async def accept(agent: AgentHandle, name: str) -> None:
        accepted.append(("a", await agent.followup(f"{name} {LONG}", id=name)))

    async with asyncio.timeout(LONGEST):
        store = store_of(kind, place, window=0.005)
        async with Runtime(model=RuleModel(office.rule), store=store) as runtime:
            agent = await runtime.agents.create(id="a")
            await accept(agent, "one")
            await office.hear("one")
            await accept(agent, "two")
            await store.flush()
            with fault() as meanwhile:
                for name in ("three", "four"):
                    await _refused(agent, name, place)
                office.let.set()
                while agent.status != "idle":
                    await asyncio.sleep(0.001)
                copy = home / "copy"
                _copy(meanwhile / place.name, copy)
                await sound(kind, copy, accepted)
                expect("asked during the fault", office.asked, ["one"])
            await office.hear("two")  # by itself
            await agent.when_idle()
            await accept(agent, "five")
            await agent.when_idle()
        expect("asked in all", office.asked, ["one", "two", "five"])
        await sound(kind, place, accepted)


async def _refused(agent: AgentHandle, name: str, place: Path) -> None:
    try:
        await agent.followup(f"{name} {LONG}", id=name)
    except SessionError as error:
        cause = error.__cause__
        expect(f"why {name} was refused", error.code, "DURABILITY_FAILED")
        if not isinstance(cause, SessionError):
            raise HazardError(f"{name} was refused without the store's error") from error
        expect(f"the cause of {name}", cause.code, "STORE_UNAVAILABLE")
        expect("whether to try again", (error.retryable, cause.retryable), (True, True))
        if not str(cause.details["place"]).startswith(str(place)) or not cause.details["reason"]:
            raise HazardError(f"it does not name its place and reason: {cause.details}") from error
        return
    raise HazardError(f"{name} was accepted by a store that cannot write")


def _copy(place: Path, copy: Path) -> None:
    """What a kill would leave: the files without what is only memory, and a holder that is dead."""
    if place.is_dir():
        shutil.copytree(place, copy)
        shutil.rmtree(copy / HOLDERS)
        return
    for ending in ("", "-wal"):
        shutil.copyfile(f"{place}{ending}", f"{copy}{ending}")
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("DELETE FROM holders")


def read_only_folder(kind: str, home: Path) -> None:
    """A store in a read-only folder is refused and left as it is, and so is a new one."""
    with _locked_folder(home) as (folder, lock):
        there = folder / "there"
        asyncio.run(_use(kind, there))
        with lock():
            _refused_opening(kind, there, folder)
            _refused_opening(kind, folder / "new", folder)
        asyncio.run(_use(kind, there))


@contextmanager
def _locked_folder(home: Path) -> Generator[tuple[Path, Fault]]:
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # whom no mode of a folder keeps out
        with small_disk(home / "disk") as disk:
            yield disk, lambda: read_only(disk)
        return
    folder = home / "folder"
    folder.mkdir()

    @contextmanager
    def lock() -> Generator[Path]:
        folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
        for each in folders:
            each.chmod(0o555)
        try:
            yield folder
        finally:
            for each in folders:
                each.chmod(0o755)

    yield folder, lock


def wrong_place(kind: str, home: Path) -> None:
    """A folder where a database should be, or a file where a folder should, stays as it is."""
    place = home / "place"
    if kind == "sqlite":
        place.mkdir()
        (place / "letter").write_text("Dear Ann")
    else:
        place.write_text("Dear Ann")
    _refused_opening(kind, place, home)


async def _use(kind: str, place: Path) -> None:
    model = RuleModel(lambda _: "Noted.")
    async with Runtime(model=model, store=store_of(kind, place)) as runtime:
        stored = [header.id for header in await runtime.store.list()]
        agents = runtime.agents
        agent = await (agents.resume("a") if "a" in stored else agents.create(id="a"))
        await agent.followup("Go.")
        await agent.when_idle()


def _refused_opening(kind: str, place: Path, folder: Path) -> None:
    before = content_of(folder)
    try:
        asyncio.run(_use(kind, place))
    except ConfigurationError as error:
        if str(place) not in error.message:
            raise HazardError(f"the refusal does not name {place}: {error}") from error
    else:
        raise HazardError(f"{place} was taken for a store that can be written")
    expect(f"the names and bytes in {folder}", content_of(folder), before)
