"""Content blocks and messages to and from JSON.

A block or a source that this version does not know comes through untouched.
Source: spec core 1.4, 2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from .content import (
    WIRE_KEYS,
    WIRE_PARTS,
    Block,
    OpaqueBlock,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    part_fault,
)
from .errors import ConfigurationError
from .lossless import freeze
from .message import AssistantMessage, Message, ToolMessage, UserMessage


def decode_block(data: Any) -> Block:
    """Read one content block.

    A block of a known type with further keys is kept as an `OpaqueBlock`.

    Raises:
        ConfigurationError: If it is no object with a ``type``, or a known type
            without its parts.
    """
    block = cast(dict[str, Any], data) if isinstance(data, dict) else {}
    kind = block.get("type")
    if type(kind) is not str or not kind:
        raise ConfigurationError("a content block must be an object with a type")
    required = WIRE_PARTS.get(kind)
    if required is None:
        return OpaqueBlock(block)
    fault = part_fault(kind, block)
    if fault is not None:
        raise ConfigurationError(fault)
    if len(block) > len(required) + 1 and not block.keys() <= WIRE_KEYS[kind]:
        return OpaqueBlock(block)
    return _BUILDERS[kind](block)


def _tool_result(data: dict[str, Any]) -> ToolResult:
    is_error = data.get("isError", False)
    if type(is_error) is not bool:
        raise ConfigurationError("isError of a tool-result block must be a boolean")
    content = tuple([decode_block(block) for block in data["content"]])
    return ToolResult(_text(data["toolCallId"]), content, is_error)


def _text(value: str) -> str:
    """The text itself, once it is sure that JSON keeps it."""
    checked: str = value if value.isascii() else freeze(value, "text")
    return checked


_BUILDERS: Mapping[str, Callable[[dict[str, Any]], Block]] = {
    "text": lambda data: Text(_text(data["text"])),
    "reasoning": lambda data: Reasoning(_text(data["text"])),
    "tool-call": lambda data: ToolCall(
        _text(data["id"]), _text(data["name"]), _text(data["arguments"])
    ),
    "tool-result": _tool_result,
}


def encode_block(block: Block) -> dict[str, Any]:
    """Write one content block; an opaque one comes out as the object it was."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Reasoning):
        return {"type": "reasoning", "text": block.text}
    if isinstance(block, ToolCall):
        return {
            "type": "tool-call",
            "id": block.id,
            "name": block.name,
            "arguments": block.arguments,
        }
    if isinstance(block, ToolResult):
        return {
            "type": "tool-result",
            "toolCallId": block.tool_call_id,
            "content": [encode_block(inner) for inner in block.content],
            "isError": block.is_error,
        }
    return block.data


def encode_message(message: Message) -> dict[str, Any]:
    """Write a message."""
    return {
        "content": [encode_block(block) for block in message.content],
        "source": message.source,
        "role": "assistant" if type(message) is AssistantMessage else "user",
        "id": message.id,
    }


def decode_user_message(data: dict[str, Any]) -> UserMessage:
    """Read an input message whose outer shape was checked."""
    content, source = _parts(data, "user")
    return UserMessage(data["id"], content, source)


def decode_assistant_message(data: dict[str, Any]) -> AssistantMessage:
    """Read a model response whose outer shape was checked."""
    content, source = _parts(data, "assistant")
    if source["kind"] != "model" or not _named(source, "provider") or not _named(source, "model"):
        raise ConfigurationError(
            "source of an assistant message must name a model and its provider"
        )
    return AssistantMessage(data["id"], content, source)


def decode_tool_message(data: dict[str, Any]) -> ToolMessage:
    """Read a tool result whose outer shape was checked."""
    content, source = _parts(data, "user")
    if source["kind"] != "tool" or not _named(source, "callId"):
        raise ConfigurationError("source of a tool result must be a tool with a callId")
    block = content[0] if len(content) == 1 else None
    if not isinstance(block, ToolResult) or block.tool_call_id != source["callId"]:
        raise ConfigurationError(
            f"content of a tool result must be one tool-result block for {source['callId']!r}"
        )
    return ToolMessage(data["id"], content, source)


def _parts(data: dict[str, Any], role: str) -> tuple[tuple[Block, ...], dict[str, Any]]:
    if data["role"] != role:
        raise ConfigurationError(f"role must be {role!r} here, not {data['role']!r}")
    source: dict[str, Any] = freeze(data["source"], "source")
    if not _named(source, "kind"):
        raise ConfigurationError("source of a message needs a kind")
    return tuple([decode_block(block) for block in data["content"]]), source


def _named(source: dict[str, Any], key: str) -> bool:
    value = source.get(key)
    return type(value) is str and value != ""
