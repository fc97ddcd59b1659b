"""Sessions in files of lines, which any editor reads."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..store import Durability
from .disk import LEASE_TIMEOUT, WINDOW, DiskStore
from .jsonl_backend import JsonlBackend


class JsonlStore(DiskStore):
    """Keeps every session in a file of its own; implements `Store`, which documents the methods.

    Several processes of one machine may use the same folder, each with a store of its own;
    a session is written by one of them at a time.

    Args:
        folder: The root of the files; made when it is not there, in a folder that is.
        durability: What waits for the disk.
        window: Seconds that what does not wait may stay unwritten.
        lease_timeout: Seconds after which another process may take over from one that hangs.
        create: Whether a folder that is not there may be made.
        trace: Called in the writer's thread with a word before and after each durable
            write; `jsonl_backend` lists them. For tests of crashes.

    Raises:
        ConfigurationError: If an argument is wrong.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        durability: Durability = "accepted",
        window: float = WINDOW,
        lease_timeout: float = LEASE_TIMEOUT,
        create: bool = True,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(
            JsonlBackend(folder, create=create, trace=trace),
            durability=durability,
            window=window,
            lease_timeout=lease_timeout,
        )
