"""``broodline sessions list``: what is in a store, without reading a log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..actors.store import Snapshot
from ..messages.header_codec import encode_header
from ..survey.name import shown
from .archive import opened
from .place import StorePlace
from .sheet import OK, READER_GONE, counted, moment, on_terminal, put, table

PAGE = 100
"""Sessions that are shown on a terminal where nobody says how many."""

_DEEPEST = 12
"""Levels of a tree that are drawn; deeper ones stand below each other."""

_HEADING = ("ID", "CREATED", "DEPTH", "EVENTS", "STATE", "PARENT")


@dataclass(frozen=True, slots=True)
class Listing:
    """What was asked for, and what there is of it.

    Attributes:
        found: All of it, in the order of its creation.
        unreadable: Sessions of the store whose header cannot be read.
    """

    found: Sequence[Snapshot]
    unreadable: int


def list_sessions(
    place: StorePlace,
    *,
    parent: str | None = None,
    live: bool = False,
    limit: int | None = None,
    as_json: bool = False,
) -> int:
    """Print the sessions of a store. Main thread.

    Args:
        place: Of the store.
        parent: Only the direct children of this session.
        live: Only those that somebody writes now.
        limit: At most so many; 0 for all, None for all but on a terminal.
        as_json: Print one JSON document instead of a table.

    Returns:
        The exit code.

    Raises:
        BroodlineError: As `opened`.
    """
    with opened(place) as archive:
        found = archive.snapshots(parent)
        unreadable = len(archive.entries()) - len(found) if parent is None else 0
    listing = Listing([one for one in found if one.live or not live], unreadable)
    if as_json:
        return OK if put(_document(place, listing, limit or None)) else READER_GONE
    if limit is None and on_terminal():
        limit = PAGE
    return OK if put(_page(listing, limit or None)) else READER_GONE


def forest(found: Sequence[Snapshot]) -> Iterator[tuple[int, Snapshot]]:
    """The sessions with their level, children below their parents, else in their order.

    What has no parent among them stands on level 0; nothing is left out, also where
    damage has made a session its own ancestor.
    """
    known = {one.header.id for one in found}
    children: dict[str, list[Snapshot]] = {}
    roots: list[Snapshot] = []
    for one in found:
        parent = one.header.parent_session
        if parent is None or parent not in known:
            roots.append(one)
        else:
            children.setdefault(parent, []).append(one)
    seen: set[str] = set()
    for start in (*roots, *found):
        waiting = [(0, start)]
        while waiting:
            level, one = waiting.pop()
            if one.header.id in seen:
                continue
            seen.add(one.header.id)
            yield level, one
            below = children.get(one.header.id, ())
            waiting += [(level + 1, child) for child in reversed(below)]


def _page(listing: Listing, limit: int | None) -> Iterator[str]:
    found = listing.found
    rows = [_HEADING, *(_row(level, one) for level, one in islice(forest(found), limit))]
    if found:
        yield from table(rows, frozenset({2, 3}))
        yield ""
    left = len(found) - (len(rows) - 1)
    more = f"; {left:,} more, --limit 0 shows all" if left else ""
    yield f"{counted(len(found), 'session')}{_living(found)}{more}"
    if listing.unreadable:
        bad = counted(listing.unreadable, "session")
        yield f"{bad} beside them cannot be read; broodline sessions verify says why"


def _living(found: Sequence[Snapshot]) -> str:
    living = sum(one.live for one in found)
    return f", {living:,} live" if living else ""


def _row(level: int, one: Snapshot) -> tuple[str, ...]:
    header = one.header
    return (
        f"{'  ' * min(level, _DEEPEST)}{shown(header.id)}",
        moment(header.created_at),
        str(header.delegation_depth or 0),
        "-" if one.length is None else f"{one.length:,}",
        state_of(live=one.live, projected=one.projected) or "-",
        "-" if header.parent_session is None else shown(header.parent_session),
    )


def state_of(*, live: bool, projected: bool) -> str:
    """What a session is beside being stored; empty if it is nothing else."""
    return "live" if live else "recording" if projected else ""


def _document(place: StorePlace, listing: Listing, limit: int | None) -> Iterator[str]:
    """The document, piece by piece: there may be very many sessions."""
    found = listing.found
    told = min(len(found), limit or len(found))
    yield "{"
    yield f'  "store": {json.dumps(str(place))},'
    yield f'  "total": {len(found)},'
    yield f'  "more": {len(found) - told},'
    yield f'  "unreadable": {listing.unreadable},'
    yield '  "sessions": ['
    for number, (_, one) in enumerate(islice(forest(found), limit), 1):
        yield f"    {json.dumps(_fields(one))}{',' if number < told else ''}"
    yield "  ]"
    yield "}"


def _fields(one: Snapshot) -> dict[str, Any]:
    header = one.header
    return {
        "id": header.id,
        "createdAt": header.created_at,
        "parentSession": header.parent_session,
        "delegationDepth": header.delegation_depth or 0,
        "events": one.length,
        "live": one.live,
        "projected": one.projected,
        "revision": one.revision,
        "header": encode_header(header),
    }
