"""Text of others on a terminal: what could steer it is shown instead of obeyed."""

from __future__ import annotations

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_KEPT = "\n\t"
_DIRECTIONS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""Marks that make a terminal show text in another order than it has."""

_TABLE: dict[int, str] = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    for code in (*_CONTROLS, *_DIRECTIONS, *range(0xD800, 0xE000))
    if chr(code) not in _KEPT
}
_TABLE[ord("\r")] = ""  # before a line end it says nothing, elsewhere it hides text


def one_line(text: str) -> str:
    """A text of any length on one line that cannot steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def neutral(text: str) -> str:
    r"""The text with control characters, direction marks and lone surrogates written out.

    Line ends and tabs stay; ``\x1b[2J`` becomes the six characters that stand here.
    Piece by piece gives the same as all at once.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_TABLE)
