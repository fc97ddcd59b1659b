"""The form of a log: from JSON rows to a header and events.

Source: spec core 15.1 (strict), 15.3 (projected).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast

from ..messages.codec import decode_event, decode_projected
from ..messages.errors import BroodlineError, ConfigurationError
from ..messages.event import Event
from ..messages.header import SessionHeader
from ..messages.header_codec import check_cwd, decode_header
from ..messages.lossless import type_name
from ..messages.packed import Row, expand_row
from ..messages.plain import name_text, quoted
from .recording_line import Place

Form: TypeAlias = Literal["auto", "projected", "strict"]

_NUMBERED = ("seq", "time", "seq0", "time0")
_ADVICE = {
    True: 'a row without seq and time: it is of the projected form; read it with form="projected"',
    False: 'a row with seq or time: it is of the strict form; read it with form="strict"',
}


def read_rows(
    name: str, rows: Iterable[tuple[Place, Any]], form: Form
) -> tuple[SessionHeader, list[Event], bool]:
    """Read the rows of one log.

    Args:
        name: What to call the log in an error.
        rows: The header, then events and packed rows, with their places.
        form: Which form is accepted.

    Returns:
        The header, the events with ``seq == index``, and whether the form is projected.

    Raises:
        SessionFormatUnsupportedError: For another version or an unknown type.
        SessionCorruptError: For anything else that is wrong.
    """
    reading = _Reading(form)
    for place, row in rows:
        try:
            reading.take(place, row)
        except BroodlineError as error:
            if "line" in error.details:
                raise
            raise place.located(error) from None
    return reading.end(Place(name, 1))


class _Reading:
    """One pass over one log."""

    def __init__(self, form: Form) -> None:
        self.events: list[Event] = []
        self.header: SessionHeader | None = None
        self._place: Place | None = None
        self._has_depth = False
        self._form = form
        # None until the first event has told.
        self._projected: bool | None = {"projected": True, "strict": False}.get(form)

    def take(self, place: Place, row: Any) -> None:
        """Take in the next row.

        Raises:
            BroodlineError: If it may not stand here; without a place.
        """
        if not isinstance(row, dict):
            raise ConfigurationError(f"a line holds one JSON object, not {type_name(row)}")
        fields = cast(Row, row)
        if self.header is None:
            self._start(place, fields)
        elif fields.get("type") == "session":
            raise ConfigurationError("a second header; a log has one, in its first line")
        else:
            self._take_event(fields)

    def end(self, start: Place) -> tuple[SessionHeader, list[Event], bool]:
        """What was read.

        Raises:
            SessionCorruptError: If there was no header, or no event in a strict log.
        """
        if self.header is None:
            raise start.corrupt("the log is empty; its first line must be a header")
        if not self.events and self._form == "strict":
            raise (self._place or start).corrupt(
                "a header without events: a store writes none; if it is of the projected form, "
                'read it with form="projected"'
            )
        return self.header, self.events, self._projected is not False

    def _start(self, place: Place, row: Row) -> None:
        if row.get("type") != "session":
            raise ConfigurationError(
                'the first line must be the header, {"type": "session", "version": 0, "id": …}, '
                f"not a row of type {quoted(row.get('type'))}"
            )
        fields = {key: value for key, value in row.items() if key != "type"}
        # A working directory may be a placeholder; until the form is known it is any text.
        cwd = fields.pop("cwd", None)
        header = decode_header(fields)
        if "version" not in fields:
            raise ConfigurationError("the header has no version")
        if "cwd" in row:
            header = replace(header, cwd=name_text(cwd, "cwd of the header"))
        self.header, self._place = header, place
        self._has_depth = "delegationDepth" in fields
        if self._form == "strict":
            self._check_strict()

    def _check_strict(self) -> None:
        """Refuse a header that stands in no store's file.

        Raises:
            SessionCorruptError: At the header's place.
        """
        assert self.header is not None
        assert self._place is not None
        try:
            if self.header.cwd is not None:
                check_cwd(self.header.cwd)
        except ConfigurationError as error:
            advice = '; if the log is of the projected form, read it with form="projected"'
            raise self._place.corrupt(error.message + advice) from None
        if not self._has_depth:
            raise self._place.corrupt("the header has no delegationDepth; a stored log needs it")

    def _take_event(self, row: Row) -> None:
        projected = not any(key in row for key in _NUMBERED)
        if self._projected is None:
            self._projected = projected
            if not projected:
                self._check_strict()
        elif projected is not self._projected:
            mixed = ", unlike those before it; a log has one form" if self.events else ""
            raise ConfigurationError(_ADVICE[projected] + mixed)
        for member in expand_row(row):
            seq = len(self.events)
            event = decode_projected(member, seq) if projected else decode_event(member)
            if event.seq != seq:
                raise ConfigurationError(
                    f"the event has seq {event.seq}, but {seq} comes next; lines are missing, "
                    "double or out of order"
                )
            self.events.append(event)
