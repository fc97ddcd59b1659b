"""A text that comes in pieces: added to and looked at from its end without copying the whole."""

from __future__ import annotations


class Pieces:
    """The text so far; empty is false."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __str__(self) -> str:
        return "".join(self._parts)

    def add(self, piece: str) -> None:
        """One more piece, which may be empty."""
        if piece:
            self._parts.append(piece)

    def clear(self) -> None:
        """Forget it all."""
        self._parts.clear()

    def end(self, most: int) -> str:
        """The last `most` characters or fewer."""
        wanted: list[str] = []
        for part in reversed(self._parts):
            if most <= 0:
                break
            wanted.append(part[-most:])
            most -= len(part)
        return "".join(reversed(wanted))
