"""The picture of a survey at work: who works where, on what, and what came of it.

Fed by `watch`, read by the views. Keeping it is cheap: a few words an agent,
and nothing that is drawn looks at more agents than fit on the screen.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from .facts import Facts

State: TypeAlias = Literal["running", "done", "unread", "failed", "stopped"]
"""``unread``: it did its work, but its folder could not be read."""

RECENT = 100
"""How many agents that ended last are kept at hand for a view."""


N = TypeVar("N", bound="Node")


@dataclass(slots=True, eq=False)
class Node:
    """One agent as a person sees it.

    Attributes:
        id: The agent's id.
        parent: The agent that started it, or None for the root.
        folder: Its folder's path below the top, once it was told.
        label: The last part of that path.
        state: What it does or how it ended.
        doing: While it runs: the tools it waits for, as text.
        facts: What it answered.
        children: Agents it started, in order.
        ended: How many of the children are not running any more.
        calls: Tool calls it made.
    """

    id: str
    parent: Node | None
    folder: str | None = None
    label: str = ""
    state: State = "running"
    doing: str = ""
    facts: Facts | None = None
    children: list[Node] = field(default_factory=list["Node"])
    ended: int = 0
    calls: int = 0

    def note(self) -> str:
        """What it does or found, in a few words."""
        if self.facts is not None:
            return self.refusal() or found(self.facts)
        if self.state != "running":
            return self.state
        if working := len(self.children) - self.ended:
            if len(self.children) == 1:
                return "waits for its child"
            return f"waits for {working:,} of {len(self.children):,} children"
        return self.doing or ("thinks" if self.label else "")

    def detail(self) -> str:
        """What a line of the tree tells behind the note, as far as there is room."""
        return ""

    def place(self) -> tuple[int, str]:
        """Where it stands among the children of its parent: folders stand by name."""
        return 0, self.label

    def refusal(self) -> str | None:
        """Why its folder itself could not be read; None if it could, or while it is at work."""
        if self.facts is not None:
            for reason, noted in self.facts.skipped.items():
                if any(path == self.folder for path, _line, _text in noted.first):
                    return reason
        return None


def found(facts: Facts) -> str:
    """A folder's facts in a few words."""
    return f"{number_of(facts.files, 'file')}, {number_of(facts.lines, 'line')}"


def number_of(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun: ``1 file``, ``2,313 files``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


class Board:
    """All agents of one survey, and the sums over them."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.running: dict[str, Node] = {}
        self.recent: deque[Node] = deque(maxlen=RECENT)
        self.finished: list[Node] = []  # the root's children that were not stopped, as they ended
        self.root: Node | None = None
        self.turns = 0
        self.calls = 0
        self.files = 0
        self.lines = 0
        self.stopped = 0
        self.on_disk: int | None = None  # calls that earlier runs left, if this one goes on
        self.picture: Board | None = None  # the whole survey at its end, over all its runs

    @property
    def agents(self) -> int:
        """How many agents there were so far."""
        return len(self.nodes)

    def started(self, agent: str, parent: str | None) -> Node:
        """An agent was created."""
        return self.add(Node(agent, self.nodes.get(parent) if parent else None))

    def add(self, node: N) -> N:
        """Take in a new agent, below the one that it names as its parent."""
        self.nodes[node.id] = node
        self.running[node.id] = node
        if node.parent is not None:
            node.parent.children.append(node)
        elif self.root is None:
            self.root = node
        return node

    def answered(self, node: Node, facts: Facts) -> None:
        """An agent gave its facts."""
        node.facts = facts
        node.doing = ""

    def counted(self, files: int, lines: int) -> None:
        """A count came in; the sums are what the footer of a live view shows."""
        self.files += files
        self.lines += lines

    def ended(self, agent: str, state: State) -> None:
        """An agent is gone; a second time is no change."""
        node = self.running.pop(agent, None)
        if node is None:
            return
        node.state = state
        node.doing = ""
        self.stopped += state == "stopped"
        self.recent.append(node)
        if node.parent is not None:
            node.parent.ended += 1
            if node.parent is self.root and state != "stopped":
                self.finished.append(node)
