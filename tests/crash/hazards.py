"""All hazards, and one run of each over each kind of store."""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from contention import jumping_clock, second_process, stopped_process, two_creators
from drive import CannotMakeError
from hazard import KINDS, HazardError
from outage import disk_full, read_only_folder, taken_away, turned_read_only, wrong_place

Hazard = Callable[[str, Path], None]
"""Takes the kind of the store and an empty folder; raises `HazardError` or `CannotMakeError`."""

HAZARDS: dict[str, Hazard] = {
    "disk full": disk_full,
    "turned read-only": turned_read_only,
    "taken away": taken_away,
    "read-only folder": read_only_folder,
    "something else in its place": wrong_place,
    "a second process": second_process,
    "two creators": two_creators,
    "a clock that jumps": jumping_clock,
    "a process that stood still": stopped_process,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one hazard.

    Attributes:
        hazard: Its name.
        kind: Of the store.
        result: Whether the promise was kept.
        reason: Why not, or why it could not be tried; empty when it was kept.
    """

    hazard: str
    kind: str
    result: Literal["passed", "failed", "skipped"]
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.hazard}, {self.kind}: {self.result}{self.reason and f': {self.reason}'}"


def face_all() -> Iterator[Outcome]:
    """Run every hazard over every kind of store, one after the other."""
    for name, hazard in HAZARDS.items():
        for kind in KINDS:
            yield _face(name, hazard, kind)


def _face(name: str, hazard: Hazard, kind: str) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="broodline-hazard-") as folder:
        try:
            hazard(kind, Path(folder))
        except CannotMakeError as error:
            return Outcome(name, kind, "skipped", str(error))
        except HazardError as error:
            return Outcome(name, kind, "failed", str(error))
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            return Outcome(name, kind, "failed", f"{type(error).__name__}: {error}")
    return Outcome(name, kind, "passed")
