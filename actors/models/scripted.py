"""A model that plays a script: for tests, examples and benchmarks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Never, TypeAlias

from ...messages.errors import ConfigurationError, ModelError
from ...messages.request import ModelRequest
from .entry import Entry
from .local import LocalModel, Sleep
from .response import EntryFunction, EntryLike, ask_function, entry_of

ScriptEntry: TypeAlias = EntryLike | EntryFunction

_Step: TypeAlias = Entry | EntryFunction


class ScriptedModel(LocalModel):
    """Answers each request with the next entry of a list.

    ``ScriptedModel(shared=[...])`` plays one list over all sessions, in the order
    of their calls; ``ScriptedModel(each=[...])`` plays the list from its start in
    every session. A used-up script fails the request; entries left over are no
    error unless `assert_consumed` is called.

    An entry is what `text`, `call`, `calls`, `blocks`, `fail`, `hang`, `max_tokens`
    or `chunks` made, a plain string, a list of blocks or of chunks, or a function
    of the request, plain or async, that returns one of these.

    Args:
        shared: One list for everybody.
        each: A list for each session. Exactly one of the two is given.
        provider: Name that agents ask for.
        model: Its own name.
        latency: Seconds before the first chunk of each response.
        sleep: What waits for `latency` and ``linger``; default the loop's timers.
        max_tokens: Ceiling of a response where nobody sets one.
        record: Keep every request in `requests`.

    Raises:
        ConfigurationError: If not exactly one list is given, or an entry is none.
    """

    def __init__(
        self,
        *misplaced: Never,
        shared: Sequence[ScriptEntry] | None = None,
        each: Sequence[ScriptEntry] | None = None,
        provider: str = "scripted",
        model: str = "scripted",
        latency: float = 0.0,
        sleep: Sleep = asyncio.sleep,
        max_tokens: int | None = None,
        record: bool = True,
    ) -> None:
        if misplaced:
            raise ConfigurationError(
                "ScriptedModel takes its script by name: each=[...] (the list from its start in "
                "every session) or shared=[...] (one list over all sessions)"
            )
        if (shared is None) == (each is None):
            raise ConfigurationError(
                "ScriptedModel takes exactly one of shared=[...] (one list over all sessions) and "
                "each=[...] (the list from its start in every session)"
            )
        super().__init__(
            provider=provider,
            model=model,
            max_tokens=max_tokens,
            latency=latency,
            sleep=sleep,
            record=record,
        )
        self._shared = shared is not None
        script = shared if shared is not None else each or ()
        self._steps = tuple(_step(place, entry) for place, entry in enumerate(script))
        self._next = 0
        self._next_of: dict[str, int] = {}

    @property
    def remaining(self) -> int:
        """Entries not played yet; with ``each``, summed over the sessions seen so far.

        Before the first request of an ``each`` script it is the length of the list.
        """
        total = len(self._steps)
        if self._shared or not self._next_of:
            return total - min(self._next, total)
        return sum(total - min(place, total) for place in self._next_of.values())

    def assert_consumed(self) -> None:
        """Check that every entry was played, by every session that asked.

        Raises:
            AssertionError: Saying how many are left, and whose.
        """
        if not self.remaining:
            return
        total = len(self._steps)
        if self._shared or not self._next_of:
            where = f"played {total - self.remaining} of {_entries(total)}"
        else:
            where = "; ".join(
                f"session {session} played {place} of {total}"
                for session, place in self._next_of.items()
                if place < total
            )
        raise AssertionError(
            f"the script of {self.provider}:{self.model} has entries left: {where}"
        )

    def _choose(self, request: ModelRequest) -> _Step | None:
        if self._shared:
            place = self._next
            self._next = place + 1
        else:
            place = self._next_of.get(request.session_id, 0)
            self._next_of[request.session_id] = place + 1
        return self._steps[place] if place < len(self._steps) else None

    async def _entry(self, step: _Step | None, request: ModelRequest) -> Entry:
        if step is None:
            raise self._used_up(request.session_id)
        return step if isinstance(step, Entry) else await ask_function(step, request)

    def _used_up(self, session_id: str) -> ModelError:
        total = len(self._steps)
        said, place, advice = "each", self._next_of.get(session_id, 0), "add entries"
        if self._shared:
            said, place = "shared", self._next
            advice += ", or use each=[...] to play the list from its start in every session"
        return ModelError(
            f"the script of {self.provider}:{self.model} is used up: session {session_id} asked "
            f"for response {place}, but {said}=[...] has {_entries(total)}; {advice}"
        )


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _step(place: int, entry: ScriptEntry) -> _Step:
    if callable(entry):
        return entry
    try:
        return entry_of(entry)
    except ConfigurationError as error:
        raise ConfigurationError(f"entry {place} of the script: {error.message}") from None
