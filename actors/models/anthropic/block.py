"""One block of Anthropic's stream, from its start to its end.

Pure. Source: spec core 12.3; Anthropic's Messages API, streaming.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from ....messages.chunk import (
    BlockEnd,
    BlockStart,
    BlockType,
    Chunk,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from ....messages.content import OpaqueBlock, Reasoning, Text, ToolCall, opaque_fault
from ....messages.errors import ConfigurationError
from ..cargo import check_text
from ..failure import malformed

Facts: TypeAlias = Mapping[str, Any]
"""A JSON object of the stream, not checked yet."""

_TYPES: Mapping[str, BlockType] = {
    "text": "text",
    "thinking": "reasoning",
    "tool_use": "tool-call",
}

_DELTAS: Mapping[str, tuple[str, str]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}
"""Which block a delta belongs to, and under which key it holds its text."""


class StreamedBlock:
    """A block that is being streamed; of a type of ours, or one to be kept untouched.

    Args:
        index: Its place in the message.
        data: What its start says of it.
        names: Tools that were sent under another name: from that to their own.

    Attributes:
        kind: Anthropic's name of its type.
        said: Whether it holds anything.
        signature: Of a thinking block; empty until it has come.

    Raises:
        ModelError: ``MALFORMED_RESPONSE``, as everything here.
    """

    __slots__ = ("_data", "_half", "_id", "_index", "_name", "_parts", "kind", "said", "signature")

    def __init__(self, index: int, data: Facts, names: Mapping[str, str]) -> None:
        self.kind = name_at(data, "type", "content_block")
        self.said = self.kind == "tool_use"
        self.signature = ""
        self._index = index
        self._data = data
        self._id = self._name = ""
        self._parts: list[str] = []
        self._half = False
        if self.kind == "tool_use":
            name = name_at(data, "name", "a tool_use block")
            self._id = name_at(data, "id", "a tool_use block")
            self._name = names.get(name, name)

    def start(self) -> list[Chunk]:
        """What its start is in our stream; nothing for a type that is not ours."""
        block_type = _TYPES.get(self.kind)
        if block_type is None:
            return []
        chunks: list[Chunk] = [BlockStart(self._index, block_type)]
        if self.kind == "tool_use":
            return [*chunks, ToolCallDelta(self._index, self._id, "", self._name)]
        # Most servers start a block empty; one that does not has said its first words here.
        chunks += self._extend(f"{self.kind}_delta", self._data.get(self.kind) or "")
        if self.kind == "thinking":
            self._extend("signature_delta", self._data.get("signature") or "")
        return chunks

    def take(self, delta: Facts) -> list[Chunk]:
        """Take in a delta; one of an unknown type makes an untouched block incomplete."""
        kind = name_at(delta, "type", "delta")
        known = _DELTAS.get(kind)
        if self.kind not in _TYPES:
            if kind == "input_json_delta" and "input" in self._data:
                self._parts.append(text_of_json(delta.get("partial_json"), kind))
            else:
                self._half = True
            return []
        if known is None:
            return []
        if known[0] != self.kind:
            raise malformed(f"a {kind} for block {self._index}, which is {self.kind}")
        return self._extend(kind, delta.get(known[1]))

    def end(self) -> BlockEnd | None:
        """The whole block; None when it is not ours and not whole, or not fit for a log."""
        whole = "".join(self._parts)
        if self.kind == "text":
            return BlockEnd(self._index, Text(whole))
        if self.kind == "thinking":
            return BlockEnd(self._index, Reasoning(whole))
        if self.kind == "tool_use":
            arguments = whole if whole.strip() else _input_text(self._data)
            return BlockEnd(self._index, ToolCall(self._id, self._name, arguments))
        return self._untouched(whole)

    def _extend(self, kind: str, value: object) -> list[Chunk]:
        text = text_of_json(value, kind)
        if not text:
            return []
        self.said = True
        if kind == "signature_delta":
            self.signature += text
            return []
        self._parts.append(text)
        if kind == "text_delta":
            return [TextDelta(self._index, text)]
        if kind == "thinking_delta":
            return [ReasoningDelta(self._index, text)]
        return [ToolCallDelta(self._index, self._id, text)]

    def _untouched(self, whole: str) -> BlockEnd | None:
        data = dict(self._data)
        if whole:
            try:
                data["input"] = json.loads(whole)
            except (ValueError, RecursionError):
                return None
        if self._half or opaque_fault(data) is not None:
            return None
        try:
            block = OpaqueBlock(data)
        except ConfigurationError as error:
            raise malformed(error.message) from None
        self.said = True
        return BlockEnd(self._index, block)


def object_of(value: object, subject: str) -> Facts:
    """The value as a JSON object.

    Raises:
        ModelError: ``MALFORMED_RESPONSE`` when it is none.
    """
    if not isinstance(value, Mapping):
        raise malformed(f"{subject} that is no JSON object")
    return cast(Facts, value)


def name_at(facts: Facts, key: str, subject: str) -> str:
    """The text under `key`, which must not be empty.

    Raises:
        ModelError: ``MALFORMED_RESPONSE`` when there is none.
    """
    text = text_of_json(facts.get(key), f"{key} of {subject}")
    if not text:
        raise malformed(f"{subject} without its {key}")
    return text


def text_of_json(value: object, subject: str) -> str:
    """The value as text that a log can keep.

    Raises:
        ModelError: ``MALFORMED_RESPONSE`` when it is none.
    """
    check_text(value, subject)
    return cast(str, value)


def _input_text(data: Facts) -> str:
    """The arguments of a call that came without deltas: whole in its start, or none."""
    given = data.get("input")
    if not isinstance(given, Mapping) or not given:
        return "{}"
    return text_of_json(json.dumps(given, ensure_ascii=False, separators=(",", ":")), "input")
