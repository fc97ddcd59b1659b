"""Where the logs of a JSONL store lie, and what stands in them. Nothing here writes.

There is no index: a session is looked for in the folder of every working directory, by
its name, and a listing reads the first lines of every log.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import BinaryIO

from ...messages.errors import SessionCorruptError, SessionFormatUnsupportedError
from ...messages.header import SessionHeader
from .jsonl_fault import corrupt, obsolete, unavailable
from .jsonl_file import LOCK, LOG, revision_of
from .jsonl_lock import locked
from .jsonl_name import decode_id, encode_id, project_name
from .jsonl_scan import Scan, is_projected, read_header, scan
from .jsonl_tenure import Tenure, read_tenure
from .refusal import not_found

_LONGEST_HEADER = 1 << 20


@dataclass(frozen=True, slots=True)
class Volume:
    """One stored log, as it lies there.

    Attributes:
        folder: In which it lies.
        scan: What stands in it.
        size: Bytes of the whole file.
        revision: See `revision_of`.
        tenure: Its lease.
    """

    folder: str
    scan: Scan
    size: int
    revision: str
    tenure: Tenure


@dataclass(frozen=True, slots=True)
class Cover:
    """What is seen of a log from outside: its first lines, its size, its lease."""

    header: SessionHeader
    projected: bool
    revision: str
    tenure: Tenure


class Shelf:
    """The logs of one store, for looking at; from any thread.

    Args:
        root: The store's folder.
        pause: Blocks for some seconds.
    """

    def __init__(self, root: str, pause: Callable[[float], None]) -> None:
        self.root = root
        self._pause = pause

    def locate(self, session_id: str) -> list[str]:
        """The folders that hold a log of this id: none, one, or more after damage.

        Raises:
            SessionFormatUnsupportedError: If there is one in a layout that is not read.
            SessionError: ``STORE_UNAVAILABLE``.
        """
        if not session_id:
            return []
        component = encode_id(session_id)
        found: list[str] = []
        try:
            for project in (self.root, *self._projects()):
                flat = os.path.join(project, f"{component}.jsonl")
                if os.path.lexists(flat):
                    raise obsolete(flat, session_id)
                if project is self.root:
                    continue
                names = _names(os.path.join(project, component))
                if f"{LOG}.zstd" in names:
                    raise obsolete(os.path.join(project, component, f"{LOG}.zstd"), session_id)
                if LOG in names:
                    found.append(os.path.join(project, component))
        except OSError as error:
            raise unavailable(self.root, error, "read") from error
        return sorted(found)

    def find(self, session_id: str) -> str:
        """The folder in which a session lies.

        Raises:
            SessionError: ``SESSION_NOT_FOUND``, or ``STORE_UNAVAILABLE``.
            SessionFormatUnsupportedError: As `locate`.
            SessionCorruptError: If it lies in more than one.
        """
        found = self.locate(session_id)
        if not found:
            raise not_found(session_id, self.root)
        if len(found) > 1:
            text = f"the same id is stored in {' and in '.join(found)} too; move one of them away"
            raise corrupt(found[0], session_id, text.replace(f"{found[0]} and in ", "", 1))
        return found[0]

    def read(self, session_id: str) -> Volume:
        """Read a session, undisturbed by whoever writes it.

        Raises:
            SessionError: As `find`.
            SessionFormatUnsupportedError: As `scan`.
            SessionCorruptError: As `scan`, or if another session's log lies there.
        """
        folder = self.find(session_id)
        with ExitStack() as stack:
            try:
                lock = locked(os.path.join(folder, LOCK), session_id, self._pause, shared=True)
                stack.enter_context(lock)
            except FileNotFoundError:
                pass  # a log that no store has written yet
            except OSError as error:
                raise unavailable(folder, error, "read") from error
            return self.read_locked(session_id, folder)

    def read_locked(self, session_id: str, folder: str) -> Volume:
        """The same under the folder's lock."""
        path = os.path.join(folder, LOG)
        try:
            file = _opened(path)
            if file is None:
                raise corrupt(
                    path, session_id, "this is no file; move it away, and put the log there"
                )
            with file:
                data = file.read()
                revision = revision_of(file.fileno())
            tenure = read_tenure(folder)
        except OSError as error:
            raise unavailable(path, error, "read") from error
        found = scan(path, session_id, data)
        self._check_identity(session_id, folder, found.header)
        return Volume(folder, found, len(data), revision, tenure)

    def revision(self, folder: str) -> str:
        """The revision of the log in a folder.

        Raises:
            OSError: If it cannot be read.
        """
        descriptor = os.open(os.path.join(folder, LOG), os.O_RDONLY)
        try:
            return revision_of(descriptor)
        finally:
            os.close(descriptor)

    def covers(self) -> Iterator[Cover]:
        """What is seen of every log; what is no log is passed over.

        Raises:
            SessionError: ``STORE_UNAVAILABLE``.
        """
        try:
            for project in self._projects():
                for folder in _folders(project):
                    cover = self._cover(folder)
                    if cover is not None:
                        yield cover
        except OSError as error:
            raise unavailable(self.root, error, "read") from error

    def _cover(self, folder: str) -> Cover | None:
        session_id = decode_id(os.path.basename(folder))
        path = os.path.join(folder, LOG)
        if session_id is None:
            return None
        try:
            file = _opened(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if file is None:
            return None
        with file:
            line, row = file.readline(_LONGEST_HEADER), file.readline()
            revision = revision_of(file.fileno())
        if not line.endswith(b"\n"):
            return None
        projected = is_projected(line, row)
        try:
            header = read_header(path, session_id, line, projected=projected)
            self._check_identity(session_id, folder, header)
        except (SessionFormatUnsupportedError, SessionCorruptError):
            return None
        return Cover(header, projected, revision, read_tenure(folder))

    def _check_identity(self, session_id: str, folder: str, header: SessionHeader) -> None:
        path = os.path.join(folder, LOG)
        if header.id != session_id:
            text = f"the header names session {header.id!r}, but the folder {session_id!r}"
            raise corrupt(path, session_id, f"{text}; move the file where it belongs", 1)
        name = project_name(header.cwd)
        if os.path.basename(os.path.dirname(folder)) != name:
            text = f"the header's cwd {header.cwd!r} belongs in the folder {name}"
            raise corrupt(path, session_id, f"{text}; move the session there", 1)

    def _projects(self) -> list[str]:
        return [path for path in _folders(self.root) if not os.path.basename(path).startswith(".")]


def _opened(path: str) -> BinaryIO | None:
    """A file for reading; None if it is something else, such as a pipe that never ends."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    return None


def _folders(path: str) -> list[str]:
    with os.scandir(path) as entries:
        return [entry.path for entry in entries if entry.is_dir()]


def _names(folder: str) -> list[str]:
    """What is in a folder; nothing if there is none."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return []
        raise
