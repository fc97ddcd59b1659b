"""One agent, one tool: a plain function becomes something a model can call.

The model is a rule: a function from the conversation to the next message. It asks for
the tool first and reads its answer afterwards, as any model would.
"""

from __future__ import annotations

import asyncio

from broodline import RuleModel, Runtime, ToolCall, tool
from broodline.actors.models import Conversation


@tool
def word_count(passage: str) -> int:
    """Count the words of a passage.

    Args:
        passage: Any text.
    """
    return len(passage.split())


def rule(conversation: Conversation) -> str | ToolCall:
    if not conversation.answered:
        return conversation.call("word_count", passage=conversation.prompt)
    return f"That has {conversation.results[-1].text} words."


async def main() -> None:
    async with Runtime(model=RuleModel(rule), tools=[word_count]) as runtime:
        agent = await runtime.agents.create(persona="You count words.")
        await agent.followup("The quick brown fox jumps over the lazy dog.")
        await agent.when_idle()
        print(agent.answer)
        print("\nThe log of its session:")
        for event in agent.agent.session.events:
            print(f"{event.seq:4} {event.type}")


if __name__ == "__main__":
    asyncio.run(main())
