"""What a connection does for one word: status, headers, bytes, where it waits, how it ends."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from .frame import Frame, Stage, WireFormat, compact, repeated
from .request import WireRequest
from .script import (
    Answer,
    Cut,
    CutPoint,
    Damage,
    Damaged,
    Endless,
    ErrorFrame,
    Frames,
    HoldPoint,
    Silent,
    Status,
    Word,
)

BEFORE_HEAD = -1
"""`Plan.hold`: wait before the headers."""

Ending: TypeAlias = Literal["whole", "close", "reset"]

_STREAM = "text/event-stream; charset=utf-8"
_JSON = "application/json"
_CONTENT: frozenset[Stage] = frozenset({"reasoning", "text", "tool"})


@dataclass(frozen=True, slots=True)
class Plan:
    """How a request is answered.

    Attributes:
        status: None sends nothing at all, not even headers.
        headers: By name; ``content-length`` and ``transfer-encoding`` are not among them.
        parts: Pieces of the body; may have no end.
        ending: ``close`` and ``reset`` break off behind the last piece.
        hold: Index of the piece before which it waits for a release, or `BEFORE_HEAD`.
        every: Seconds between two pieces; None leaves it to the server.
        chunked: Whether the body comes in chunks, or its length is told in front.
    """

    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    parts: Iterable[bytes] = ()
    ending: Ending = "whole"
    hold: int | None = None
    every: float | None = None
    chunked: bool = True


def plan_of(word: Word, request: WireRequest, form: WireFormat) -> Plan:
    """Turn a word of the script into what goes over the wire for `request`."""
    if isinstance(word, Status):
        return refused(form, request.order + 1, word)
    if isinstance(word, Cut) and word.after == "connect":
        return Plan(None, ending="reset" if word.reset else "close")
    if isinstance(word, ErrorFrame) and not request.stream:
        return refused(form, request.order + 1, Status(500, kind=word.kind, text=word.text))
    headers = {"content-type": _STREAM if request.stream else _JSON}
    if request.stream:
        headers["cache-control"] = "no-cache"
    headers[form.id_header] = f"req_{request.order + 1}"
    if isinstance(word, Frames):
        headers["content-type"] = word.content_type or headers["content-type"]
        return Plan(200, headers, word.parts)
    return _played(word, request, form, Plan(200, headers))


def refused(form: WireFormat, number: int, word: Status) -> Plan:
    """The answer that is an error; its headers win over the usual ones."""
    body = word.body
    if body is None:
        body = form.error(word.code, word.kind, word.text, number)
    data = body if isinstance(body, str) else compact(body)
    headers = {
        "content-type": "text/plain; charset=utf-8" if isinstance(body, str) else _JSON,
        form.id_header: f"req_{number}",
    }
    headers.update({name.lower(): value for name, value in word.headers.items()})
    code = word.code if word.body is not None else form.status_of(word.code, word.kind)
    return Plan(code, headers, (data.encode(),), chunked=False)


def _played(
    word: Answer | Cut | Damaged | Silent | Endless | ErrorFrame,
    request: WireRequest,
    form: WireFormat,
    plan: Plan,
) -> Plan:
    if isinstance(word, Endless):
        frames = _frames(repeated(word.piece, word.part), request, form)
        return replace(plan, parts=_endless(frames, word, request, form), every=word.every)
    answer = word if isinstance(word, Answer) else word.of
    frames = _frames(answer, request, form)
    if isinstance(word, Cut):
        ending: Ending = "whole" if word.orderly else "reset" if word.reset else "close"
        return replace(plan, parts=_data(frames[: _cut_at(frames, word.after)]), ending=ending)
    if isinstance(word, Damaged):
        return replace(plan, parts=_damaged(frames, word.damage, form))
    if isinstance(word, Silent):
        return replace(plan, parts=_data(frames), hold=_hold_at(frames, word.before))
    if isinstance(word, ErrorFrame):
        before = [frame for frame in frames if frame.stage not in ("finish", "usage", "done")]
        error = form.error_frame(word.kind, word.text, request.order + 1)
        return replace(plan, parts=[*_data(before), error])
    return replace(plan, parts=_data(frames), chunked=request.stream)


def _frames(answer: Answer, request: WireRequest, form: WireFormat) -> list[Frame]:
    """The stream of an answer; without streaming its JSON in pieces that stand for stages."""
    number = request.order + 1
    if request.stream:
        return form.frames(answer, request.body, number)
    data = compact(form.whole(answer, request.body, number)).encode()
    stages: tuple[Stage, ...] = ("start", "text", "tool", "finish", "usage", "done")
    step = len(data) // len(stages)
    ends = [step * at for at in range(len(stages))] + [len(data)]
    pieces = itertools.pairwise(ends)
    return [
        Frame(stage, data[start:end]) for stage, (start, end) in zip(stages, pieces, strict=True)
    ]


def _data(frames: Iterable[Frame]) -> list[bytes]:
    return [frame.data for frame in frames]


def _places(frames: Sequence[Frame], stage: Stage) -> list[int]:
    return [at for at, frame in enumerate(frames) if frame.stage == stage]


def _cut_at(frames: Sequence[Frame], after: CutPoint) -> int:
    """How many frames are sent: of text and arguments the first half, at least one."""
    if after == "connect" or after == "headers":
        return 0
    places = _places(frames, after) or _places(frames, "finish")
    return places[(len(places) - 1) // 2] + 1


def _hold_at(frames: Sequence[Frame], before: HoldPoint) -> int:
    if before == "headers":
        return BEFORE_HEAD
    if before == "first":
        return 0
    content = [at for at, frame in enumerate(frames) if frame.stage in _CONTENT]
    return content[0] if before == "text" and content else _places(frames, "finish")[0]


def _middle(frames: Sequence[Frame]) -> int:
    content = [at for at, frame in enumerate(frames) if frame.stage in _CONTENT]
    return content[len(content) // 2] if content else _places(frames, "finish")[0]


def _damaged(frames: Sequence[Frame], damage: Damage, form: WireFormat) -> list[bytes]:
    middle = _middle(frames)
    data = _data(frames)
    if damage == "truncated":
        return [*data[:middle], data[middle][: len(data[middle]) // 2]]
    if frames[0].data.startswith(b"{"):
        return [_BAD[damage]]
    return [*data[:middle], form.bad_frame(_BAD[damage]), *data[middle:]]


_BAD: Mapping[Damage, bytes] = {
    "json": b'{"id": oops',
    "shape": b'["neither", {"one": "nor"}, "the other"]',
    "utf8": b'{"type":"content_block_delta","text":"\xff\xfe"}',
}


def _endless(
    frames: Sequence[Frame], word: Endless, request: WireRequest, form: WireFormat
) -> Iterable[bytes]:
    if not request.stream:
        text = json.dumps(word.piece, ensure_ascii=False)[1:-1].encode()
        return itertools.chain((b'{"id":"endless","content":"',), itertools.repeat(text))
    stage: Any = "text" if word.part == "ping" else word.part
    places = _places(frames, stage)
    again = [form.ping()] if word.part == "ping" else [frames[at].data for at in places]
    return itertools.chain(_data(frames[: places[0]]), itertools.cycle(again))
