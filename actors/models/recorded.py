"""A model that says what a recorded one said: a session once paid for, played for ever."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ...messages.errors import ConfigurationError, ModelError
from ...messages.payload import AssistantReplied, HeaderLogged
from ...messages.plain import quoted
from ...messages.request import ModelRequest
from ..recording import LogSource, RecordedLog, Recording, read_log, read_recording
from .entry import Entry
from .local import LocalModel, Sleep
from .recorded_script import RECORDING_ENDED, entries_of
from .response import EntryLike, entry_of

Overrides: TypeAlias = Mapping[tuple[int, int], EntryLike]


@dataclass(slots=True)
class _Part:
    """What one recorded session said, and who plays it now."""

    log: RecordedLog
    entries: list[Entry]
    played: int = 0
    session_id: str | None = None


class RecordedModel(LocalModel):
    """Answers with the recorded responses of one or more sessions.

    Each log is one part: an entry for every request its model was asked, in order;
    of a fork child only what came after its seed. A session that asks for the first
    time takes the next part that has entries, so the sessions of a run take the logs in
    the order of their first requests. Chunks come as they were recorded, without their
    pauses. A request that failed fails again, and the agent's own retries ask again;
    one that was cancelled streams what had come and waits to be cancelled; one whose
    end was not recorded, because the process was killed, streams what had come and
    fails with the code ``RECORDING_ENDED``.

    What a log does not hold fails the request: a session more than there are logs, a
    request more than were recorded (``RECORDING_ENDED`` too). Entries left over are no
    error unless `assert_consumed` is called.

    Args:
        logs: A log, a `Recording` (its root, then its children), the path of a file or
            of a recording's folder, a live `Session`, or what its ``to_json()`` gave.
        provider: Name that agents ask for.
        model: Its own name; default the name recorded in the first log that has one.
        overrides: Entries to play instead, by the log's and the entry's place, both
            from 0: ``{(0, 2): fail("SERVER")}``. The place behind a log's last entry
            adds one.
        latency: Seconds before the first chunk of each response.
        sleep: What waits for `latency` and ``linger``; default the loop's timers.
        max_tokens: Ceiling of a response where nobody sets one.
        record: Keep every request in `requests`.

    Attributes:
        logs: All logs, as they are counted by `overrides`.

    Raises:
        ConfigurationError: If there is no log, one cannot be read, or an override
            stands at no place.
        SessionFormatUnsupportedError: As `read_log`.
        SessionCorruptError: As `read_log`.
    """

    def __init__(
        self,
        *logs: LogSource | Recording,
        provider: str = "recorded",
        model: str | None = None,
        overrides: Overrides | None = None,
        latency: float = 0.0,
        sleep: Sleep = asyncio.sleep,
        max_tokens: int | None = None,
        record: bool = True,
    ) -> None:
        self.logs = tuple(log for given in logs for log in _logs_of(given))
        if not self.logs:
            raise ConfigurationError("RecordedModel needs at least one log to play")
        super().__init__(
            provider=provider,
            model=model or _recorded_name(self.logs),
            max_tokens=max_tokens,
            latency=latency,
            sleep=sleep,
            record=record,
        )
        parts = [
            _Part(log, entries_of((event.data for event in log.own_events), log.name))
            for log in self.logs
        ]
        _override(parts, overrides or {})
        self._parts = [part for part in parts if part.entries]
        self._part_of: dict[str, _Part] = {}

    @property
    def remaining(self) -> int:
        """Entries not played yet, over all logs."""
        return sum(len(part.entries) - part.played for part in self._parts)

    def assert_consumed(self) -> None:
        """Check that every entry of every log was played.

        Raises:
            AssertionError: Naming each log with entries left, and who played it.
        """
        left = [_left(part) for part in self._parts if part.played < len(part.entries)]
        if left:
            raise AssertionError(
                f"the recordings of {self.provider}:{self.model} have entries left: "
                + "; ".join(left)
            )

    def _choose(self, request: ModelRequest) -> Entry | ModelError:
        part = self._part_of.get(request.session_id)
        if part is None:
            if len(self._part_of) == len(self._parts):
                return self._no_part(request.session_id)
            part = self._parts[len(self._part_of)]
            part.session_id = request.session_id
            self._part_of[request.session_id] = part
        if part.played == len(part.entries):
            return self._used_up(part)
        part.played += 1
        return part.entries[part.played - 1]

    async def _entry(self, step: Entry | ModelError, request: ModelRequest) -> Entry:
        if isinstance(step, ModelError):
            raise step
        return step

    def _no_part(self, session_id: str) -> ModelError:
        played = ", ".join(f"{p.log.name} for {p.session_id}" for p in self._parts) or "none"
        return ModelError(
            f"session {session_id} is one more than {self.provider}:{self.model} has recorded "
            f"logs with entries: {played}; give RecordedModel the log of one more session"
        )

    def _used_up(self, part: _Part) -> ModelError:
        stop = " and ends in the middle of a turn" if part.log.unfinished else ""
        return ModelError(
            f"session {part.session_id} asked for response {len(part.entries) + 1}, but the log "
            f"{part.log.name} has {_counted(len(part.entries))}{stop}; record a longer run, or "
            "add an entry with overrides=",
            RECORDING_ENDED,
        )


def _logs_of(given: LogSource | Recording) -> Iterable[RecordedLog]:
    if isinstance(given, Recording):
        return given.logs
    if isinstance(given, str | os.PathLike) and Path(given).is_dir():
        return read_recording(given).logs
    return (read_log(given),)


def _recorded_name(logs: Iterable[RecordedLog]) -> str:
    return next((name for log in logs for name in _names(log)), "recorded")


def _names(log: RecordedLog) -> Iterator[str]:
    for event in log.own_events:
        data = event.data
        if isinstance(data, HeaderLogged):
            yield data.header.config.model
        elif isinstance(data, AssistantReplied):
            yield data.message.source["model"]


def _override(parts: list[_Part], overrides: Overrides) -> None:
    for place in sorted(overrides, key=_sound_place):
        log, number = place
        if log >= len(parts) or number > len(parts[log].entries):
            places = ", ".join(f"({n}, 0 to {len(p.entries)})" for n, p in enumerate(parts))
            raise ConfigurationError(f"overrides has {place}, but there are {places}")
        parts[log].entries[number : number + 1] = [entry_of(overrides[place])]


def _sound_place(place: tuple[object, ...]) -> tuple[int, int]:
    """The place itself, once it is sure to be two whole numbers from 0."""
    log, number = place if type(place) is tuple and len(place) == 2 else (None, None)
    if type(log) is not int or type(number) is not int or log < 0 or number < 0:
        raise ConfigurationError(
            f"overrides goes by (log, entry), two whole numbers from 0, not {quoted(place)}"
        )
    return log, number


def _left(part: _Part) -> str:
    if part.session_id is None:
        return f"{part.log.name} ({_counted(len(part.entries))}) was asked for by no session"
    return (
        f"session {part.session_id} played {part.played} of {_counted(len(part.entries))} of "
        f"{part.log.name}"
    )


def _counted(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"
