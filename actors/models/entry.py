"""One prepared response: what a scripted model plays for one request.

The constructors are the words of a script: `text`, `call`, `calls`, `blocks`,
`fail`, `hang`, `max_tokens`, `chunks`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...messages.chunk import Chunk, Finish, ModelFailure, Usage, UsageChunk
from ...messages.content import Block, Reasoning, Text, ToolCall
from ...messages.errors import ConfigurationError, ModelError
from ...messages.request import ModelRequest
from .failure import failure_of, finish_of
from .playback import ANSWER_TYPES, block_chunks, identified, usage_of

_STOP, _TOOL_CALLS, _MAX_TOKENS = Finish("stop"), Finish("tool-calls"), Finish("max-tokens")


@dataclass(slots=True)
class Entry:
    """What to stream, and how to end; not to be changed once made.

    Made by the constructors of this module; a function entry may return one.

    Attributes:
        content: The blocks of the message; empty for a verbatim entry.
        usage: Reported before the finish.
        finish: How the stream ends; None when it raises or hangs instead.
        failure: Raised after `content`.
        hangs: Whether the response then waits for its cancellation.
        linger: Seconds it goes on after the cancellation.
        pieces: Deltas that each block is cut into.
        verbatim: The chunks themselves, instead of all that.
    """

    content: tuple[Block, ...] = ()
    usage: Usage | None = None
    finish: Finish | None = None
    failure: ModelFailure | None = None
    hangs: bool = False
    linger: float = 0.0
    pieces: int = 1
    verbatim: tuple[Chunk, ...] | None = None

    def chunks(self, request: ModelRequest) -> tuple[Chunk, ...]:
        """What is streamed in answer to `request`, before a raise or a hang."""
        if self.verbatim is not None:
            return self.verbatim
        content = identified(self.content, request)
        rendered = self._render(content)
        if content is self.content:
            # The same for every request, so a script renders each of its entries once.
            self.verbatim = rendered
        return rendered

    def _render(self, content: tuple[Block, ...]) -> tuple[Chunk, ...]:
        rendered: list[Chunk] = []
        for index, block in enumerate(content):
            rendered += block_chunks(index, block, self.pieces, closed=not self.hangs)
        if self.usage is not None:
            rendered.append(UsageChunk(self.usage))
        if self.finish is not None:
            rendered.append(self.finish)
        return tuple(rendered)


def text(value: str, *, reasoning: str = "", pieces: int = 1, usage: Usage | None = None) -> Entry:
    """Answer with `value`: five chunks.

    Args:
        value: The text; the empty string gives a response without content.
        reasoning: Thinking text to stream before it.
        pieces: How many deltas to cut it into.
        usage: Tokens to report; default one in, a quarter of the length out.
    """
    content: list[Block] = [Reasoning(reasoning)] if reasoning else []
    if value:
        content.append(Text(value))
    return blocks(*content, pieces=pieces, usage=usage)


def call(
    name: str,
    arguments: Mapping[str, Any] | str | None = None,
    /,
    *,
    id: str | None = None,
    **named: Any,
) -> Entry:
    """Ask for one tool: ``call("word_count", passage="one two")``.

    Args:
        name: The tool.
        arguments: Its arguments as a mapping, or as raw text that is sent untouched
            (for malformed JSON). Needed when one is called ``id``.
        id: The call's id; default one made from the place in the conversation.
        named: The arguments by name, instead of `arguments`.

    Raises:
        ConfigurationError: If both forms are used, or a value is not JSON.
    """
    return blocks(tool_call(name, arguments, named, id))


def calls(*wanted: Entry | ToolCall, text: str = "") -> Entry:
    """Ask for several tools in one message: ``calls(call("a"), call("b"))``.

    Args:
        wanted: What `call` made, or blocks.
        text: Said before the calls.
    """
    content: list[Block] = [Text(text)] if text else []
    for item in wanted:
        content.extend(item.content if isinstance(item, Entry) else (item,))
    if not any(isinstance(block, ToolCall) for block in content):
        raise ConfigurationError("calls() needs at least one call(...)")
    return blocks(*content)


def blocks(*content: Block, pieces: int = 1, usage: Usage | None = None) -> Entry:
    """Answer with these blocks, in order: text, reasoning, tool calls, opaque blocks."""
    if pieces < 1:
        raise ConfigurationError(f"pieces={pieces!r} must be at least 1")
    for block in content:
        if not isinstance(block, ANSWER_TYPES):
            raise ConfigurationError(
                f"a model cannot answer with a {type(block).__name__}; "
                "use Text, Reasoning, ToolCall or OpaqueBlock"
            )
    wants = any(isinstance(block, ToolCall) for block in content)
    finish = _TOOL_CALLS if wants else _STOP
    return Entry(content, usage or usage_of(content), finish, pieces=pieces)


def max_tokens(value: str = "", *cut: Entry | ToolCall) -> Entry:
    """Run into the ceiling of a response after `value` and the calls `cut`."""
    answer = calls(*cut, text=value) if cut else text(value)
    return Entry(answer.content, answer.usage, _MAX_TOKENS)


def fail(
    code: str = "UNKNOWN",
    message: str = "the script says so",
    *,
    status: int | None = None,
    retry_after: float | None = None,
    request_id: str | None = None,
    after: str | Entry = "",
    emit: bool = False,
) -> Entry:
    """Fail with a `ModelError`.

    Args:
        code: Such as ``RATE_LIMIT``, ``SERVER``, ``AUTH``.
        message: For people.
        status: HTTP status.
        retry_after: Seconds the provider asks to wait.
        request_id: The provider's id.
        after: Text or an answer that streams first, without its usage and finish.
        emit: Stream the failure as a finish instead of raising it.
    """
    error = ModelError(message, code, status=status, retry_after=retry_after, request_id=request_id)
    content = after.content if isinstance(after, Entry) else _said(after)
    if emit:
        return Entry(content, finish=finish_of(error))
    return Entry(content, failure=failure_of(error))


def hang(said: str = "", *, linger: float = 0.0) -> Entry:
    """Stream `said`, leave its block open, then wait until the request is cancelled.

    The wait ends with the task's cancellation or with ``request.signal``, whichever
    comes first, and costs nothing meanwhile.

    Args:
        said: Text that streams first.
        linger: Seconds it goes on after the cancellation.
    """
    return Entry(_said(said), hangs=True, linger=linger)


def chunks(stream: Iterable[Chunk]) -> Entry:
    """Stream exactly these chunks, be they a correct stream or not."""
    return Entry(verbatim=tuple(stream))


def tool_call(
    name: str, arguments: Mapping[str, Any] | str | None, named: Mapping[str, Any], id: str | None
) -> ToolCall:
    """A call with its arguments as JSON text; without an `id` it gets one when it is played."""
    if arguments is not None and named:
        raise ConfigurationError(
            f"call({name!r}) got its arguments twice: as one value and by name; use one form"
        )
    if isinstance(arguments, str):
        return ToolCall(id or "", name, arguments)
    values = dict(arguments) if arguments is not None else dict(named)
    try:
        raw = json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"the arguments of call({name!r}) are not JSON: {error}; "
            "pass raw text to send something malformed"
        ) from error
    return ToolCall(id or "", name, raw)


def _said(value: str) -> tuple[Block, ...]:
    return (Text(value),) if value else ()
