"""Content blocks: the parts of a message, frozen and slotted.

Wire names: ``text``, ``reasoning``, ``tool-call``, ``tool-result``. Any other
block type is carried untouched as an `OpaqueBlock`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .errors import ConfigurationError
from .lossless import FrozenDict, FrozenList, freeze, type_name
from .plain import plain_text


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Thinking text of a model, never shown as its answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to run a tool; `arguments` is the raw JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call came to, as the model sees it."""

    tool_call_id: str
    content: tuple[Block, ...]
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class OpaqueBlock:
    """A block of a kind this version does not interpret (an image, say).

    `data` is the whole JSON object, its ``type`` included; copied and frozen here.

    Raises:
        ConfigurationError: If JSON would lose a part of it.
    """

    data: dict[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", freeze(self.data, "a content block"))


Block: TypeAlias = Text | Reasoning | ToolCall | ToolResult | OpaqueBlock

ContentLike: TypeAlias = str | Block | Sequence[Block]
"""What a caller may hand over as content: a string, a block, or a list of blocks."""


WIRE_PARTS: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "text": {"text": (str,)},
    "reasoning": {"text": (str,)},
    "tool-call": {"id": (str,), "name": (str,), "arguments": (str,)},
    "tool-result": {"toolCallId": (str,), "content": (list, FrozenList)},
}
"""What a block of a known type must have in JSON, beside its ``type``."""

WIRE_KEYS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"type", "text"}),
    "reasoning": frozenset({"type", "text"}),
    "tool-call": frozenset({"type", "id", "name", "arguments"}),
    "tool-result": frozenset({"type", "toolCallId", "content", "isError"}),
}
"""All that a block of a known type may have; with more it is an `OpaqueBlock`."""


def content_of(content: ContentLike) -> tuple[Block, ...]:
    """Normalise what a caller handed over to a tuple of blocks, fit to be logged.

    Parts that the caller could still change are copied and frozen.

    Raises:
        ConfigurationError: If an item is neither a string nor a content block, or
            holds what JSON would lose.
    """
    if isinstance(content, str):
        return (Text(plain_text(content, "text")),)
    items: Iterable[object] = content if isinstance(content, list | tuple) else (content,)
    try:
        return tuple([sound_block(item) for item in items])
    except RecursionError:
        raise ConfigurationError(
            "content nests tool results too deep to be read back; hand over their text"
        ) from None


def sound_block(block: object) -> Block:
    """The block itself if it is fit to be logged, or a copy of it that is.

    Raises:
        ConfigurationError: As `content_of`.
    """
    if isinstance(block, str):
        return Text(plain_text(block, "text"))
    if isinstance(block, Text):
        text = plain_text(block.text, "text of a block")
        return block if text is block.text else Text(text)
    if isinstance(block, Reasoning):
        text = plain_text(block.text, "text of a block")
        return block if text is block.text else Reasoning(text)
    if isinstance(block, ToolCall):
        return _sound_call(block)
    if isinstance(block, ToolResult):
        return _sound_result(block)
    if isinstance(block, OpaqueBlock):
        fault = opaque_fault(block.data)
        if fault is not None:
            raise ConfigurationError(fault)
        return block
    raise ConfigurationError(
        f"content must be a string or content blocks, not {type_name(block)}; "
        "wrap text in broodline.Text"
    )


def _sound_call(call: ToolCall) -> ToolCall:
    values = (call.id, call.name, call.arguments)
    labels = ("id", "name", "arguments")
    sound = [
        plain_text(value, f"{label} of a tool call")
        for value, label in zip(values, labels, strict=True)
    ]
    if all(one is other for one, other in zip(sound, values, strict=True)):
        return call
    return ToolCall(*sound)


def _sound_result(result: ToolResult) -> ToolResult:
    call_id = plain_text(result.tool_call_id, "tool_call_id of a tool result")
    if type(result.is_error) is not bool:
        raise ConfigurationError("is_error of a tool result must be a bool")
    if not isinstance(result.content, list | tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError("content of a tool result must be a tuple of blocks")
    return ToolResult(call_id, tuple([sound_block(one) for one in result.content]), result.is_error)


def opaque_fault(data: Any) -> str | None:
    """Why a JSON object cannot stand in a log as an `OpaqueBlock`, or None."""
    block: dict[Any, Any] = data if type(data) in (dict, FrozenDict) else {}
    kind: object = block.get("type")
    if type(kind) is not str or not kind:
        return "a content block must be an object with a type"
    if kind not in WIRE_PARTS:
        return None
    fault = part_fault(kind, block)
    if fault is None and block.keys() <= WIRE_KEYS[kind]:
        return f"a plain {kind} block is no OpaqueBlock; use the class for it"
    return fault


def part_fault(kind: str, block: Mapping[Any, Any]) -> str | None:
    """What a block of a known type lacks in JSON, or None."""
    for key, types in WIRE_PARTS[kind].items():
        if type(block.get(key)) not in types:
            return f"a {kind} block needs {key} as {types[0].__name__}"
    return None


def text_of(content: Iterable[Block]) -> str:
    """Join the text blocks without a separator; other blocks add nothing."""
    return "".join(block.text for block in content if type(block) is Text)
