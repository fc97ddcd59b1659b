"""A request as a rule wants to see it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...messages.content import ToolCall, ToolResult, text_of
from ...messages.message import AssistantMessage, Message, ToolMessage, UserMessage
from ...messages.request import ModelRequest
from .entry import tool_call

# What the runtime puts beside the prompts; it asks for nothing.
_BACKGROUND_FORMS = ("snapshot", "instructions", "catalog")


class CallResult(NamedTuple):
    """A tool call that was answered: ``call, text, is_error = result``.

    Attributes:
        call: What was asked for.
        text: The text of the answer.
        is_error: Whether the tool failed.
    """

    call: ToolCall
    text: str
    is_error: bool

    @property
    def name(self) -> str:
        """The tool."""
        return self.call.name

    @property
    def value(self) -> Any:
        """The answer read as JSON, or its text where it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            return self.text


class Conversation:
    """What a rule decides by: made for one request, read when asked.

    ::

        def rule(conversation):
            if conversation.answered:
                return f"It has {conversation.results[-1].text} words."
            return conversation.call("word_count", passage=conversation.prompt)

    Looking costs what the conversation since the last prompt costs; only `task`,
    `turn` and `prompts` read the whole history.

    Attributes:
        request: The request itself.
    """

    __slots__ = ("_recent", "request")

    def __init__(self, request: ModelRequest) -> None:
        self.request = request
        self._recent: list[Message] | None = None

    @property
    def session_id(self) -> str:
        """The asking agent's id."""
        return self.request.session_id

    @property
    def messages(self) -> Sequence[Message]:
        """The whole history, oldest first; not to be changed."""
        return self.request.messages

    @property
    def system(self) -> str:
        """The system text; empty when there is none."""
        return self.request.system or ""

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that may be called, sorted."""
        return tuple(schema.name for schema in self.request.tools)

    def can(self, tool: str) -> bool:
        """Whether `tool` may be called."""
        return any(schema.name == tool for schema in self.request.tools)

    @property
    def prompt(self) -> str:
        """Text of the last thing the agent was told: a prompt, a relay, a notice.

        Empty when it was told nothing. Context that the runtime adds by itself does
        not count.
        """
        message = self._last_prompt()
        return "" if message is None else text_of(message.content)

    @property
    def prompt_source(self) -> Mapping[str, Any]:
        """Where `prompt` came from: ``{"kind": "user"}``, ``{"kind": "coordinator", ...}``."""
        message = self._last_prompt()
        return {} if message is None else message.source

    @property
    def prompt_kind(self) -> str:
        """``user``, ``coordinator``, ``subagent-settled``, ``subagent-report``...; or empty."""
        return str(self.prompt_source.get("kind", ""))

    @property
    def prompts(self) -> list[str]:
        """Everything the agent was told, oldest first."""
        return [text_of(message.content) for message in self.messages if _is_prompt(message)]

    @property
    def task(self) -> str:
        """The first thing the agent was told."""
        first = next((message for message in self.messages if _is_prompt(message)), None)
        return "" if first is None else text_of(first.content)

    @property
    def turn(self) -> int:
        """How many times the agent was told something; 1 for its first answer."""
        return sum(map(_is_prompt, self.messages))

    @property
    def step(self) -> int:
        """Which answer since the last prompt this is, from 1."""
        return 1 + sum(isinstance(message, AssistantMessage) for message in self._since_prompt())

    @property
    def said(self) -> str:
        """Text of the agent's last message; empty before it said anything."""
        for message in reversed(self.messages):
            if isinstance(message, AssistantMessage):
                return text_of(message.content)
        return ""

    @property
    def results(self) -> list[CallResult]:
        """The tool calls answered since the last prompt, in the order of the calls."""
        asked: dict[str, ToolCall] = {}
        answered: list[CallResult] = []
        for message in self._since_prompt():
            if isinstance(message, AssistantMessage):
                asked.update({b.id: b for b in message.content if isinstance(b, ToolCall)})
            elif isinstance(message, ToolMessage):
                answered.extend(_results(message, asked))
        return answered

    @property
    def answered(self) -> bool:
        """Whether a tool was called and answered since the last prompt."""
        return any(isinstance(message, ToolMessage) for message in self._since_prompt())

    def result(self, tool_or_id: str) -> CallResult | None:
        """The last answer since the last prompt of a tool, or to a call's id; else None."""
        for result in reversed(self.results):
            if tool_or_id in (result.call.name, result.call.id):
                return result
        return None

    def call(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, /, **named: Any
    ) -> ToolCall:
        """Ask for a tool: return it, alone or in a list of several.

        Args:
            name: The tool.
            arguments: Its arguments as a mapping, or as raw text.
            named: The arguments by name, instead.

        Raises:
            ConfigurationError: If both forms are used, or a value is not JSON.
        """
        return tool_call(name, arguments, named, None)

    def _since_prompt(self) -> list[Message]:
        if self._recent is None:
            recent: list[Message] = []
            for message in reversed(self.messages):
                recent.append(message)
                if _is_prompt(message):
                    break
            recent.reverse()
            self._recent = recent
        return self._recent

    def _last_prompt(self) -> UserMessage | None:
        recent = self._since_prompt()
        first = recent[0] if recent else None
        return first if isinstance(first, UserMessage) and _is_prompt(first) else None


def _is_prompt(message: Message) -> bool:
    if not isinstance(message, UserMessage):
        return False
    return message.source.get("form") not in _BACKGROUND_FORMS


def _results(message: ToolMessage, asked: Mapping[str, ToolCall]) -> Iterator[CallResult]:
    for block in message.content:
        if isinstance(block, ToolResult):
            call = asked.get(block.tool_call_id) or ToolCall(block.tool_call_id, "", "")
            yield CallResult(call, text_of(block.content), block.is_error)
