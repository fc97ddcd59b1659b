"""Cutting a text to a size in bytes, visibly."""

from __future__ import annotations

DIAGNOSTIC_LIMIT = 4096
"""Most UTF-8 bytes of a diagnostic, its marker included. Source: spec providers section 1."""

LABEL_SHOWN = 120
"""Most characters of a label that a line of a picture shows."""


def bounded(text: str, limit: int, whole: str = "") -> str:
    """`text` itself, or a prefix with a marker, of at most `limit` UTF-8 bytes together.

    A code point is never split. A text that cannot be encoded (lone surrogates)
    has those replaced when it is cut.

    Args:
        text: What may be too long.
        limit: Bytes, at least 64, so that the marker fits.
        whole: Where all of it can be found; named where there is room for it.
    """
    if len(text) * 4 <= limit:
        return text
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return text
    marker = f"\n[truncated: {len(encoded)} bytes in all]"
    if whole:
        full = f"{marker[:-1]}; {whole}]"
        marker = full if len(full.encode()) * 2 <= limit else marker
    kept = encoded[: limit - len(marker.encode())].decode("utf-8", "ignore")
    return kept + marker


def one_line(text: str) -> str:
    """`text` as one short line that shows what is in it: a label may be a model's own words.

    Line ends, terminal codes and whatever else does not print become escapes.
    """
    start = text[:LABEL_SHOWN]
    if not start.isprintable():
        start = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in start)
    return start if len(text) <= LABEL_SHOWN else f"{start}…"
