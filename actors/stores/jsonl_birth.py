"""How a session comes to be in a JSONL store: complete, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable

from ...messages.errors import ConfigurationError, SessionError
from ...messages.plain import quoted
from .backend import Portion
from .jsonl_file import DRAFT, LOCK, LOG, confirm, publish, write_draft
from .jsonl_grip import Grip, Trace, put_tenure
from .jsonl_lock import locked, make_folder, remove
from .jsonl_name import encode_id, session_folder
from .jsonl_shelf import Shelf
from .jsonl_tenure import Holders, Tenure, read_tenure
from .jsonl_text import log_text
from .refusal import check_following, elsewhere, exists, unwritable


class Births:
    """Makes the logs of new sessions.

    Args:
        shelf: The store.
        holders: With this holder.
        longest: Bytes that the name of a folder may have.
        trace: Told of each step.
        pause: Blocks for some seconds.
    """

    def __init__(
        self,
        shelf: Shelf,
        holders: Holders,
        longest: int,
        trace: Trace,
        pause: Callable[[float], None],
    ) -> None:
        self._root = shelf.root
        self._shelf = shelf
        self._holders = holders
        self._longest = longest
        self._trace = trace
        self._pause = pause
        # Logs that were published, could not be confirmed, and could not be taken back.
        self._half: set[str] = set()

    def check_new(self, session_id: str, now: float) -> None:
        """See `Backend.check_new`.

        Raises:
            ConfigurationError: If the id makes no folder.
            OSError: If the system refuses to look.
        """
        fault = self._name_fault(session_id)
        if fault is not None:
            raise ConfigurationError(fault)
        found = self._shelf.locate(session_id)
        if found:
            standing, holder = self._holders.standing(read_tenure(found[0]), now)
            if standing == "alive":
                raise elsewhere(session_id, self._root, holder)
            raise exists(session_id, found[0])

    def _name_fault(self, session_id: str) -> str | None:
        if not session_id:
            return "a session's id must not be empty"
        length = len(encode_id(session_id))
        if length <= self._longest:
            return None
        return (
            f"the id {quoted(session_id)} makes the name of a folder of {length} bytes, and this "
            f"file system takes {self._longest}; choose a shorter id"
        )

    def make(self, portion: Portion, now: float) -> Grip:
        """Make the log of a new session: a draft, then its lease, then its name.

        Raises:
            SessionError: As `Backend.write`.
            OSError: If the system refuses a step; there is no log then.
        """
        header, holders = portion.header, self._holders
        fault = self._name_fault(header.id)
        if fault is not None:
            raise unwritable(header.id, self._root, None, fault)
        check_following(header.id, 0, portion.events, self._root)
        data = log_text(self._root, header, portion.events, projected=portion.projected)
        folder = session_folder(self._root, header.id, header.cwd)
        if folder in self._half:
            self._finish_undo(folder, header.id)
        self.check_new(header.id, now)
        holders.keep_alive(now)
        make_folder(os.path.dirname(folder))
        make_folder(folder)
        with locked(os.path.join(folder, LOCK), header.id, self._pause):
            self._trace("before draft")
            write_draft(folder, data)
            self._trace("after draft")
            try:
                self._publish(portion, folder, now)
            finally:
                remove(os.path.join(folder, DRAFT))
            try:
                confirm(folder, self._root)
            except SessionError as error:
                if "rollback" in error.details:
                    self._half.add(folder)
                raise
            self._trace("after publish")
        grip = Grip(folder, len(data), len(portion.events), projected=portion.projected)
        grip.fence = portion.lease.fence
        return grip

    def _publish(self, portion: Portion, folder: str, now: float) -> None:
        """Give a draft its name, alone in the whole store: no id is made twice."""
        header, holders = portion.header, self._holders
        with locked(holders.lock, header.id, self._pause) as descriptor:
            self.check_new(header.id, now)
            order = holders.next_order(descriptor)
            holder = None if portion.release else holders.mine.id
            put_tenure(folder, Tenure(portion.lease.fence, holder, order), self._trace)
            self._trace("before publish")
            try:
                publish(folder)
            except FileExistsError:
                raise exists(header.id, folder) from None

    def _finish_undo(self, folder: str, session_id: str) -> None:
        with locked(os.path.join(folder, LOCK), session_id, self._pause):
            os.unlink(os.path.join(folder, LOG))
        self._half.discard(folder)
