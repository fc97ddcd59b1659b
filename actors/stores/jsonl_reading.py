"""What is read from a JSONL store, beside its holders: whole logs, and what is seen of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..store import Snapshot, StoredLog
from .backend import Image
from .jsonl_fault import unavailable
from .jsonl_shelf import Cover, Shelf
from .jsonl_tenure import Holders, Tenure


def image_of(shelf: Shelf, holders: Holders, session_id: str, now: float) -> Image:
    """See `Backend.read`."""
    volume = shelf.read(session_id)
    found = volume.scan
    log = StoredLog(
        found.header,
        tuple(found.events),
        volume.revision,
        len(found.events),
        found.projected,
        found.cut,
    )
    try:
        return Image(log, holders.standing(volume.tenure, now)[0])
    except OSError as error:
        raise unavailable(error.filename or shelf.root, error, "read") from error


def snapshots_of(shelf: Shelf, holders: Holders, now: float, parent: str | None) -> list[Snapshot]:
    """See `Backend.snapshots`."""
    covers = [
        cover for cover in shelf.covers() if parent is None or cover.header.parent_session == parent
    ]
    covers.sort(key=lambda cover: (cover.tenure.order, cover.header.created_at))
    try:
        living = _living(covers, holders, now)
    except OSError as error:
        raise unavailable(error.filename or shelf.root, error, "read") from error
    return [
        Snapshot(
            cover.header,
            cover.revision,
            live=cover.tenure.holder in living,
            projected=cover.projected,
        )
        for cover in covers
    ]


def _living(covers: Sequence[Cover], holders: Holders, now: float) -> set[str | None]:
    """Who of those that have a lease is alive; each is looked at once."""
    return {
        holder
        for holder in {cover.tenure.holder for cover in covers}
        if holders.standing(Tenure(holder=holder), now)[0] in ("mine", "alive")
    }
