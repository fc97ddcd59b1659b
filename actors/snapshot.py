"""Runtime contexts as a message: what changed since the model was last told.

Contexts are facts that come and go (a delegation notice, a sandbox, a goal).
They are no part of the system text, which would break the cached prefix at
every change; the model is told by a user-role message, sent only when its text
differs from the last such message that the model still sees. When the last
context is gone, one note takes them back.

Source: spec core 8 (step 8), 11.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..messages.content import text_of
from ..messages.lossless import FrozenDict, FrozenList
from ..messages.message import Message, UserMessage

Contexts: TypeAlias = Sequence[tuple[str, str]]
"""Name and text of each context, in order; as in `Assembly.contexts`."""

PLUGIN = "system-prompt"
_PLUGINS = (PLUGIN, "@deepseek-ai/dsh-system-prompt")  # the second stands in recorded logs

_HEADING = "Runtime context as it is now. It takes the place of any runtime context given earlier."
CLEARED = "The runtime context given earlier no longer applies. There is none now."


def snapshot_message(previous: str | None, contexts: Contexts) -> str | None:
    """The text to send, or None when the model knows already.

    Args:
        previous: Text of the last snapshot the model still sees.
        contexts: What holds now.
    """
    if not contexts:
        return None if previous is None or previous == CLEARED else CLEARED
    text = "\n\n".join((_HEADING, *(text for _, text in contexts)))
    return None if text == previous else text


def snapshot_source(contexts: Contexts) -> FrozenDict:
    """The source of a snapshot message; of the cleared note when `contexts` is empty."""
    sections = FrozenList(FrozenDict({"name": name, "text": text}) for name, text in contexts)
    return FrozenDict(
        {"kind": "plugin", "plugin": PLUGIN, "form": "snapshot", "sections": sections}
    )


def is_snapshot(message: Message) -> bool:
    """Whether a message is a context snapshot or a cleared note."""
    if type(message) is not UserMessage:
        return False
    source: dict[str, Any] = message.source
    return (
        source.get("kind") == "plugin"
        and source.get("form") == "snapshot"
        and source.get("plugin") in _PLUGINS
    )


class SnapshotTrack:
    """Remembers where an agent's last snapshot stands, so that no step reads all again.

    One for each agent that has, or may have had, contexts. Reads only messages
    that are new since the last call; after a part of the history was replaced, all.

    Args:
        fresh: The log holds no message yet, so there is nothing to look for.
    """

    __slots__ = ("_index", "_last", "_possible", "_seen", "_snapshot")

    def __init__(self, *, fresh: bool = False) -> None:
        self._snapshot: Message | None = None
        self._index = -1
        self._last: Message | None = None
        self._seen = 0
        self._possible = not fresh  # the model may see a snapshot

    def due(self, contexts: Contexts, messages: Callable[[], Sequence[Message]]) -> str | None:
        """The text of the snapshot to send before the next step, or None.

        Args:
            contexts: What holds now.
            messages: Gives the history the model sees (``session.messages``); not
                called when there is no context and none was ever sent.
        """
        if not contexts and not self._possible:
            return None
        self._look(messages())
        snapshot = self._snapshot
        self._possible = bool(contexts) or snapshot is not None
        return snapshot_message(None if snapshot is None else text_of(snapshot.content), contexts)

    def _look(self, messages: Sequence[Message]) -> None:
        start = self._seen if self._unmoved(messages) else 0
        if start == 0:
            self._snapshot = None
        for index in range(len(messages) - 1, start - 1, -1):
            if is_snapshot(messages[index]):
                self._snapshot, self._index = messages[index], index
                break
        self._seen = len(messages)
        self._last = messages[-1] if messages else None

    def _unmoved(self, messages: Sequence[Message]) -> bool:
        """Whether what was read still stands where it stood."""
        seen = self._seen
        if seen <= 0 or len(messages) < seen or messages[seen - 1] is not self._last:
            return False
        return self._snapshot is None or messages[self._index] is self._snapshot
