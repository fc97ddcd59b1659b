"""Whether a request keeps the rules of Anthropic's Messages.

Source: https://docs.anthropic.com/en/api/messages and the texts of the server's own
errors.
"""

from __future__ import annotations

import re
from typing import Any

from .form import Flaw, fault_of, listed, mapping, number_in, objects_in, sampling, stated
from .turn import objects

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_PARAMETERS = {
    "cache_control",
    "container",
    "context_management",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "output_format",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
    "user_profile_id",
    "workspace_id",
}
_REQUIRED_TEXTS = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name"),
    "tool_result": ("tool_use_id",),
}
_BLOCKS_OF = {
    "user": ("text", "image", "document", "search_result", "tool_result", "container_upload"),
    "assistant": ("text", "thinking", "redacted_thinking", "tool_use"),
}
_SERVER_SIDE = ("server_tool_use", "mcp_tool_use", "mcp_tool_result", "container_upload")


def anthropic_fault(body: dict[str, Any]) -> str | None:
    """What is wrong with a request's body, as the server would say it, or None."""
    return fault_of(_check, body)


def _check(body: dict[str, Any]) -> None:
    for name in body:
        stated(name in _PARAMETERS, f"{name}: Extra inputs are not permitted")
    for name in ("model", "max_tokens", "messages"):
        stated(body.get(name) is not None, f"{name}: Field required")
    model = body["model"]
    stated(isinstance(model, str) and model, "model: String should have at least 1 character")
    number_in(body, "max_tokens", 1)
    stream = body.get("stream")
    stated(stream is None or isinstance(stream, bool), "stream: Input should be a valid boolean")
    sampling(body, "temperature", 1)
    sampling(body, "top_p", 1)
    _check_stops(body)
    _check_system(body.get("system"))
    _check_tools(body)
    _check_messages(listed(body["messages"], "messages"))
    _check_thinking(body)


def _check_stops(body: dict[str, Any]) -> None:
    words = body.get("stop_sequences")
    for word in listed(words, "stop_sequences") if words is not None else ():
        sound = isinstance(word, str) and word.strip()
        stated(sound, "stop_sequences: each stop sequence must contain non-whitespace")


def _check_system(system: Any) -> None:
    if system is None or isinstance(system, str):
        return
    for at, block in objects_in(system, "system"):
        where = f"system.{at}"
        stated(block.get("type") == "text", f"{where}.type: Input should be 'text'")
        _check_text(block, where)


