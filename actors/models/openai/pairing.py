"""Calls and their results as the format wants them: each call answered, right behind it.

Pure. A history need not have that: its beginning may have been cut away or replaced,
and a seed may come from anywhere. Source:
https://platform.openai.com/docs/guides/function-calling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

_NO_RESULT = "Error: no result of this call was recorded; it may or may not have run."

Sent: TypeAlias = "dict[str, Any]"


def paired(messages: Iterable[Sent]) -> list[Sent]:
    """The messages with every call answered behind it, and no result without its call.

    What stands between a call and its result moves behind the results. A call
    without a result gets one that says so; a result without its call is sent as the
    user's text.
    """
    history: list[Sent] = []
    round_ = _Round(())
    for message in messages:
        if message["role"] == "assistant":
            history.extend(round_.close())
            history.append(message)
            round_ = _Round(call["id"] for call in message.get("tool_calls", ()))
        elif message["role"] == "tool":
            round_.answer(message)
        else:
            round_.held.append(message)
    history.extend(round_.close())
    return history


class _Round:
    """What follows one answer of the model.

    Attributes:
        held: What is no result; sent behind all results.
    """

    __slots__ = ("_owed", "_results", "held")

    def __init__(self, owed: Iterable[str]) -> None:
        self._owed = list(owed)
        self._results: list[Sent] = []
        self.held: list[Sent] = []

    def answer(self, result: Sent) -> None:
        """Take a result."""
        call_id = result["tool_call_id"]
        if call_id in self._owed:
            self._owed.remove(call_id)
            self._results.append(result)
        else:
            said = f"Result of the earlier tool call {call_id}:\n{result['content']}"
            self.held.append({"role": "user", "content": said})

    def close(self) -> Iterator[Sent]:
        """Everything, in the order in which it is sent."""
        yield from self._results
        for call_id in self._owed:
            yield {"role": "tool", "tool_call_id": call_id, "content": _NO_RESULT}
        yield from self.held
