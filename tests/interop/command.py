"""``python tests/interop/run.py``: read all recordings, replay what there is a driver for.

The last line says how many were read, refused and replayed. Exit codes: 1 if a file was
refused or a scenario differs, 2 for wrong usage, 141 if the reader of the output has
gone. Where the default folder of recordings is not there nothing is done, code 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import corpus
from .corpus import PATTERN, Reading, files_of, read_all
from .driver import DRIVERS
from .scenario import Replay, replay
from .selection import chosen, refuse

READER_GONE = 141

_HELP = """\
Read and check recorded sessions, and replay those that have a driver through our own loop.

exit codes:
  0    everything replays, or the default folder of recordings is not there
  1    a file was refused, or a scenario differs
  2    wrong usage
  141  the reader of the output has gone"""
_WITH_MAKE = 'the same with make: make interop INTEROP="--only NAME --json"'


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python tests/interop/run.py",
        description=_HELP,
        epilog=_WITH_MAKE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--recordings",
        type=Path,
        metavar="FOLDER",
        help=f"where the recordings are, as {PATTERN} below it",
    )
    parser.add_argument(
        "--drivers", type=Path, default=DRIVERS, metavar="FOLDER", help="where the drivers are"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="this scenario alone, or the last part of its name; may be repeated",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do it; returns the exit code.

    Raises:
        SystemExit: With 2 for wrong usage, 0 for ``--help``.
    """
    asked = options(arguments)
    drivers = chosen(asked.drivers, asked.only)
    recordings = asked.recordings or corpus.RECORDINGS
    if not files_of(recordings):
        if asked.recordings is None:
            return _skipped(recordings, len(drivers), as_json=asked.json)
        what = "holds no recordings" if recordings.is_dir() else "is no folder"
        refuse(f"--recordings {recordings} {what}; looked for {recordings / PATTERN}")
    say = _silent if asked.json else print
    reading = read_all(recordings)
    _tell_reading(say, reading, recordings)
    replays: dict[str, Replay] = {}
    width = max(map(len, drivers), default=0)
    for number, (name, driver) in enumerate(drivers.items(), 1):
        replays[name] = done = asyncio.run(replay(driver, recordings))
        say(f"{number:>3}/{len(drivers)} {name:<{width}}  {_verdict(done)}", flush=True)
    _tell_differences(say, replays)
    good = sum(not done.differences for done in replays.values())
    if asked.json:
        print(json.dumps(_document(reading, replays), indent=2, ensure_ascii=False))
    say(
        f"recordings: {reading.read} read, {len(reading.refused)} refused; "
        f"replayed {good} of {len(replays)}"
    )
    return 0 if good == len(replays) and not reading.refused else 1


def _skipped(recordings: Path, count: int, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"skipped": count, "recordings": str(recordings)}))
        return 0
    print(f"interop: skipped, for there are no recordings in {recordings}; name others:")
    print("  python tests/interop/run.py --recordings FOLDER")
    print('  make interop INTEROP="--recordings FOLDER"')
    print(f"recordings: none; skipped {_counted(count, 'driver')}")
    return 0


def _silent(*_said: object, **_how: object) -> None:
    """What `print` is with --json."""


def _verdict(done: Replay) -> str:
    sessions = _counted(done.sessions, "session")
    if done.differences:
        return f"DIFFERS  {sessions}"
    verb = "differs" if len(done.meant) == 1 else "differ"
    fields = f"{_counted(len(done.meant), 'field')} {verb}, as the driver says"
    return f"ok  {sessions}, {_counted(done.events, 'event')}" + (
        f"; {fields}" if done.meant else ""
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _tell_reading(say: Any, reading: Reading, folder: Path) -> None:
    files, events = _counted(reading.read, "file"), _counted(reading.events, "event")
    say(f"interop: {files} with {events} read and checked in {folder}")
    for name, faults in reading.refused.items():
        say(f"  REFUSED {name}")
        for fault in faults:
            say(f"    {fault}")


def _tell_differences(say: Any, replays: dict[str, Replay]) -> None:
    for name, done in replays.items():
        if done.differences:
            say(f"\n{name} differs:")
            for difference in done.differences:
                say(f"  {difference}")


def _document(reading: Reading, replays: dict[str, Replay]) -> dict[str, Any]:
    return {
        "read": reading.read,
        "events": reading.events,
        "refused": reading.refused,
        "replayed": sum(not done.differences for done in replays.values()),
        "of": len(replays),
        "scenarios": {
            name: {
                "replayed": not done.differences,
                "sessions": done.sessions,
                "events": done.events,
                "meant": done.meant,
                "differences": done.differences,
            }
            for name, done in replays.items()
        },
    }


def run() -> int:
    """`main`, for a process: quiet when the reader of its output has gone."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered must not break again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    return code


if __name__ == "__main__":
    # A failure that was recorded is no news; what counts is the comparison.
    logging.getLogger("broodline").addHandler(logging.NullHandler())
    sys.exit(run())
