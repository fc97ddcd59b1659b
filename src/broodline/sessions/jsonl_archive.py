"""A JSONL store, looked at."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from ..actors.recording_line import unreadable
from ..actors.store import Snapshot
from ..actors.stores.backend import Image
from ..actors.stores.jsonl_file import LOG
from ..actors.stores.jsonl_name import decode_id
from ..actors.stores.jsonl_reading import image_of, snapshots_of
from ..actors.stores.jsonl_shelf import Shelf
from ..actors.stores.jsonl_tenure import Holders
from ..messages.errors import (
    BroodlineError,
    ConfigurationError,
    SessionCorruptError,
    SessionFormatUnsupportedError,
)
from .archive import Entry, now, onlooker


class JsonlArchive:
    """Implements `Archive`, which documents the methods.

    Args:
        folder: Of the store.

    Raises:
        ConfigurationError: If it is none, or cannot be listed.
    """

    def __init__(self, folder: str) -> None:
        self._root = os.path.abspath(folder)
        if not os.path.isdir(self._root):
            what = "this is a file" if os.path.exists(self._root) else "there is no such folder"
            raise ConfigurationError(f"{folder}: {what}; name the folder of a JSONL store")
        self._shelf = Shelf(self._root, time.sleep)
        self._holders = Holders(self._root, onlooker(), time.sleep)
        self._folders(self._root)

    def entries(self) -> list[Entry]:
        """See `Archive.entries`."""
        found: list[Entry] = []
        for project in self._projects():
            for name in self._folders(project):
                folder = os.path.join(project, name)
                for log in (LOG, f"{LOG}.zstd"):
                    if os.path.lexists(os.path.join(folder, log)):
                        found.append(_entry(folder, name))
                        break
        for project in (self._root, *self._projects()):
            found += [_flat(project, name) for name in self._names(project) if _is_flat(name)]
        return _once(found)

    def snapshots(self, parent: str | None = None) -> list[Snapshot]:
        """See `Archive.snapshots`."""
        return snapshots_of(self._shelf, self._holders, now(), parent)

    def read(self, session_id: str) -> Image:
        """See `Archive.read`."""
        return image_of(self._shelf, self._holders, session_id, now())

    def faults(self) -> Iterator[str]:
        """See `Archive.faults`."""
        return iter(())

    def close(self) -> None:
        """Nothing is kept open."""

    def _projects(self) -> list[str]:
        names = (name for name in self._folders(self._root) if not name.startswith("."))
        return [os.path.join(self._root, name) for name in names]

    def _folders(self, path: str) -> list[str]:
        return [name for name in self._names(path) if os.path.isdir(os.path.join(path, name))]

    def _names(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            raise unreadable(path, error, "listed") from None


def _entry(folder: str, name: str) -> Entry:
    session_id = decode_id(name)
    if session_id is not None:
        return Entry(session_id)
    text = f"{folder}: no id of a session makes this name; move the folder away, or name it right"
    return Entry(folder, SessionCorruptError(text, details={"place": folder}))


def _is_flat(name: str) -> bool:
    return name.endswith(".jsonl")


def _flat(project: str, name: str) -> Entry:
    path = os.path.join(project, name)
    text = f"{path}: a log of an older layout, which is not read here"
    session_id = decode_id(name.removesuffix(".jsonl"))
    error: BroodlineError = SessionFormatUnsupportedError(text, details={"place": path})
    return Entry(session_id or path, error)


def _once(found: list[Entry]) -> list[Entry]:
    """One entry an id; that it lies there twice is found by reading it."""
    return list({entry.name: entry for entry in found}.values())
