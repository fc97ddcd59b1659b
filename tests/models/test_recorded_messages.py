"""What real models streamed, as the reference recorded it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.models import Assembler, StreamGrammar
from broodline.messages.chunk import Chunk
from broodline.messages.codec import decode_payload
from broodline.messages.payload import AssistantReplied, ChunkReceived

RECORDINGS = Path(__file__).parents[3] / "shared" / "recordings"
FILES = sorted(RECORDINGS.glob("*/*/session*.jsonl"))
DELTAS = {
    "text-chunks": ("text-delta", "texts", "text"),
    "reasoning-chunks": ("reasoning-delta", "texts", "text"),
    "tool-call-chunks": ("tool-call-delta", "args", "argumentsDelta"),
}


def recorded(path: Path) -> Iterator[tuple[dict[str, Any], Chunk | None]]:
    """The rows of a file, one an event, with the chunk of those that have one."""
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        row = json.loads(line)
        if row["type"] == "assistant/chunk":
            yield row, chunk(row["data"]["chunk"])
        elif row["type"] not in DELTAS:
            yield row, None
        else:
            kind, members, member = DELTAS[row["type"]]
            shared = {
                key: row["data"][key] for key in ("index", "id", "name") if key in row["data"]
            }
            for text in row["data"][members]:
                yield row, chunk({"type": kind, member: text, **shared})


def chunk(data: dict[str, Any]) -> Chunk:
    payload = decode_payload("assistant/chunk", {"turn": 1, "step": 1, "chunk": data})
    assert isinstance(payload, ChunkReceived)
    return payload.chunk


@pytest.mark.skipif(not FILES, reason="no recordings beside this checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_recorded_streams_make_their_messages(path: Path) -> None:
    """core #284, 12.3: the cited chunks of every completed message pass and make that message."""
    rows = list(recorded(path))
    for row, _ in rows:
        if row["type"] != "assistant/message" or "sourceEventSeqs" not in row:
            continue
        said = decode_payload("assistant/message", row["data"])
        assert isinstance(said, AssistantReplied)
        grammar, assembler = StreamGrammar(), Assembler()
        for seq in row["sourceEventSeqs"]:
            streamed = rows[seq][1]
            assert streamed is not None
            grammar.check(streamed)
            assembler.feed(streamed)
        if said.interrupted:
            assert assembler.interrupted_content() == said.message.content
        else:
            assert (assembler.message_content(), assembler.usage) == (
                said.message.content,
                said.usage,
            )
