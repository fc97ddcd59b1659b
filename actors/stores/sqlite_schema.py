"""What a SQLite store looks like inside, and how an older one is brought up to it.

`events` is one table clustered by `place`, which is the session's key and the event's
number in one integer: ``place = key << 32 | seq``. So an insert costs one row and no
index, a log lies in one piece, and its newest events and any suffix are one range. The
view `log` shows it to people, who need not know of that.

Every change of the layout is a step of `STEPS`; a store says in ``user_version`` how
many it has had, and a file without `APPLICATION_ID` is not one of ours.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TypeAlias

APPLICATION_ID = 0x42726F6F
"""``PRAGMA application_id`` of a store; the four bytes read "Broo"."""

SEQ_BITS = 32
"""How far the key stands to the left of the event's number in a `place`."""

Step: TypeAlias = tuple[str, ...]
"""The statements that bring a store from one version to the next."""

_FIRST: Step = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "INSERT INTO meta VALUES ('store_id', lower(hex(randomblob(16))))",
    # holder: the one that has the lease, in `holders`; NULL when nobody has.
    """CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        parent TEXT,
        header TEXT NOT NULL,
        length INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        holder TEXT,
        projected INTEGER NOT NULL
    )""",
    "CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL",
    "CREATE INDEX sessions_by_holder ON sessions (holder) WHERE holder IS NOT NULL",
    "CREATE TABLE events (place INTEGER PRIMARY KEY, line TEXT NOT NULL)",
    # until: on the machine's monotonic clock, see holder.py
    """CREATE TABLE holders (
        id TEXT PRIMARY KEY,
        pid INTEGER NOT NULL,
        process TEXT NOT NULL,
        boot TEXT NOT NULL,
        timeout REAL NOT NULL,
        until REAL NOT NULL
    ) WITHOUT ROWID""",
    # A line that nests deeper than SQLite reads is shown as it is.
    """CREATE VIEW log AS SELECT
        session,
        seq,
        json_extract(json, '$.type') AS type,
        strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(json, '$.time') / 1000.0, 'unixepoch') AS time,
        iif(json IS NULL, line, json_extract(json, '$.data')) AS data
    FROM (
        SELECT
            sessions.id AS session,
            events.place & 0xFFFFFFFF AS seq,
            line,
            iif(json_valid(line), line, NULL) AS json
        FROM sessions JOIN events
            ON events.place BETWEEN sessions.key << 32 AND (sessions.key << 32) | 0xFFFFFFFF
    )""",
)

STEPS: tuple[Step, ...] = (_FIRST,)
"""``STEPS[n]`` brings a store from version n to n + 1; version 0 is an empty file."""

TABLES = frozenset({"meta", "sessions", "events", "holders"})
"""What a store of the newest version has at least."""


def version_of(db: sqlite3.Connection) -> int:
    """How many steps the store has had."""
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def store_id_of(db: sqlite3.Connection) -> str:
    """What tells a store from all others; empty if it has lost that."""
    row = db.execute("SELECT value FROM meta WHERE name = 'store_id'").fetchone()
    return "" if row is None else str(row[0])


def bring_up(db: sqlite3.Connection, steps: Sequence[Step] = STEPS) -> None:
    """Take the steps that are missing; inside a transaction, so it is all or nothing."""
    for step in steps[version_of(db) :]:
        for statement in step:
            db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {len(steps)}")
