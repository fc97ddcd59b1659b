"""What ``broodline check`` does: read recorded logs and say whether they are sound."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from .actors.recording import RecordedLog, read_log
from .actors.recording_check import check_log
from .actors.recording_line import unreadable
from .messages.errors import BroodlineError
from .messages.payload import TurnStart
from .survey.name import shown

SOUND, UNSOUND, USAGE, READER_GONE = 0, 1, 2, 141

_MEMBER = re.compile(r"session(?:\.([0-9]+))?\.jsonl")


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one file.

    Attributes:
        path: The file.
        form: ``projected`` or ``strict``; ``script`` for chunks alone; None if it
            could not be read.
        events: How many; None if it could not be read.
        turns: How many began; None if it could not be read.
        faults: What is wrong with it; empty if it is sound.
        code: Why it could not be read, such as ``SESSION_CORRUPT``; None if it could.
        unfinished: Whether it ends in the middle of a turn, which is no fault; None if it
            could not be read.
    """

    path: str
    form: str | None
    events: int | None
    turns: int | None
    faults: tuple[str, ...]
    code: str | None = None
    unfinished: bool | None = None


def check(paths: Sequence[str], as_json: bool = False, quiet: bool = False) -> int:
    """Check logs and print what came of it. Main thread.

    Args:
        paths: Files, and folders in which every ``*.jsonl`` is a log. A fork's log is
            compared with its parent's where that stands in the same folder.
        as_json: Print one JSON document instead of a table.
        quiet: Print the logs that are not sound, and nothing else.

    Returns:
        The exit code: 0 if all are sound, 1 if one is not, 2 if there is nothing at a
        path, 141 if the reader of the output has gone.
    """
    places: list[str | Finding] = []
    for path in paths:
        found = list(_places(path))
        if not found:
            what = "no *.jsonl is in this folder" if os.path.isdir(path) else "there is no such log"
            sys.stderr.write(f"broodline check: {shown(path)}: {what}\n")
            return USAGE
        places += found
    findings = _findings(places)
    if not _print(_document(findings) if as_json else _table(findings, quiet)):
        return READER_GONE
    return UNSOUND if any(finding.faults for finding in findings) else SOUND


def _places(path: str) -> Iterator[str | Finding]:
    """The files to check at a path, and what is to be said of folders that cannot be listed."""
    if not os.path.isdir(path):
        if os.path.exists(path):
            yield path
        return
    failures: list[OSError] = []
    for folder, folders, names in os.walk(path, onerror=failures.append):
        folders.sort()
        logs = sorted((name for name in names if name.endswith(".jsonl")), key=log_rank)
        yield from (place for name in logs if not _is_pipe(place := os.path.join(folder, name)))
    for failure in failures:
        folder = os.fsdecode(failure.filename)
        error = unreadable(folder, failure, "listed")
        yield Finding(folder, None, None, None, (error.message,), str(error.code))


def _is_pipe(path: str) -> bool:
    """Whether reading it would wait for somebody to write."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def log_rank(name: str) -> tuple[int, int, str]:
    """The root of a recording first, its children by their number, then the rest."""
    found = _MEMBER.fullmatch(name)
    return (1, 0, name) if found is None else (0, int(found[1] or 0), name)


def _findings(places: Sequence[str | Finding]) -> list[Finding]:
    """What comes of the files, in their order; the logs of one folder are read together."""
    groups: dict[str, list[int]] = {}
    findings: dict[int, Finding] = {}
    for number, place in enumerate(places):
        if isinstance(place, Finding):
            findings[number] = place
        else:
            groups.setdefault(os.path.dirname(os.path.abspath(place)), []).append(number)
    for numbers in groups.values():
        found = _group_findings([str(places[number]) for number in numbers])
        findings.update(zip(numbers, found, strict=True))
    return [findings[number] for number in range(len(places))]


def _group_findings(paths: Iterable[str]) -> list[Finding]:
    logs: list[RecordedLog | Finding] = []
    for path in paths:
        try:
            logs.append(read_log(path))
        except BroodlineError as error:
            logs.append(Finding(path, None, None, None, (error.message,), str(error.code)))
    read = [log for log in logs if isinstance(log, RecordedLog)]
    return [log if isinstance(log, Finding) else _finding(log, read) for log in logs]


def _finding(log: RecordedLog, others: Iterable[RecordedLog]) -> Finding:
    wanted = log.header.parent_session
    parents = (other for other in others if other is not log and other.header.id == wanted)
    form = "script" if log.is_script else "projected" if log.projected else "strict"
    turns = sum(type(event.data) is TurnStart for event in log.events)
    faults = check_log(log, parent=next(parents, None))
    return Finding(log.name, form, len(log.events), turns, faults, unfinished=log.unfinished)


def _table(findings: Sequence[Finding], quiet: bool) -> str:
    told = [finding for finding in findings if finding.faults] if quiet else findings
    names = [shown(finding.path) for finding in told]
    width = max(map(cell_len, names), default=0)
    lines: list[str] = []
    for name, finding in zip(names, told, strict=True):
        lines.append(f"{name}{' ' * (width - cell_len(name))}  {_figures(finding)}")
        lines += [f"    {shown(fault)}" for fault in finding.faults]
    if not quiet:
        lines += ["", _summary(findings)]
    return "".join(f"{line}\n" for line in lines)


def _figures(finding: Finding) -> str:
    if finding.form is None:
        return finding.code or "unreadable"
    verdict = _counted(len(finding.faults), "fault") if finding.faults else "sound"
    if finding.unfinished:
        verdict += ", unfinished"
    events, turns = _counted(finding.events, "event"), _counted(finding.turns, "turn")
    return f"{finding.form:<9}  {events:>12}  {turns:>9}  {verdict}"


def _summary(findings: Sequence[Finding]) -> str:
    total = _counted(len(findings), "log")
    bad = sum(bool(finding.faults) for finding in findings)
    verdict = f"{bad:,} not sound" if bad else "all sound"
    left = sum(bool(finding.unfinished) for finding in findings)
    if left:
        verdict += f", {left:,} unfinished"
    return f"{total}, {_extent(findings)}: {verdict}"


def _extent(findings: Sequence[Finding]) -> str:
    """How much was read; nothing is counted of what was not."""
    read = [finding.events for finding in findings if finding.events is not None]
    unread = len(findings) - len(read)
    events = _counted(sum(read), "event")
    if not unread:
        return events
    return f"{unread:,} not read, {events} in the rest" if read else "not read"


def _counted(number: int | None, noun: str) -> str:
    return f"{number or 0:,} {noun}{'' if number == 1 else 's'}"


def _document(findings: Sequence[Finding]) -> str:
    logs = [
        {
            "path": finding.path,
            "form": finding.form,
            "events": finding.events,
            "turns": finding.turns,
            "unfinished": finding.unfinished,
            "sound": not finding.faults,
            "code": finding.code,
            "faults": list(finding.faults),
        }
        for finding in findings
    ]
    sound = not any(finding.faults for finding in findings)
    return json.dumps({"sound": sound, "logs": logs}, indent=2) + "\n"


def _print(text: str) -> bool:
    """Write it all at once; False if the reader has gone away."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered must not break again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
