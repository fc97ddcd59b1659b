"""Sessions in one SQLite database: the store for most programs."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..store import Durability
from .disk import LEASE_TIMEOUT, WINDOW, DiskStore
from .sqlite_backend import SqliteBackend


class SqliteStore(DiskStore):
    """Keeps sessions in a SQLite database; implements `Store`, which documents the methods.

    Several processes of one machine may use the same file, each with a store of its own;
    a session is written by one of them at a time. What is flushed is on disk (write-ahead
    log, ``synchronous=FULL``). While anybody has it open, ``-wal`` and ``-shm`` lie beside
    the file and belong to it; the file has to be on a local disk. For people its view
    ``log`` shows every event.

    Args:
        path: The database; made when it is not there, in a folder that is.
        durability: What waits for the disk.
        window: Seconds that what does not wait may stay unwritten.
        lease_timeout: Seconds after which another process may take over from one that hangs.
        create: Whether a store may be made, where no file or an empty one is.
        trace: Called in the writer's thread with a word before and after each durable
            write; `sqlite_backend` lists them. For tests of crashes.

    Raises:
        ConfigurationError: If an argument is wrong.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "accepted",
        window: float = WINDOW,
        lease_timeout: float = LEASE_TIMEOUT,
        create: bool = True,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(
            SqliteBackend(path, create=create, trace=trace),
            durability=durability,
            window=window,
            lease_timeout=lease_timeout,
        )
