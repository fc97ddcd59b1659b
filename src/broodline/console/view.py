"""A run as a terminal shows it while it lasts: the tree, below it the root's last words."""

from __future__ import annotations

import time
from itertools import dropwhile

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from ..survey.view import tree_lines, work
from ..survey.width import clipped
from .board import RunBoard
from .neutral import neutral, one_line
from .pieces import Pieces
from .speech import PARAGRAPH, Speech

_FIXED = 7
"""Lines that are neither tree nor words: the title above, sums, blank lines, the cursor's."""


class RunView:
    """What `rich.live.Live` shows again and again; drawn anew each time.

    Args:
        board: The agents.
        speech: What the root said so far.
        thinking: What the root thinks at the moment, where that is to be shown.
    """

    def __init__(self, board: RunBoard, speech: Speech, thinking: Pieces | None = None) -> None:
        self.board = board
        self.speech = speech
        self.thinking = Pieces() if thinking is None else thinking
        self._start = time.monotonic()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = options.height or console.height
        width = options.max_width
        plain = options.ascii_only
        room = max(height - _FIXED, 2)
        yield Text("")
        # Both get what the other leaves, and half of the room where neither leaves any.
        words = [*self._words(console, width, room), *self._thoughts(console, width, room)]
        tree = list(tree_lines(self.board, max(room - len(words), room // 2), width, plain))
        yield from tree
        yield Text("")
        if words:
            yield from words[-max(room - len(tree), 1) :]
            yield Text("")
        yield clipped(Text(work(self.board)), width, plain)
        seconds = time.monotonic() - self._start
        # As long as no request has ended nothing could have been reported.
        spent = f"{self.board.tokens}, " if self.board.requests else ""
        yield clipped(Text(f"{spent}{seconds:.1f} s"), width, plain)

    def _thoughts(self, console: Console, width: int, most: int) -> list[Text]:
        """The last lines of what the root thinks at the moment."""
        thought = one_line(self.thinking.end(most * width).strip())
        if not thought:
            return []
        return list(Text(f"thinks: {thought}", "dim").wrap(console, width))[-most:]

    def _words(self, console: Console, width: int, most: int) -> list[Text]:
        """The last lines of what the root said."""
        # Only what could be shown is looked at, however long the text is.
        room = most * width
        ends = [text[-room:] for text in self.speech.kept[-most:]]
        said = PARAGRAPH.join((*ends, self.speech.attempt.end(room))).strip()[-room:]
        text = Text(neutral(said).expandtabs(8))
        lines = list(text.wrap(console, width))[-most:]
        return list(dropwhile(lambda line: not line.plain.strip(), lines))
