"""Who may write in a JSONL store: the leases beside the logs, and their holders.

``lease.json`` beside a log names the fence and the holder. ``.holders/<holder>.json``
is the holder's sign of life, one file for all its leases.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, cast

from ...messages.plain import is_finite
from .holder import Holder, Standing, standing
from .jsonl_lock import locked, make_folder, remove, replace_file
from .jsonl_name import encode_id

HOLDERS = ".holders"
LOCK = "lock"
LEASE = "lease.json"


@dataclass(frozen=True, slots=True)
class Tenure:
    """What ``lease.json`` says.

    Attributes:
        fence: Of the last lease; 0 if none is known.
        holder: Whose it is; None if it was given back.
        order: The place of the session in the order of creation; 0 if unknown.
    """

    fence: int = 0
    holder: str | None = None
    order: int = 0


def read_tenure(folder: str) -> Tenure:
    """The lease of the session in a folder.

    A file that is missing was lost with the power or never copied; one that cannot be
    read too, as no process leaves a part of one behind. Both mean that nobody holds it.

    Raises:
        OSError: If the system refuses to read it.
    """
    fields = _object(os.path.join(folder, LEASE))
    fence, holder, order = fields.get("fence"), fields.get("holder"), fields.get("order")
    return Tenure(
        fence if type(fence) is int and fence > 0 else 0,
        holder if type(holder) is str else None,
        order if type(order) is int and order > 0 else 0,
    )


def write_tenure(folder: str, tenure: Tenure) -> None:
    """Replace the lease of the session in a folder; under its lock."""
    replace_file(os.path.join(folder, LEASE), json.dumps(asdict(tenure)) + "\n")


class Holders:
    """The holders of one store.

    Args:
        root: The store's folder.
        mine: This very holder.
        pause: Blocks for some seconds.
    """

    def __init__(self, root: str, mine: Holder, pause: Callable[[float], None]) -> None:
        self.mine = mine
        self._folder = os.path.join(root, HOLDERS)
        self._pause = pause
        self._written_until: float | None = None

    def keep_alive(self, now: float) -> None:
        """Write a sign of life, if the one that is written is about to run out."""
        until = self._written_until
        if until is None or until < now + self.mine.timeout / 2:
            self.renew(self.mine.renewed(now), now)

    def renew(self, holder: Holder, now: float | None = None) -> None:
        """Write this holder's sign of life; the first time, sweep what the dead left.

        Raises:
            OSError: If that is refused.
        """
        make_folder(self._folder)
        with locked(os.path.join(self._folder, LOCK), None, self._pause):
            replace_file(self._path(holder.id), json.dumps(asdict(holder)) + "\n")
            if self._written_until is None and now is not None:
                self._sweep(now)
        self.mine, self._written_until = holder, holder.until

    def doubt(self) -> None:
        """Take it that the sign of life may be gone: write it anew before the next write."""
        self._written_until = None

    def leave(self) -> None:
        """Remove this holder's sign of life; what it still holds is a dead holder's now."""
        remove(self._path(self.mine.id))
        self._written_until = None

    def next_order(self, descriptor: int) -> int:
        """Count one more session, in the file of the lock, which is held."""
        try:
            last = int(os.pread(descriptor, 20, 0))
        except ValueError:
            last = 0
        os.pwrite(descriptor, b"%019d\n" % (last + 1), 0)
        return last + 1

    @property
    def lock(self) -> str:
        """The path of the lock on what concerns the whole store."""
        return os.path.join(self._folder, LOCK)

    def standing(self, tenure: Tenure, now: float) -> tuple[Standing, Holder | None]:
        """Whose a lease is. A holder without a sign of life is dead."""
        if tenure.holder is None:
            return "free", None
        if tenure.holder == self.mine.id:
            return "mine", self.mine
        holder = self._read(self._path(tenure.holder))
        if holder is None or holder.id != tenure.holder:
            return "dead", None
        return standing(holder, self.mine, now), holder

    def _path(self, holder_id: str) -> str:
        return os.path.join(self._folder, f"{encode_id(holder_id)}.json")

    def _sweep(self, now: float) -> None:
        """Remove the dead; the lock keeps one that awakes from writing meanwhile."""
        for name in os.listdir(self._folder):
            path = os.path.join(self._folder, name)
            if name.endswith(".json.new"):
                remove(path)
            elif name.endswith(".json"):
                holder = self._read(path)
                if holder is None or standing(holder, self.mine, now) == "dead":
                    remove(path)

    def _read(self, path: str) -> Holder | None:
        fields = _object(path)
        try:
            holder = Holder(**fields)
        except TypeError:
            return None
        texts = (holder.id, holder.process, holder.boot)
        numbers = (holder.pid, holder.timeout, holder.until)
        sound = all(type(text) is str for text in texts) and all(map(is_finite, numbers))
        return holder if sound else None


def _object(path: str) -> dict[str, Any]:
    """The JSON object in a small file; empty if there is none."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read())
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
