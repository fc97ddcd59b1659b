"""``broodline sessions export`` and ``import``: from a place on the command line to another."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict

from ..actors.store import Store
from ..actors.stores.own_host import OwnHost
from ..messages.errors import BroodlineError, ConfigurationError
from ..supervision.furnishing import store_named
from ..survey.errand import BY_SIGNAL
from ..survey.name import shown
from ..survey.signals import caught
from .archive import opened
from .place import LogPlace, Place, StorePlace, is_database_name, store_place
from .selection import Piece, log_pieces, store_pieces
from .sheet import OK, READER_GONE, UNSOUND, Ticker, counted, put, say, say_guess
from .transfer import Move, to_folder, to_store


class Stop:
    """Whether a signal has asked to end, and which."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.number: signal.Signals | None = None

    def ask(self, number: signal.Signals) -> None:
        """End with the session that is under way."""
        self.number = number
        say(f"{self._what}: stopping behind this session; once more ends it at once")


def import_sessions(source: Place, target: StorePlace, *, as_json: bool = False) -> int:
    """Put what is at a place into a store, and tell what was. Main thread.

    Returns:
        The exit code.

    Raises:
        BroodlineError: If it is refused; nothing was written then.
    """
    if isinstance(source, LogPlace):
        return _into_store("import", target, log_pieces(source), as_json)
    with opened(source) as archive:
        return _into_store("import", target, store_pieces(source, archive), as_json)


def export_sessions(
    source: StorePlace,
    target: str,
    *,
    ids: Sequence[str] = (),
    tree: str | None = None,
    as_json: bool = False,
) -> int:
    """Put sessions of a store into another one, or into a folder as recordings. Main thread.

    Args:
        source: Of the store.
        target: ``sqlite:PATH``, ``jsonl:FOLDER``, or a folder.
        ids: Only these sessions.
        tree: Only this one and all below it.
        as_json: Tell it as one JSON document.

    Returns:
        The exit code.

    Raises:
        BroodlineError: If it is refused; nothing was written then.
    """
    store = _store_target(target)
    with opened(source) as archive:
        pieces = store_pieces(source, archive, ids, tree)
        if store is not None:
            say_guess(store)
            return _into_store("export", store, pieces, as_json)
        return _into_folder(target, pieces, as_json)


def _store_target(text: str) -> StorePlace | None:
    """The store that a word names; None if it is a folder for recordings."""
    if text.startswith(("sqlite:", "jsonl:")):
        return store_place(text, new=True)
    named = is_database_name(text) or os.path.isfile(text)
    return store_place(text, new=True) if named else None


def _into_store(verb: str, target: StorePlace, pieces: Sequence[Piece], as_json: bool) -> int:
    if not pieces:
        raise ConfigurationError("no session that can be read is there; nothing was written")
    stop, ticker = Stop(verb), Ticker(f"{verb}ing", len(pieces))

    async def move() -> Move:
        store, host = store_named(str(target)), OwnHost()
        try:
            with caught(stop.ask):
                await store.open(host)
                return await _moved(store, pieces, ticker.tick, lambda: stop.number)
        finally:
            await host.close()

    try:
        result = asyncio.run(move())
    finally:
        ticker.end()
    return _told(verb, str(target), result, as_json)


async def _moved(
    store: Store,
    pieces: Sequence[Piece],
    tick: Callable[[], None],
    stop: Callable[[], signal.Signals | None],
) -> Move:
    """Move sessions into a store that is open, and close it."""
    try:
        move = await to_store(store, pieces, tick, stop)
    except BaseException:
        with suppress(BroodlineError):  # of two reasons the first is the one to tell
            await store.close()
        raise
    try:
        await store.close()
    except BroodlineError as error:
        move.broken = move.broken or error
    return move


def _into_folder(folder: str, pieces: Sequence[Piece], as_json: bool) -> int:
    if not pieces:
        raise ConfigurationError("no session that can be read is there; nothing was written")
    ticker = Ticker("exporting", len(pieces))
    try:
        result = to_folder(folder, pieces, ticker.tick)
    finally:
        ticker.end()
    return _told("export", folder, result, as_json)


def _told(verb: str, target: str, move: Move, as_json: bool) -> int:
    """Tell what came of it, and the exit code for that."""
    for session_id, error in move.failed:
        say(f"{verb}: {shown(session_id)} is left out: {shown(error.message)}")
    for session_id in move.empty:
        what = "a store keeps no session without an event"
        say(f"{verb}: {shown(session_id)} is passed over: {what}")
    if move.broken is not None:
        say(f"{verb}: {shown(move.broken.message)}")
    events = counted(sum(moved.events for moved in move.moved), "event")
    into = "into" if verb == "import" else "to"
    some = f" of {move.total:,}" if len(move.moved) < move.total else ""
    line = f"{verb}ed {counted(len(move.moved), 'session')}{some}, {events}, {into} {shown(target)}"
    if not put(_document(target, move) if as_json else [line]):
        return READER_GONE
    if move.stopped is not None:
        return BY_SIGNAL + move.stopped
    return UNSOUND if move.failed or move.broken is not None else OK


def _document(target: str, move: Move) -> Iterator[str]:
    yield "{"
    yield f'  "target": {json.dumps(target)},'
    yield f'  "total": {move.total},'
    yield f'  "interrupted": {json.dumps(move.stopped is not None)},'
    failed = [
        {"id": session_id, "code": str(error.code), "message": error.message}
        for session_id, error in move.failed
    ]
    yield f'  "failed": {json.dumps(failed)},'
    yield f'  "empty": {json.dumps(move.empty)},'
    broken = None if move.broken is None else move.broken.to_dict()
    yield f'  "error": {json.dumps(broken)},'
    yield '  "sessions": ['
    for number, moved in enumerate(move.moved, 1):
        comma = "," if number < len(move.moved) else ""
        yield f"    {json.dumps(asdict(moved))}{comma}"
    yield "  ]"
    yield "}"
