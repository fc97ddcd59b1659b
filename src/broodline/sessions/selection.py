"""Which sessions are moved, where from, and what each of them is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..actors.recording import RecordedLog, read_log
from ..actors.store import Snapshot
from ..messages.errors import ConfigurationError, SessionError
from ..messages.header import SessionHeader
from ..messages.plain import quoted
from .archive import Archive, log_of
from .place import LogPlace, StorePlace


@dataclass(frozen=True, slots=True)
class Piece:
    """One session to be moved.

    Attributes:
        header: Known already.
        projected: Whether it is a recording in the projected form.
        origin: Where it is read from, for people.
        read: Reads it; raises as `Archive.read` does.
    """

    header: SessionHeader
    projected: bool
    origin: str
    read: Callable[[], RecordedLog]


def log_pieces(place: LogPlace) -> list[Piece]:
    """The logs of a place, all of them read; the roots of recordings before their children.

    Raises:
        ConfigurationError: If one cannot be read, or two are of the same session.
        SessionError: As `read_log`.
    """
    pieces: dict[str, Piece] = {}
    for path in place.files:
        log = read_log(path)
        before = pieces.get(log.header.id)
        if before is not None:
            raise ConfigurationError(
                f"{path}: the session {quoted(log.header.id)} is that of {before.origin} too; a "
                "store has each once, so import them to a store each"
            )
        pieces[log.header.id] = Piece(log.header, log.projected, path, _given(log))
    return list(pieces.values())


def store_pieces(
    place: StorePlace, archive: Archive, ids: Sequence[str] = (), tree: str | None = None
) -> list[Piece]:
    """Sessions of a store, in the order of their creation.

    Args:
        place: Of the store.
        archive: The store.
        ids: Only these.
        tree: Only this session and all below it; with `ids`, both.

    Raises:
        SessionError: ``SESSION_NOT_FOUND``.
    """
    found = {one.header.id: one for one in archive.snapshots()}
    wanted = set(ids)
    if tree is not None:
        wanted |= {tree, *_below(list(found.values()), tree)}
    for session_id in (*ids, *(() if tree is None else (tree,))):
        if session_id not in found:
            raise SessionError(
                f"no session {quoted(session_id)} that can be read is stored in {place}",
                code="SESSION_NOT_FOUND",
            )
    chosen = (one for one in found.values() if not wanted or one.header.id in wanted)
    return [
        Piece(one.header, one.projected, str(place), _read(place, archive, one.header.id))
        for one in chosen
    ]


def trees(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces by tree: a root, whose parent is not among them, then all that is below it."""
    roots: dict[str, str] = {}
    grown: dict[str, list[Piece]] = {}
    known = {piece.header.id: piece for piece in pieces}
    for piece in pieces:
        root = _root_of(piece.header.id, known, roots)
        members = grown.setdefault(root, [known[root]])
        if piece.header.id != root:
            members.append(piece)
    return list(grown.values())


def _root_of(session_id: str, known: Mapping[str, Piece], roots: dict[str, str]) -> str:
    """The root above a session; `roots` keeps what was found out."""
    passed: dict[str, None] = {}
    at = session_id
    while at not in roots and at not in passed:
        passed[at] = None
        parent = known[at].header.parent_session
        if parent is None or parent not in known:
            break
        at = parent
    root = roots.get(at, at)
    roots.update(dict.fromkeys(passed, root))
    return root


def _below(found: Sequence[Snapshot], root: str) -> set[str]:
    children: dict[str, list[str]] = {}
    for one in found:
        if one.header.parent_session is not None:
            children.setdefault(one.header.parent_session, []).append(one.header.id)
    reached: set[str] = set()
    waiting = [root]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in reached:
                reached.add(child)
                waiting.append(child)
    return reached


def _given(log: RecordedLog) -> Callable[[], RecordedLog]:
    return lambda: log


def _read(place: StorePlace, archive: Archive, session_id: str) -> Callable[[], RecordedLog]:
    return lambda: log_of(place, archive.read(session_id))
