"""What a step is told beside its messages: system text, tools, runtime contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..messages.message import UserMessage
from ..messages.plain import plain_text
from .assembly import Assembly, PromptContext
from .snapshot import SnapshotTrack

if TYPE_CHECKING:
    from .turn import Turn


async def assemble(turn: Turn) -> UserMessage | None:
    """Put the step's system text and tool view on the agent.

    Returns:
        The runtime-context snapshot to add to the step's messages, if the model
        does not know it already.

    Raises:
        PromptError: If the prompt cannot be rendered.
    """
    agent = turn.agent
    host = agent.runtime
    context = PromptContext(
        agent.id,
        turn.session.header.cwd,
        agent.options.provider,
        agent.options.model,
        agent.scope,
        agent,
        turn.token,
    )
    assembly = host.prompts.assemble_now(context)
    if assembly is None:
        assembly = await host.prompts.assemble(context)
    agent.system_text = assembly.system
    agent.tool_view = host.tools.view(agent.scope)
    return _snapshot(turn, assembly)


def _snapshot(turn: Turn, assembly: Assembly) -> UserMessage | None:
    agent = turn.agent
    track = agent.snapshots
    if track is None:
        fresh = turn.session.first_live_seq == 0
        if fresh and not assembly.contexts:
            return None
        track = agent.snapshots = SnapshotTrack(fresh=fresh)
    text = track.due(assembly.contexts, turn.session.messages)
    if text is None:
        return None
    plain_text(text, f"runtime context of agent {agent.id}")
    message_id = agent.runtime.ids.new("message")
    content, source = agent.runtime.envelopes.snapshot(assembly.contexts, text)
    return UserMessage(message_id, content, source)
