"""The root's words on their way to stdout: as they come, or kept for the end."""

from __future__ import annotations

from collections.abc import Callable

from .neutral import neutral
from .pieces import Pieces

PARAGRAPH = "\n\n"


class Speech:
    """What the root says, message after message with a blank line between.

    Args:
        write: Takes text; None keeps it until `deliver`.
        seen: Somebody sees the text while it comes, even where it is not written.
        plain: Pass text on as it is; otherwise it cannot steer a terminal.

    Attributes:
        kept: Messages that are complete, where nothing is written at once.
        attempt: What came in of the one that is not.
    """

    def __init__(
        self, write: Callable[[str], None] | None, *, plain: bool, seen: bool = True
    ) -> None:
        self.kept: list[str] = []
        self.attempt = Pieces()
        self._write = write
        self._plain = plain
        self._seen = seen
        self._owed = ""  # between two messages, written before the next
        self._last = "\n"

    @property
    def in_line(self) -> bool:
        """Whether the last character that was written is not the end of a line."""
        return self._last != "\n"

    def say(self, piece: str) -> None:
        """A piece of the message in progress."""
        self.attempt.add(piece)
        self._put(piece)

    def close(self) -> None:
        """The message in progress is complete."""
        if self.attempt:
            self.kept.append(str(self.attempt))
            self.attempt.clear()
            self._owed = PARAGRAPH

    def take_back(self) -> bool:
        """What came in of the message in progress does not count; whether a person saw it."""
        seen = bool(self.attempt) and self._seen
        self.attempt.clear()
        self.end_line()
        return seen

    def end_line(self) -> None:
        """Write a line end where a line is begun."""
        if self.in_line and self._write is not None:
            self._write("\n")
            self._last = "\n"

    def deliver(self, write: Callable[[str], None]) -> None:
        """Write what was not written yet, with what there is of the last message; once."""
        if self._write is None:
            self._write = write
            self._owed = ""
            self._put(PARAGRAPH.join(text for text in (*self.kept, str(self.attempt)) if text))
        self.end_line()

    def _put(self, text: str) -> None:
        if self._write is None or not text:
            return
        clean = text if self._plain else neutral(text)
        owed, self._owed = self._owed, ""
        if owed and not self.in_line:
            owed = "\n"
        self._write(owed + clean)
        self._last = (self._last + clean)[-1]
