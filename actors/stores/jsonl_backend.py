"""Sessions in files of lines: ``<root>/--<cwd>--/<id>/session.jsonl``.

Beside a log lie its lease (``lease.json``) and the file of its lock
(``session.lock``). Each step is done under the lock, in an order that leaves one of these
states when the process or the power goes in the middle of it; every one is a state that
the next lease or the next creation starts from:

- *The folder, with or without lock, draft (``session.new``) and lease, but no log*: the
  session was never made. Creating it writes the draft and the lease anew.
- *The log, and the draft beside it*: made, and complete; the next lease removes the draft.
- *The log without a lease, or with one that cannot be read* (the power went before the
  system wrote it down; no process leaves one): nobody holds it.
- *The lease of a holder that has no sign of life, or is dead*: taken over.
- *An end that is no whole line, or was not confirmed*: cut off by the next lease, and told.
- *An end that was cut off, without what should follow it*: repaired again; a repair of
  what has been repaired is nothing.
- *A repair and the mark of a resume that are written, under the lease of before*: whoever
  held that is dead, or finds the log longer than it left it.
- *A lease given back or not after the last events*: free, or a dead holder's.
- *Files of holders that are dead* (``.holders/``): swept by the next holder.

Words for `trace`, each with ``before`` and ``after``: ``draft`` (a new log is written and
synced), ``publish`` (it gets its name), ``append`` (events are written and synced),
``truncate`` (a bad end is cut off), ``lease`` (a lease is written). Source: spec core 5.5.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from ...messages.errors import BroodlineError, SessionError
from ...messages.event import Event
from ..store import Lease, Snapshot, StoredLog
from .backend import Image, Portion
from .holder import Holder
from .jsonl_birth import Births
from .jsonl_fault import unavailable
from .jsonl_file import DRAFT, LOCK, LOG
from .jsonl_grip import Grip, grip_of, put_tenure
from .jsonl_lock import locked, remove
from .jsonl_name import session_folder
from .jsonl_place import check_folder
from .jsonl_reading import image_of, snapshots_of
from .jsonl_shelf import Shelf
from .jsonl_tenure import Holders, Tenure, read_tenure
from .jsonl_text import events_text
from .refusal import changed, check_following, closed_error, elsewhere, recorded, stale


class JsonlBackend:
    """One folder of logs; implements `Backend`, which documents the methods.

    Args:
        folder: Made by `open` if `create` is set; its parent must be there.
        create: Whether a folder that is not there may be made.
        trace: Called with a word before and after each durable step, in the thread of it.
        pause: Blocks for some seconds; between the tries for a lock.
    """

    grouped = False

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        create: bool = True,
        trace: Callable[[str], None] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._root = os.path.abspath(folder)
        self._create = create
        self._trace = trace or _silent
        self._pause = pause
        self._shelf = Shelf(self._root, pause)
        self._held: dict[str, Grip] = {}
        self._opened: tuple[Holders, Births] | None = None

    @property
    def place(self) -> str:
        return self._root

    @property
    def _holders(self) -> Holders:
        return self._parts[0]

    @property
    def _parts(self) -> tuple[Holders, Births]:
        if self._opened is None:
            raise closed_error(self._root)
        return self._opened

    def open(self, holder: Holder) -> None:
        longest = check_folder(self._root, create=self._create)
        holders = Holders(self._root, holder, self._pause)
        births = Births(self._shelf, holders, longest, self._trace, self._pause)
        self._opened = holders, births

    def close(self) -> None:
        if self._opened is None:
            return
        holders = self._holders
        for session_id, grip in self._held.items():
            try:
                with self._locked(grip.folder, session_id):
                    tenure = read_tenure(grip.folder)
                    if tenure.holder == holders.mine.id:
                        put_tenure(grip.folder, replace(tenure, holder=None), self._trace)
            except (OSError, BroodlineError):
                continue  # it is a dead holder's from now on
        self._held.clear()
        holders.leave()
        self._opened = None

    def renew(self, holder: Holder) -> None:
        if self._held:
            with self._system("written"):
                self._holders.renew(holder)

    def check_new(self, session_id: str, now: float) -> None:
        with self._system("read"):
            self._parts[1].check_new(session_id, now)

    def write(self, portions: Sequence[Portion], now: float) -> list[Exception | None]:
        return [self._attempt(portion, now) for portion in portions]

    def _attempt(self, portion: Portion, now: float) -> Exception | None:
        try:
            with self._system("written"):
                if not portion.create:
                    self._extend(portion, now)
                elif portion.events:
                    grip = self._parts[1].make(portion, now)
                    if not portion.release:
                        self._held[portion.header.id] = grip
        except BroodlineError as error:
            return error
        return None

    def _extend(self, portion: Portion, now: float) -> None:
        """Write behind a log whose lease this holder has; give it back if that is asked."""
        session_id, holders = portion.header.id, self._holders
        folder = session_folder(self._root, session_id, portion.header.cwd)
        holders.keep_alive(now)
        with self._locked(folder, session_id):
            tenure = read_tenure(folder)
            grip, fence = self._held.get(session_id), portion.lease.fence
            if grip is None or tenure.fence != fence or tenure.holder != holders.mine.id:
                if grip is not None and grip.fence == fence:
                    del self._held[session_id]
                raise stale(session_id, fence, tenure.fence, self._root)
            grip.check(self._root, session_id, self._trace)
            if portion.events:
                check_following(session_id, grip.next_seq, portion.events, self._root)
                data = events_text(self._root, session_id, portion.events, projected=grip.projected)
                free = replace(tenure, holder=None) if portion.release else None
                grip.append(data, len(portion.events), free, self._trace)
            elif portion.release:
                put_tenure(folder, replace(tenure, holder=None), self._trace)
        if portion.release:
            self._held.pop(session_id, None)

    def lease(
        self,
        session_id: str,
        now: float,
        *,
        after: StoredLog | None,
        events: Sequence[Event],
        takeover: bool,
    ) -> Lease:
        with self._system("written"):
            folder = self._shelf.find(session_id)
            with self._locked(folder, session_id):
                tenure = read_tenure(folder)
                standing, holder = self._holders.standing(tenure, now)
                if standing == "alive" and not takeover:
                    raise elsewhere(session_id, self._root, holder)
                grip = self._reached(folder, session_id, after, tenure)
                check_following(session_id, grip.next_seq, events, self._root)
                data = events_text(self._root, session_id, events, projected=False)
                remove(os.path.join(folder, DRAFT))
                self._holders.keep_alive(now)
                if grip.unsure:
                    grip.cut(self._trace)
                mine = Tenure(tenure.fence + 1, self._holders.mine.id, tenure.order)
                grip.append(data, len(events), mine, self._trace)
                grip.fence = mine.fence
                self._held[session_id] = grip
            return Lease(session_id, mine.fence, grip.next_seq)

    def _reached(
        self, folder: str, session_id: str, after: StoredLog | None, tenure: Tenure
    ) -> Grip:
        """Where a log that is to be leased ends; `unsure` if something bad is behind that.

        Raises:
            SessionLeasedError: If it is not any more what `after` says.
            SessionError: ``PROJECTED``.
        """
        known = self._held.get(session_id)
        mine = tenure.holder == self._holders.mine.id
        if known is not None and known.unsure and mine and known.fence == tenure.fence:
            known.cut(self._trace)
        if after is not None and after.revision != self._shelf.revision(folder):
            raise changed(session_id, self._root)
        if after is not None and after.cut is None:
            grip = Grip(
                folder,
                os.stat(os.path.join(folder, LOG)).st_size,
                after.stored,
                projected=after.projected,
            )
        else:
            grip = grip_of(self._shelf.read_locked(session_id, folder))
        if grip.projected:
            raise recorded(session_id, self._root)
        return grip

    def read(self, session_id: str, now: float) -> Image:
        return image_of(self._shelf, self._holders, session_id, now)

    def read_from(self, session_id: str, from_seq: int) -> list[Event]:
        return self._shelf.read(session_id).scan.events[from_seq:]

    def snapshots(self, now: float, parent: str | None) -> list[Snapshot]:
        return snapshots_of(self._shelf, self._holders, now, parent)

    @contextmanager
    def _system(self, doing: str) -> Generator[None]:
        """Turn what the system refuses into an error of ours; afterwards nothing is taken for sure.

        Raises:
            SessionError: ``STORE_UNAVAILABLE``.
        """
        try:
            yield
        except OSError as error:
            self._holders.doubt()
            raise unavailable(error.filename or self._root, error, doing) from error
        except SessionError as error:
            if error.code == "STORE_UNAVAILABLE":
                self._holders.doubt()
            raise

    def _locked(self, folder: str, session_id: str) -> AbstractContextManager[int]:
        return locked(os.path.join(folder, LOCK), session_id, self._pause)


def _silent(word: str) -> None:
    """What is called where nobody listens."""
