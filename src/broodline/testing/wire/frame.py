"""What the two formats have in common: frames, and what a format must be able to say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from .script import Answer, Call, EndlessPart

Stage: TypeAlias = Literal["start", "reasoning", "text", "tool", "edge", "finish", "usage", "done"]
"""What a frame brings; ``edge`` opens or closes a block, ``tool`` is a piece of arguments."""

FormatName: TypeAlias = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class Frame:
    """The bytes of one event of a stream."""

    stage: Stage
    data: bytes


class WireFormat(Protocol):
    """One provider's format; stateless and pure.

    `body` is the request's JSON, `number` the request's place in order of arrival
    from 1: all ids are made from it.
    """

    name: FormatName
    id_header: str

    def frames(self, answer: Answer, body: Mapping[str, Any], number: int) -> list[Frame]:
        """The stream of an answer."""
        ...

    def whole(self, answer: Answer, body: Mapping[str, Any], number: int) -> dict[str, Any]:
        """The JSON of an answer that is not streamed."""
        ...

    def error(self, code: int, kind: str | None, text: str | None, number: int) -> dict[str, Any]:
        """The JSON of an HTTP error."""
        ...

    def status_of(self, code: int, kind: str | None) -> int:
        """The status that this format gives an error of that kind, by default `code`."""
        ...

    def error_frame(self, kind: str, text: str, number: int) -> bytes:
        """An error inside a stream."""
        ...

    def bad_frame(self, content: bytes) -> bytes:
        """A frame of a piece of text, framed as it should be, with bytes of any kind in it."""
        ...

    def ping(self) -> bytes:
        """What keeps a stream alive and says nothing."""
        ...


def compact(value: Any) -> str:
    """JSON without spaces, as servers write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def split(arguments: str, size: int = 7) -> list[str]:
    """Arguments in pieces, at least two where there are two characters; escapes get cut."""
    step = max(1, min(size, (len(arguments) + 1) // 2))
    return [arguments[at : at + step] for at in range(0, len(arguments), step)]


def repeated(piece: str, part: EndlessPart) -> Answer:
    """The answer whose one piece an endless one says again and again."""
    if part == "reasoning":
        return Answer(reasoning=(piece,))
    if part == "tool":
        return Answer(calls=(Call("write", piece),), end="calls")
    return Answer(text=(piece,))
