"""Warnings of the runtime and of the packages below it, as lines of progress."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager

from .neutral import one_line

TOLD_ANYHOW = "ended in an error"
"""In the record of a turn that failed, which is told at the end, with what to do."""


class Notes(logging.Handler):
    """Says every warning in one line that cannot steer a terminal.

    Args:
        say: Takes lines; on whichever thread the warning comes from.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Say one record, with what was raised but without the places it went through."""
        try:
            if TOLD_ANYHOW in str(record.msg):
                return
            raised = record.exc_info[1] if record.exc_info else None
            cause = "" if raised is None else f" ({type(raised).__name__}: {raised})"
            self._say(f"run: {record.levelname.lower()}: {one_line(record.getMessage() + cause)}")
        except Exception:
            self.handleError(record)


@contextmanager
def noted(say: Callable[[str], None]) -> Generator[None]:
    """Say warnings within the block in place of what logging does by itself."""
    notes = Notes(say)
    root = logging.getLogger()
    root.addHandler(notes)
    try:
        yield
    finally:
        root.removeHandler(notes)
