"""Where the tool scheduler meets the turn: results into the log, contexts into the inbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..messages.content import ToolCall, ToolResult
from ..messages.lossless import FrozenDict
from ..messages.message import ToolMessage, UserMessage
from ..messages.payload import ToolAnswered, ToolCalled
from .checkpoint import checkpoint
from .tools.decision import ToolOutcome
from .tools.scheduler import run_calls

if TYPE_CHECKING:
    from .turn import Turn


class TurnPort:
    """What the scheduler may do to the turn whose calls it runs."""

    __slots__ = ("_turn",)

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def call_started(self, call: ToolCall) -> int:
        """Log that a call begins; returns the event's seq."""
        turn = self._turn
        turn.agent.tool_calls += 1
        return turn.session.append(
            ToolCalled(turn.number, turn.step, call.id, call.name, call.arguments)
        ).seq

    def call_finished(self, call: ToolCall, seq: int, outcome: ToolOutcome) -> None:
        """Log a result, citing its call. The scheduler keeps to the model's order."""
        turn = self._turn
        message = ToolMessage(
            turn.agent.runtime.ids.new("message"),
            (ToolResult(call.id, outcome.content, outcome.is_error),),
            FrozenDict({"kind": "tool", "callId": call.id}),
        )
        turn.session.append(
            ToolAnswered(turn.number, turn.step, message, outcome.error, outcome.meta),
            surface="append",
            sources=(seq,),
        )
        if outcome.conclude and not outcome.is_error:
            turn.concluded = True

    def contexts(self, messages: Sequence[UserMessage]) -> None:
        """Queue what tools want said, for the next step boundary."""
        agent = self._turn.agent
        for message in messages:
            if message.id in agent.inbox:  # two tools may have had the same idea for a name
                message = replace(message, id=agent.runtime.ids.new("message"))
            agent.inbox.append_own(message)


async def run_tools(turn: Turn, calls: Sequence[ToolCall]) -> None:
    """Run one message's calls to their results (spec core 10.3)."""
    agent = turn.agent
    await run_calls(
        calls,
        port=TurnPort(turn),
        registry=agent.runtime.tools,
        scope=agent.scope,
        agent=agent,
        system=agent.runtime,
        signal=turn.token,
        cap=agent.runtime.settings.tool_parallelism,
        before_body=partial(checkpoint, turn.session) if turn.session.checkpoints else None,
    )
