"""A request as the wire server received it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .form import mapping
from .frame import FormatName
from .turn import Turn, objects, text_in, turns_of


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request, whether it was answered or refused.

    Attributes:
        format: Whose format it is, told by the path, or else by the headers.
        method: Such as ``POST``.
        path: With its query.
        headers: By lower-case name; the key is among them.
        body: Its JSON object; empty where it is none.
        raw: The body's bytes.
        order: Its place in order of arrival, from 0.
        connection: Number of the connection it came on, from 0.
    """

    format: FormatName
    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any]
    raw: bytes = field(repr=False)
    order: int
    connection: int

    @property
    def stream(self) -> bool:
        """Whether a stream is wanted."""
        return self.body.get("stream") is True

    @property
    def model(self) -> str:
        """The model that is asked; empty where none is named."""
        name = self.body.get("model")
        return name if isinstance(name, str) else ""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The messages."""
        return turns_of(self.format, self.body)

    @property
    def text(self) -> str:
        """The text of the last message; that of a tool result where it is one."""
        turns = self.turns
        if not turns:
            return ""
        return turns[-1].text or "".join(text for _, text in turns[-1].results)

    @property
    def system(self) -> str:
        """The system prompt, wherever the format puts it."""
        if self.format == "anthropic":
            return text_in(self.body.get("system"))
        return "\n".join(turn.text for turn in self.turns if turn.role in ("system", "developer"))

    @property
    def schemas(self) -> dict[str, dict[str, Any]]:
        """The schema of the arguments of each tool that is offered, by the tool's name."""
        found: dict[str, dict[str, Any]] = {}
        for offered in objects(self.body.get("tools")):
            one = mapping(offered.get("function")) or offered
            schema = one.get("parameters" if self.format == "openai" else "input_schema")
            found[str(one.get("name"))] = mapping(schema) or {}
        return found

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that are offered."""
        return tuple(self.schemas)
