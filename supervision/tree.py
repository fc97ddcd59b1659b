"""A picture of the agents that live at one moment: who, under whom, doing what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .truncation import one_line

if TYPE_CHECKING:
    from ..actors.agent import Agent
    from .birth import Birth
    from .run import SubagentRun
    from .runtime import Runtime

State: TypeAlias = Literal["running", "waiting", "idle", "settled"]


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One agent.

    Attributes:
        id: Of the agent and its session.
        label: As given at delegation; None for a root.
        provider: Who made it; None for a root.
        mode: ``one-shot`` for a child, None for a root.
        depth: Its place in the tree; a root is 0.
        state: ``running`` with a turn in progress or due, ``waiting`` between turns with
            children that still work, ``settled`` for a child whose result is there,
            else ``idle``.
        phase: What the agent is doing in its turn, such as ``model`` or ``tools``.
        since: Seconds it has been doing that.
        turn: Number of its latest turn; 0 before the first.
        step: Number of the step in progress; 0 when none is.
        children: Oldest first.
        failure: Code of the error that its latest turn ended in, while it rests; else None.
    """

    id: str
    label: str | None
    provider: str | None
    mode: str | None
    depth: int
    state: State
    phase: str
    since: float
    turn: int
    step: int
    children: tuple[TreeNode, ...] = ()
    failure: str | None = None

    def __str__(self) -> str:
        name = one_line(self.id)
        if self.label is not None:
            name = f"{one_line(self.label)} ({name})"
        made = "" if self.provider is None else f" by {one_line(self.provider)}"
        doing = f" in {self.phase}" if self.state == "running" else ""
        step = f", step {self.step}" if self.step else ""
        failed = "" if self.failure is None else f" failed: {self.failure}"
        turn = f", turn {self.turn}{step}{failed}" if self.turn else ""
        return f"{name}{made} [{self.state}{doing} for {self.since:.1f} s{turn}]"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, children included; what is None is left out."""
        below: dict[str, dict[str, Any]] = {}
        for node in reversed([*_walk((self,))]):
            plain = node._own_facts()
            plain["children"] = [below.pop(child.id) for child in node.children]
            below[node.id] = plain
        return below[self.id]

    def _own_facts(self) -> dict[str, Any]:
        plain = {
            "id": self.id,
            "label": self.label,
            "provider": self.provider,
            "mode": self.mode,
            "depth": self.depth,
            "state": self.state,
            "phase": self.phase,
            "since": round(self.since, 3),
            "turn": self.turn,
            "step": self.step,
            "failure": self.failure,
        }
        return {key: value for key, value in plain.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Tree:
    """All agents of a runtime; changes nothing and does not change.

    Attributes:
        roots: Agents that no live agent delegated to, oldest first.
        time: When the picture was taken, in epoch milliseconds.
    """

    roots: tuple[TreeNode, ...]
    time: int

    def __str__(self) -> str:
        return "\n".join(_lines(self.roots)) or "(no agents)"

    def __iter__(self) -> Iterator[TreeNode]:
        """Every node, each parent before its children."""
        return _walk(self.roots)

    def find(self, agent_id: str) -> TreeNode | None:
        """The node of that id, or None."""
        return next((node for node in self if node.id == agent_id), None)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: ``{time, roots}``."""
        return {"time": self.time, "roots": [root.to_dict() for root in self.roots]}


# Nothing below recurses: a chain of agents may be deeper than the call stack.


def _walk(roots: tuple[TreeNode, ...]) -> Iterator[TreeNode]:
    pending = list(reversed(roots))
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def _lines(roots: tuple[TreeNode, ...]) -> Iterator[str]:
    pending = [(root, "", "") for root in reversed(roots)]
    while pending:
        node, first, rest = pending.pop()
        yield f"{first}{node}"
        for child in reversed(node.children):
            last = child is node.children[-1]
            pending.append(
                (child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
            )


def tree_of(runtime: Runtime) -> Tree:
    """Take the picture. Any thread; the runtime does nothing for it in advance."""
    known = runtime.subagents.made()
    agents = runtime.agents.list()
    live = {agent.id: agent for agent in agents}
    # Looked up before and behind: a child is there before its run, and goes before it.
    made = {**known, **runtime.subagents.made()}
    place = {child_id: number for number, child_id in enumerate(made)}
    now = runtime.clock.monotonic()
    below: dict[str | None, list[TreeNode]] = {}
    for run in runtime.subagents.runs:
        if run.local_agent is None:
            below.setdefault(run.parent.id, []).append(_remote(run, now))
    # A child is made after its parent, so going backwards every child is there first.
    for agent in reversed(agents):
        children = _by_age(below.pop(agent.id, ()), place)
        parent = agent.parent
        above = parent.id if parent is not None and live.get(parent.id) is parent else None
        below.setdefault(above, []).append(_node(agent, made.get(agent.id), children, now))
    return Tree(tuple(reversed(below.get(None, ()))), runtime.clock.time_ms())


def _by_age(children: Sequence[TreeNode], place: Mapping[str, int]) -> tuple[TreeNode, ...]:
    """Oldest first; agents come in the newest first, and children elsewhere anyhow."""
    if len(children) < 2:
        return tuple(children)
    last = len(place)
    oldest_first = list(reversed(children))
    oldest_first.sort(key=lambda child: place.get(child.id, last))
    return tuple(oldest_first)


def _node(
    agent: Agent, made: SubagentRun | Birth | None, children: tuple[TreeNode, ...], now: float
) -> TreeNode:
    end = agent.last_end
    failure = None if end is None or agent.status == "running" else end.error
    return TreeNode(
        agent.id,
        None if made is None else made.label,
        None if made is None else made.provider,
        None if made is None else "one-shot",
        agent.depth,
        _state(agent, made, children),
        agent.phase,
        max(0.0, now - agent.phase_since),
        agent.session.last_turn,
        agent.session.open_step,
        children,
        None if failure is None else failure.code,
    )


def _remote(run: SubagentRun, now: float) -> TreeNode:
    state: State = "settled" if run.settled else "running"
    since = max(0.0, now - run.started)
    return TreeNode(
        run.id, run.label, run.provider, "one-shot", run.depth, state, "remote", since, 0, 0
    )


def _state(agent: Agent, made: SubagentRun | Birth | None, children: tuple[TreeNode, ...]) -> State:
    if agent.status == "running":
        return "running"
    if any(child.state in ("running", "waiting") for child in children):
        return "waiting"
    return "settled" if made is not None and made.settled else "idle"
