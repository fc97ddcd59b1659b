"""What chunks carry: texts, blocks, counts and failures, sure to be fit for a log.

A model is outside code. What it streams is logged as it is, so what the log
could not keep is refused here, before it gets there.

Source: spec core 1.3, 12.3; DESIGN section 3 (checked once, on the way in).
"""

from __future__ import annotations

from ...messages.chunk import ModelFailure, Usage
from ...messages.content import Block, Text, sound_block
from ...messages.errors import ConfigurationError
from ...messages.lossless import SAFE_INTEGER, type_name
from ...messages.plain import name_text, plain_text, quoted
from .failure import malformed

_REQUIRED = ("input_tokens", "output_tokens")


def check_text(value: object, subject: str) -> None:
    """Refuse what is no text, or none that JSON keeps.

    Raises:
        ModelError: ``MALFORMED_RESPONSE``, as everything here.
    """
    if type(value) is str and value.isascii():
        return
    try:
        plain_text(value, subject)
    except ConfigurationError as error:
        raise malformed(error.message) from None


def check_kind(kind: object, index: int) -> None:
    """Refuse a type of block that is no name."""
    try:
        name_text(kind, f"type of block {index}")
    except ConfigurationError as error:
        raise malformed(error.message) from None


def check_index(index: object) -> None:
    """Refuse an index that is no safe integer from 0 on."""
    if not _is_count(index):
        raise malformed(f"block index {quoted(index)}, which is not a whole number from 0")


def check_block(block: Block) -> None:
    """Refuse a block with a part that the log could not keep."""
    if type(block) is Text:
        check_text(block.text, "text of a block")
        return
    try:
        sound_block(block)
    except ConfigurationError as error:
        raise malformed(error.message) from None


def check_usage(usage: object) -> None:
    """Refuse counts of tokens that are no safe integers from 0 on."""
    if not isinstance(usage, Usage):
        raise malformed(f"a usage of {type_name(usage)}")
    for name, count in (
        ("input_tokens", usage.input_tokens),
        ("output_tokens", usage.output_tokens),
        ("cache_read_tokens", usage.cache_read_tokens),
        ("cache_write_tokens", usage.cache_write_tokens),
        ("reasoning_tokens", usage.reasoning_tokens),
    ):
        if not _is_count(count) and (count is not None or name in _REQUIRED):
            raise malformed(f"{name} of {quoted(count)}")


def check_failure(failure: ModelFailure) -> None:
    """Refuse the facts of a failure that the log could not keep."""
    check_text(failure.message, "text of a failure")
    check_text(failure.code, "code of a failure")
    if not failure.code:
        raise malformed("a failure without a code")
    for name in ("status", "provider_retry_after_ms"):
        value = getattr(failure, name)
        if value is not None and not _is_count(value):
            raise malformed(f"{name} of {quoted(value)} in a failure")
    if failure.request_id is not None:
        check_text(failure.request_id, "request_id of a failure")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= SAFE_INTEGER
