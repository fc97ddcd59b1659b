"""What a run lets its listeners know, and those who tell it to a person."""

from __future__ import annotations

from typing import Protocol

from ..messages.chunk import ModelFailure
from ..messages.payload import RetryPlanned, ToolCalled
from ..survey.progress import Progress
from ..survey.width import cut, shortened
from .advice import said
from .arguments import arguments_shown
from .board import Worker
from .neutral import one_line
from .pieces import Pieces
from .speech import Speech

ARGUMENTS_KEPT = 80
"""Columns of a tool call's arguments in a line of progress."""

TEXT_KEPT = 160
"""Columns of what a tool said went wrong in a line of progress."""

MOST_TEXT = 2000
"""Columns of why a request failed, which is told in full within reason."""

DELEGATION = "subagent"
"""The tool whose calls show as the children that it starts."""

THROWN_AWAY = "run: this answer broke off and is thrown away"


def told(failure: ModelFailure) -> str:
    """Why a request failed, on one line."""
    return cut(one_line(said(failure)), MOST_TEXT)


class Voice(Protocol):
    """Hears of everything as it happens, on the runtime's loop; must not wait."""

    def started(self, worker: Worker) -> None:
        """An agent is there."""
        ...

    def ended(self, worker: Worker) -> None:
        """An agent is gone; its state says how."""
        ...

    def said(self, worker: Worker, piece: str) -> None:
        """A piece of text came in."""
        ...

    def thought(self, worker: Worker, piece: str) -> None:
        """A piece of reasoning came in."""
        ...

    def finished(self, worker: Worker) -> None:
        """The message that came in is complete."""
        ...

    def called(self, worker: Worker, call: ToolCalled) -> None:
        """A tool call began."""
        ...

    def refused(self, worker: Worker, name: str, text: str) -> None:
        """A tool call ended in an error."""
        ...

    def retrying(self, worker: Worker, retry: RetryPlanned, known: bool) -> None:
        """A request failed and is made again after a wait; what came in of it does not count.

        `known`: the last one failed for the same reason.
        """
        ...


class Narrator:
    """Tells of a run: the root's words as speech, everything else as lines of progress.

    Args:
        speech: The root's words.
        progress: Takes lines.
        wordy: Tell each agent and each call; without it only what concerns the speech.
        thinking: Tell what the root thinks; what came in of its last line is kept here.
    """

    def __init__(
        self, speech: Speech, progress: Progress, *, wordy: bool, thinking: Pieces | None = None
    ) -> None:
        self._speech = speech
        self._progress = progress
        self._wordy = wordy
        self._thought = thinking

    def started(self, worker: Worker) -> None:
        """Tell of a child; the root is no news."""
        if worker.parent is not None:
            self._line(f"{worker.label}: started by {worker.parent.label}")

    def ended(self, worker: Worker) -> None:
        """Tell how a child ended."""
        if worker.parent is not None:
            self._line(f"{worker.label}: {worker.note()}{self._why(worker)}")

    def said(self, worker: Worker, piece: str) -> None:
        """Pass on what the root says."""
        if worker.parent is None:
            self._end_thought()
            self._speech.say(piece)

    def thought(self, worker: Worker, piece: str) -> None:
        """Pass on what the root thinks, line by line."""
        if worker.parent is not None or self._thought is None:
            return
        first, *others = piece.split("\n")
        self._thought.add(first)
        for part in others:
            self._end_thought()
            self._thought.add(part)

    def finished(self, worker: Worker) -> None:
        """The root's next words are a new paragraph."""
        if worker.parent is None:
            self._end_thought()
            self._speech.close()

    def called(self, worker: Worker, call: ToolCalled) -> None:
        """Tell of a call; of a delegation the child itself is the news."""
        if call.name == DELEGATION:
            return
        arguments = arguments_shown(call.arguments, ARGUMENTS_KEPT)
        self._line(
            f"{worker.label}: {one_line(shortened(call.name, ARGUMENTS_KEPT))} {arguments}".rstrip()
        )

    def refused(self, worker: Worker, name: str, text: str) -> None:
        """Tell of a call that failed."""
        why = cut(one_line(text[:MOST_TEXT].removeprefix("Error: ")), TEXT_KEPT)
        self._line(f"{worker.label}: {one_line(shortened(name, ARGUMENTS_KEPT))} failed: {why}")

    def retrying(self, worker: Worker, retry: RetryPlanned, known: bool) -> None:
        """Tell of a retry, and that what was shown of the answer does not count."""
        self._end_thought()
        if worker.parent is None and self._speech.take_back():
            self._progress.say(f"{THROWN_AWAY}; the model begins again")
        why = "" if known else f": {told(retry.failure)}"
        self._line(f"{worker.label}: {worker.waiting}{why}")

    def _why(self, worker: Worker) -> str:
        if worker.failure is None:
            return ""
        return f": {told(worker.failure)}"

    def _line(self, line: str) -> None:
        if self._wordy:
            self._progress.say(f"run: {line}")

    def _think(self, line: str) -> None:
        if line.strip():
            self._progress.say(f"run: thinks: {one_line(line)}")

    def _end_thought(self) -> None:
        if self._thought:
            self._think(str(self._thought))
            self._thought.clear()
