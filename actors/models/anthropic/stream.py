"""From the raw events of Anthropic's stream to the chunks of a model stream.

Pure. Source: spec core 12.3; Anthropic's Messages API, streaming.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ....messages.chunk import BlockEnd, Chunk, Finish, FinishKind, ModelFailure, UsageChunk
from ..cargo import check_index
from ..failure import malformed
from .block import Facts, StreamedBlock, name_at, object_of
from .failure import told
from .history import REPLAY_FORMAT
from .usage import UsageCount

_CEILINGS = ("max_tokens", "model_context_window_exceeded")


class AnthropicStream:
    """Takes in one response, event by event; make a new one for each.

    Every chunk that it gives obeys `StreamGrammar`. The end of a tool call is held
    back until the next event, for only that tells whether the response's ceiling
    cut the call off; a call that was cut off stays open. Events and blocks of
    unknown types add nothing, or are kept as an `OpaqueBlock` when they are whole.

    Args:
        names: Tools that were sent under another name: from that to their own.

    Attributes:
        finished: Whether the finish was given; what follows is ignored.
    """

    __slots__ = (
        "_called",
        "_details",
        "_held",
        "_names",
        "_open",
        "_reason",
        "_said",
        "_seen",
        "_thoughts",
        "_usage",
        "finished",
    )

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self._names = names or {}
        self._open: dict[int, StreamedBlock] = {}
        self._seen: set[int] = set()
        self._thoughts: list[StreamedBlock] = []
        self._held: BlockEnd | None = None
        self._usage = UsageCount()
        self._reason: str | None = None
        self._details: object = None
        self._said = False
        self._called = False
        self.finished = False

    def feed(self, event: object) -> list[Chunk]:
        """Take in the next event, as the object that its JSON says.

        Raises:
            ModelError: ``MALFORMED_RESPONSE`` for what is not of the format; the code
                that fits for an error that the server sent as an event.
        """
        if self.finished:
            return []
        facts = object_of(event, "an event")
        match name_at(facts, "type", "an event"):
            case "content_block_delta":
                return self._delta(facts)
            case "content_block_start":
                return self._start(facts)
            case "content_block_stop":
                return self._stop(facts)
            case "message_start":
                self._usage.add(object_of(facts.get("message"), "message").get("usage"))
            case "message_delta":
                return self._end_in_sight(facts)
            case "message_stop":
                return self._end()
            case "error":
                raise told(facts)
            case _:
                pass
        return []

    def spent(self) -> UsageChunk | None:
        """The counts that came of an answer which failed; None when they were given, or none came.

        The start of a message has some already, so a connection that breaks loses none.
        """
        usage = None if self.finished else self._usage.total()
        return None if usage is None else UsageChunk(usage)

    def _start(self, facts: Facts) -> list[Chunk]:
        index = _index_of(facts)
        if index in self._seen:
            raise malformed(f"a second start of block {index}")
        block = StreamedBlock(
            index, object_of(facts.get("content_block"), "content_block"), self._names
        )
        self._seen.add(index)
        self._open[index] = block
        if block.kind == "thinking":
            self._thoughts.append(block)
        chunks = [*self._release(), *block.start()]
        self._said = self._said or block.said
        return chunks

    def _delta(self, facts: Facts) -> list[Chunk]:
        index = _index_of(facts)
        block = self._open.get(index)
        if block is None:
            raise malformed(f"a delta for block {index}, which is not open")
        chunks = block.take(object_of(facts.get("delta"), "delta"))
        self._said = self._said or block.said
        return chunks

    def _stop(self, facts: Facts) -> list[Chunk]:
        block = self._open.pop(_index_of(facts), None)
        end = block.end() if block is not None else None
        if block is None or end is None:
            return []
        self._said = self._said or block.said
        if block.kind != "tool_use":
            return [end]
        chunks = self._release()
        self._held = end
        return chunks

    def _end_in_sight(self, facts: Facts) -> list[Chunk]:
        self._usage.add(facts.get("usage"))
        delta = object_of(facts.get("delta"), "delta")
        reason: object = delta.get("stop_reason")
        if not isinstance(reason, str):
            return []
        self._reason = reason
        self._details = delta.get("stop_details")
        return [] if reason in _CEILINGS else self._release()

    def _end(self) -> list[Chunk]:
        chunks = [] if self._reason in _CEILINGS else self._release()
        finish = self._finish()
        usage = self._usage.total()
        if usage is not None:
            chunks.append(UsageChunk(usage))
        self.finished = True
        return [*chunks, finish]

    def _finish(self) -> Finish:
        if self._reason == "refusal":
            return Finish("error", ModelFailure(_refusal(self._details), "REFUSAL"))
        if self._reason in _CEILINGS:
            return Finish("max-tokens", replay_state=self._replay_state())
        if self._open:
            raise malformed(f"the end of the message while block {min(self._open)} is open")
        if not self._said:
            text = "the model ended its answer without saying anything; ask again"
            return Finish("error", ModelFailure(text, "EMPTY_RESPONSE"))
        # By what was said: a call that is there will run, whatever the server calls the end.
        kind: FinishKind = "tool-calls" if self._called else "stop"
        return Finish(kind, replay_state=self._replay_state())

    def _release(self) -> list[Chunk]:
        held, self._held = self._held, None
        if held is None:
            return []
        self._called = True
        return [held]

    def _replay_state(self) -> dict[str, Any] | None:
        """What the next request needs of this answer: the signature of each thinking block."""
        if not any(block.signature for block in self._thoughts):
            return None
        signatures = [block.signature or None for block in self._thoughts]
        return {"format": REPLAY_FORMAT, "signatures": signatures}


def _index_of(facts: Facts) -> int:
    index: object = facts.get("index")
    check_index(index)
    return cast(int, index)


def _refusal(details: object) -> str:
    said = ""
    if isinstance(details, Mapping):
        facts = [cast(Facts, details).get(key) for key in ("category", "explanation")]
        said = ": ".join(fact for fact in facts if isinstance(fact, str) and fact)
    reason = f" ({said})" if said else ""
    return f"the model refused to answer{reason}"
