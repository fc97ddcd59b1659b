"""What earlier runs of a survey left in a store, and how a later one goes on with it.

An agent of a run that was killed has its log; the agent that takes its place begins with
that log as its seed. So its rules see every answer that had come in, and ask only for
what is missing. Whom an agent had delegated to stands in its log, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..actors.store import Store
from ..messages.content import ToolCall, ToolResult, text_of
from ..messages.errors import SessionError
from ..messages.event import Event
from ..messages.payload import AssistantReplied, CatalogChanged, ToolAnswered, UserMessageLogged
from ..providers.contract import InProcessSpec, ProviderCapabilities, ResolvedRequest
from .board import Board, Node
from .facts import Facts
from .rules import was_cut_off
from .task import Task
from .watch import TOP, end_of

SUBAGENT = "subagent"


@dataclass(frozen=True, slots=True)
class Answered:
    """A call that has its answer: what was called, and the answer's text."""

    name: str
    arguments: str
    text: str


def task_in(events: Sequence[Event]) -> Task | None:
    """The task that a log is about."""
    for event in events:
        if isinstance(event.data, UserMessageLogged):
            task = Task.read(text_of(event.data.message.content))
            if task is not None:
                return task
    return None


def answered_in(events: Sequence[Event]) -> list[Answered]:
    """The calls of a log that have an answer, each once, in the order they were first made."""
    made: dict[str, tuple[str, str]] = {}
    found: dict[tuple[str, str], str | None] = {}
    for event in events:
        data = event.data
        if isinstance(data, AssistantReplied):
            for block in data.message.content:
                if isinstance(block, ToolCall):
                    made[block.id] = (block.name, block.arguments)
                    found.setdefault(made[block.id], None)
        elif isinstance(data, ToolAnswered) and not was_cut_off(data.message):
            for block in data.message.content:
                if isinstance(block, ToolResult) and block.tool_call_id in made:
                    found[made[block.tool_call_id]] = text_of(block.content)
    return [
        Answered(name, arguments, text)
        for (name, arguments), text in found.items()
        if text is not None
    ]


def facts_in(events: Sequence[Event]) -> Facts | None:
    """What a log's last answer says; None if it has none."""
    for event in reversed(events):
        data = event.data
        if not isinstance(data, AssistantReplied) or data.interrupted:
            continue
        if any(isinstance(block, ToolCall) for block in data.message.content):
            return None
        try:
            return Facts.from_json(text_of(data.message.content))
        except ValueError:
            return None
    return None


class Heritage:
    """Finds the logs of earlier agents.

    Args:
        store: Where they are kept. Read only.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        # A child's task never changes, so its log is read once to know it.
        self._tasks: dict[str, Task] = {}

    async def log_of(self, session_id: str) -> Sequence[Event]:
        """The log of a session, closed; empty if none is stored."""
        try:
            return (await self._store.inspect(session_id)).events
        except SessionError as error:
            if error.code == "SESSION_NOT_FOUND":
                return ()
            raise

    async def child_of(
        self, events: Sequence[Event], task: Task
    ) -> tuple[str, Sequence[Event]] | None:
        """The latest child that a parent's log names for a task, and its log."""
        for child in _children(events):
            known = self._tasks.get(child)
            if known is not None and known != task:
                continue
            log = await self.log_of(child)
            found = task_in(log)
            if found is not None:
                self._tasks[child] = found
            if found == task:
                return child, log
        return None

    async def picture(self, root: str) -> Board:
        """All agents of a survey as their logs tell, whoever of them worked in which run."""
        board = Board()
        waiting: list[tuple[str, str | None, Sequence[Event]]] = [
            (root, None, await self.log_of(root))
        ]
        while waiting:
            name, parent, events = waiting.pop(0)
            node = _seated(board, name, parent, events)
            for call in answered_in(events):
                node.calls += 1
                board.calls += 1
                task = Task.of_call(call.arguments) if call.name == SUBAGENT else None
                found = None if task is None else await self.child_of(events, task)
                if found is not None:
                    waiting.append((found[0], name, found[1]))
        for node in reversed(list(board.nodes.values())):
            board.ended(node.id, end_of(node))
        return board


def _children(events: Sequence[Event]) -> Iterator[str]:
    """The children that a log names, the latest first."""
    for event in reversed(events):
        if isinstance(event.data, CatalogChanged) and event.data.change == "added":
            yield event.data.id


def _seated(board: Board, name: str, parent: str | None, events: Sequence[Event]) -> Node:
    node = board.started(name, parent)
    task = task_in(events)
    if task is not None:
        node.folder = task.folder
        node.label = task.folder.rpartition("/")[2] or TOP
    board.turns += 1
    facts = facts_in(events)
    if facts is not None:
        board.answered(node, facts)
    return node


class HeirProvider:
    """Makes children that go on where an earlier child with the same task stopped.

    Args:
        name: What it is registered under.
    """

    capabilities = ProviderCapabilities(depth_limit=True)
    inherits_parent_context = False

    def __init__(self, name: str = "heir") -> None:
        self.name = name
        self.heritage: Heritage | None = None

    async def prepare_one_shot(self, request: ResolvedRequest) -> InProcessSpec:
        """A recipe whose seed is the earlier child's log; without one, a fresh child."""
        task = Task.read(text_of(request.prompt))
        if self.heritage is None or task is None:
            return InProcessSpec(None)
        found = await self.heritage.child_of(request.parent.session.events, task)
        return InProcessSpec(None) if found is None else InProcessSpec(tuple(found[1]))
