"""A model that is a function: for simulations, examples and tests of behaviour."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from ...messages.errors import ConfigurationError
from ...messages.request import ModelRequest
from .conversation import Conversation
from .entry import Entry
from .local import LocalModel, Sleep
from .response import EntryLike, ask_function

Rule: TypeAlias = Callable[[Conversation], EntryLike | Awaitable[EntryLike]]


class RuleModel(LocalModel):
    """Answers each request with what a function makes of the conversation.

    ::

        def rule(conversation: Conversation) -> str | ToolCall:
            if not conversation.answered and conversation.can("word_count"):
                return conversation.call("word_count", passage=conversation.prompt)
            return f"The tool says {conversation.results[-1].text}."

        model = RuleModel(rule)

    The function returns a string, a block, a list of blocks (parallel tool calls), or
    anything a script may hold (``fail(...)``, ``hang()``). Tool calls without an id
    get one that depends only on their place in the conversation, so a run repeats.

    A plain function runs on the runtime's loop and holds up every agent meanwhile:
    it must be quick. One that waits is ``async``; it is cancelled with its turn. One
    rule serves all agents, told apart by ``conversation.session_id``.

    Args:
        rule: The function. What it raises fails the request: a `ModelError` with its
            own code, anything else with ``UNKNOWN``, naming the function.
        provider: Name that agents ask for.
        model: Its own name.
        latency: Seconds before each response.
        sleep: What waits for `latency`; default the loop's timers.
        max_tokens: Ceiling of a response where nobody sets one.
        record: Keep every request in `requests`; off, since a simulation may be long.

    Raises:
        ConfigurationError: If `rule` cannot be called.
    """

    def __init__(
        self,
        rule: Rule,
        *,
        provider: str = "rule",
        model: str = "rule",
        latency: float = 0.0,
        sleep: Sleep = asyncio.sleep,
        max_tokens: int | None = None,
        record: bool = False,
    ) -> None:
        if not callable(rule):
            raise ConfigurationError(
                f"RuleModel takes a function of the conversation, not {type(rule).__name__}"
            )
        super().__init__(
            provider=provider,
            model=model,
            max_tokens=max_tokens,
            latency=latency,
            sleep=sleep,
            record=record,
        )
        self._rule = rule

    async def _entry(self, step: None, request: ModelRequest) -> Entry:
        return await ask_function(self._rule, Conversation(request))
