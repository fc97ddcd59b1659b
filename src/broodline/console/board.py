"""The picture of a run at work: the demo's board, with what a real model adds to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..messages.chunk import ModelFailure
from ..messages.payload import RetryPlanned
from ..survey.board import Board, Node, State
from ..survey.width import shortened
from .advice import short_cause
from .neutral import neutral, one_line
from .pieces import Pieces
from .tokens import Tokens

LABEL_KEPT = 60
"""Columns of a label that a line shows."""

LAST_WORDS = 24
"""Characters of partial text in a line of the tree."""

ROOT, CHILD = "root", "child"


@dataclass(slots=True, eq=False)
class Worker(Node):
    """One agent at work for the task.

    Attributes:
        tokens: What its requests took, those that failed too.
        attempt: Text of the response that is coming in, or came in last and is no message yet.
        said: Text of its messages, one entry each.
        writing: Tool whose call is coming in.
        waiting: While it waits for a retry: the words for that.
        retry: Since a request failed and until the next one has not: what was planned last.
        number: How many agents began before it.
        turns: How many it took.
        retries: How often a request was made again.
        end: Kind of its last turn's end, or None before.
        failure: Of its last turn, or None.
        named: What the model called its task, as it is; None for the root.
    """

    tokens: Tokens = field(default_factory=Tokens)
    attempt: Pieces = field(default_factory=Pieces)
    said: list[str] = field(default_factory=list[str])
    writing: str = ""
    waiting: str = ""
    retry: RetryPlanned | None = None
    number: int = 0
    turns: int = 0
    retries: int = 0
    end: str | None = None
    failure: ModelFailure | None = None
    named: str | None = None

    def note(self) -> str:
        """What it does or came to, in a few words."""
        spent = f"{self.tokens.total:,} tokens" if self.tokens.reports else ""
        words = [self._doing() if self.state == "running" else self._outcome(), spent]
        return ", ".join(word for word in words if word)

    def detail(self) -> str:
        """While it waits for a retry: why, in short."""
        return short_cause(self.retry.failure) if self.waiting and self.retry is not None else ""

    def place(self) -> tuple[int, str]:
        """Children stand in the order in which they began."""
        return self.number, ""

    def _doing(self) -> str:
        if self.waiting:
            return self.waiting
        working = len(self.children) - self.ended
        if working == 1 and len(self.children) == 1:
            return "waits for its child"
        if working:
            return f"waits for {working:,} of {len(self.children):,} children"
        if self.doing:
            return self.doing
        if self.writing:
            return f"writes a call of {self.writing}"
        if self.attempt and self.parent is None:
            return "speaks"  # its words stand below the tree
        if self.attempt:
            return f"“{last_words(self.attempt.end(4 * LAST_WORDS))}”"
        return "thinks"

    def _outcome(self) -> str:
        if self.state == "failed" and self.failure is not None:
            return f"failed: {self.failure.code}"
        if self.state == "failed" and self.end is not None:
            return f"failed: {self.end}"
        return self.state

    def how_it_ended(self) -> State:
        """Its state for good, once it is gone."""
        if self.end == "completed":
            return "done"
        return "stopped" if self.end in (None, "aborted", "interrupted") else "failed"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, without the children."""
        return {
            "id": self.id,
            "label": self.named,
            "state": self.state,
            "stopReason": self.end,
            "error": failure_dict(self.failure),
            "turns": self.turns,
            "toolCalls": self.calls,
            "retries": self.retries,
            "usage": self.tokens.to_dict(),
        }


def last_words(text: str) -> str:
    """The end of a text on one line."""
    words = " ".join(text.split())
    return neutral(words if len(words) <= LAST_WORDS else f"…{words[1 - LAST_WORDS :]}")


def failure_dict(failure: ModelFailure | None) -> dict[str, Any] | None:
    """JSON-ready form of what went wrong."""
    if failure is None:
        return None
    return {
        "code": failure.code,
        "message": failure.message,
        "status": failure.status,
        "requestId": failure.request_id,
    }


class RunBoard(Board):
    """All agents of one run, and the sums over them."""

    def __init__(self) -> None:
        super().__init__()
        self.workers: dict[str, Worker] = {}
        self.tokens = Tokens()
        self.retries = 0
        self.requests = 0  # that have ended, in whatever way
        self._labels: dict[str, int] = {}

    @property
    def top(self) -> Worker | None:
        """The root agent, once it is there."""
        return next(iter(self.workers.values()), None)

    def hired(self, agent: str, parent: str | None) -> Worker:
        """An agent was created."""
        worker = Worker(agent, self.workers.get(parent or ""), number=len(self.workers))
        self.workers[agent] = worker
        worker.label = CHILD if worker.parent is not None else ROOT
        return self.add(worker)

    def name(self, worker: Worker, named: str | None) -> None:
        """An agent's task has a name, made unique so that a line says which one it is about."""
        worker.named = named
        label = shortened(one_line(" ".join((named or "").split())), LABEL_KEPT) or CHILD
        number = self._labels[label] = self._labels.get(label, 0) + 1
        worker.label = label if number == 1 else f"{label} ({number})"

    def tree(self) -> dict[str, Any] | None:
        """All agents, nested, JSON-ready."""
        found: dict[str, dict[str, Any]] = {}
        for worker in self.workers.values():
            found[worker.id] = worker.to_dict() | {"children": []}
            if worker.parent is not None:
                found[worker.parent.id]["children"].append(found[worker.id])
        return found[self.top.id] if self.top is not None else None
