"""What the agents of a run are told, and the tool by which they delegate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..actors.agent import Agent
from ..actors.cancellation import CancellationToken
from ..messages.payload import ToolFilter
from ..providers.contract import SubagentRequest
from ..supervision.tool import SubagentTool

ANSWER_KEPT = 256 * 1024
"""Most bytes of a child's answer that its parent's model is shown."""

_FOLDER = """\
The tools list, count, find, read and show look into one folder and change nothing in it; name \
paths as list gives them. Say what you found, not what you would do, and say so when you could \
not find out."""

ROOT = f"""\
You do the task you are given and answer in plain text. {_FOLDER}"""

DELEGATES = """ \
With subagent you hand a part of the task to a helper: give it everything it needs, for it sees \
nothing of this conversation. Delegate parts that do not depend on each other in one message, so \
that they run at the same time; do small tasks yourself."""

CHILD = f"""\
You help with one part of a larger task. Do exactly what you are asked and answer with the \
result in plain text, for another agent reads it. {_FOLDER}"""


class Delegation(SubagentTool):
    """The delegation tool, which agents of the last level do not see.

    There it could only refuse: that costs a model words, and a useless try.

    Args:
        depth: Levels of agents below the root, at least 1.
    """

    __slots__ = ("_levels",)

    def __init__(self, depth: int) -> None:
        super().__init__(max_depth=depth, result_limit=ANSWER_KEPT, persona=CHILD + DELEGATES)
        self._levels = depth

    def request(
        self, agent: Agent, args: dict[str, Any], signal: CancellationToken
    ) -> SubagentRequest:
        """As the plain tool asks; a child of the last level is told nothing of delegation."""
        request = super().request(agent, args, signal)
        if agent.depth + 1 < self._levels:
            return request
        return replace(request, persona=CHILD, tool_filter=ToolFilter(deny=(self.name,)))
