"""A root agent hands one task each to three children, all in one message.

The `subagent` tool is what a model calls to delegate. The children run at the same
time; their answers come back in the order of the calls, and the root merges them.
"""

from __future__ import annotations

import asyncio

from broodline import RuleModel, Runtime, SubagentRequest, SubagentTool, ToolCall, tool
from broodline.actors.models import Conversation

PASSAGES = ("one two three", "four five", "six")


@tool
def word_count(passage: str) -> int:
    """Count the words of a passage.

    Args:
        passage: Any text.
    """
    return len(passage.split())


def rule(conversation: Conversation) -> str | list[ToolCall]:
    if conversation.prompt == "Add up all passages.":
        return coordinate(conversation)
    if not conversation.answered:
        return [conversation.call("word_count", passage=conversation.prompt)]
    return conversation.results[-1].text


def coordinate(conversation: Conversation) -> str | list[ToolCall]:
    if not conversation.answered:
        return [
            conversation.call("subagent", description=f"passage {number}", prompt=passage)
            for number, passage in enumerate(PASSAGES, start=1)
        ]
    counts = [int(result.text) for result in conversation.results]
    return f"{' + '.join(map(str, counts))} = {sum(counts)} words"


async def main() -> None:
    model = RuleModel(rule)
    async with Runtime(model=model, tools=[word_count, SubagentTool(max_depth=2)]) as runtime:
        root = await runtime.agents.create(persona="You coordinate.")
        request = SubagentRequest(prompt="Add up all passages.", parent=root)
        run = await runtime.subagents.start("spawn", request)
        print((await run.result).text)
        await run.dispose()


if __name__ == "__main__":
    asyncio.run(main())
