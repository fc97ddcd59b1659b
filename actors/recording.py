"""Recorded logs, read from files: whole sessions, checked line by line.

Two forms are read. *Strict* is what a store writes: every event has its ``seq`` and
``time``. *Projected* is what recordings are kept in: without both, with
placeholders such as ``{{cwd}}`` in the place of what differs from run to run.
Source: spec core 15; the rules of a log as such are the matter of `check_log`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ..messages.chunk import Finish
from ..messages.errors import ConfigurationError
from ..messages.event import Event
from ..messages.header import SessionHeader
from ..messages.lossless import type_name
from ..messages.payload import ChunkReceived
from .recording_form import Form, read_rows
from .recording_line import file_rows, given_rows, unreadable
from .seed import ends_in_open_turn
from .session import Session

LogSource: TypeAlias = "str | os.PathLike[str] | Session | RecordedLog | Iterable[Any]"
"""A path, a live session, what `read_log` gave, or the lines or rows of a log."""

_CHILD = re.compile(r"session\.([0-9]+)\.jsonl")


@dataclass(frozen=True, slots=True)
class RecordedLog:
    """One session's log, as it was recorded.

    Attributes:
        name: The path it was read from, or the session's id.
        header: Identity and lineage. A projected one may hold placeholders: ``id`` is
            then ``{{sessionId}}``, ``cwd`` is ``{{cwd}}`` and no path.
        events: The log, ``seq == index``. In a projected log every time is 0, and the
            tools of a request header are `UnrecordedTools` where ``{{tools}}`` stood.
        projected: Whether it was read from the projected form.
    """

    name: str
    header: SessionHeader
    events: tuple[Event, ...]
    projected: bool

    @property
    def is_script(self) -> bool:
        """Whether it holds chunks alone, without turns: a script for a model and no log."""
        return bool(self.events) and all(type(e.data) is ChunkReceived for e in self.events)

    @property
    def unfinished(self) -> bool:
        """Whether it ends in the middle of a turn, as the log of a killed process does.

        A script: in the middle of a response.
        """
        last = self.events[-1].data if self.events else None
        if isinstance(last, ChunkReceived) and self.is_script:
            return not isinstance(last.chunk, Finish)
        return ends_in_open_turn(self.events)

    @property
    def own_events(self) -> tuple[Event, ...]:
        """The events that are not inherited from a parent's log by a fork."""
        return self.events[self.header.seed_length or 0 :]


@dataclass(frozen=True, slots=True)
class Recording:
    """One scenario: the log of the top-level session and those of its children.

    Attributes:
        name: The folder it was read from.
        root: The top-level session.
        children: The others, in the order of their numbers.
    """

    name: str
    root: RecordedLog
    children: tuple[RecordedLog, ...] = ()

    @property
    def logs(self) -> tuple[RecordedLog, ...]:
        """All logs, the root's first."""
        return (self.root, *self.children)


def read_log(source: LogSource, *, form: Form = "auto") -> RecordedLog:
    """Read one log, completely or not at all.

    Any thread; a live session on its own loop only.

    Args:
        source: Path of a file, or its lines (with or without line ends), or the rows
            that ``session.to_json()`` made, or a live `Session`, whose log up to now is
            taken as it is.
        form: ``"auto"`` tells by the first event; ``"projected"`` and ``"strict"``
            refuse the other form. Strict refuses a log without events too: a store
            writes none.

    Raises:
        ConfigurationError: If the file cannot be read, or `source` is none.
        SessionFormatUnsupportedError: If the log is of another version, or has an
            event of an unknown type that is not ``ignorable``.
        SessionCorruptError: If a line is damaged or of the other form. Both name
            file and line.
    """
    chosen: object = form
    if chosen not in ("auto", "projected", "strict"):
        raise ConfigurationError(f'form must be "auto", "projected" or "strict", not {chosen!r}')
    if isinstance(source, RecordedLog):
        return source
    if isinstance(source, Session):
        return RecordedLog(source.id, source.header, source.events, projected=False)
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return _log(path, *read_rows(path, file_rows(path), form))
    if not _is_listing(source):
        raise ConfigurationError(
            f"a log is read from a path, a Session, lines or rows, not from a {type_name(source)}"
        )
    rows = given_rows(source)
    header, events, projected = read_rows("log", rows, form)
    return _log(header.id, header, events, projected)


def read_recording(folder: str | os.PathLike[str], *, form: Form = "auto") -> Recording:
    """Read ``session.jsonl`` and its children ``session.N.jsonl``, in the order of N.

    Args:
        folder: Holds the files of one scenario; other files in it are passed over.
        form: As for `read_log`; each file may be of its own form.

    Raises:
        ConfigurationError: If there is no such folder, or no ``session.jsonl`` in it.
        SessionFormatUnsupportedError: As `read_log`.
        SessionCorruptError: As `read_log`.
    """
    name = os.fspath(folder)
    try:
        names = os.listdir(name)
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None
    if "session.jsonl" not in names:
        raise ConfigurationError(
            f"{name} is no recording: it has no session.jsonl; name the folder of one scenario, "
            "or read a single file with read_log()"
        )
    numbers = [(int(found[1]), found[0]) for each in names if (found := _CHILD.fullmatch(each))]
    children = [read_log(Path(name, each), form=form) for _, each in sorted(numbers)]
    return Recording(name, read_log(Path(name, "session.jsonl"), form=form), tuple(children))


def _is_listing(source: object) -> bool:
    return isinstance(source, Iterable) and not isinstance(source, bytes | bytearray | Mapping)


def _log(name: str, header: SessionHeader, events: list[Event], projected: bool) -> RecordedLog:
    return RecordedLog(name, header, tuple(events), projected)
