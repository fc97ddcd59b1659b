"""What callers hand over as content and messages: checked once, then fit for a log."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.messages.content import (
    Block,
    OpaqueBlock,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    content_of,
)
from broodline.messages.errors import ConfigurationError
from broodline.messages.message import UserMessage, sound_message, user_message
from broodline.messages.passage import (
    decode_block,
    decode_user_message,
    encode_block,
    encode_message,
)

LONE = "\ud800"


class Tone(StrEnum):
    WARM = "warm"


UNFIT: dict[str, Any] = {
    "half a pair": LONE,
    "a block with half a pair": Text(LONE),
    "a number": 7,
    "a number in a list": ["a", 7],
    "a block with a number": Text(7),  # type: ignore[arg-type]
    "reasoning with nothing": Reasoning(None),  # type: ignore[arg-type]
    "a call with an object": ToolCall("a", "b", {}),  # type: ignore[arg-type]
    "a result with text": ToolResult("a", "b"),  # type: ignore[arg-type]
    "a result with a number": ToolResult("a", (7,)),  # type: ignore[arg-type]
    "a result with a flag of 1": ToolResult("a", (), 1),  # type: ignore[arg-type]
    "an object without a type": OpaqueBlock({"url": "x"}),
    "a list": OpaqueBlock([1]),  # type: ignore[arg-type]
    "half a call": OpaqueBlock({"type": "tool-call", "id": "a"}),
    "a text in disguise": OpaqueBlock({"type": "text", "text": "a"}),
}


@pytest.mark.parametrize("name", UNFIT)
def test_content_that_a_log_could_not_keep_is_refused(name: str) -> None:
    """core 1.3, 1.4: content that could not be written or read again is the caller's error."""
    with pytest.raises(ConfigurationError):
        content_of(UNFIT[name])


def test_sound_content_is_taken_as_it_is() -> None:
    """core 1.2: nothing is copied that nobody can change."""
    blocks = (Text("ä"), Reasoning("b"), ToolCall("c", "d", "{}"), OpaqueBlock({"type": "image"}))
    assert all(one is other for one, other in zip(content_of(blocks), blocks, strict=True))


def test_a_subclass_of_text_becomes_text() -> None:
    """core 1.3: only plain text is logged, whatever a caller's text can do besides."""
    (block,) = content_of(Tone.WARM)
    assert isinstance(block, Text)
    assert type(block.text) is str
    assert block.text == "warm"


def test_an_opaque_block_is_the_logs_own() -> None:
    """core 1.2 #3: a caller's object that becomes a block can be changed without effect."""
    data = {"type": "image", "tags": ["a"]}
    block = OpaqueBlock(data)
    data["tags"] = []
    assert block.data == {"type": "image", "tags": ["a"]}
    with pytest.raises(TypeError):
        block.data["tags"].append("b")


def test_the_content_of_a_result_is_the_logs_own() -> None:
    """core 1.2 #3: a list of blocks inside a tool result is copied."""
    inner: Any = [Text("a")]
    (block,) = content_of(ToolResult("c", inner))
    inner.append(Text("b"))
    assert block == ToolResult("c", (Text("a"),))


def test_results_within_results_have_an_end() -> None:
    """core 1.3: nesting too deep to be read again is refused, not a crash."""
    block: Block = Text("a")
    for _ in range(20_000):
        block = ToolResult("c", (block,))
    with pytest.raises(ConfigurationError, match="too deep"):
        content_of(block)


@pytest.mark.parametrize(
    "fields",
    [
        {"message_id": ""},
        {"message_id": 7},
        {"message_id": LONE},
        {"message_id": []},
        {"source": {}},
        {"source": [1]},
        {"source": "user"},
        {"source": {"kind": 7}},
        {"source": {"kind": ""}},
        {"source": {"kind": "user", "at": float("nan")}},
    ],
)
def test_a_message_that_could_not_be_read_again_is_refused(fields: dict[str, Any]) -> None:
    """core 1.4, 2.1: a message needs an id of text and a source that says its kind."""
    with pytest.raises(ConfigurationError):
        user_message(**{"message_id": "m", "content": "a", **fields})


def test_only_messages_are_messages() -> None:
    """core 10.2: what a tool puts before the model has to be a `UserMessage`."""
    with pytest.raises(ConfigurationError, match="UserMessage, not str"):
        sound_message("remember this")
    message = UserMessage("m", (Text("a"),))
    assert sound_message(message) == message


TEXTS = st.text(st.characters(), max_size=5)
CONTENT: Any = st.lists(
    st.one_of(
        TEXTS,
        st.builds(Text, TEXTS),
        st.builds(ToolCall, TEXTS, TEXTS, TEXTS),
        st.builds(ToolResult, TEXTS, st.lists(st.builds(Text, TEXTS)), st.booleans()),
        st.builds(
            OpaqueBlock,
            st.dictionaries(
                st.sampled_from(["type", "text", "id", "x"]),
                st.sampled_from(["text", "tool-call", "image", "", 1]),
            ),
        ),
    ),
    max_size=3,
)


@given(CONTENT)
def test_accepted_content_is_read_as_it_was_written(content: Any) -> None:
    """core 1.3: whatever content is accepted comes back from a file unchanged."""
    try:
        message = user_message("m", content)
    except ConfigurationError:
        return
    stored = json.dumps(encode_message(message), ensure_ascii=False).encode()
    assert decode_user_message(json.loads(stored)) == message
    for block in message.content:
        assert decode_block(encode_block(block)) == block
