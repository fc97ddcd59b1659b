"""The logs of all sessions as files, written while they grow.

The layout is that of recorded scenarios: ``session.jsonl`` is the root's,
``session.1.jsonl`` and so on are its children's in the order in which they began.
"""

from __future__ import annotations

import json
import os
from typing import Any

from ..actors.notice import SessionCreated
from ..actors.registration import Registration
from ..actors.session import Session
from ..messages.codec import encode_event
from ..messages.event import Event
from ..supervision.runtime import Runtime


class Record:
    """Writes each session of a runtime into a folder.

    Nothing is held open between two writes, so thousands of sessions need no more
    descriptors than one.

    Args:
        folder: Made if it is not there.

    Raises:
        OSError: It cannot be made.
        FileExistsError: There is a recording in it already.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._count = 0
        self._pending: dict[str, list[str]] = {}
        os.makedirs(folder, exist_ok=True)
        if any(_is_recorded(name) for name in os.listdir(folder)):
            raise FileExistsError("it holds a recording already")

    def follow(self, runtime: Runtime) -> Registration:
        """Record every session that begins from now on."""
        return runtime.hooks.observe("session/created", self._began)

    def write(self) -> None:
        """Write what is new.

        Raises:
            OSError: The folder takes no more.
        """
        pending, self._pending = self._pending, {}
        for name, lines in pending.items():
            with open(os.path.join(self.folder, name), "a", encoding="utf-8") as file:
                file.write("".join(lines))

    def _began(self, notice: SessionCreated) -> None:
        session: Session = notice.session
        name = f"session.{self._count}.jsonl" if self._count else "session.jsonl"
        self._count += 1
        for row in session.to_json():
            self._add(name, row)
        session.observe(lambda event: self._happened(name, event))

    def _happened(self, name: str, event: Event) -> None:
        self._add(name, encode_event(event))

    def _add(self, name: str, row: dict[str, Any]) -> None:
        line = json.dumps(row, separators=(",", ":"))
        self._pending.setdefault(name, []).append(line + "\n")


def _is_recorded(name: str) -> bool:
    return name.startswith("session.") and name.endswith(".jsonl")
