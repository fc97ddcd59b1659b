"""Sessions in one SQLite database; sqlite_schema.py says how it looks inside.

Written through one connection, read through another: in WAL mode neither waits for the
other. A commit is synced before it counts (``synchronous=FULL``).

Words for `trace`, each with ``before`` and ``after``: ``layout`` (a new or older store
gets its tables), ``commit`` (events, new sessions, leases given back), ``lease`` (a
lease is taken, with the events of a resume), ``renew`` (a sign of life), ``leave`` (the
store closes and gives back what it has).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence

from ...messages.errors import BroodlineError
from ...messages.event import Event
from ..store import Lease, Snapshot, StoredLog
from .backend import Image, Portion
from .holder import Holder
from .refusal import closed_error
from .sqlite_fault import unusable
from .sqlite_link import PATIENCE, SqliteLink
from .sqlite_opening import open_store
from .sqlite_reading import SqliteReading
from .sqlite_writing import SqliteWriting

_logger = logging.getLogger("broodline.store")


class SqliteBackend:
    """One database; implements `Backend`, which documents the methods.

    Args:
        path: Of the file, made by `open` if `create` is set; its folder must be there.
        create: Whether a store may be made, where no file or an empty one is.
        trace: Called with a word before and after each durable write, in the thread of it.
        patience: Seconds to wait for a lock of another process before
            ``STORE_UNAVAILABLE``.

    Raises:
        ConfigurationError: If `path` cannot be a path.
    """

    grouped = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        trace: Callable[[str], None] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._path = _absolute(path)
        self._create = create
        self._trace = trace
        self._patience = patience
        self._writing: SqliteWriting | None = None
        self._reading: SqliteReading | None = None
        self._links = (
            SqliteLink(self._path, patience),
            SqliteLink(self._path, patience, reading=True),
        )

    @property
    def place(self) -> str:
        return self._path

    def open(self, holder: Holder) -> None:
        db, store_id = open_store(
            self._path, create=self._create, patience=self._patience, trace=self._trace
        )
        writer, reader = self._links
        writer.open(store_id, db)
        reader.open(store_id)
        self._writing = SqliteWriting(writer, self._trace, holder, store_id)
        self._reading = SqliteReading(reader, store_id)

    def close(self) -> None:
        writing, self._writing, self._reading = self._writing, None, None
        if writing is None:
            return
        try:
            writing.leave()
        except BroodlineError as error:
            # Nothing is lost: the leases end with this process, or with their time.
            _logger.warning("leases in %s were not given back: %s", self._path, error.message)
        for link in reversed(self._links):
            link.close()

    def renew(self, holder: Holder) -> None:
        self._writer().renew(holder)

    def check_new(self, session_id: str, now: float) -> None:
        self._reader().check_new(session_id, self._writer().holder, now)

    def write(self, portions: Sequence[Portion], now: float) -> list[Exception | None]:
        return self._writer().write(portions, now)

    def lease(
        self,
        session_id: str,
        now: float,
        *,
        after: StoredLog | None,
        events: Sequence[Event],
        takeover: bool,
    ) -> Lease:
        writing = self._writer()
        return writing.lease(session_id, now, after=after, events=events, takeover=takeover)

    def read(self, session_id: str, now: float) -> Image:
        return self._reader().read(session_id, self._writer().holder, now)

    def read_from(self, session_id: str, from_seq: int) -> list[Event]:
        return self._reader().read_from(session_id, from_seq)

    def snapshots(self, now: float, parent: str | None) -> list[Snapshot]:
        return self._reader().snapshots(self._writer().holder, now, parent)

    def _writer(self) -> SqliteWriting:
        if self._writing is None:
            raise closed_error(self._path)
        return self._writing

    def _reader(self) -> SqliteReading:
        if self._reading is None:
            raise closed_error(self._path)
        return self._reading


def _absolute(path: str | os.PathLike[str]) -> str:
    """The path as it counts whatever the working directory becomes."""
    try:
        name = os.fsdecode(path)
    except TypeError as error:
        raise unusable(repr(path), f"a path is a text or a path-like object; {error}") from None
    if not name or "\0" in name:
        raise unusable(repr(name), "a path has a name, and no null byte in it")
    if name == ":memory:":
        raise unusable(name, 'a store in memory is store="memory"')
    return os.path.abspath(name)
