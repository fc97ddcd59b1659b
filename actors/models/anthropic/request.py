"""From a `ModelRequest` to the body of a request to Anthropic's Messages API.

Pure. Source: spec core 12.2; Anthropic's Messages API.
"""

from __future__ import annotations

from typing import Any

from ....messages.payload import ToolSchema
from ....messages.request import ModelRequest
from .call import sent_name
from .history import THINKING, turns_of

MAX_TOKENS = 8192
"""Ceiling of one response where nobody sets one; the API demands a number."""


def body_of(request: ModelRequest) -> dict[str, Any]:
    """The body, without ``stream``.

    ``reasoning_effort`` is sent in the form that its text has: a whole number is a
    budget of thinking tokens (``"4096"``), ``"none"`` turns thinking off, and any
    other word is an effort, with adaptive thinking (``low`` to ``max``; which of
    them a model knows is the server's to say). The API refuses a temperature while
    a model thinks, so it is left out then.

    Raises:
        ModelError: ``UNSUPPORTED_CONTENT`` or ``INVALID_REQUEST``, as `turns_of`.
    """
    config = request.config
    turns = turns_of(request.messages, config.provider, config.model)
    body: dict[str, Any] = {
        "model": config.model,
        "max_tokens": config.max_tokens if config.max_tokens is not None else MAX_TOKENS,
        "messages": turns,
    }
    if request.system and request.system.strip():
        body["system"] = request.system
    if request.tools:
        body["tools"] = [_tool(schema) for schema in request.tools]
    if config.stop:
        body["stop_sequences"] = list(config.stop)
    body |= _reasoning(config.reasoning_effort, turns)
    thinks = body.get("thinking", {}).get("type") in ("enabled", "adaptive")
    if config.temperature is not None and not thinks:
        body["temperature"] = config.temperature
    return body


def names_of(tools: tuple[ToolSchema, ...]) -> dict[str, str]:
    """The tools that are sent under another name: from that name to their own."""
    sent = {sent_name(schema.name): schema.name for schema in tools}
    return {name: own for name, own in sent.items() if name != own}


def _tool(schema: ToolSchema) -> dict[str, Any]:
    tool: dict[str, Any] = {"name": sent_name(schema.name), "input_schema": schema.parameters}
    if schema.description:
        tool["description"] = schema.description
    return tool


def _reasoning(effort: str | None, turns: list[dict[str, Any]]) -> dict[str, Any]:
    if effort is None or not effort.strip():
        return {}
    word = effort.strip().lower()
    if word == "none":
        return {"thinking": {"type": "disabled"}}
    if word.isascii() and word.isdigit():
        if _goes_on_without_thinking(turns):
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": int(word)}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": word}}


def _goes_on_without_thinking(turns: list[dict[str, Any]]) -> bool:
    """Whether an answer that began without thinking is to be continued after tool results.

    With a budget the API then refuses the whole request; the next prompt thinks again.
    """
    if turns[-1]["content"][0]["type"] != "tool_result":
        return False
    return turns[-2]["content"][0]["type"] not in THINKING
