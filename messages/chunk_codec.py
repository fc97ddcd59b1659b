"""Stream chunks, usage and failures to and from JSON.

Decoders take data that `shape` has checked; encoders leave out what is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import chunk as chunks
from .passage import decode_block, encode_block

Json = dict[str, Any]


def present(**values: Any) -> Json:
    """The values that are not None, under their wire names."""
    return {key: value for key, value in values.items() if value is not None}


def decode_failure(data: Json) -> chunks.ModelFailure:
    """Read the facts of a failed model request."""
    return chunks.ModelFailure(
        data["message"],
        data["code"],
        data.get("status"),
        data.get("providerRetryAfterMs"),
        data.get("requestId"),
    )


def encode_failure(failure: chunks.ModelFailure) -> Json:
    """Write the facts of a failed model request."""
    return present(
        message=failure.message,
        code=failure.code,
        status=failure.status,
        providerRetryAfterMs=failure.provider_retry_after_ms,
        requestId=failure.request_id,
    )


def decode_usage(data: Json) -> chunks.Usage:
    """Read the tokens of a response."""
    return chunks.Usage(
        data["inputTokens"],
        data["outputTokens"],
        data.get("cacheReadTokens"),
        data.get("cacheWriteTokens"),
        data.get("reasoningTokens"),
    )


def encode_usage(usage: chunks.Usage) -> Json:
    """Write the tokens of a response."""
    return present(
        inputTokens=usage.input_tokens,
        outputTokens=usage.output_tokens,
        cacheReadTokens=usage.cache_read_tokens,
        cacheWriteTokens=usage.cache_write_tokens,
        reasoningTokens=usage.reasoning_tokens,
    )


def _decode_finish(data: Json) -> chunks.Finish:
    reason = data["reason"]
    failure = decode_failure(reason["failure"]) if "failure" in reason else None
    return chunks.Finish(reason["kind"], failure, data.get("replayState"))


def _encode_finish(chunk: chunks.Finish) -> Json:
    failure = None if chunk.failure is None else encode_failure(chunk.failure)
    reason = present(kind=chunk.kind, failure=failure)
    return present(type="finish", reason=reason, replayState=chunk.replay_state)


def _encode_call_delta(chunk: chunks.ToolCallDelta) -> Json:
    return present(
        type="tool-call-delta",
        index=chunk.index,
        id=chunk.id,
        name=chunk.name,
        argumentsDelta=chunk.arguments_delta,
    )


_CHUNK_DECODERS: Mapping[str, Callable[[Json], chunks.Chunk]] = {
    "block-start": lambda d: chunks.BlockStart(d["index"], d["blockType"]),
    "text-delta": lambda d: chunks.TextDelta(d["index"], d["text"]),
    "reasoning-delta": lambda d: chunks.ReasoningDelta(d["index"], d["text"]),
    "tool-call-delta": lambda d: chunks.ToolCallDelta(
        d["index"], d["id"], d["argumentsDelta"], d.get("name")
    ),
    "block-end": lambda d: chunks.BlockEnd(d["index"], decode_block(d["block"])),
    "usage": lambda d: chunks.UsageChunk(decode_usage(d["usage"])),
    "finish": _decode_finish,
}

_CHUNK_ENCODERS: Mapping[type, Callable[[Any], Json]] = {
    chunks.BlockStart: lambda c: {
        "type": "block-start",
        "index": c.index,
        "blockType": c.block_type,
    },
    chunks.TextDelta: lambda c: {"type": "text-delta", "index": c.index, "text": c.text},
    chunks.ReasoningDelta: lambda c: {"type": "reasoning-delta", "index": c.index, "text": c.text},
    chunks.ToolCallDelta: _encode_call_delta,
    chunks.BlockEnd: lambda c: {
        "type": "block-end",
        "index": c.index,
        "block": encode_block(c.block),
    },
    chunks.UsageChunk: lambda c: {"type": "usage", "usage": encode_usage(c.usage)},
    chunks.Finish: _encode_finish,
}


def decode_chunk(data: Json) -> chunks.Chunk:
    """Read a stream chunk whose shape was checked."""
    return _CHUNK_DECODERS[data["type"]](data)


def encode_chunk(chunk: chunks.Chunk) -> Json:
    """Write a stream chunk."""
    return _CHUNK_ENCODERS[type(chunk)](chunk)
