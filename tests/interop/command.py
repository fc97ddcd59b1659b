"""``python tests/interop/run.py``: read all recordings, replay what there is a driver for.

The last line says how many were read, refused and replayed; the exit code is 1 if a
file was refused or a scenario differs. Without recordings nothing is done.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .corpus import RECORDINGS, Reading, files_of, read_all
from .driver import DRIVERS, Driver, driver_files, name_of, read_driver
from .scenario import Replay, replay


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="make interop", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--recordings", type=Path, default=RECORDINGS, metavar="FOLDER")
    parser.add_argument("--drivers", type=Path, default=DRIVERS, metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="this scenario alone; may be repeated"
    )
    return parser.parse_args(arguments)


def chosen(folder: Path, only: Sequence[str] | None) -> dict[str, Driver]:
    """The drivers by name; all of them, or those that are asked for.

    Raises:
        SystemExit: If there is none, one that is asked for is not there, or one is malformed.
    """
    files = {name_of(path, folder): path for path in driver_files(folder)}
    if not files:
        raise SystemExit(f"interop: no drivers in {folder}; name them: --drivers FOLDER")
    unknown = [name for name in only or () if name not in files]
    if unknown:
        raise SystemExit(f"interop: no scenario {unknown[0]!r}; there are: {', '.join(files)}")
    return {name: _read(files[name]) for name in (only or files)}


def _read(path: Path) -> Driver:
    try:
        return read_driver(path)
    except ValueError as error:
        raise SystemExit(f"interop: {path}: {error}") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Do it; returns the exit code."""
    asked = options(arguments)
    drivers = chosen(asked.drivers, asked.only)
    if not files_of(asked.recordings):
        return _skipped(asked, len(drivers))
    say = _silent if asked.json else print
    reading = read_all(asked.recordings)
    _tell_reading(say, reading, asked.recordings)
    replays: dict[str, Replay] = {}
    width = max(map(len, drivers), default=0)
    for number, (name, driver) in enumerate(drivers.items(), 1):
        replays[name] = done = asyncio.run(replay(driver, asked.recordings))
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


def _skipped(asked: argparse.Namespace, count: int) -> int:
    if asked.json:
        print(json.dumps({"skipped": count, "recordings": str(asked.recordings)}))
    else:
        print(f"interop: no recordings in {asked.recordings}; name them: --recordings FOLDER")
        print(f"recordings: none; skipped {count} scenarios")
    return 0


def _silent(*_said: object, **_how: object) -> None:
    """What `print` is with --json."""


def _verdict(done: Replay) -> str:
    sessions = "1 session" if done.sessions == 1 else f"{done.sessions} sessions"
    if done.differences:
        return f"DIFFERS  {sessions}"
    told = f", {len(done.meant)} fields differ as meant" if done.meant else ""
    return f"ok  {sessions}, {done.events} events{told}"


def _tell_reading(say: Any, reading: Reading, folder: Path) -> None:
    say(f"interop: {reading.read} files with {reading.events} events read and checked in {folder}")
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


if __name__ == "__main__":
    # A failure that was recorded is no news; what counts is the comparison.
    logging.getLogger("broodline").addHandler(logging.NullHandler())
    sys.exit(main())
