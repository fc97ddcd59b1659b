"""Keeps the board: hears of agents from the hooks, of their work from their logs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..actors.notice import AgentCreated, AgentDisposed
from ..actors.registration import Registration
from ..messages.content import ToolCall, ToolResult, text_of
from ..messages.event import Event
from ..messages.payload import (
    AssistantReplied,
    ToolAnswered,
    ToolCalled,
    TurnEnd,
    TurnStart,
    UserMessageLogged,
)
from ..supervision.runtime import Runtime
from .board import Board, Node, State
from .facts import Facts
from .task import Task

FAILED = "failed"

TOP = "."
"""How the folder surveyed itself is named in the tree."""


def watch(runtime: Runtime, board: Board) -> Registration:
    """Keep `board` up to date with every agent created from now on."""

    def created(notice: AgentCreated) -> None:
        agent = notice.agent
        node = board.started(agent.id, agent.session.header.parent_session)
        agent.session.observe(_Follower(board, node))

    def disposed(notice: AgentDisposed) -> None:
        node = board.nodes[notice.agent.id]
        board.ended(node.id, end_of(node))

    first = runtime.hooks.observe("agent/created", created)
    second = runtime.hooks.observe("agent/disposed", disposed)

    def undo() -> None:
        first.dispose()
        second.dispose()

    return Registration(undo)


def end_of(node: Node) -> State:
    """How an agent ended, by what it had answered."""
    if node.facts is None:
        return "failed" if node.doing == FAILED else "stopped"
    if node.facts.failed.count:
        return "failed"
    return "done" if node.refusal() is None else "unread"


class _Follower:
    """Reads one agent's log as it grows."""

    __slots__ = ("board", "node", "waits")

    def __init__(self, board: Board, node: Node) -> None:
        self.board = board
        self.node = node
        self.waits: dict[str, ToolCalled] = {}

    def __call__(self, event: Event) -> None:
        """Take one event of the log."""
        react = _REACTIONS.get(type(event.data))
        if react is not None:
            react(self, event.data)

    def asked(self, logged: UserMessageLogged) -> None:
        """The prompt names the folder."""
        task = Task.read(text_of(logged.message.content))
        if task is not None and self.node.folder is None:
            self.node.folder = task.folder
            self.node.label = task.folder.rpartition("/")[2] or TOP

    def turn(self, _start: TurnStart) -> None:
        """A turn began."""
        self.board.turns += 1

    def called(self, call: ToolCalled) -> None:
        """A tool call began."""
        self.board.calls += 1
        self.node.calls += 1
        self.waits[call.call_id] = call
        self._tell()

    def answered(self, answer: ToolAnswered) -> None:
        """A tool call ended."""
        result = answer.message.content[0]
        if not isinstance(result, ToolResult):
            return
        call = self.waits.pop(result.tool_call_id, None)
        if call is not None and call.name == "count" and not result.is_error:
            counted = json.loads(text_of(result.content))
            named = json.loads(call.arguments)["files"]
            self.board.counted(len(named) - len(counted["skipped"]), counted["lines"])
        self._tell()

    def replied(self, reply: AssistantReplied) -> None:
        """A message without calls is the answer."""
        content = reply.message.content
        if reply.interrupted or any(isinstance(block, ToolCall) for block in content):
            return
        try:
            self.board.answered(self.node, Facts.from_json(text_of(content)))
        except ValueError:
            self.node.doing = FAILED

    def ended(self, end: TurnEnd) -> None:
        """A turn that broke leaves no answer."""
        if end.reason.kind not in ("completed", "aborted"):
            self.node.doing = FAILED

    def _tell(self) -> None:
        names = dict.fromkeys(call.name for call in self.waits.values())
        self.node.doing = ", ".join(name for name in names if name != "subagent")


_REACTIONS: dict[type[Any], Callable[[_Follower, Any], None]] = {
    UserMessageLogged: _Follower.asked,
    TurnStart: _Follower.turn,
    ToolCalled: _Follower.called,
    ToolAnswered: _Follower.answered,
    AssistantReplied: _Follower.replied,
    TurnEnd: _Follower.ended,
}
