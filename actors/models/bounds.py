"""The settings that every model of a provider has, looked at when it is made."""

from __future__ import annotations

from typing import cast

from ...messages.errors import ConfigurationError
from ...messages.lossless import SAFE_INTEGER
from ...messages.plain import is_finite, quoted


def sound_ceiling(max_tokens: object, subject: str) -> int | None:
    """`max_tokens` itself, once it is sure to be a positive safe integer or None.

    Raises:
        ConfigurationError: If it is neither.
    """
    if max_tokens is None:
        return None
    if type(max_tokens) is not int or not 0 < max_tokens <= SAFE_INTEGER:
        raise ConfigurationError(
            f"{subject}(max_tokens={quoted(max_tokens)}) must be a whole number from 1 to "
            "2**53-1, or None"
        )
    return max_tokens


def sound_timeout(timeout: object, subject: str) -> float | None:
    """`timeout` in seconds, once it is sure to be finite and above 0, or None.

    Raises:
        ConfigurationError: If it is neither.
    """
    if timeout is None:
        return None
    seconds = float(cast(float, timeout)) if is_finite(timeout) else 0.0
    if seconds <= 0:
        raise ConfigurationError(
            f"{subject}(timeout={quoted(timeout)}) must be finite seconds above 0, or None"
        )
    return seconds
