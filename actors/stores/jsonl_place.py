"""Whether a folder can be a JSONL store; nothing is made before that is sure."""

from __future__ import annotations

import os
from importlib import import_module

from ...messages.errors import ConfigurationError
from .jsonl_fault import reason_of
from .jsonl_lock import sync_folder
from .jsonl_name import LONGEST
from .jsonl_tenure import HOLDERS


def check_folder(root: str, *, create: bool) -> int:
    """Make sure that a folder can be used; make it where that is wanted.

    Returns:
        How many bytes the name of a folder in it may have.

    Raises:
        ConfigurationError: If it cannot be used, saying why and what to do.
    """
    _check_system(root)
    try:
        if os.path.lexists(root) or os.path.exists(root):
            _check_there(root)
        else:
            _make(root, create=create)
        return min(LONGEST, os.pathconf(root, "PC_NAME_MAX"))
    except ConfigurationError:
        raise
    except (OSError, ValueError) as error:
        raise _refused(root, reason_of(error), "name a folder that can be used") from None


def _check_system(root: str) -> None:
    try:
        import_module("fcntl")
    except ImportError:
        text = "this system has no locks on files that end with their process (fcntl)"
        raise _refused(root, text, 'use SqliteStore, store="sqlite:PATH"') from None


def _check_there(root: str) -> None:
    if not os.path.isdir(root):
        advice = 'name a folder; a SQLite file is opened as store="sqlite:PATH"'
        raise _refused(root, "it is a file, no folder", advice)
    os.listdir(root)
    holders = os.path.join(root, HOLDERS)
    if os.path.lexists(holders) and not os.path.isdir(holders):
        raise _refused(root, f"{HOLDERS} in it is no folder", "move that away")
    for path in (root, holders):
        if os.path.lexists(path) and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            what = "it" if path == root else f"{HOLDERS} in it"
            text = f"{what} cannot be written by this process, or its file system is read-only"
            raise _refused(root, text, "give access to it, or name another folder")


def _make(root: str, *, create: bool) -> None:
    if not create:
        raise _refused(root, "there is no such folder", "name the folder of a store")
    parent = os.path.dirname(root)
    if not os.path.isdir(parent):
        raise _refused(root, f"there is no folder {parent}", "make that first")
    try:
        os.mkdir(root)
    except FileExistsError:  # somebody else has, a moment ago
        _check_there(root)
    sync_folder(parent)


def _refused(root: str, reason: str, advice: str) -> ConfigurationError:
    return ConfigurationError(
        f"{root} cannot be used as a JSONL store: {reason}; {advice}",
        details={"place": root, "reason": reason},
    )
