"""The board as text for a terminal: bounded in lines and columns, running agents first."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from .board import Board, Node, State

_MARKS: dict[State, tuple[str, str, str]] = {
    "running": ("●", "*", "cyan"),
    "done": ("✓", "+", "green"),
    "failed": ("✗", "!", "red"),
    "stopped": ("■", "#", "yellow"),
}
_GUIDES = {False: ("├─ ", "└─ ", "│  ", "   "), True: ("|- ", "`- ", "|  ", "   ")}
_RESERVED = 5
"""Lines of a live view that are not the tree: title, sums, blank lines, the cursor's."""

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
        yield clipped(Text(self.title, "bold"), width, plain)
        yield Text("")
        yield from tree_lines(self.board, max(height - _RESERVED, 1), width, plain)
        yield Text("")
        seconds = f", {time.monotonic() - self._start:.1f} s"
        yield clipped(sums(self.board).append(seconds), width, plain)


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


def sums(board: Board) -> Text:
    """One line: agents, turns, tool calls, and what was counted so far."""
    return Text(
        f"{board.agents:,} agents ({len(board.running):,} running), {board.turns:,} turns, "
        f"{board.calls:,} tool calls; {board.files:,} files, {board.lines:,} lines"
    )


def clipped(text: Text, width: int, plain: bool = False) -> Text:
    """Cut a line to `width` columns; it never wraps."""
    if plain:
        text = Text(text.plain.replace("…", "...").encode("ascii", "replace").decode(), text.style)
    text.no_wrap = True
    text.truncate(max(width, 1), overflow="crop" if plain else "ellipsis")
    return text


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
        shown = sorted(below.get(node, []), key=lambda child: child.label)
        lines = [(child, indent + tee, indent + bar) for child in shown]
        if lines:
            lines[-1] = (shown[-1], indent + elbow, indent + gap)
        stack.extend(reversed(lines))


def _line(node: Node, guides: str, width: int, plain: bool) -> Text:
    mark, ascii_mark, colour = _MARKS[node.state]
    text = Text.assemble(
        (guides, "dim"), (ascii_mark if plain else mark, colour), " ", (node.label or "?", "bold")
    )
    if width >= _NARROW and (note := node.note()):
        text.append("  ").append(note, "dim" if node.state == "done" else colour)
    return clipped(text, width, plain)
