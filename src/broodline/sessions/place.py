"""What a word on the command line names: a store, a log, a folder of recordings."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..actors.recording_line import unreadable
from ..messages.errors import ConfigurationError
from ..survey.name import shown

Kind: TypeAlias = Literal["sqlite", "jsonl"]

_DATABASE_ENDS = (".db", ".sqlite", ".sqlite3")
_MAGIC = b"SQLite format 3\0"
_ADVICE = "write sqlite:PATH for a database, jsonl:FOLDER for a folder of logs"


@dataclass(frozen=True, slots=True)
class StorePlace:
    """Where a store is.

    Attributes:
        kind: What it is made of.
        path: As it was given.
        guessed: Whether the kind was not said, but taken from what the path looks like.
    """

    kind: Kind
    path: str
    guessed: bool = False

    def __str__(self) -> str:
        return f"{self.kind}:{self.path}"


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Where logs are that no store keeps.

    Attributes:
        path: As it was given.
        files: The logs, as check finds them: the root of a recording, then its children.
    """

    path: str
    files: tuple[str, ...]

    def __str__(self) -> str:
        return self.path


Place: TypeAlias = StorePlace | LogPlace


def store_place(text: str, *, new: bool = False) -> StorePlace:
    """What a word names that must be a store.

    Args:
        text: ``sqlite:PATH``, ``jsonl:FOLDER``, or a path that looks like one of them.
        new: Whether it may be one that is still to be made.

    Raises:
        ConfigurationError: If it names none; saying what to write.
    """
    said = _said(text)
    if said is not None:
        return said
    if not os.path.isdir(text):
        guess = _guess(text)
        there = new or os.path.exists(text)
        what = "what kind of store this is cannot be told" if there else "there is no such store"
    else:
        fits = is_store_folder(text) or (new and not _names(text))
        guess = StorePlace("jsonl", text, guessed=True) if fits else None
        what = "this folder is no store"
    if guess is None:
        raise ConfigurationError(f"{shown(text)}: {what}; {_ADVICE}")
    return guess


def any_place(text: str) -> Place:
    """What a word names: a store, a log, a recording, or a folder in which logs lie.

    Raises:
        ConfigurationError: If there is nothing of that.
    """
    said = _said(text)
    if said is not None:
        return said
    if os.path.isdir(text):
        return _folder(text)
    if not os.path.exists(text):
        raise ConfigurationError(f"{shown(text)}: there is no such store or log; {_ADVICE}")
    return _guess(text) or LogPlace(text, (text,))


def is_store_folder(path: str) -> bool:
    """Whether a folder has what a JSONL store makes in it."""
    return any(
        name in ("_no-cwd", ".holders") or (name.startswith("--") and name.endswith("--"))
        for name in _names(path)
        if os.path.isdir(os.path.join(path, name))
    )


def is_database_name(path: str) -> bool:
    """Whether a file is called as databases are."""
    return path.lower().endswith(_DATABASE_ENDS)


def _said(text: str) -> StorePlace | None:
    kind, colon, path = text.partition(":")
    if text == "memory":
        raise ConfigurationError(f"a store in memory ends with its process; {_ADVICE}")
    if not text or (colon and kind in ("sqlite", "jsonl") and not path):
        raise ConfigurationError(f"the path of a store is empty; {_ADVICE}")
    if kind == "sqlite":
        return StorePlace("sqlite", path)
    if kind == "jsonl":
        return StorePlace("jsonl", path)
    if colon and kind.isalpha() and len(kind) > 1 and not os.path.exists(text):
        raise ConfigurationError(f"{shown(kind)!r} is no kind of store; {_ADVICE}")
    return None


def _guess(path: str) -> StorePlace | None:
    """A database, told by its first bytes, or by its name where there are none."""
    try:
        found = os.stat(path)
        if stat.S_ISREG(found.st_mode) and found.st_size:
            with open(path, "rb") as file:
                start = file.read(len(_MAGIC))
            return StorePlace("sqlite", path, guessed=True) if start == _MAGIC else None
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    return StorePlace("sqlite", path, guessed=True) if is_database_name(path) else None


def _folder(path: str) -> Place:
    names = _names(path)
    if "session.jsonl" not in names and is_store_folder(path):
        return StorePlace("jsonl", path, guessed=True)
    files = tuple(_logs(path))
    if not files:
        raise ConfigurationError(f"{shown(path)}: no log and no store is in this folder")
    return LogPlace(path, files)


def _logs(path: str) -> Iterator[str]:
    """Every log in a folder: the root of a recording first, then its children by their number."""
    from ..recordings_command import log_rank

    failures: list[OSError] = []
    for folder, folders, names in os.walk(path, onerror=failures.append):
        folders.sort()
        for name in sorted((name for name in names if name.endswith(".jsonl")), key=log_rank):
            file = os.path.join(folder, name)
            if os.path.isfile(file):
                yield file
    for failure in failures:
        raise unreadable(os.fsdecode(failure.filename), failure, "listed")


def _names(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError as error:
        raise unreadable(path, error, "listed") from None
