"""What somebody is told whose store holds a damaged session, or one of another version."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from broodline import JsonlStore, Runtime, ScriptedModel, SqliteStore
from broodline.actors.stores.disk import DiskStore
from broodline.messages.errors import SessionCorruptError, SessionFormatUnsupportedError


async def fill(store: DiskStore) -> None:
    """Leave a session of one turn in it."""
    async with Runtime(store=store, model=ScriptedModel(each=["one"])) as runtime:
        agent = await runtime.agents.create(id="a")
        await agent.followup("Go.")
        await agent.when_idle()


def in_sqlite(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events WHERE place & 0xFFFFFFFF = 5",
        "DELETE FROM events WHERE place = (SELECT max(place) FROM events)",
        "UPDATE events SET line = '{nope' WHERE place & 0xFFFFFFFF = 5",
        "UPDATE sessions SET header = '{}'",
    ],
)
async def test_damage_in_a_database(tmp_path: Path, statement: str) -> None:
    """issue, bad input: damage is refused with the place and the next step, nothing is changed."""
    path = tmp_path / "a.db"
    await fill(SqliteStore(path))
    in_sqlite(path, statement)
    before = path.read_bytes()
    async with SqliteStore(path) as store:
        with pytest.raises(SessionCorruptError, match="restore the session from") as caught:
            await store.prepare("a")
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def no_lines(_text: str) -> str:
    return ""


def no_header(text: str) -> str:
    return "{}\n" + text.partition("\n")[2]


def no_depth(text: str) -> str:
    first, _, rest = text.partition("\n")
    header = json.loads(first)
    del header["delegationDepth"]
    return json.dumps(header) + "\n" + rest


def no_json(text: str) -> str:
    return "header\n" + text.partition("\n")[2]


def gap(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[:6] + lines[7:])


@pytest.mark.parametrize("damage", [no_lines, no_header, no_depth, no_json, gap])
async def test_damage_in_a_file(tmp_path: Path, damage: Callable[[str], str]) -> None:
    """issue, bad input: damage is refused with the place and the next step, nothing is changed."""
    await fill(JsonlStore(tmp_path / "logs"))
    path = tmp_path / "logs/_no-cwd/a/session.jsonl"
    path.write_text(damage(path.read_text()))
    before = path.read_bytes()
    async with JsonlStore(tmp_path / "logs") as store:
        with pytest.raises(SessionCorruptError, match="restore the file from a copy") as caught:
            await store.prepare("a")
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


async def test_newer_log(tmp_path: Path) -> None:
    """issue, bad input: a log of a newer version says so, and what reads it, in both stores."""
    stores: list[DiskStore] = [SqliteStore(tmp_path / "a.db"), JsonlStore(tmp_path / "logs")]
    for store in stores:
        await fill(store)
    in_sqlite(tmp_path / "a.db", "UPDATE sessions SET header = json_set(header, '$.version', 999)")
    path = tmp_path / "logs/_no-cwd/a/session.jsonl"
    first, _, rest = path.read_text().partition("\n")
    path.write_text(json.dumps({**json.loads(first), "version": 999}) + "\n" + rest)
    for store in stores:
        async with store:
            with pytest.raises(SessionFormatUnsupportedError, match=r"newer .*the version that"):
                await store.prepare("a")
