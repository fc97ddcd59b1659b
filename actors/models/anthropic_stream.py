"""From the raw events of Anthropic's stream to the chunks of a model stream.

Pure. Source: spec core 12.3; Anthropic's Messages API, streaming.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from ...messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    FinishKind,
    ModelFailure,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from ...messages.content import OpaqueBlock, Reasoning, Text, ToolCall, opaque_fault
from ...messages.errors import ConfigurationError
from .anthropic_failure import told
from .anthropic_history import REPLAY_FORMAT
from .anthropic_usage import UsageCount
from .cargo import check_index, check_text
from .failure import malformed

Event = Mapping[str, Any]

_CEILINGS = ("max_tokens", "model_context_window_exceeded")
_BLOCK_TYPES = {"text": "text", "thinking": "reasoning", "tool_use": "tool-call"}
_DELTA_OF = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}
"""Which block each delta belongs to, and under which key it holds its text."""


class _Block:
    """A block that is being streamed."""

    __slots__ = ("data", "kind", "odd", "parts", "signature")

    def __init__(self, kind: str, data: Event) -> None:
        self.kind = kind
        self.data = data
        self.parts: list[str] = []
        self.signature = ""
        self.odd = False


class AnthropicStream:
    """Takes in one response, event by event; make a new one for each.

    Every chunk that it gives obeys `StreamGrammar`. The end of a tool call is held
    back until the next event, for only that tells whether the response's ceiling
    cut the call off; a call that was cut off stays open. Events and blocks of
    unknown types add nothing, or are kept as an `OpaqueBlock` when they are whole.

    Args:
        names: Tools that were sent under another name: from that to their own.

    Attributes:
        finished: Whether the finish was given; what follows is ignored.
    """

    __slots__ = (
        "_calls",
        "_details",
        "_held",
        "_names",
        "_open",
        "_reason",
        "_said",
        "_seen",
        "_signatures",
        "_usage",
        "finished",
    )

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self._names = names or {}
        self._open: dict[int, _Block] = {}
        self._seen: set[int] = set()
        self._held: BlockEnd | None = None
        self._signatures: list[str | None] = []
        self._usage = UsageCount()
        self._reason: str | None = None
        self._details: object = None
        self._said = False
        self._calls = False
        self.finished = False

    def feed(self, event: object) -> list[Chunk]:
        """Take in the next event, as the object that its JSON says.

        Raises:
            ModelError: ``MALFORMED_RESPONSE`` for what is not of the format; the code
                that fits for an error that the server sent as an event.
        """
        if self.finished:
            return []
        facts = _object(event, "an event")
        match _text_at(facts, "type", "an event"):
            case "content_block_delta":
                return self._block_delta(facts)
            case "content_block_start":
                return self._block_start(facts)
            case "content_block_stop":
                return self._block_stop(facts)
            case "message_start":
                self._usage.add(_object(facts.get("message"), "message").get("usage"))
            case "message_delta":
                return self._message_delta(facts)
            case "message_stop":
                return self._message_stop()
            case "error":
                raise told(facts)
            case _:
                pass
        return []

    def _block_start(self, event: Event) -> list[Chunk]:
        index = _index_of(event)
        block = _object(event.get("content_block"), "content_block")
        kind = _text_at(block, "type", "content_block")
        if index in self._seen:
            raise malformed(f"a second start of block {index}")
        self._seen.add(index)
        chunks = self._release()
        self._open[index] = opened = _Block(kind, block)
        block_type = _BLOCK_TYPES.get(kind)
        if block_type is None:
            return chunks
        chunks.append(BlockStart(index, cast(Any, block_type)))
        if kind == "tool_use":
            name = _text_at(block, "name", "a tool_use block")
            call_id = _text_at(block, "id", "a tool_use block")
            chunks.append(ToolCallDelta(index, call_id, "", self._own_name(name)))
            self._said = True
            return chunks
        # Most servers start a block empty; one that does not has said its first words here.
        if kind == "thinking":
            chunks += self._extend(index, opened, "signature_delta", block.get("signature") or "")
        return chunks + self._extend(index, opened, f"{kind}_delta", block.get(kind) or "")

    def _block_delta(self, event: Event) -> list[Chunk]:
        index = _index_of(event)
        delta = _object(event.get("delta"), "delta")
        kind = _text_at(delta, "type", "delta")
        block = self._open.get(index)
        if block is None:
            raise malformed(f"a {kind} for block {index}, which is not open")
        known = _DELTA_OF.get(kind)
        if known is None or block.kind not in _BLOCK_TYPES:
            self._take_oddly(block, kind, delta)
            return []
        if known[0] != block.kind:
            raise malformed(f"a {kind} for block {index}, which is {block.kind}")
        return self._extend(index, block, kind, delta.get(known[1]))

    def _take_oddly(self, block: _Block, kind: str, delta: Event) -> None:
        """A delta without a meaning here: it belongs to a text, or makes a block incomplete."""
        if kind == "input_json_delta" and isinstance(block.data.get("input"), Mapping):
            block.parts.append(_sound(delta.get("partial_json"), kind))
        else:
            block.odd = True

    def _extend(self, index: int, block: _Block, kind: str, value: object) -> list[Chunk]:
        text = _sound(value, kind)
        if not text:
            return []
        self._said = True
        if kind == "signature_delta":
            block.signature += text
            return []
        block.parts.append(text)
        if kind == "text_delta":
            return [TextDelta(index, text)]
        if kind == "thinking_delta":
            return [ReasoningDelta(index, text)]
        return [ToolCallDelta(index, str(block.data["id"]), text)]

    def _block_stop(self, event: Event) -> list[Chunk]:
        index = _index_of(event)
        block = self._open.pop(index, None)
        if block is None:
            return []
        whole = "".join(block.parts)
        if block.kind == "text":
            return [BlockEnd(index, Text(whole))]
        if block.kind == "thinking":
            self._signatures.append(block.signature or None)
            return [BlockEnd(index, Reasoning(whole))]
        if block.kind != "tool_use":
            return self._opaque(index, block, whole)
        chunks = self._release()
        name = self._own_name(str(block.data["name"]))
        arguments = whole if whole.strip() else _input_text(block.data)
        self._held = BlockEnd(index, ToolCall(str(block.data["id"]), name, arguments))
        return chunks

    def _opaque(self, index: int, block: _Block, whole: str) -> list[Chunk]:
        data = dict(block.data)
        if whole:
            try:
                data["input"] = json.loads(whole)
            except (ValueError, RecursionError):
                block.odd = True
        if block.odd or opaque_fault(data) is not None:
            return []
        try:
            chunk = BlockEnd(index, OpaqueBlock(data))
        except ConfigurationError as error:
            raise malformed(error.message) from None
        self._said = True
        return [chunk]

    def _message_delta(self, event: Event) -> list[Chunk]:
        self._usage.add(event.get("usage"))
        delta = event.get("delta")
        if not isinstance(delta, Mapping):
            return []
        reason = cast(Event, delta).get("stop_reason")
        if not isinstance(reason, str):
            return []
        self._reason = reason
        self._details = cast(Event, delta).get("stop_details")
        return [] if reason in _CEILINGS else self._release()

    def _message_stop(self) -> list[Chunk]:
        chunks: list[Chunk] = [] if self._reason in _CEILINGS else self._release()
        finish = self._finish()
        usage = self._usage.total()
        if usage is not None:
            chunks.append(UsageChunk(usage))
        self.finished = True
        return [*chunks, finish]

    def _finish(self) -> Finish:
        if self._reason == "refusal":
            return Finish("error", ModelFailure(_refusal(self._details), "REFUSAL"))
        if self._reason in _CEILINGS:
            return Finish("max-tokens", replay_state=self._replay_state())
        if self._open:
            raise malformed(f"the end of the message while block {min(self._open)} is open")
        if not self._said:
            text = "the model ended its answer without saying anything; ask again"
            return Finish("error", ModelFailure(text, "EMPTY_RESPONSE"))
        # By what was said: a call that is there will run, whatever the server calls the end.
        kind: FinishKind = "tool-calls" if self._calls else "stop"
        return Finish(kind, replay_state=self._replay_state())

    def _own_name(self, sent: str) -> str:
        return self._names.get(sent, sent)

    def _release(self) -> list[Chunk]:
        held, self._held = self._held, None
        if held is None:
            return []
        self._calls = True
        return [held]

    def _replay_state(self) -> dict[str, Any] | None:
        """What the next request needs of this answer: the signature of each thinking block."""
        signatures = list(self._signatures)
        # A thinking block that the ceiling cut off stands in the message too.
        signatures += [None for block in self._open.values() if block.kind == "thinking"]
        if not any(signatures):
            return None
        return {"format": REPLAY_FORMAT, "signatures": signatures}


def _object(value: object, subject: str) -> Event:
    if not isinstance(value, Mapping):
        raise malformed(f"{subject} that is no JSON object")
    return cast(Event, value)


def _text_at(value: Event, key: str, subject: str) -> str:
    text = _sound(value.get(key), f"{key} of {subject}")
    if not text:
        raise malformed(f"{subject} without its {key}")
    return text


def _sound(value: object, subject: str) -> str:
    check_text(value, subject)
    return cast(str, value)


def _index_of(event: Event) -> int:
    index: object = event.get("index")
    check_index(index)
    return cast(int, index)


def _input_text(block: Event) -> str:
    """The arguments of a call that came without deltas: whole in its start, or none."""
    given = block.get("input")
    if not isinstance(given, Mapping) or not given:
        return "{}"
    return _sound(json.dumps(given, ensure_ascii=False, separators=(",", ":")), "input")


def _refusal(details: object) -> str:
    said = ""
    if isinstance(details, Mapping):
        facts = [cast(Event, details).get(key) for key in ("category", "explanation")]
        said = ": ".join(fact for fact in facts if isinstance(fact, str) and fact)
    reason = f" ({said})" if said else ""
    return f"the model refused to answer{reason}; change the prompt, or ask another model"
