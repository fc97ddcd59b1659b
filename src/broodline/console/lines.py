"""Progress as plain lines, for a log or a terminal that cannot move its cursor."""

from __future__ import annotations

from typing import TextIO

from .outlet import Outlet
from .speech import Speech


class PlainLines:
    """Writes each line as it comes, through the same outlet as the speech.

    Args:
        outlet: Keeps the order of lines and speech.
        stream: Where lines go.
        speech: Is given a line end before a line, where both are in one place.
        shared: Whether they are.
    """

    def __init__(
        self, outlet: Outlet, stream: TextIO | None, speech: Speech, *, shared: bool
    ) -> None:
        self._outlet = outlet
        self._stream = stream
        self._speech = speech
        self._shared = shared

    def tick(self) -> None:
        """There is nothing to look at."""

    def say(self, line: str) -> None:
        """Write one line."""
        if self._shared:
            self._speech.end_line()
        self._outlet.write(self._stream, line + "\n")

    def give_back(self) -> None:
        """There is nothing to give back."""
