"""Frames of Anthropic's stream that have no name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from broodline import AnthropicModel, ModelError
from broodline.actors.models import Assembler
from broodline.messages.content import Text
from broodline.messages.message import UserMessage
from broodline.messages.request import ModelRequest
from broodline.testing.wire import WireServer, frame

EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}},
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]


@pytest.fixture
def prompt(ask: Callable[..., ModelRequest]) -> Callable[[], ModelRequest]:
    """A request with one prompt."""
    return lambda: ask(messages=[UserMessage("u", (Text("Hello"),))])


def body(*extra: str, named: bool) -> bytes:
    """The stream, with `extra` frames in the middle of it."""
    frames = [
        (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n"
        for event in EVENTS
    ]
    return "".join([*frames[:4], *extra, *frames[4:]]).encode()


async def answer(content: bytes, request: ModelRequest) -> tuple[object, ...]:
    with WireServer(strict=False) as server:
        server.play(frame(content))
        assembler = Assembler()
        async with (
            AnthropicModel("m", api_key="any", base_url=server.anthropic_url) as model,
            aclosing(model.stream(request)) as chunks,
        ):
            async for chunk in chunks:
                assembler.feed(chunk)
        return assembler.message_content()


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("extra", ["", ": comment\n\n", "data:\n\n", "data: [DONE]\n\n"])
async def test_a_stream_without_names_is_read(
    prompt: Callable[..., ModelRequest], named: bool, extra: str
) -> None:
    """core 12.3: a server that sends data alone is understood by the types in it."""
    assert await answer(body(extra, named=named), prompt()) == (Text("Hi"),)


@pytest.mark.parametrize(
    "data",
    ["{not json", "[1]", "null", '{"choices": 3}', '{"type": 5}', '{"type": ""}', "[" * 2000],
)
async def test_a_nameless_frame_that_says_nothing(
    prompt: Callable[..., ModelRequest], data: str
) -> None:
    """core 12.5: a frame that cannot be read is no part to be lost unseen: MALFORMED_RESPONSE."""
    with pytest.raises(ModelError) as told:
        await answer(body(f"data: {data}\n\n", named=True), prompt())
    assert told.value.code == "MALFORMED_RESPONSE"
    assert re.search("a frame (that|without)", told.value.message)
