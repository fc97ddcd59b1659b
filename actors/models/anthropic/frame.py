"""Frames of a stream without a name: named by what they say, or refused.

The SDK goes by the name of a frame alone and passes over one without, so that an
answer would lose a part unseen. Some compatible servers send no names at all.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

from ....messages.plain import quoted
from ..failure import malformed

_END = "[DONE]"  # how other formats end; some servers send it here too


class _Named:
    """A frame in the form that the SDK reads."""

    __slots__ = ("_value", "data", "event")

    def __init__(self, event: str, data: str, value: object) -> None:
        self.event = event
        self.data = data
        self._value = value

    def json(self) -> object:
        """The decoded data."""
        return self._value


def name_frames(events: Any) -> None:
    """Have the SDK's stream read frames without a name as well; before its first frame.

    Where an SDK is built otherwise nothing changes.
    """
    read: Callable[[], AsyncIterator[Any]] | None = getattr(events, "_iter_events", None)
    if read is None or not hasattr(events, "__dict__"):
        return

    async def named() -> AsyncIterator[Any]:
        frames = read()
        try:
            async for frame in frames:
                if frame.event is not None or not frame.data or frame.data.strip() == _END:
                    yield frame
                else:
                    yield _named(frame.data)
        finally:
            close = getattr(frames, "aclose", None)
            if close is not None:
                await close()

    events._iter_events = named


def _named(data: str) -> _Named:
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise malformed(f"a frame that is no JSON: {quoted(data)}") from None
    kind: object = cast("dict[str, Any]", value).get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or not kind:
        raise malformed(f"a frame without a type: {quoted(data)}")
    return _Named(kind, data, cast(object, value))
