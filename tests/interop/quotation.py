"""What a driver refers to, looked up in the recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from broodline.actors.recording import RecordedLog
from broodline.messages.event import Event
from broodline.messages.message import UserMessage
from broodline.messages.payload import (
    HeaderLogged,
    InboxSpliced,
    OpaquePayload,
    ToolAnswered,
    ToolCalled,
    UserMessageLogged,
)

P = TypeVar("P")


class Quotation:
    """The words of one recording, by number; numbers count from 1 in the root's log.

    Args:
        logs: The root's, then those of the children.

    Attributes:
        logs: The root's, then those of the children.
        calls: The ids of the root's tool calls.
    """

    def __init__(self, logs: Sequence[RecordedLog]) -> None:
        self.logs = tuple(logs)
        self._root = self.logs[0].events
        self.calls = tuple(call.call_id for call in _of(ToolCalled, self._root))
        self._results = {
            (place, result.message.source["callId"]): result
            for place, log in enumerate(self.logs)
            for result in _of(ToolAnswered, log.events)
        }

    def route(self) -> tuple[str, str]:
        """Provider and model of the first request.

        Raises:
            LookupError: If there is no request.
        """
        config = _nth(list(_of(HeaderLogged, self._root)), 1, "request/header").header.config
        return config.provider, config.model

    def insert(self, number: int, log: int = 0) -> UserMessage:
        """That message of those that were put into an inbox."""
        splices = _of(InboxSpliced, self.logs[log].events)
        return _nth([one for splice in splices for one in splice.inserted], number, "inbox insert")

    def message(self, number: int) -> UserMessage:
        """That message of those that were logged for the model."""
        logged = _of(UserMessageLogged, self._root)
        return _nth([one.message for one in logged], number, "user/message")

    def words(self, event: str, number: int, key: str) -> str:
        """A text in that event of a type that is not ours."""
        found = [data for data in _of(OpaquePayload, self._root) if data.type == event]
        return str(_nth(found, number, event).data[key])

    def result(self, log: int, call_id: str) -> ToolAnswered:
        """What was recorded for a call of that session.

        Raises:
            LookupError: If nothing was.
        """
        try:
            return self._results[log, call_id]
        except KeyError:
            raise LookupError(
                f"no result of call {call_id!r} was recorded in session {log}"
            ) from None


def _of(kind: type[P], events: Iterable[Event]) -> Iterable[P]:
    return (data for data in (event.data for event in events) if isinstance(data, kind))


def _nth(found: Sequence[P], number: int, what: str) -> P:
    if number > len(found):
        raise LookupError(f"the recording has {len(found)} of {what}, not {number}")
    return found[number - 1]
