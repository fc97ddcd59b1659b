"""What the hazards have in common: how they say what they found, and how they look at a store."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from examination import examine

from broodline import JsonlStore, SqliteStore

KINDS = ("sqlite", "jsonl")


class HazardError(AssertionError):
    """A store or a runtime did not do what was promised."""


def expect(what: str, found: object, wanted: object) -> None:
    """Compare.

    Raises:
        HazardError: If it is something else.
    """
    if found != wanted:
        raise HazardError(f"{what}: {found!r}, not {wanted!r}")


def store_of(kind: str, place: Path, **options: Any) -> SqliteStore | JsonlStore:
    """A store of that kind."""
    return (SqliteStore if kind == "sqlite" else JsonlStore)(place, **options)


def expect_sound(kind: str, place: Path, accepted: Iterable[tuple[str, str]]) -> None:
    """Look at a store as after a kill; who accepted what is given as (agent, message).

    Raises:
        HazardError: If something is lost, repeated or corrupt.
    """
    asyncio.run(sound(kind, place, accepted))


async def sound(kind: str, place: Path, accepted: Iterable[tuple[str, str]]) -> None:
    """The same on a loop."""
    notes = place.with_name(f"{place.name}-notes")
    notes.write_text("".join(f"{agent} {message}\n" for agent, message in accepted))
    verdict = await examine(kind, place, notes)
    found = (verdict.lost, verdict.repeated, verdict.corrupt)
    expect(f"lost, repeated and corrupt in {place}", found, ([], [], []))


def content_of(folder: Path) -> dict[str, bytes | None]:
    """Every name below a folder, with the bytes of each file."""
    found: dict[str, bytes | None] = {}
    for root, folders, files in os.walk(folder):
        found |= {os.path.join(root, name): None for name in folders}
        found |= {path: Path(path).read_bytes() for path in (os.path.join(root, n) for n in files)}
    return found


def written_in(kind: str, place: Path) -> object:
    """Everything in a store that is in use, but for the times of signs of life."""
    if kind == "jsonl":
        found = content_of(place)
        return {k: None if "/.holders/" in k else v for k, v in found.items()}
    connection = sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True)
    try:
        tables = ("SELECT * FROM sessions", "SELECT * FROM events", "SELECT id FROM holders")
        return [connection.execute(f"{each} ORDER BY 1").fetchall() for each in tables]
    finally:
        connection.close()
