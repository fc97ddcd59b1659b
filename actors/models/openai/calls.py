"""Which tool call a piece of a streamed chat completion belongs to.

Pure. The format says: a number in every piece, an id and a name in the first one.
Servers differ: ids missing or repeated, the same number for every call, no numbers,
whole calls in one piece. What can be told apart is told apart.
"""

from __future__ import annotations

from ....messages.plain import quoted
from ..failure import malformed
from .value import as_object, is_object, json_text, mended


class CallSlot:
    """One call as far as it has come.

    Attributes:
        index: Its place among the blocks of the response.
        id: The id it goes by here; empty until there is one, and where another call
            of the response has the same.
        name: Empty until it is known.
        parts: Its arguments.
    """

    __slots__ = ("given_id", "id", "index", "name", "parts")

    def __init__(self, index: int) -> None:
        self.index = index
        self.given_id = ""
        self.id = ""
        self.name = ""
        self.parts: list[str] = []

    @property
    def arguments(self) -> str:
        """What has come of the arguments."""
        return "".join(self.parts)


class CallPiece:
    """One entry of ``delta.tool_calls``, read.

    Raises:
        ModelError: ``MALFORMED_RESPONSE`` when it is not of the format.
    """

    __slots__ = ("arguments", "id", "name", "number")

    def __init__(self, entry: object, place: int) -> None:
        piece = as_object(entry)
        function = as_object(piece.get("function") or {}) if piece is not None else None
        if piece is None or function is None:
            raise malformed(f"a tool call of {quoted(entry)}")
        self.id = _text(piece.get("id"), "id")
        self.name = _text(function.get("name"), "name")
        self.arguments = _arguments(function.get("arguments"))
        number: object = piece.get("index")
        self.number = number if type(number) is int and number >= 0 else None
        if self.number is None and (place or self.name):
            self.number = place


class CallTable:
    """The calls of one response, in order of their first pieces."""

    __slots__ = ("_bound", "_last", "slots")

    def __init__(self) -> None:
        self.slots: list[CallSlot] = []
        self._bound: dict[int, list[CallSlot]] = {}
        self._last: CallSlot | None = None

    def slot_for(self, piece: CallPiece, index: int) -> CallSlot:
        """The call that a piece belongs to; a new one gets the block `index`."""
        slot = self._known(piece)
        if slot is None:
            slot = CallSlot(index)
            self.slots.append(slot)
            self._bound.setdefault(piece.number or 0, []).append(slot)
        if piece.id and not slot.given_id:
            taken = any(other.given_id == piece.id for other in self.slots)
            slot.given_id, slot.id = piece.id, "" if taken else piece.id
        self._last = slot
        return slot

    def _known(self, piece: CallPiece) -> CallSlot | None:
        if piece.number is None:
            if not piece.id:
                return self._last
            return next((one for one in self.slots if one.given_id == piece.id), None)
        bound = self._bound.get(piece.number)
        if bound is None:
            return None
        latest = self._last if self._last in bound else bound[-1]
        if piece.id:
            for slot in bound:
                if slot.given_id == piece.id:
                    return slot
            if latest.given_id:
                return None
        return None if _is_another(latest, piece) else latest


def _is_another(slot: CallSlot, piece: CallPiece) -> bool:
    """Whether a piece with a name and without an id begins a call behind `slot`.

    Some servers say the name again in every piece; some send whole calls, all with
    the same number. More arguments cannot follow behind a whole JSON object.
    """
    if not piece.name or not slot.name:
        return False
    if piece.name != slot.name:
        return True
    if not piece.arguments.strip() or not slot.parts[-1:] or slot.parts[-1].rstrip()[-1:] != "}":
        return False
    return is_object(slot.arguments)


def _text(value: object, part: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise malformed(f"a tool call with {part} {quoted(value)}")
    return mended(value)


def _arguments(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return mended(value)
    # Some servers send the arguments as they are, instead of as text.
    return mended(json_text(value))
