"""The session: an append-only log and what is folded from it as it grows.

The log is the one store of truth. Everything a driver asks at every step
(open turn and step, request envelope, derived history) is kept up to date by
`Session.append`, so asking costs nothing. Source: DESIGN section 3, spec core 1.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

from ..messages.codec import decode_payload, encode_event, sources_of, surface_op_of
from ..messages.errors import ConfigurationError, SessionError
from ..messages.event import Event, SurfaceOp, new_event
from ..messages.header import SessionHeader
from ..messages.header_codec import encode_header
from ..messages.lossless import type_name
from ..messages.message import Message
from ..messages.payload import (
    AssistantReplied,
    EndSeed,
    HeaderLogged,
    Payload,
    RequestHeader,
    ToolAnswered,
    UserMessageLogged,
)
from ..messages.plain import quoted
from .envelope import canonical
from .invariants import RULES, Balance
from .publication import Publication, without
from .registration import Registration
from .seed import check_seed, check_seeded
from .store import Lease, Writer
from .surface import Surface

Observer: TypeAlias = Callable[[Event], Any]
Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]
Sink: TypeAlias = Callable[[Event], None]

_CHECKING = "a check may not append: it runs before the commit"


class Clock(Protocol):
    """Where the times of events come from."""

    def time_ms(self) -> int:
        """Epoch milliseconds."""
        ...


class Session:
    """One agent's log. Used on its system's loop only.

    Args:
        header: Identity and lineage; not checked again.
        seed: The leading events of the log: a parent's (fork), a stored log
            (resume), or own ones (a descriptor). None is a session of its own.
        clock: Gives every new event its time.
        check_invariants: Whether the balance of turns and steps is enforced.
        resumed: The seed is this session's own stored log, so that pending
            inbox items in it are its own and become pending again.
        spawn: Starts the coroutine of an async observer and keeps it alive.

    Attributes:
        header: As given.
        first_live_seq: Length of the seed; events from here on were appended in
            this process.
        request_header: The latest canonical request envelope, or None.
        lease: The right to write its stored log, once it has been taken.
        writer: Who stores it while it is live; None without a store.
        accepts: Whether a delivery counts only once it is stored.
        checkpoints: Whether what is logged is stored before a step, a request and a tool.
        unwanted: Its creation was taken back: nothing of it is to be stored.
        farewell: Once it has left: done when its log is stored, or None if it is already.

    Raises:
        ConfigurationError: If the seed breaks a rule of core 1.2, 1.4 or 1.8.
        SessionCorruptError: If the seed breaks an invariant of core 3.
    """

    __slots__ = (
        "__weakref__",
        "_balance",
        "_checked",
        "_checks",
        "_clock",
        "_halt",
        "_log",
        "_publication",
        "_sink",
        "_snapshot",
        "_spawn",
        "_surface",
        "accepts",
        "checkpoints",
        "farewell",
        "first_live_seq",
        "header",
        "lease",
        "request_header",
        "unwanted",
        "writer",
    )

    def __init__(
        self,
        header: SessionHeader,
        *,
        seed: Sequence[Event] | None = None,
        clock: Clock,
        check_invariants: bool = True,
        resumed: bool = False,
        spawn: Spawn | None = None,
    ) -> None:
        self.header = header
        self.first_live_seq = 0
        self.request_header: RequestHeader | None = None
        self.lease: Lease | None = None
        self.writer: Writer | None = None
        self.accepts = self.checkpoints = self.unwanted = False
        self.farewell: asyncio.Future[None] | None = None
        self._clock = clock
        self._checked = check_invariants
        self._spawn = spawn
        self._log: list[Event] = []
        self._snapshot: tuple[Event, ...] = ()
        self._balance = Balance()
        self._surface = Surface()
        self._checks: tuple[Observer, ...] = ()
        self._publication: Publication | None = None
        self._sink: Sink | None = None
        self._halt: str | None = None
        if seed is not None:
            self._take_seed(seed, resumed)

    def __repr__(self) -> str:
        return f"<Session {self.id!r} of {len(self._log)} events>"

    @property
    def id(self) -> str:
        """The session's and its agent's id."""
        return self.header.id

    @property
    def seq(self) -> int:
        """The next event's sequence number: the length of the log."""
        return len(self._log)

    @property
    def events(self) -> tuple[Event, ...]:
        """The log so far; a snapshot that never grows, shared until the next append."""
        if len(self._snapshot) != len(self._log):
            self._snapshot = tuple(self._log)
        return self._snapshot

    @property
    def log(self) -> list[Event]:
        """The live log itself, for its store; to be read only."""
        return self._log

    @property
    def last_turn(self) -> int:
        """The highest turn number in the log; 0 before the first turn."""
        return self._balance.last_turn

    @property
    def open_turn(self) -> int:
        """Number of the open turn; 0 when none is open."""
        return self._balance.open_turn

    @property
    def open_step(self) -> int:
        """Number of the open step; 0 when none is open."""
        return self._balance.open_step

    @property
    def sealed(self) -> bool:
        """Whether it is sealed: nothing can be appended any more."""
        return self._halt is not None and self._halt is not _CHECKING

    def to_json(self) -> list[dict[str, Any]]:
        """The session in its wire form: the header, then every event, oldest first.

        JSON-ready, with the names of spec core 15.1; ``json.dumps`` of each is a line
        of a log file.
        """
        header = {"type": "session", **encode_header(self.header)}
        header.setdefault("delegationDepth", 0)  # required in a log file
        return [header, *(encode_event(event) for event in self._log)]

    def holds(self, payload: Payload) -> bool:
        """Whether this very payload has been committed; looks from the end of the log."""
        return any(event.data is payload for event in reversed(self._log))

    def own_events(self, from_seq: int | None = None) -> list[Event]:
        """The events that are not inherited by a fork, from `from_seq` on."""
        start = self.header.seed_length or 0
        return self._log[start if from_seq is None or from_seq < start else from_seq :]

    def messages(self) -> list[Message]:
        """What a model is shown: a fresh list of shared, frozen messages."""
        return self._surface.messages(self._log)

    @property
    def surface(self) -> tuple[int, ...]:
        """Sequence numbers of the events a model is shown, in their order."""
        return tuple(self._surface.nodes)

    def append(
        self,
        payload: Payload,
        *,
        surface: SurfaceOp | None = None,
        sources: tuple[int, ...] | None = None,
        ignorable: bool = False,
    ) -> Event:
        """Commit one event and tell the observers.

        Typed payloads are not validated again; the surface and, if switched on,
        the balance are. A refusal leaves log, surface and next number unchanged.
        An append from an observer commits at once and returns its event; the
        observers hear of it when they have all heard of the event before it.

        Args:
            payload: What happened; deeply frozen.
            surface: Given exactly for the three payloads that carry a message.
            sources: Numbers of earlier events the message was made of.
            ignorable: Readers that do not know the type may pass over it.

        Raises:
            ConfigurationError: If the surface operation or the sources are wrong, or
                `payload` is none.
            SessionCorruptError: If the balance would be broken.
            SessionError: ``SESSION_SEALED`` after `seal` or inside a check.
            Exception: What a check raised: its veto.
        """
        if self._halt is not None:
            raise self._halted()
        log = self._log
        kind = type(payload)
        try:
            check, advance = RULES[kind]
        except KeyError:
            raise _no_payload(payload) from None
        if check is not None and self._checked:
            check(self._balance, payload, surface)
        event = new_event(len(log), self._clock.time_ms(), payload, surface, sources, ignorable)
        shown = kind is UserMessageLogged or kind is AssistantReplied or kind is ToolAnswered
        if shown or surface is not None or sources is not None:
            self._surface.check(event, log)
        if self._checks:
            self._ask(event)
        log.append(event)
        if advance is not None:
            advance(self._balance, payload)
        if shown:
            self._surface.apply(event)
        elif kind is HeaderLogged:
            self.request_header = canonical(payload.header)  # type: ignore[union-attr]
        if self._sink is not None:
            self._sink(event)
        if self._publication is not None:
            self._publication.tell(event)
        return event

    def append_json(
        self,
        type: Any,
        data: Any,
        *,
        surface_op: Any = None,
        source_event_seqs: Any = None,
        ignorable: bool = False,
    ) -> Event:
        """`append` for untyped callers: validates everything first.

        Args:
            type: Wire name; a known one must have its known shape. Any other is taken
                (spec core 2: the vocabulary is checked on reading), but a log with one
                that is not `ignorable` cannot be read by who does not know it.
            data: Lossless JSON; copied and frozen.
            surface_op: ``"append"``, ``{"op": "replace", "start", "end"}`` or None.
            source_event_seqs: List of earlier sequence numbers, or None.
            ignorable: As with `append`.

        Raises:
            ConfigurationError: If the data is not lossless JSON or not of its shape.
            Exception: As `append`.
        """
        return self.append(
            decode_payload(type, data),
            surface=surface_op_of(surface_op),
            sources=sources_of(source_event_seqs),
            ignorable=ignorable,
        )

    def observe(self, observer: Observer) -> Registration:
        """Have `observer` told of every event after its commit; failures are logged only."""
        if self._publication is None:
            self._publication = Publication(self.id, self._spawn)
        return self._publication.add(observer)

    def add_check(self, check: Observer) -> Registration:
        """Have `check` asked before every commit; what it raises vetoes the event.

        Raises:
            ConfigurationError: If it is a coroutine function: nobody could wait for it.
        """
        if inspect.iscoroutinefunction(check):
            raise ConfigurationError(
                f"a check must be a plain function, not {quoted(check)}: the commit cannot wait"
            )
        self._checks = (*self._checks, check)
        return Registration(partial(self._drop_check, check))

    def write_to(self, sink: Sink | None) -> None:
        """Hand every event to `sink` right after its commit, or to nobody."""
        self._sink = sink

    def keep_with(self, writer: Writer | None) -> None:
        """Have `writer` store it from now on, or nobody."""
        self.writer = writer
        self.write_to(None if writer is None else writer.sink)
        durability = "settled" if writer is None else writer.durability
        self.accepts = durability == "accepted"
        self.checkpoints = durability != "settled"

    def seal(self, reason: str) -> None:
        """Refuse every further append; reading goes on. The first reason stays."""
        if self._halt is None or self._halt is _CHECKING:
            self._halt = reason

    def after_publication(self, then: Callable[[], None]) -> None:
        """Run `then` now, or when the publication that is under way has ended."""
        if self._publication is None:
            then()
        else:
            self._publication.defer(then)

    def _take_seed(self, seed: Sequence[Event], resumed: bool) -> None:
        check_seed(self.header, seed)
        for event in seed:
            self._accept(event)
        self.first_live_seq = len(self._log)
        check_seeded(self.header, self._log, self._balance, resumed=resumed)
        if not seed or type(seed[-1].data) is not EndSeed:
            self.append(EndSeed())

    def _accept(self, event: Event) -> None:
        """`append` for an event that exists already; nobody is told of it."""
        kind = type(event.data)
        try:
            check, advance = RULES[kind]
        except KeyError:
            raise _no_payload(event.data) from None
        if check is not None and self._checked:
            check(self._balance, event.data, event.surface_op)
        shown = kind is UserMessageLogged or kind is AssistantReplied or kind is ToolAnswered
        if shown or event.surface_op is not None or event.source_event_seqs is not None:
            self._surface.check(event, self._log)
        self._log.append(event)
        if advance is not None:
            advance(self._balance, event.data)
        if shown:
            self._surface.apply(event)
        elif kind is HeaderLogged:
            self.request_header = canonical(event.data.header)  # type: ignore[union-attr]

    def _ask(self, event: Event) -> None:
        self._halt = _CHECKING
        try:
            for check in self._checks:
                check(event)
        finally:
            if self._halt is _CHECKING:
                self._halt = None
        if self._halt is not None:  # a check has sealed it
            raise self._halted()

    def _drop_check(self, check: Observer) -> None:
        self._checks = without(self._checks, check)

    def _halted(self) -> SessionError:
        return SessionError(
            f"session {self.id!r} takes no event: {self._halt}", code="SESSION_SEALED"
        )


def _no_payload(value: object) -> ConfigurationError:
    return ConfigurationError(
        f"an event says one of the classes of broodline.messages.payload, not a {type_name(value)}"
    )
