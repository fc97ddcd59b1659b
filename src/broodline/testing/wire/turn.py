"""A request's messages, read the same way in both formats.

Lenient: what is of no known form is left out. Whether a request is sound is the
matter of the two checks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .form import is_list, mapping
from .frame import FormatName
from .script import Call


@dataclass(frozen=True, slots=True)
class Turn:
    """One message.

    Attributes:
        role: As it stands there; a tool's answer has the role ``tool`` in OpenAI's
            format and ``user`` in Anthropic's.
        text: Its text blocks, joined.
        calls: The tool calls of an assistant.
        results: Tool results: the call's id and the text.
    """

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    results: tuple[tuple[str, str], ...] = ()


def turns_of(name: FormatName, body: Mapping[str, Any]) -> tuple[Turn, ...]:
    """The messages of a request's body."""
    turn = _openai if name == "openai" else _anthropic
    return tuple(turn(message) for message in objects(body.get("messages")))


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """The JSON objects of a list; nothing where it is no list."""
    if is_list(value):
        found = [mapping(item) for item in value]
        yield from (item for item in found if item is not None)


def text_in(content: Any) -> str:
    """The text of a content: a string, or its text blocks joined."""
    if isinstance(content, str):
        return content
    return "".join(
        block["text"] for block in objects(content) if isinstance(block.get("text"), str)
    )


def _openai(message: dict[str, Any]) -> Turn:
    role, text = str(message.get("role")), text_in(message.get("content"))
    if role == "tool":
        return Turn(role, "", results=((str(message.get("tool_call_id")), text),))
    calls = tuple(
        Call(str(function.get("name")), str(function.get("arguments")), str(one.get("id")))
        for one in objects(message.get("tool_calls"))
        if (function := mapping(one.get("function"))) is not None
    )
    return Turn(role, text, calls)


def _anthropic(message: dict[str, Any]) -> Turn:
    content = message.get("content")
    calls = tuple(
        Call(str(block.get("name")), json.dumps(block.get("input")), str(block.get("id")))
        for block in objects(content)
        if block.get("type") == "tool_use"
    )
    results = tuple(
        (str(block.get("tool_use_id")), text_in(block.get("content")))
        for block in objects(content)
        if block.get("type") == "tool_result"
    )
    return Turn(str(message.get("role")), text_in(content), calls, results)
