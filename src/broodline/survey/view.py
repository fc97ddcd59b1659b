"""The board as text for a terminal: bounded in lines and columns, running agents first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from .board import Board, Node, State, number_of
from .width import clipped, shortened

_MARKS: dict[State, tuple[str, str, str]] = {
    "running": ("●", "*", "cyan"),
    "done": ("✓", "+", "green"),
    "unread": ("!", "!", "yellow"),
    "failed": ("✗", "x", "red"),
    "stopped": ("■", "#", "yellow"),
}
_GUIDES = {False: ("├─ ", "└─ ", "│  ", "   "), True: ("|- ", "`- ", "|  ", "   ")}
_RESERVED = 6
"""Lines of a live view that are not the tree: title, sums, blank lines, the cursor's."""

_NAME = 12
"""Columns that a label gets even when what stands behind it is cut."""

_NARROW = 40
"""Columns below which a line of the tree holds the label only."""


class LiveView:
    """What `rich.live.Live` shows again and again; drawn anew from the board each time."""

    def __init__(self, board: Board, title: str) -> None:
        self.board = board
        self.title = title
        self._start = time.monotonic()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = options.height or console.height
        width = options.max_width
        plain = options.ascii_only
        yield clipped(Text(shortened(self.title, width, plain), "bold"), width, plain)
        yield Text("")
        yield from tree_lines(self.board, max(height - _RESERVED, 1), width, plain)
        yield Text("")
        seconds = time.monotonic() - self._start
        yield clipped(Text(work(self.board)), width, plain)
        yield clipped(Text(f"{counts(self.board)}, {seconds:.1f} s"), width, plain)


def tree_lines(board: Board, most: int, width: int, plain: bool = False) -> Iterator[Text]:
    """The tree in at most `most` lines of `width` columns.

    Running agents come before ended ones, those that started first before later
    ones; an agent is never shown without the agents above it. Who is left out
    is counted in the last line.
    """
    if board.root is None:
        return
    room = most if board.agents <= most else max(most - 1, 1)
    chosen = _choose(board, room)
    for node, guides in _walk(board.root, chosen, plain):
        yield _line(node, guides, width, plain)
    if (left := board.agents - len(chosen)) > 0 and most > 1:
        working = len(board.running) - sum(node.id in board.running for node in chosen)
        more = f"… and {left:,} more ({working:,} running, {left - working:,} done)"
        yield clipped(Text(more, "dim"), width, plain)


def outcome_lines(board: Board, most: int, width: int, plain: bool = False) -> Iterator[Text]:
    """The tree of a survey that has ended: the upper levels first, large folders before small."""
    if board.root is None:
        return
    room = most if board.agents <= most else most - 1
    chosen = dict.fromkeys(islice(_by_level(board.root), room))
    for node, guides in _walk(board.root, chosen, plain):
        yield _line(node, guides, width, plain)
    if (left := board.agents - len(chosen)) > 0:
        yield clipped(Text(f"… and {left:,} more", "dim"), width, plain)


def work(board: Board) -> str:
    """Agents, turns and tool calls so far."""
    agents = f"{number_of(board.agents, 'agent')} ({len(board.running):,} running)"
    turns, calls = number_of(board.turns, "turn"), number_of(board.calls, "tool call")
    return f"{agents}, {turns}, {calls}"


def counts(board: Board) -> str:
    """Files and lines so far."""
    return f"{number_of(board.files, 'file')}, {number_of(board.lines, 'line')}"


def _choose(board: Board, most: int) -> dict[Node, None]:
    """The agents to show, each with all above it, as far as there is room."""
    chosen: dict[Node, None] = {}
    # Only as many running agents as could fit are looked at, whatever the number is.
    for node in (*islice(board.running.values(), most), *reversed(board.recent)):
        if len(chosen) >= most:
            break
        line = [node]
        while (above := line[-1].parent) is not None:
            line.append(above)
        new = [item for item in line if item not in chosen]
        if len(chosen) + len(new) <= most:
            chosen.update(dict.fromkeys(new))
    return chosen


def _by_level(root: Node) -> Iterator[Node]:
    level = [root]
    while level:
        level.sort(key=lambda node: -node.facts.lines if node.facts is not None else 0)
        yield from level
        level = [child for node in level for child in node.children]


def _walk(root: Node, chosen: dict[Node, None], plain: bool) -> Iterator[tuple[Node, str]]:
    """The chosen agents in pre-order with the guides before each."""
    tee, elbow, bar, gap = _GUIDES[plain]
    below: dict[Node, list[Node]] = {}
    for node in chosen:
        if node.parent is not None:
            below.setdefault(node.parent, []).append(node)
    stack = [(root, "", "")]
    while stack:
        node, guide, indent = stack.pop()
        yield node, guide
        shown = sorted(below.get(node, []), key=lambda child: child.place())
        lines = [(child, indent + tee, indent + bar) for child in shown]
        if lines:
            lines[-1] = (shown[-1], indent + elbow, indent + gap)
        stack.extend(reversed(lines))


def _line(node: Node, guides: str, width: int, plain: bool) -> Text:
    mark, ascii_mark, colour = _MARKS[node.state]
    note = node.note() if width >= _NARROW else ""
    behind = f"  {note}" if note else ""
    room = width - cell_len(guides) - 2 - cell_len(behind)
    label = shortened(node.label, max(room, _NAME), plain) if node.label else "starting"
    text = Text.assemble(
        (guides, "dim"),
        (ascii_mark if plain else mark, colour),
        " ",
        (label, "bold" if node.label else "dim"),
        (behind, "dim" if node.state == "done" else colour),
    )
    if note and (detail := node.detail()):
        text.append(f": {detail}", colour)
    return clipped(text, width, plain)
