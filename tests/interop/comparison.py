"""What is compared of two logs of one session, the recorded one and ours.

Compared are the events whose types we write, without ``request/context``, without our
own ignorable types, and without the ``user/message`` of plugins that no driver plays.
Each is brought to a normal form: ids become the order of their first appearance,
citations become places among the compared events, and what cannot be equal goes out
(`_normal` says what). All that is left has to be equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from broodline.messages.codec import encode_event
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.vocabulary import OWN_TYPES, TYPED

CORE = frozenset(TYPED) - OWN_TYPES
"""The types that are compared."""

_DESCRIBED = ("mode", "provider", "label")


@dataclass(frozen=True, slots=True)
class Line:
    """One compared event.

    Attributes:
        type: The event's.
        name: Its type and which of that type it is, from 1.
        fields: The leaves of its normal form by their paths.
    """

    type: str
    name: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One field of one event that is not as recorded; `event` is ``header`` for the header."""

    session: int
    event: str
    field: str
    recorded: Any
    ours: Any

    def __str__(self) -> str:
        where = f"session {self.session}: {self.event}: {self.field}"
        return f"{where}\n      recorded: {self.recorded!r}\n      ours:     {self.ours!r}"


class _Names:
    """Ids in the order of their first appearance."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, given: str) -> str:
        return self._known.setdefault(given, f"#{len(self._known) + 1}")


def lines_of(events: Sequence[Event], plays: Collection[str] = ()) -> list[Line]:
    """The compared events of a log.

    Args:
        events: The whole log.
        plays: Plugins whose messages the driver plays, so that they count.
    """
    kept = [event for event in events if _counts(event, plays)]
    places = {event.seq: place for place, event in enumerate(kept, 1)}
    names, numbers = _Names(), Counter[str]()
    lines: list[Line] = []
    for event in kept:
        numbers[event.type] += 1
        normal = _normal(encode_event(event), names, places)
        fields = dict(_leaves(normal, ""))
        lines.append(Line(event.type, f"{event.type} {numbers[event.type]}", fields))
    return lines


def _counts(event: Event, plays: Collection[str]) -> bool:
    if event.type not in CORE:
        return False
    if event.type != "user/message":
        return True
    source = encode_event(event)["data"]["source"]
    return source["kind"] != "plugin" or source.get("plugin") in plays


def _normal(event: dict[str, Any], names: _Names, places: dict[int, int]) -> dict[str, Any]:
    normal: dict[str, Any] = {
        "data": _RULES.get(event["type"], _as_it_is)(_thawed(event["data"]), names)
    }
    if "sourceEventSeqs" in event:
        cited = event["sourceEventSeqs"]
        normal["sourceEventSeqs"] = [places.get(seq, "what is not compared") for seq in cited]
    if "surfaceOp" in event:
        normal["surfaceOp"] = event["surfaceOp"]
    return normal


def _as_it_is(data: dict[str, Any], names: _Names) -> dict[str, Any]:
    return data


def _message(data: dict[str, Any], names: _Names) -> dict[str, Any]:
    return {**data, "id": names(data["id"])}


def _holds_message(data: dict[str, Any], names: _Names) -> dict[str, Any]:
    return {**data, "message": _message(data["message"], names)}


def _splice(data: dict[str, Any], names: _Names) -> dict[str, Any]:
    inserted = [_message(message, names) for message in data.get("inserted", ())]
    return {"removedCount": 0, **data, "inserted": inserted}


def _header(data: dict[str, Any], names: _Names) -> dict[str, Any]:
    """System text and tools are placeholders in the recordings."""
    header = {key: part for key, part in data["header"].items() if key not in ("system", "tools")}
    return {**data, "header": header}


def _descriptor(data: dict[str, Any], names: _Names) -> dict[str, Any]:
    """Ours is of version 3 and has further fields."""
    return {key: data[key] for key in _DESCRIBED if key in data}


def _retry(data: dict[str, Any], names: _Names) -> dict[str, Any]:
    """Each product words the key of a policy in its own way."""
    kept = {key: part for key, part in data.items() if key != "policyKey"}
    return {**kept, "retryId": names(data["retryId"])}


_RULES: dict[str, Callable[[dict[str, Any], _Names], dict[str, Any]]] = {
    "user/message": _message,
    "assistant/message": _holds_message,
    "tool/result": _holds_message,
    "agent/inbox/spliced": _splice,
    "request/header": _header,
    "subagent/descriptor": _descriptor,
    "llm/retry": _retry,
    "llm/retry-started": _retry,
}


def _thawed(value: Any) -> Any:
    """Plain JSON, so that frozen and plain containers compare alike."""
    if isinstance(value, dict):
        return {key: _thawed(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_thawed(part) for part in value]
    return value


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _leaves(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for place, part in enumerate(value):
            yield from _leaves(part, f"{path}.{place}")
    else:
        yield path, value


def compare_fields(
    session: int, recorded: Sequence[Line], ours: Sequence[Line]
) -> Iterator[Mismatch]:
    """Every field that differs, of two logs with the same types in the same order."""
    for theirs, mine in zip(recorded, ours, strict=True):
        yield from _differing(session, theirs.name, theirs.fields, mine.fields)


def _differing(
    session: int, name: str, recorded: dict[str, Any], ours: dict[str, Any]
) -> Iterator[Mismatch]:
    for path in dict.fromkeys((*recorded, *ours)):
        one, other = recorded.get(path, "nothing"), ours.get(path, "nothing")
        if one != other or type(one) is not type(other):
            yield Mismatch(session, name, path, one, other)


def compare_headers(
    recorded: Sequence[SessionHeader], ours: Sequence[SessionHeader]
) -> Iterator[Mismatch]:
    """Every fact of lineage that differs; ids become the places of the sessions."""
    for session, (theirs, mine) in enumerate(zip(recorded, ours, strict=True)):
        yield from _differing(session, "header", _lineage(theirs, recorded), _lineage(mine, ours))


def _lineage(header: SessionHeader, family: Sequence[SessionHeader]) -> dict[str, Any]:
    ids = [one.id for one in family]
    parent = header.parent_session
    return {
        "version": header.version,
        "parentSession": None if parent is None else ids.index(parent) if parent in ids else "?",
        "seedLength": header.seed_length,
        "origin": header.origin,
        "delegationDepth": header.delegation_depth or 0,
        "cwd": "none" if header.cwd is None else header.cwd == family[0].cwd,
    }
