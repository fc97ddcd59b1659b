"""The token counts of a chat completion, taken apart into ours, which are disjoint.

Source: spec core 12.3; the field names are OpenAI's, and DeepSeek's for its cache.
"""

from __future__ import annotations

from ....messages.chunk import Usage
from ....messages.lossless import SAFE_INTEGER
from .value import as_object


def usage_of(given: object) -> Usage | None:
    """Our counts, or None where the server says none that can be used.

    A prompt counts its cached tokens in, and a completion its reasoning: both are
    taken out. A server that adds reasoning on top (its total tells) is left as it is.
    """
    usage = as_object(given)
    if usage is None:
        return None
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    details: object = usage.get("prompt_tokens_details")
    read = _part(details, "cached_tokens")
    if read is None:
        read = _count(usage.get("prompt_cache_hit_tokens"))
    written = _part(details, "cache_write_tokens")
    thought = _part(usage.get("completion_tokens_details"), "reasoning_tokens")
    on_top = thought and usage.get("total_tokens") == prompt + completion + thought
    return Usage(
        input_tokens=max(prompt - (read or 0) - (written or 0), 0),
        output_tokens=completion if on_top else max(completion - (thought or 0), 0),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=thought,
    )


def _part(details: object, name: str) -> int | None:
    found = as_object(details)
    return None if found is None else _count(found.get(name))


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= SAFE_INTEGER else None
