"""Where the recordings are, and short ways to make logs of one's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.recording import RecordedLog
from broodline.actors.stores.own_host import OwnHost
from broodline.messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageChunk,
)
from broodline.messages.content import Block, Text, ToolCall, ToolResult
from broodline.messages.event import Event, SurfaceOp
from broodline.messages.header import SessionHeader
from broodline.messages.lossless import FrozenDict
from broodline.messages.message import AssistantMessage, ToolMessage, UserMessage
from broodline.messages.payload import (
    AssistantReplied,
    ChunkReceived,
    ErrorInfo,
    Payload,
    StepEnd,
    StepStart,
    ToolAnswered,
    ToolCalled,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    UserMessageLogged,
)
from broodline.sessions.place import StorePlace
from broodline.sessions.selection import Piece
from broodline.sessions.transfer import to_store
from broodline.supervision.furnishing import store_named

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "recordings"
USAGE = Usage(3, 2)
MODEL = FrozenDict({"kind": "model", "provider": "p", "model": "m"})

HEADER: dict[str, Any] = {"type": "session", "version": 0, "id": "s", "createdAt": 0}
STRICT_HEADER = {**HEADER, "delegationDepth": 0}


def said(text: str) -> list[Chunk]:
    """The chunks of an answer."""
    block = Text(text)
    return [
        BlockStart(0, "text"),
        TextDelta(0, text),
        BlockEnd(0, block),
        UsageChunk(USAGE),
        Finish("stop"),
    ]


def asked(*calls: ToolCall) -> list[Chunk]:
    """The chunks of a response that wants tools."""
    chunks: list[Chunk] = []
    for index, call in enumerate(calls):
        chunks.append(ToolCallDelta(index, call.id, call.arguments, call.name))
        chunks.append(BlockEnd(index, call))
    return [*chunks, UsageChunk(USAGE), Finish("tool-calls")]


class LogBuilder:
    """Numbers payloads as a log; messages join the surface."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.turn = self.step = 0

    def add(
        self,
        payload: Payload,
        surface: SurfaceOp | None = None,
        sources: tuple[int, ...] | None = None,
    ) -> int:
        seq = len(self.events)
        self.events.append(Event(seq, 5, payload, surface, sources))
        return seq

    def start(self, turn: int = 1, step: int = 1, prompt: str = "hello") -> LogBuilder:
        """Open a turn and a step, with a prompt."""
        self.turn, self.step = turn, step
        self.add(TurnStart(turn))
        return self.next_step(step, prompt)

    def next_step(self, step: int, prompt: str | None = None) -> LogBuilder:
        self.step = step
        self.add(StepStart(self.turn, step))
        if prompt is not None:
            message = UserMessage(f"u{len(self.events)}", (Text(prompt),))
            self.add(UserMessageLogged(message), "append")
        return self

    def stream(self, *chunks: Chunk) -> tuple[int, ...]:
        return tuple(self.add(ChunkReceived(self.turn, self.step, chunk)) for chunk in chunks)

    def reply(
        self,
        *content: Block,
        sources: tuple[int, ...] | None = None,
        usage: Usage | None = USAGE,
        interrupted: bool | None = None,
    ) -> int:
        message = AssistantMessage(f"a{len(self.events)}", content, MODEL)
        data = AssistantReplied(self.turn, self.step, message, usage, interrupted)
        return self.add(data, "append", sources)

    def say(self, text: str) -> LogBuilder:
        """A whole response: its chunks and its message."""
        self.reply(Text(text), sources=self.stream(*said(text)))
        return self

    def ask(self, *calls: ToolCall) -> LogBuilder:
        """A whole response that wants tools."""
        self.reply(*calls, sources=self.stream(*asked(*calls)))
        return self

    def call(self, call_id: str) -> int:
        return self.add(ToolCalled(self.turn, self.step, call_id, "probe", "{}"))

    def result(
        self, call_id: str, sources: tuple[int, ...] | None, error: ErrorInfo | None = None
    ) -> int:
        block = ToolResult(call_id, (Text("ok"),))
        source = FrozenDict({"kind": "tool", "callId": call_id})
        message = ToolMessage(f"r{len(self.events)}", (block,), source)
        return self.add(ToolAnswered(self.turn, self.step, message, error), "append", sources)

    def end_step(self) -> LogBuilder:
        self.add(StepEnd(self.turn, self.step))
        return self

    def end(self, kind: Any = "completed", **more: Any) -> LogBuilder:
        """Close step and turn."""
        self.end_step()
        self.add(TurnEnd(self.turn, TurnEndReason(kind, **more)))
        return self

    def log(self, header: SessionHeader | None = None) -> RecordedLog:
        return RecordedLog("log", header or SessionHeader("s", 0), tuple(self.events), False)


def lines_of(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def kit(tmp_path: Path) -> SimpleNamespace:
    """The makers above, under one name, because test folders are no packages."""

    def written(content: str | bytes, name: str = "session.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return SimpleNamespace(
        HEADER=HEADER,
        STRICT_HEADER=STRICT_HEADER,
        USAGE=USAGE,
        Text=Text,
        ToolCall=ToolCall,
        asked=asked,
        build=LogBuilder,
        lines=lines_of,
        said=said,
        written=written,
    )


def _folders() -> Sequence[Path]:
    return sorted(path.parent for path in RECORDINGS.glob("*/*/session.jsonl"))


@pytest.fixture
def folder() -> Callable[[str], Path]:
    """The folder of a recorded scenario; the test is skipped where there are none."""

    def find(name: str) -> Path:
        path = RECORDINGS / name
        if not path.is_dir():
            pytest.skip("no recordings beside this checkout")
        return path

    return find


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every recorded scenario for `scenario`, every recorded file for `recorded_file`."""
    for name, paths in (
        ("scenario", _folders()),
        ("recorded_file", sorted(RECORDINGS.glob("*/*/session*.jsonl"))),
    ):
        if name in metafunc.fixturenames:
            ids = [str(path.relative_to(RECORDINGS)) for path in paths]
            metafunc.parametrize(name, paths, ids=ids)


@pytest.fixture(params=["sqlite", "jsonl"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of store that is on disk."""
    kind: str = request.param
    return kind


@pytest.fixture
def stored(tmp_path: Path) -> Callable[..., StorePlace]:
    """Puts logs into a new store."""

    def make(kind: Any, *logs: RecordedLog, name: str = "store") -> StorePlace:
        place = StorePlace(kind, str(tmp_path / name))
        pieces = [Piece(log.header, log.projected, log.name, partial(same, log)) for log in logs]

        async def put() -> None:
            host, store = OwnHost(), store_named(str(place))
            try:
                await store.open(host)
                move = await to_store(store, pieces)
                assert (move.failed, move.broken) == ([], None)
                await store.close()
            finally:
                await host.close()

        asyncio.run(put())
        return place

    return make


def same(log: RecordedLog) -> RecordedLog:
    return log
