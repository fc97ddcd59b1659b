"""What earlier runs of a survey left in a store, and how a later one goes on with it.

An agent of a run that was killed has its log; the agent that takes its place begins with
that log as its seed. So its rules see every answer that had come in, and ask only for
what is missing. Whose child a session was stands in its header.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ..actors.store import Store
from ..messages.content import ToolCall, ToolResult, text_of
from ..messages.errors import SessionError
from ..messages.event import Event
from ..messages.payload import AssistantReplied, ToolAnswered, UserMessageLogged
from ..providers.contract import InProcessSpec, ProviderCapabilities, ResolvedRequest
from .board import Board, Node
from .facts import Facts
from .rules import was_cut_off
from .task import Task
from .watch import FAILED, TOP, end_of

SUBAGENT = "subagent"
"""The tool that delegates."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The session that has most of a task's work.

    Attributes:
        id: Its id.
        finished: Whether its agent gave its answer.
        calls: How many of its calls have an answer.
    """

    id: str
    finished: bool
    calls: int


def task_in(events: Sequence[Event]) -> Task | None:
    """The task that a log is about."""
    for event in events:
        if isinstance(event.data, UserMessageLogged):
            task = Task.read(text_of(event.data.message.content))
            if task is not None:
                return task
    return None


def answered_in(events: Sequence[Event]) -> list[tuple[str, str]]:
    """Name and arguments of the calls that have an answer, in the order they were first made."""
    made: dict[str, tuple[str, str]] = {}
    answered: set[tuple[str, str]] = set()
    for event in events:
        data = event.data
        if isinstance(data, AssistantReplied):
            for block in data.message.content:
                if isinstance(block, ToolCall):
                    made[block.id] = (block.name, block.arguments)
        elif isinstance(data, ToolAnswered):
            for result in data.message.content:
                if isinstance(result, ToolResult) and not was_cut_off(data.message, result):
                    answered.add(made[result.tool_call_id])
    return [call for call in dict.fromkeys(made.values()) if call in answered]


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
    """What a store has of one survey. It reads only.

    A folder has one task in a survey and thus one agent in a run; over several runs the
    sessions of a task follow each other, each beginning with the log of the one before.

    Args:
        store: Where the sessions are kept, open when it is read.
        root: Id of the root agent.
    """

    def __init__(self, store: Store, root: str) -> None:
        self._store = store
        self._root = root
        self._kept: dict[Task, Kept] = {}

    async def log_of(self, session_id: str) -> Sequence[Event]:
        """The log of a session, closed; empty if none is stored."""
        try:
            return (await self._store.inspect(session_id)).events
        except SessionError as error:
            if error.code == "SESSION_NOT_FOUND":
                return ()
            raise

    async def read(self) -> int:
        """Find the sessions of all agents of all runs.

        Returns:
            How many calls have an answer on disk.
        """
        self._kept = {}
        waiting = [self._root]
        while waiting:
            name = waiting.pop()
            log = await self.log_of(name)
            task = task_in(log)
            if task is not None:
                self._note(task, Kept(name, facts_in(log) is not None, len(answered_in(log))))
            for snapshot in await self._store.list_snapshots(parent=name):
                waiting.append(snapshot.header.id)
        return sum(kept.calls for kept in self._kept.values())

    def _note(self, task: Task, found: Kept) -> None:
        best = self._kept.get(task)
        if best is None or (found.finished, found.calls) > (best.finished, best.calls):
            self._kept[task] = found

    async def seed_for(self, task: Task) -> tuple[Event, ...] | None:
        """The log that an agent with this task goes on from; None if there is none."""
        kept = self._kept.get(task)
        return None if kept is None else tuple(await self.log_of(kept.id))

    async def picture(self) -> Board:
        """All agents of a survey that has ended, whoever of them worked in which run."""
        await self.read()
        board = Board()
        waiting: deque[tuple[str, str | None]] = deque([(self._root, None)])
        while waiting:
            name, parent = waiting.popleft()
            log = await self.log_of(name)
            node = _seated(board, name, parent, log)
            for tool, arguments in answered_in(log):
                node.calls += 1
                board.calls += 1
                task = Task.of_call(arguments) if tool == SUBAGENT else None
                if task is not None and task in self._kept:
                    waiting.append((self._kept[task].id, name))
        for node in reversed(list(board.nodes.values())):
            board.ended(node.id, end_of(node))
        return board


def _seated(board: Board, name: str, parent: str | None, events: Sequence[Event]) -> Node:
    node = board.started(name, parent)
    task = task_in(events)
    if task is not None:
        node.folder = task.folder
        node.label = task.folder.rpartition("/")[2] or TOP
    board.turns += 1
    facts = facts_in(events)
    if facts is None:
        node.doing = FAILED
    else:
        board.answered(node, facts)
    return node


class HeirProvider:
    """Makes children that go on where an earlier child with the same task stopped.

    Args:
        heritage: Where the logs of earlier children are found.
        name: What it is registered under.
    """

    capabilities = ProviderCapabilities(depth_limit=True)
    inherits_parent_context = False

    def __init__(self, heritage: Heritage, name: str = "heir") -> None:
        self.name = name
        self._heritage = heritage

    async def prepare_one_shot(self, request: ResolvedRequest) -> InProcessSpec:
        """A recipe whose seed is the earlier child's log; without one, a fresh child."""
        task = Task.read(text_of(request.prompt))
        return InProcessSpec(None if task is None else await self._heritage.seed_for(task))