def _check_tools(body: dict[str, Any]) -> None:
    tools = body.get("tools")
    stated(
        tools or body.get("tool_choice") is None,
        "tool_choice: may only be specified while providing `tools`",
    )
    names: set[str] = set()
    for at, tool in objects_in(tools, "tools") if tools is not None else ():
        name = tool.get("name")
        sound = isinstance(name, str) and _NAME.fullmatch(name)
        stated(sound, f"tools.{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        stated(name not in names, "tools: Tool names must be unique.")
        names.add(str(name))
        if tool.get("type") in (None, "custom"):
            schema = tool.get("input_schema")
            stated(schema is not None, f"tools.{at}.input_schema: Field required")
            typed = (mapping(schema) or {}).get("type") == "object"
            stated(typed, f"tools.{at}.input_schema.type: Input should be 'object'")


def _check_messages(messages: list[Any]) -> None:
    stated(messages, "messages: at least one message is required")
    wanted: list[str] = []
    seen: set[str] = set()
    for at, message in objects_in(messages, "messages"):
        role = message.get("role")
        where = f"messages.{at}"
        stated(
            role in ("user", "assistant"),
            f"{where}.role: Input should be 'user' or 'assistant', not {role!r}"
            " (a system prompt goes into the top-level `system`)",
        )
        stated(at or role == "user", 'messages: first message must use the "user" role')
        last = at == len(messages) - 1
        blocks = _blocks_of(message, where, may_be_empty=last and role == "assistant")
        for place, block in enumerate(blocks):
            _check_block(block, f"{where}.content.{place}", str(role))
        _check_results(blocks, wanted, where)
        wanted = [str(block["id"]) for block in blocks if block["type"] == "tool_use"]
        fresh = len({*wanted}) == len(wanted) and not seen.intersection(wanted)
        stated(fresh, f"{where}: `tool_use` ids must be unique")
        seen.update(wanted)
        if last and role == "assistant":
            _check_prefill(blocks)
    _check_results([], wanted, "messages")


def _blocks_of(message: dict[str, Any], where: str, *, may_be_empty: bool) -> list[dict[str, Any]]:
    content = message.get("content")
    if content is None:
        raise Flaw(f"{where}.content: Field required")
    if isinstance(content, str):
        blocks = [{"type": "text", "text": content}] if content else []
    else:
        blocks = [block for _, block in objects_in(content, f"{where}.content")]
    stated(
        blocks or may_be_empty,
        f"{where}: all messages must have non-empty content except for the optional final "
        "assistant message",
    )
    return blocks


def _check_block(block: dict[str, Any], where: str, role: str) -> None:
    kind = block.get("type")
    own = kind in _BLOCKS_OF[role] or (role == "assistant" and _is_server_side(kind))
    stated(own, f"{where}: {kind!r} blocks are not allowed in {role} messages")
    for name in _REQUIRED_TEXTS.get(str(kind), ()):
        stated(isinstance(block.get(name), str), f"{where}.{kind}.{name}: Field required")
    if kind == "text":
        _check_text(block, where)
    elif kind == "tool_use":
        _check_tool_use(block, where)
    elif kind == "tool_result":
        _check_tool_result(block, where)


def _is_server_side(kind: Any) -> bool:
    """What the provider's own tools leave in an answer."""
    return kind in _SERVER_SIDE or (isinstance(kind, str) and kind.endswith("_tool_result"))


def _check_text(block: dict[str, Any], where: str) -> None:
    text = block.get("text")
    if not isinstance(text, str):
        raise Flaw(f"{where}.text: Field required")
    stated(text, f"{where}: text content blocks must be non-empty")
    stated(text.strip(), f"{where}: text content blocks must contain non-whitespace text")


def _check_tool_use(block: dict[str, Any], where: str) -> None:
    for name, pattern in (("id", _ID), ("name", _NAME)):
        sound = pattern.fullmatch(str(block[name]))
        stated(sound, f"{where}.tool_use.{name}: String should match '^{pattern.pattern}$'")
    is_object = mapping(block.get("input")) is not None
    stated(is_object, f"{where}.tool_use.input: Input should be a valid dictionary")


def _check_tool_result(block: dict[str, Any], where: str) -> None:
    content = block.get("content")
    failed = block.get("is_error")
    stated(failed is None or isinstance(failed, bool), f"{where}.is_error: should be a boolean")
    stated(content or not failed, f"{where}: content cannot be empty if `is_error` is true")
    if content is None or isinstance(content, str):
        return
    for at, inner in objects_in(content, f"{where}.content"):
        if inner.get("type") == "text":
            _check_text(inner, f"{where}.content.{at}")


def _check_results(blocks: list[dict[str, Any]], wanted: list[str], where: str) -> None:
    """The results stand in front, answer every call of the message before, each once."""
    kinds = [block["type"] for block in blocks]
    found = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    strange = [id for id in found if id not in wanted]
    stated(
        not strange,
        f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {', '.join(strange)}. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
        "message.",
    )
    missing = [id for id in wanted if id not in found]
    stated(
        not missing,
        f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` "
        "block in the next message.",
    )
    once = len(set(found)) == len(found)
    stated(once, f"{where}: each tool_use must have a single result")
    front = all(kind == "tool_result" for kind in kinds[: len(found)])
    stated(front, f"{where}: `tool_result` blocks must come first in the content")


def _check_prefill(blocks: list[dict[str, Any]]) -> None:
    text = str(blocks[-1].get("text")) if blocks and blocks[-1]["type"] == "text" else ""
    stated(
        text == text.rstrip(),
        "messages: final assistant content cannot end with trailing whitespace",
    )


def _check_thinking(body: dict[str, Any]) -> None:
    """With thinking on, an assistant whose calls are just answered began by thinking."""
    thinking = mapping(body.get("thinking")) or {}
    if thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens")
    sound = type(budget) is int and budget >= 1024
    stated(sound, "thinking.enabled.budget_tokens: Input should be at least 1024")
    stated(body["max_tokens"] > budget, "`max_tokens` must be greater than `budget_tokens`")
    cool = body.get("temperature") in (None, 1)
    stated(cool, "`temperature` may only be set to 1 when thinking is enabled")
    choice = (mapping(body.get("tool_choice")) or {}).get("type")
    free = choice not in ("any", "tool")
    stated(free, "Thinking may not be enabled when tool_choice forces tool use.")
    asked = [one for one in body["messages"] if one["role"] == "assistant"]
    content = list(objects(asked[-1]["content"])) if asked else []
    if any(block["type"] == "tool_use" for block in content):
        first = content[0]["type"]
        stated(
            first in ("thinking", "redacted_thinking"),
            f"Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` is "
            "enabled, a final `assistant` message must start with a thinking block.",
        )
