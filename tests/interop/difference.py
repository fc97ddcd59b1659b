"""Two plays of one scenario side by side: what differs, in words for people."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from itertools import groupby

from broodline.actors.recording import RecordedLog
from broodline.actors.session import Session

from .comparison import Line, Mismatch, compare_fields, compare_headers, lines_of
from .driver import Difference, Driver
from .quotation import Quotation

_SHOWN = 20
_AROUND = 4


def differences(
    meant: Sequence[Difference],
    plays: frozenset[str],
    recorded: Sequence[RecordedLog],
    ours: Sequence[Session],
) -> tuple[str, ...]:
    """What is not as recorded and not meant to be so; empty if the scenario replayed.

    Args:
        meant: The differences that a driver tells.
        plays: The plugins whose messages count.
        recorded: The recorded logs, the root's first.
        ours: What came of the play, in the same order.
    """
    if len(recorded) != len(ours):
        return (f"recorded are {len(recorded)} sessions, ours are {len(ours)}",)
    orders: list[str] = []
    mismatches = list(
        compare_headers([log.header for log in recorded], [session.header for session in ours])
    )
    for place, (log, session) in enumerate(zip(recorded, ours, strict=True)):
        theirs, mine = lines_of(log.events, plays), lines_of(session.events, plays)
        order = _order(place, theirs, mine)
        orders += order
        if not order:
            mismatches += compare_fields(place, theirs, mine)
    # Where the events are others, nobody looked at their fields.
    return (*orders, *_unmeant(mismatches, meant, stale=not orders))


def plugins_of(driver: Driver, quotation: Quotation) -> frozenset[str]:
    """The plugins whose messages come from the driver."""
    inserts = [act.say for act in driver.host] + [
        number for hook in driver.hooks for number in (hook.add, hook.defer, hook.stage)
    ]
    messages = [quotation.insert(number) for number in inserts if number is not None]
    messages += [quotation.message(hook.enter) for hook in driver.hooks if hook.enter is not None]
    named = (message.source.get("plugin") for message in messages)
    return frozenset(name for name in named if name is not None)


def _order(session: int, recorded: Sequence[Line], ours: Sequence[Line]) -> list[str]:
    """The types side by side, if they are not the same ones in the same order."""
    one, other = _runs(recorded), _runs(ours)
    if [line.type for line in recorded] == [line.type for line in ours]:
        return []
    diff = difflib.unified_diff(one, other, "recorded", "ours", lineterm="", n=_AROUND)
    return [f"session {session}: other events\n" + "\n".join(f"      {line}" for line in diff)]


def _runs(lines: Sequence[Line]) -> list[str]:
    """Types with turn and step; neighbours of one kind on one line."""
    told = [f"{line.type}{_at(line)}" for line in lines]
    counted = ((name, len(list(run))) for name, run in groupby(told))
    return [name if count == 1 else f"{name} x{count}" for name, count in counted]


def _at(line: Line) -> str:
    turn, step = line.fields.get("data.turn"), line.fields.get("data.step")
    if turn is None:
        target, removed = line.fields.get("data.target"), line.fields.get("data.removedCount")
        return "" if target is None else f" ({target}, {'claim' if removed else 'insert'})"
    return f" ({turn})" if step is None else f" ({turn}.{step})"


def _unmeant(
    mismatches: Iterable[Mismatch], meant: Sequence[Difference], *, stale: bool
) -> list[str]:
    keys = {(one.session, one.event, one.field): one for one in meant}
    found: list[str] = []
    for mismatch in mismatches:
        if keys.pop((mismatch.session, mismatch.event, mismatch.field), None) is None:
            found.append(str(mismatch))
    if len(found) > _SHOWN:
        found[_SHOWN:] = [f"and {len(found) - _SHOWN} more"]
    if stale:
        found += [
            f"session {one.session}: {one.event}: {one.field} is told to differ, and does not"
            for one in keys.values()
        ]
    return found
