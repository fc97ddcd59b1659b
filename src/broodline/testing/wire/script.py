"""The words of a wire server's script: what it answers, or how it misbehaves.

Each word is plain data and says the same in both formats; `plan` turns one into
bytes. Make them with the lower-case functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from ...messages.chunk import Usage
from ...messages.errors import ConfigurationError

USAGE = Usage(input_tokens=12, output_tokens=6)
"""What an answer has used unless it says otherwise."""

End: TypeAlias = Literal["stop", "calls", "ceiling", "filter", "refusal"]
CutPoint: TypeAlias = Literal["connect", "headers", "start", "text", "tool", "finish", "usage"]
HoldPoint: TypeAlias = Literal["headers", "first", "text", "finish"]
Damage: TypeAlias = Literal["json", "shape", "utf8", "truncated"]
EndlessPart: TypeAlias = Literal["text", "reasoning", "tool", "ping"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of an answer; `arguments` is the text that goes over the wire."""

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: reasoning, then text, then calls.

    Attributes:
        text: Pieces, one delta each.
        calls: Tool calls, side by side.
        reasoning: Pieces, one delta each.
        signature: Of the reasoning; only Anthropic's format has one.
        redacted: Data of a ``redacted_thinking`` block in front; Anthropic's format only.
        end: Why it ends.
        finish: The finish reason as it goes over the wire, in place of the one of `end`.
        usage: Disjoint counts; each format adds up what it counts together. None sends
            none, or zeros where the format has no way to leave it out.
    """

    text: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    reasoning: tuple[str, ...] = ()
    signature: str = "c2lnbmVk"
    redacted: str | None = None
    end: End = "stop"
    finish: str | None = None
    usage: Usage | None = USAGE


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP error in place of an answer; without a body of its own in the format's form."""

    code: int
    body: Mapping[str, Any] | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    kind: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """An answer whose connection ends too early."""

    of: Answer
    after: CutPoint
    orderly: bool
    reset: bool


@dataclass(frozen=True, slots=True)
class Frames:
    """A body byte by byte as given."""

    parts: tuple[bytes, ...]
    content_type: str | None


@dataclass(frozen=True, slots=True)
class Damaged:
    """An answer with one frame in its middle that cannot be read."""

    of: Answer
    damage: Damage


@dataclass(frozen=True, slots=True)
class Silent:
    """An answer that stops in the middle until the server's `release`."""

    of: Answer
    before: HoldPoint


@dataclass(frozen=True, slots=True)
class Endless:
    """An answer that has no end; `every` is the pause between two pieces in seconds."""

    piece: str
    part: EndlessPart
    every: float


@dataclass(frozen=True, slots=True)
class ErrorFrame:
    """An error inside a stream that has begun, behind the pieces of `of`."""

    kind: str
    text: str
    of: Answer


Word: TypeAlias = Answer | Status | Cut | Frames | Damaged | Silent | Endless | ErrorFrame


def checked_word(word: Word | None) -> Word | None:
    """The word, or None.

    Raises:
        ConfigurationError: If it is neither.
    """
    if word is not None and not isinstance(word, get_args(Word)):
        raise ConfigurationError(
            f"{word!r} is no word of a wire server's script; say(...) makes one from text"
        )
    return word


_STORY = Answer(text=("Once ", "upon ", "a ", "time."))
_DEED = Answer(
    text=("I write. ",),
    calls=(Call("write", '{"path":"story.txt","text":"Once upon a time."}'),),
    end="calls",
)


def call(name: str, args: Mapping[str, Any] | str, id: str | None = None) -> Call:
    """One tool call.

    Args:
        name: Of the tool.
        args: Arguments; a text goes out as it is, also when it is no JSON.
        id: None lets the server make one that is unique.
    """
    text = args if isinstance(args, str) else _compact(args)
    return Call(name, text, id)


def say(
    *pieces: str,
    reasoning: str | tuple[str, ...] = (),
    usage: Usage | None = USAGE,
    signature: str = "c2lnbmVk",
    redacted: str | None = None,
    finish: str | None = None,
) -> Answer:
    """An answer of text, a delta for each piece."""
    return Answer(
        pieces,
        reasoning=_pieces(reasoning),
        usage=usage,
        signature=signature,
        redacted=redacted,
        finish=finish,
    )


def calls(
    *wanted: Call,
    text: str | tuple[str, ...] = (),
    reasoning: str | tuple[str, ...] = (),
    usage: Usage | None = USAGE,
    signature: str = "c2lnbmVk",
    redacted: str | None = None,
    finish: str | None = None,
) -> Answer:
    """An answer that calls tools, side by side."""
    if not wanted:
        raise ConfigurationError("calls() needs at least one call(name, args)")
    return Answer(
        _pieces(text), wanted, _pieces(reasoning), signature, redacted, "calls", finish, usage
    )


def ceiling(*parts: str | Call, usage: Usage | None = USAGE) -> Answer:
    """An answer that the token ceiling cut: pieces of text, then calls."""
    text = tuple(part for part in parts if isinstance(part, str))
    wanted = tuple(part for part in parts if isinstance(part, Call))
    return Answer(text, wanted, end="ceiling", usage=usage)


def empty(usage: Usage | None = USAGE) -> Answer:
    """An answer without any content that ends as a whole one does."""
    return Answer(usage=usage)


