"""Which scenarios are asked for."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from .driver import Driver, driver_files, name_of, read_driver

USAGE = 2

_NEAR = 5


def chosen(folder: Path, only: Sequence[str] | None) -> dict[str, Driver]:
    """The drivers by name; all of them, or those that are asked for.

    Raises:
        SystemExit: If there is none, one that is asked for is not there, or one is malformed.
    """
    files = {name_of(path, folder): path for path in driver_files(folder)}
    if not files:
        refuse(f"no drivers in {folder}; name them: --drivers FOLDER")
    names = [_named(name, files) for name in only or files]
    return {name: _read(files[name]) for name in names}


def _named(asked: str, names: Collection[str]) -> str:
    """The scenario that is meant: by its whole name, or by the last part of one alone."""
    if asked in names:
        return asked
    ends = [name for name in names if name.endswith(f"/{asked}")]
    if len(ends) == 1:
        return ends[0]
    if ends:
        refuse(f"{asked!r} is the name of {len(ends)} scenarios: {', '.join(ends)}")
    near = _near(asked, names)
    told = f"near it: {', '.join(near)}" if near else f"none of the {len(names)} is near it"
    refuse(f"no scenario {asked!r}; {told}")


def _near(asked: str, names: Collection[str]) -> list[str]:
    """Names that hold it or are written like it, best first."""
    last = {name: name.rpartition("/")[2] for name in names}
    alike = get_close_matches(asked, [*names, *last.values()], n=_NEAR)
    near = [name for name in names if asked and asked in name]
    near += [name for word in alike for name in names if word in (name, last[name])]
    return list(dict.fromkeys(near))[:_NEAR]


def refuse(problem: str) -> NoReturn:
    """Leave for wrong usage."""
    sys.stderr.write(f"interop: {problem}\n")
    raise SystemExit(USAGE)


def _read(path: Path) -> Driver:
    try:
        return read_driver(path)
    except ValueError as error:
        refuse(f"{path}: {error}")
