"""``broodline sessions show``: one session, what it has come to, and its events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..actors.fold import replay_inbox, usage_of
from ..actors.recording import RecordedLog
from ..actors.recording_writer import log_rows, row_line
from ..actors.repair import closers
from ..messages.chunk import Usage
from ..messages.chunk_codec import encode_usage
from ..messages.codec import encode_payload
from ..messages.errors import BroodlineError
from ..messages.event import Event
from ..messages.header_codec import encode_header
from ..messages.message import UserMessage
from ..messages.payload import StepEnd, StepStart, TurnEnd, TurnStart
from ..survey.name import shown
from .archive import is_live, log_of, opened
from .gist import end_text, gist, short, usage_text
from .listing import state_of
from .place import StorePlace
from .sheet import OK, READER_GONE, counted, moment, on_terminal, put

PAGE = 100
"""Events that are shown on a terminal where nobody says which."""

_PENDING = 10
"""Pending items that are shown to people."""


@dataclass(frozen=True, slots=True)
class State:
    """What a log has come to.

    Attributes:
        turn: The open turn; None if none is.
        step: The open step; None if none is.
        pending: The inbox, next turn's and next step's; None if it cannot be told.
        fault: Why it cannot.
        last_end: Of the last turn that ended; None if none has.
        usage: Tokens that were reported; None if none were.
        closing: Events that the next load adds, to close what a dead process left open.
    """

    turn: int | None
    step: int | None
    pending: tuple[list[UserMessage], list[UserMessage]] | None
    fault: str | None
    last_end: TurnEnd | None
    usage: Usage | None
    closing: int


@dataclass(frozen=True, slots=True)
class Exhibit:
    """What is to be shown.

    Attributes:
        place: Of the store.
        log: As it is stored.
        state: What it has come to.
        part: The events that were asked for.
        live: Whether somebody writes it now.
        revision: Of the log.
        cut: An incomplete end of the file, which is left out.
    """

    place: StorePlace
    log: RecordedLog
    state: State
    part: Sequence[Event]
    live: bool
    revision: str
    cut: str | None


def show(
    place: StorePlace,
    session_id: str,
    *,
    first: int | None = None,
    last: int | None = None,
    as_json: bool = False,
    raw: bool = False,
) -> int:
    """Print one session. Main thread.

    Args:
        place: Of the store.
        session_id: Whose.
        first: Only the events from this number on.
        last: Only so many at the end.
        as_json: Print one JSON document.
        raw: Print the lines of a log file, one an event; without its header if only a part
            is wanted.

    Returns:
        The exit code.

    Raises:
        BroodlineError: As `opened` and `Archive.read`.
    """
    with opened(place) as archive:
        image = archive.read(session_id)
    log = log_of(place, image)
    part = _part(log.events, first, last, PAGE if on_terminal() and not (as_json or raw) else None)
    if raw:
        return OK if put(_raw(log, part)) else READER_GONE
    exhibit = Exhibit(
        place, log, state_of_log(log), part, is_live(image), image.log.revision, image.log.cut
    )
    lines = _document(exhibit) if as_json else _page(exhibit)
    return OK if put(lines) else READER_GONE


def state_of_log(log: RecordedLog) -> State:
    """Fold a log to what it has come to; also one that is not sound."""
    turn = step = None
    last_end: TurnEnd | None = None
    for event in log.events:
        data = event.data
        if isinstance(data, TurnStart):
            turn, step = data.turn, None
        elif isinstance(data, TurnEnd):
            turn, step, last_end = None, None, data
        elif isinstance(data, StepStart):
            step = data.step
        elif isinstance(data, StepEnd):
            step = None
    pending, fault = None, None
    try:
        pending = replay_inbox(log.header, log.events)
    except BroodlineError as error:
        fault = error.message
    closing = 0 if turn is None or log.projected else _closing(log.events)
    return State(turn, step, pending, fault, last_end, usage_of(log.header, log.events), closing)


def _closing(events: Sequence[Event]) -> int:
    try:
        return len(closers(events))
    except BroodlineError:  # a log that is not sound has no repair
        return 0


def _part(
    events: Sequence[Event], first: int | None, last: int | None, page: int | None
) -> Sequence[Event]:
    if first is None and last is None and page is not None:
        last = page
    part = events[first or 0 :]
    return part if last is None else part[max(len(part) - last, 0) :]


def _raw(log: RecordedLog, part: Sequence[Event]) -> Iterator[str]:
    if len(part) == len(log.events):
        yield from (_safe(row_line(row)) for row in log_rows(log))
    else:
        # The first row is the header.
        rows = log_rows(RecordedLog(log.name, log.header, tuple(part), log.projected))
        next(rows)
        yield from (_safe(row_line(row)) for row in rows)


def _safe(line: str) -> str:
    """The same JSON with what does not print as escapes: it may be that a terminal shows it."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def _page(exhibit: Exhibit) -> Iterator[str]:
    for name, value in (*_facts(exhibit), *_standing(exhibit)):
        yield f"{name:<10}{value}"
    part, events = exhibit.part, exhibit.log.events
    if not part:
        if events:
            yield ""
            yield f"none of the events 0 to {len(events) - 1:,}; --from 0 shows all of them"
        return
    yield ""
    if len(part) < len(events):
        yield (
            f"events {part[0].seq:,} to {part[-1].seq:,} of {len(events):,}; "
            "--from 0 shows all of them"
        )
    width = len(str(part[-1].seq))
    for event in part:
        clock = "" if exhibit.log.projected else f"  {_clock(event.time)}"
        yield f"{event.seq:>{width}}{clock}  {shown(event.type):<22}  {gist(event)}".rstrip(" ")


