"""The live sessions of one runtime.

A session is prepared (nobody knows it), entered (its id is taken, its store
writes) and announced (``session/created``). Source: spec core 1.7.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from ..messages.errors import SessionError
from ..messages.event import Event
from ..messages.header import SessionHeader
from ..messages.header_codec import check_header
from .fork import check_boundary
from .hooks import Hooks
from .notice import SessionCreated, SessionDisposed
from .registration import Registration
from .session import Clock, Session, Spawn
from .store import Store, Writer

_logger = logging.getLogger("broodline.session")


class Entry:
    """One live session's place in the registry."""

    __slots__ = ("announced", "announcing", "leaving", "registry", "session", "writer")

    def __init__(self, registry: SessionRegistry, session: Session, writer: Writer | None) -> None:
        self.registry = registry
        self.session = session
        self.writer = writer
        self.announced = self.announcing = self.leaving = False

    def leave(self) -> None:
        """Take the session out; waits for an announcement or publication under way."""
        self.leaving = True
        if not self.announcing:
            self.session.after_publication(self._leave)

    def _leave(self) -> None:
        self.registry.remove(self)


class SessionRegistry:
    """Which sessions live in one runtime. Used on its system's loop.

    Args:
        hooks: Told of ``session/created`` and ``session/disposed``.
        clock: For the times of events and of new headers.
        store: Keeps the sessions; None keeps nothing.
        new_id: Makes the id of a fork that was given none; None counts
            ``session-1``, ``session-2``...
        spawn: Starts async observers of sessions.
        check_invariants: Whether sessions enforce the balance of turns and steps.
    """

    __slots__ = (
        "_check_invariants",
        "_clock",
        "_entries",
        "_hooks",
        "_new_id",
        "_number",
        "_spawn",
        "store",
    )

    def __init__(
        self,
        hooks: Hooks,
        *,
        clock: Clock,
        store: Store | None = None,
        new_id: Callable[[], str] | None = None,
        spawn: Spawn | None = None,
        check_invariants: bool = True,
    ) -> None:
        self.store = store
        self._hooks = hooks
        self._clock = clock
        self._new_id = new_id
        self._spawn = spawn
        self._check_invariants = check_invariants
        self._entries: dict[str, Entry] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, session_id: str) -> Session | None:
        """The live session of that id, or None."""
        entry = self._entries.get(session_id)
        return None if entry is None else entry.session

    def list(self) -> tuple[Session, ...]:
        """All live sessions, in the order in which they entered."""
        return tuple(entry.session for entry in self._entries.values())

    def prepare(
        self, header: SessionHeader, seed: Sequence[Event] | None = None, *, resumed: bool = False
    ) -> Session:
        """Build a session that nobody knows yet.

        Args:
            header: Its identity.
            seed: Its leading events, or None.
            resumed: The seed is its own stored log.

        Raises:
            SessionError: ``SESSION_ALREADY_EXISTS`` if the id is live.
            ConfigurationError, SessionCorruptError: If the seed is refused.
        """
        self._check_free(header.id)
        return Session(
            header,
            seed=seed,
            clock=self._clock,
            check_invariants=self._check_invariants,
            resumed=resumed,
            spawn=self._spawn,
        )

    async def resume(self, session_id: str) -> Session:
        """Build a session from its stored log, and hold the right to write it.

        `enter` it, or give the right back with `abandon`.

        Raises:
            SessionError: ``NO_STORE``, ``SESSION_ALREADY_EXISTS`` if it is live,
                ``SESSION_NOT_FOUND``.
            SessionLeasedError: If it is live in another process.
            SessionFormatUnsupportedError, SessionCorruptError: If the log is refused.
        """
        store = self.store
        if store is None:
            raise SessionError(
                f"session {session_id!r} cannot be resumed: this runtime has no store",
                code="NO_STORE",
            )
        self._check_free(session_id)
        stored = await store.prepare(session_id)
        session = self.prepare(stored.header, stored.events, resumed=True)
        events = session.log[stored.stored :]
        session.lease = await store.lease(session_id, after=stored, events=events)
        return session

    async def reserve(self, session: Session, *, fresh: bool) -> None:
        """Have the store keep the id of a prepared session free for it.

        `enter` it, or give the id up with `abandon`.

        Args:
            session: Prepared, and new.
            fresh: Nobody else can have made its id.

        Raises:
            SessionError: ``SESSION_ALREADY_EXISTS`` if the id is stored or reserved.
            SessionLeasedError: If it is live in another process.
        """
        if self.store is not None and session.lease is None:
            session.lease = await self.store.create(session.header, fresh=fresh)

    def abandon(self, session: Session) -> None:
        """Give up a prepared session that was never entered; idempotent."""
        if session.lease is not None and self.store is not None:
            self.store.release(session.lease)
            session.lease = None

    def enter(self, session: Session) -> Registration:
        """Make a prepared session the live one of its id and have it stored.

        Returns:
            Takes it out again: the id is free, ``session/disposed`` follows if it
            was announced, its lease goes back, and it is sealed. During its
            announcement or a publication this waits until they are done.

        Raises:
            SessionError: ``SESSION_ALREADY_EXISTS`` if the id is live or stored.
            SessionLeasedError: If it is live in another process.
        """
        self._check_free(session.id)
        writer: Writer | None = None
        if self.store is not None:
            writer = self.store.attach(session.header, session.log, session.lease)
            session.keep_with(writer)
        entry = self._entries[session.id] = Entry(self, session, writer)
        return Registration(entry.leave)

    def announce(self, session: Session) -> None:
        """Tell of an entered session, once.

        Raises:
            SessionError: ``SESSION_NOT_LIVE`` if it is not entered, or announced already.
            Exception: What a plain observer raised: its veto. The session is out
                again, and ``session/disposed`` has been told.
        """
        entry = self._live(session)
        if entry.announced:
            raise SessionError(
                f"session {session.id!r} is announced already", code="SESSION_NOT_LIVE"
            )
        entry.announced = True
        if not self._hooks.has("session/created"):
            return
        entry.announcing = True
        try:
            self._hooks.emit_strict("session/created", SessionCreated(session))
        except BaseException:
            entry.leaving = True
            raise
        finally:
            entry.announcing = False
            if entry.leaving:
                entry.leave()

    def fork(
        self, source: Session | str, boundary: int | None = None, child_id: str | None = None
    ) -> Session:
        """Prepare a session that starts from a live one's log.

        Args:
            source: The session or its id.
            boundary: Sequence number of the last event to take; None takes all.
            child_id: None makes one.

        Returns:
            Not entered yet; its header names the source and the seed's length.

        Raises:
            SessionError: ``SESSION_ALREADY_EXISTS``, ``SESSION_NOT_FOUND``,
                ``SESSION_NOT_LIVE``, ``INVALID_BOUNDARY`` or ``OPEN_TURN``, in this order.
            ConfigurationError: If `child_id` is no text, or empty.
        """
        if child_id is not None:
            self._check_free(child_id)
        live = self._source(source)
        length = check_boundary(live, boundary)
        header = SessionHeader(
            id=self._free_id() if child_id is None else child_id,
            created_at=self._clock.time_ms(),
            cwd=live.header.cwd,
            parent_session=live.id,
            seed_length=length,
        )
        check_header(header)
        return self.prepare(header, live.events[:length])

    async def flush(self, session: Session) -> bool:
        """Wait until the session's log is stored.

        Returns:
            Whether its store confirms; False without a store.

        Raises:
            SessionError: ``SESSION_NOT_LIVE`` if it is not the live one of its id,
                or what the store raises.
        """
        writer = self._live(session).writer
        return False if writer is None else await writer.flush()

    def remove(self, entry: Entry) -> None:
        """Take an entry out; a stale one leaves a later session of the same id alone."""
        session = entry.session
        if self._entries.get(session.id) is not entry:
            return
        del self._entries[session.id]
        session.seal("it has left its runtime; resume it to go on")
        session.keep_with(None)
        if entry.writer is not None:
            _say_farewell(session, entry.writer.release(discard=session.unwanted))
        if entry.announced and self._hooks.has("session/disposed"):
            self._hooks.emit("session/disposed", SessionDisposed(session))

    def _live(self, session: Session) -> Entry:
        entry = self._entries.get(session.id)
        if entry is None or entry.session is not session:
            raise SessionError(
                f"session {session.id!r} is not live here: not entered yet, or left already",
                code="SESSION_NOT_LIVE",
            )
        return entry

    def _source(self, source: Session | str) -> Session:
        session_id = source if isinstance(source, str) else source.id
        live = self.get(session_id)
        if live is None:
            raise SessionError(f"no session {session_id!r} is live", code="SESSION_NOT_FOUND")
        if not isinstance(source, str) and live is not source:
            raise SessionError(
                f"this session {session_id!r} has left; another one lives under its id",
                code="SESSION_NOT_LIVE",
            )
        return live

    def _check_free(self, session_id: str) -> None:
        if session_id in self._entries:
            raise SessionError(
                f"a session {session_id!r} is live already; choose another id",
                code="SESSION_ALREADY_EXISTS",
            )

    def _free_id(self) -> str:
        if self._new_id is not None:
            return self._new_id()
        while True:
            self._number += 1
            session_id = f"session-{self._number}"
            if session_id not in self._entries:
                return session_id


def _say_farewell(session: Session, rest: Awaitable[None] | None) -> None:
    """Note what is still to be stored of a session that has left."""
    if rest is None:
        return
    session.farewell = asyncio.ensure_future(rest)
    session.farewell.add_done_callback(partial(_look_at, session.id))


def _look_at(session_id: str, farewell: asyncio.Future[None]) -> None:
    if not farewell.cancelled() and (error := farewell.exception()) is not None:
        _logger.error(
            "the end of session %r could not be stored; its store keeps it and tries again: %s",
            session_id,
            error,
        )
