"""Where a runtime gets its names from."""

from __future__ import annotations

import random
from typing import Literal, Protocol

IdKind = Literal["urn", "session", "message", "run", "call", "retry"]
"""What an id is for."""

_VERSION_4 = (4 << 76) | (2 << 62)
_VERSION_MASK = ~((0xF << 76) | (0x3 << 62))


class IdSource(Protocol):
    """Makes ids; a simulation hands in its own."""

    def new(self, kind: IdKind) -> str:
        """A fresh id, unique among all kinds."""
        ...


class RandomIds:
    """Ids of 128 random bits, written as 32 hex digits.

    A urn is written ``urn:uuid:xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx``, as pykka's are.

    Args:
        source: The runtime's randomness; the same seed gives the same ids.
    """

    __slots__ = ("_bits",)

    def __init__(self, source: random.Random) -> None:
        self._bits = source.getrandbits

    def new(self, kind: IdKind) -> str:
        """A fresh id; any thread."""
        bits = self._bits(128)
        if kind != "urn":
            return f"{bits:032x}"
        text = f"{bits & _VERSION_MASK | _VERSION_4:032x}"
        return f"urn:uuid:{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
