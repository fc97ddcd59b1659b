"""Sessions moved between stores, logs and recordings: each of them whole, or not at all."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..actors.recording import RecordedLog
from ..actors.recording_line import unreadable
from ..actors.recording_writer import write_log
from ..actors.store import Lease, Store
from ..actors.stores.jsonl_name import encode_id
from ..messages.errors import BroodlineError, ConfigurationError, SessionError
from .place import is_store_folder
from .selection import Piece, trees


@dataclass(frozen=True, slots=True)
class Moved:
    """One session that has arrived.

    Attributes:
        id: Whose.
        events: How many it has.
        projected: Whether it is a recording in the projected form.
        to: The file it was written to; None in a store.
    """

    id: str
    events: int
    projected: bool
    to: str | None = None


@dataclass(slots=True)
class Move:
    """What came of moving sessions.

    Attributes:
        total: How many were to be moved.
        moved: Those that have arrived.
        failed: Ids of those that could not be read, with why.
        empty: Ids of those without an event, which no store keeps.
        broken: Why the store took no more; None if it did.
        stopped: The signal that ended it before the last one; None if none did.
    """

    total: int
    moved: list[Moved] = field(default_factory=list[Moved])
    failed: list[tuple[str, BroodlineError]] = field(
        default_factory=list[tuple[str, BroodlineError]]
    )
    empty: list[str] = field(default_factory=list[str])
    broken: BroodlineError | None = None
    stopped: signal.Signals | None = None


async def to_store(
    store: Store,
    pieces: Sequence[Piece],
    tick: Callable[[], None] = lambda: None,
    stop: Callable[[], signal.Signals | None] = lambda: None,
) -> Move:
    """Move sessions into a store. On the loop of its host.

    The log of each goes in as one write, which a store does whole or not at all. What
    cannot be read, or never be written, is passed over, and so is what has no event: a session
    is there from its first one on. A store that fails ends it, and what had arrived before
    stays there.

    Args:
        store: Open.
        pieces: No two of one id.
        tick: Called after each.
        stop: Asked before each whether to end.

    Raises:
        ConfigurationError: If an id is taken in the store; nothing was written.
        SessionError: If the store failed before anything was written.
    """
    move = Move(len(pieces))
    leases = await _reserve(store, pieces)
    try:
        for piece in pieces:
            move.stopped = stop()
            if move.stopped is not None:
                break
            try:
                log = piece.read()
                if log.events:
                    move.moved.append(await _put(store, leases.pop(piece.header.id), log))
                else:
                    move.empty.append(piece.header.id)
            except BroodlineError as error:
                if error.retryable:
                    move.broken = error
                    break
                move.failed.append((piece.header.id, error))
            tick()
    finally:
        _give_back(store, leases)
    return move


async def _reserve(store: Store, pieces: Sequence[Piece]) -> dict[str, Lease]:
    """The right to write each of them; all of them or none. Nothing is written by that."""
    leases: dict[str, Lease] = {}
    taken: list[str] = []
    for piece in pieces:
        header = piece.header
        try:
            leases[header.id] = await store.create(header, projected=piece.projected)
        except SessionError as error:
            if error.code not in ("SESSION_ALREADY_EXISTS", "SESSION_LEASED"):
                _give_back(store, leases)
                raise
            taken.append(header.id)
        except BaseException:
            _give_back(store, leases)
            raise
    if taken:
        _give_back(store, leases)
        names = ", ".join(map(repr, taken[:3])) + (", ..." if len(taken) > 3 else "")
        some = "one id is" if len(taken) == 1 else f"{len(taken):,} ids are"
        raise ConfigurationError(
            f"{some} taken there already: {names}; nothing was written, choose another store"
        )
    return leases


def _give_back(store: Store, leases: dict[str, Lease]) -> None:
    for lease in leases.values():
        store.release(lease)


async def _put(store: Store, lease: Lease, log: RecordedLog) -> Moved:
    try:
        await store.append(lease, log.events)
    finally:
        store.release(lease)
    return Moved(log.header.id, len(log.events), log.projected)


def to_folder(
    folder: str, pieces: Sequence[Piece], tick: Callable[[], None] = lambda: None
) -> Move:
    """Write sessions as recordings: one tree into the folder itself, several into one each.

    What cannot be read is passed over. If it is interrupted, or the disk refuses, what it
    had written is taken away again.

    Args:
        folder: Made if it is not there.
        pieces: No two of one id.
        tick: Called after each.

    Raises:
        ConfigurationError: If something is there already, or cannot be written.
    """
    move = Move(len(pieces))
    plan = list(_plan(Path(folder), pieces))
    _check_free(Path(folder), plan)
    written = _Written()
    try:
        for target, piece in plan:
            try:
                log = piece.read()
            except BroodlineError as error:
                move.failed.append((piece.header.id, error))
            else:
                written.write(log, target)
                arrived = Moved(log.header.id, len(log.events), log.projected, str(target))
                move.moved.append(arrived)
            tick()
    except BaseException:
        written.take_back()
        raise
    return move


def _plan(folder: Path, pieces: Sequence[Piece]) -> Iterator[tuple[Path, Piece]]:
    """The file of each session; the root of a tree is ``session.jsonl``."""
    grown = trees(pieces)
    for members in grown:
        home = folder if len(grown) == 1 else folder / encode_id(members[0].header.id)
        for number, piece in enumerate(members):
            yield home / (f"session.{number}.jsonl" if number else "session.jsonl"), piece


def _check_free(folder: Path, plan: Sequence[tuple[Path, Piece]]) -> None:
    if folder.is_dir() and is_store_folder(str(folder)):
        raise ConfigurationError(
            f"{folder} is the folder of a JSONL store: write jsonl:{folder} to export into that, "
            "or name another folder"
        )
    for home in dict.fromkeys(target.parent for target, _ in plan):
        there = sorted(path.name for path in home.glob("session*.jsonl"))
        if there:
            raise ConfigurationError(
                f"{home} holds a recording already ({there[0]}); name another folder, or take its "
                "session*.jsonl away first"
            )


class _Written:
    """What was made so far, so that it can be taken back."""

    def __init__(self) -> None:
        self._files: list[Path] = []
        self._folders: list[Path] = []

    def write(self, log: RecordedLog, target: Path) -> None:
        """Write one log, and the folders that lead to it.

        Raises:
            ConfigurationError: If it cannot be written.
        """
        try:
            for home in reversed([home for home in target.parents if not home.exists()]):
                home.mkdir()
                self._folders.append(home)
        except OSError as error:
            raise unreadable(str(target.parent), error, "made") from None
        self._files.append(target)
        write_log(log, target)

    def take_back(self) -> None:
        """Take all of it away again, as far as the system lets it."""
        for path in self._files:
            try:
                path.unlink(missing_ok=True)
            except OSError:
                continue
        for home in reversed(self._folders):
            try:
                home.rmdir()
            except OSError:
                continue