def refusal(text: str = "I cannot help with that.", *, filtered: bool = True) -> Answer:
    """A refusal.

    Args:
        text: What was said before, or the words of the refusal.
        filtered: OpenAI's format has two: a finish reason ``content_filter``, or
            (False) words in a field of their own with the finish reason ``stop``.
    """
    return Answer((text,) if text else (), end="filter" if filtered else "refusal")


def status(
    code: int,
    body: Mapping[str, Any] | str | None = None,
    retry_after: float | str | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    retry_after_ms: float | None = None,
    kind: str | None = None,
    text: str | None = None,
) -> Status:
    """An HTTP error.

    Args:
        code: From 200 to 599.
        body: A JSON object or a text as it is; None makes the format's own error.
        retry_after: Header ``retry-after``: seconds, may be fractional, or an HTTP date.
        headers: More of them; they replace ones of the same name.
        retry_after_ms: Header ``retry-after-ms`` in milliseconds.
        kind: The error's type (and its code in OpenAI's format) in place of the usual.
        text: The error's message in place of the usual.
    """
    if not 200 <= code <= 599:
        raise ConfigurationError(f"status({code!r}) must be from 200 to 599")
    sent = dict(headers or {})
    if retry_after is not None:
        sent["retry-after"] = _number(retry_after)
    if retry_after_ms is not None:
        sent["retry-after-ms"] = _number(retry_after_ms)
    return Status(code, body, sent, kind, text)


def context_too_long() -> Status:
    """The error of each format for a prompt that is longer than the model's window."""
    return Status(400, kind="context_length_exceeded")


def no_quota() -> Status:
    """The error of each format for an account without money; waiting does not help."""
    return Status(429, kind="insufficient_quota")


def cut(
    after: CutPoint = "headers",
    orderly: bool = False,
    *,
    reset: bool = False,
    of: Answer | None = None,
) -> Cut:
    """An answer whose connection ends too early.

    Args:
        after: ``"connect"`` closes before the request is read, or (from a rule, which
            has read it) before a byte is sent; ``"headers"`` behind the response's
            headers; ``"start"`` behind the first frame; ``"text"`` behind some of the
            text; ``"tool"`` in the middle of a call's arguments; ``"finish"`` behind
            the frame with the finish reason; ``"usage"`` behind the usage.
        orderly: Ends the body as HTTP wants it, so that only the format is broken.
        reset: Resets the connection instead of closing it; what the client has not
            read yet may be lost.
        of: The answer; None takes a story, or a call of ``write``.
    """
    if after not in get_args(CutPoint):
        raise ConfigurationError(f"cut(after={after!r}): one of {', '.join(get_args(CutPoint))}")
    answer = of if of is not None else _DEED if after == "tool" else _STORY
    if (after == "text" and not answer.text) or (after == "tool" and not answer.calls):
        raise ConfigurationError(f"cut(after={after!r}): the answer has no {after}")
    if orderly and (reset or after == "connect"):
        raise ConfigurationError("an orderly end is no reset and comes behind the headers")
    return Cut(answer, after, orderly, reset)


def frame(*raw: str | bytes, content_type: str | None = None) -> Frames:
    r"""A body byte by byte: write each frame's ``\n\n`` yourself; the end is orderly."""
    parts = tuple(part.encode() if isinstance(part, str) else part for part in raw)
    return Frames(parts, content_type)


def malformed(how: Literal["json", "shape", "utf8"] = "json", of: Answer | None = None) -> Damaged:
    """An answer with a bad frame behind some of its text.

    Args:
        how: ``"json"`` is no JSON, ``"shape"`` is JSON of another form, ``"utf8"`` is
            no UTF-8.
        of: The answer around it.
    """
    if how not in ("json", "shape", "utf8"):
        raise ConfigurationError(f"malformed({how!r}): one of json, shape, utf8")
    return Damaged(of or _STORY, how)


def truncated(of: Answer | None = None) -> Damaged:
    """An answer whose body ends, orderly, in the middle of a frame."""
    return Damaged(of or _STORY, "truncated")


def silent(before: HoldPoint = "first", of: Answer | None = None) -> Silent:
    """An answer that waits for `WireServer.release`.

    Args:
        before: ``"headers"``: nothing is sent; ``"first"``: only the headers;
            ``"text"``: all up to the first piece of content; ``"finish"``: all but the
            finish reason.
        of: What comes after the release.
    """
    if before not in get_args(HoldPoint):
        raise ConfigurationError(f"silent({before!r}): one of {', '.join(get_args(HoldPoint))}")
    return Silent(of or _STORY, before)


def endless(piece: str = "more ", part: EndlessPart = "text", *, every: float = 0.0) -> Endless:
    """An answer that goes on until somebody closes.

    Args:
        piece: Said again and again.
        part: What it is a piece of; ``"ping"`` only keeps the connection alive.
        every: Seconds between two pieces.
    """
    if part not in get_args(EndlessPart) or not piece or not every >= 0:
        raise ConfigurationError(f"endless({piece!r}, {part!r}, every={every!r}) cannot be played")
    return Endless(piece, part, every)


def error_frame(
    kind: str = "overloaded_error", text: str = "Overloaded", of: Answer | None = None
) -> ErrorFrame:
    """An error inside a stream that has begun; without a stream it is an HTTP 500.

    Args:
        kind: The error's type.
        text: Its message.
        of: The pieces that come before it; None only begins the answer.
    """
    return ErrorFrame(kind, text, of or Answer())


def _pieces(given: str | tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(given, tuple):
        return given
    return (given,) if given else ()


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
