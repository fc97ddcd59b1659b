"""Content blocks: the parts of a message, frozen and slotted.

Wire names: ``text``, ``reasoning``, ``tool-call``, ``tool-result``. Any other
block type is carried untouched as an `OpaqueBlock`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .errors import ConfigurationError


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

    `data` is the whole frozen JSON object, its ``type`` included.
    """

    data: dict[str, Any]


Block: TypeAlias = Text | Reasoning | ToolCall | ToolResult | OpaqueBlock

ContentLike: TypeAlias = str | Block | Sequence[Block]
"""What a caller may hand over as content: a string, a block, or a list of blocks."""


def content_of(content: ContentLike) -> tuple[Block, ...]:
    """Normalise what a caller handed over to a tuple of blocks.

    Raises:
        ConfigurationError: If an item is neither a string nor a content block.
    """
    if isinstance(content, str):
        return (Text(content),)
    items: Iterable[object] = content if isinstance(content, list | tuple) else (content,)
    blocks = tuple(Text(item) if isinstance(item, str) else item for item in items)
    for block in blocks:
        if not isinstance(block, Text | Reasoning | ToolCall | ToolResult | OpaqueBlock):
            raise ConfigurationError(
                f"content must be a string or content blocks, not {type(block).__name__}; "
                "wrap text in broodline.Text"
            )
    return blocks  # type: ignore[return-value]


def text_of(content: Iterable[Block]) -> str:
    """Join the text blocks without a separator; other blocks add nothing."""
    return "".join(block.text for block in content if type(block) is Text)
