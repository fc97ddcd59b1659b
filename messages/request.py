"""What a model is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .message import Message
from .payload import CallConfig, ToolSchema


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request: read it, never change it.

    Attributes:
        config: Provider, model and call settings.
        messages: The history, oldest first; shared frozen objects.
        system: System text, or None.
        tools: What the model may call, sorted by name.
        session_id: The asking agent's id.
        signal: The turn's ``CancellationToken``; fires when the turn is cancelled.
            The stream's task is cancelled as well.
    """

    config: CallConfig
    messages: list[Message]
    system: str | None
    tools: tuple[ToolSchema, ...]
    session_id: str
    signal: Any
