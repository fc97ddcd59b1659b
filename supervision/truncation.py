"""Cutting a text to a size in bytes, visibly."""

from __future__ import annotations

DIAGNOSTIC_LIMIT = 4096
"""Most UTF-8 bytes of a diagnostic, its marker included. Source: spec providers section 1."""


def bounded(text: str, limit: int) -> str:
    """`text` itself, or a prefix with a marker, of at most `limit` UTF-8 bytes together.

    A code point is never split. A text that cannot be encoded (lone surrogates)
    has those replaced when it is cut.

    Args:
        text: What may be too long.
        limit: Bytes, at least 64, so that the marker fits.
    """
    if len(text) * 4 <= limit:
        return text
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return text
    marker = f"\n[truncated: {len(encoded)} bytes in all]"
    kept = encoded[: limit - len(marker)].decode("utf-8", "ignore")
    return kept + marker