def _facts(exhibit: Exhibit) -> Iterator[tuple[str, str]]:
    header = exhibit.log.header
    yield "session", shown(header.id)
    yield "store", shown(str(exhibit.place))
    yield "created", moment(header.created_at)
    if header.cwd is not None:
        yield "cwd", shown(header.cwd)
    if header.parent_session is not None:
        origin = "" if header.origin is None else f", a {header.origin}"
        yield "parent", f"{shown(header.parent_session)}{origin}"
    yield "depth", str(header.delegation_depth or 0)
    if header.seed_length:
        yield "seed", f"the first {counted(header.seed_length, 'event')} are the parent's"
    form = state_of(live=exhibit.live, projected=exhibit.log.projected)
    yield "events", f"{len(exhibit.log.events):,}" + (f", {form}" if form else "")


def _standing(exhibit: Exhibit) -> Iterator[tuple[str, str]]:
    state = exhibit.state
    if state.turn is not None:
        at = f"turn {state.turn}" + (f", step {state.step}" if state.step is not None else "")
        after = ""
        if state.closing and not exhibit.live:
            after = f"; the next load closes it with {counted(state.closing, 'event')}"
        yield "open", at + after
    if state.last_end is not None:
        yield "last end", short(f"turn {state.last_end.turn}: {end_text(state.last_end)}")
    if state.usage is not None:
        yield "usage", usage_text(state.usage)
    if exhibit.cut:
        yield "cut", shown(exhibit.cut)
    if state.fault is not None:
        yield "pending", f"cannot be told: {shown(state.fault)}"
    elif state.pending is not None:
        yield from _pending(state.pending)


def _pending(
    pending: tuple[list[UserMessage], list[UserMessage]],
) -> Iterator[tuple[str, str]]:
    items = [
        (target, message)
        for target, messages in zip(("next turn", "next step"), pending, strict=True)
        for message in messages
    ]
    for number, (target, message) in enumerate(items[:_PENDING]):
        blocks = " ".join(getattr(block, "text", "(no text)") for block in message.content)
        yield ("" if number else "pending"), f"{target}: {shown(message.id)} {short(blocks)}"
    if len(items) > _PENDING:
        yield "", f"and {counted(len(items) - _PENDING, 'item')} more"


def _clock(milliseconds: int) -> str:
    whole = moment(milliseconds)
    return f"{whole[:-1]}.{milliseconds % 1000:03}" if whole.endswith("Z") else whole


def _document(exhibit: Exhibit) -> Iterator[str]:
    log, state = exhibit.log, exhibit.state
    fields: dict[str, Any] = {
        "store": str(exhibit.place),
        "id": log.header.id,
        "header": encode_header(log.header),
        "live": exhibit.live,
        "projected": log.projected,
        "revision": exhibit.revision,
        "events": len(log.events),
        "cut": exhibit.cut,
        "state": _state_fields(state),
    }
    yield "{"
    for name, value in fields.items():
        yield f"  {json.dumps(name)}: {json.dumps(value)},"
    yield '  "log": ['
    part = RecordedLog(log.name, log.header, tuple(exhibit.part), log.projected)
    rows = log_rows(part)
    next(rows)  # the header
    for number, row in enumerate(rows, 1):
        comma = "," if number < len(exhibit.part) else ""
        yield f"    {_safe(row_line(row))}{comma}"
    yield "  ]"
    yield "}"


def _state_fields(state: State) -> dict[str, Any]:
    pending = None
    if state.pending is not None:
        turn, step = state.pending
        pending = {
            "nextTurn": [message.id for message in turn],
            "nextStep": [message.id for message in step],
        }
    return {
        "openTurn": state.turn,
        "openStep": state.step,
        "pending": pending,
        "fault": state.fault,
        "lastEnd": None if state.last_end is None else encode_payload(state.last_end),
        "usage": None if state.usage is None else encode_usage(state.usage),
        "closing": state.closing,
    }
