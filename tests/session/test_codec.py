"""The codec: what it keeps and what it refuses."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.messages.codec import decode_event, encode_event
from broodline.messages.content import OpaqueBlock, Text, ToolResult
from broodline.messages.errors import SessionCorruptError, SessionFormatUnsupportedError
from broodline.messages.header import SessionHeader
from broodline.messages.header_codec import decode_header, encode_header
from broodline.messages.payload import Descriptor, OpaquePayload, ToolFilter, TurnStart
from broodline.messages.shape import SHAPES
from broodline.messages.vocabulary import CORE_TYPES, KNOWN_TYPES, OWN_TYPES, TYPED


def stored(type_name: str, data: Any, **more: Any) -> dict[str, Any]:
    return {"type": type_name, "seq": 0, "time": 1, "data": data, **more}


def test_unknown_type_is_refused() -> None:
    """core #94: a type that nobody knows and that is not ignorable refuses the log by name."""
    with pytest.raises(SessionFormatUnsupportedError, match="weather/report"):
        decode_event(stored("weather/report", {}))


def test_ignorable_type_is_kept() -> None:
    """core 2: an unknown type that is ignorable is kept as it is."""
    data = stored("weather/report", {"rain": [1, {"x": None}]}, ignorable=True)
    event = decode_event(data)
    assert event.ignorable
    assert event.type == "weather/report"
    assert encode_event(event) == data


def test_vocabulary() -> None:
    """core 2: every type with a payload class is known and has a shape; ours are few."""
    assert set(TYPED) == set(SHAPES)
    assert set(TYPED) < KNOWN_TYPES
    assert len(CORE_TYPES) == 14
    assert sorted(OWN_TYPES) == ["agent/inbox/refused", "agent/options", "subagent/catalog"]


@pytest.mark.parametrize(
    "data",
    [
        {"version": 2, "mode": "one-shot", "provider": "spawn"},
        {"version": 4, "mode": "one-shot", "provider": "spawn"},
        {"version": 3, "mode": "continuable", "provider": "spawn"},
        {"version": 3, "mode": "one-shot", "provider": "spawn", "more": 1},
        {"version": 3, "mode": "continuable", "provider": "p", "label": "l", "toolFilter": {}},
        "nonsense",
    ],
)
def test_foreign_descriptor_is_kept_uninterpreted(data: Any) -> None:
    """DESIGN 5: a descriptor of another version or shape is read, and is no descriptor of ours."""
    event = decode_event(stored("subagent/descriptor", data))
    assert type(event.data) is OpaquePayload
    assert encode_event(event)["data"] == data


def test_descriptor_round_trips() -> None:
    """DESIGN 5: version 3 has the fields of a continuable child, and a one-shot one has few."""
    full = {
        "version": 3,
        "mode": "continuable",
        "provider": "spawn",
        "label": "survey",
        "agentProvider": "p",
        "agentModel": "m",
        "agentReasoningEffort": "high",
        "persona": "be kind",
        "toolFilter": {"allow": ["a"], "deny": []},
    }
    event = decode_event(stored("subagent/descriptor", full))
    assert isinstance(event.data, Descriptor)
    assert event.data.tool_filter == ToolFilter(("a",), ())
    assert encode_event(event)["data"] == full
    bare = {"version": 3, "mode": "one-shot", "provider": "fork"}
    assert decode_event(stored("subagent/descriptor", bare)).data == Descriptor("one-shot", "fork")


def answer(*blocks: Any) -> dict[str, Any]:
    source = {"kind": "model", "provider": "p", "model": "m", "replayState": {"k": [1]}}
    message = {"id": "a", "role": "assistant", "content": list(blocks), "source": source}
    return {"turn": 1, "step": 1, "message": message}


def test_foreign_blocks_come_through() -> None:
    """core 2.1: a block of an unknown type, or with further keys, round-trips untouched."""
    image = {"type": "image", "attachment": {"id": "x", "bytes": 5}}
    marked = {"type": "text", "text": "x", "cache": True}
    data = stored("assistant/message", answer(image, marked, {"type": "text", "text": "y"}))
    event = decode_event(data)
    assert [type(block) for block in event.data.message.content] == [  # type: ignore[union-attr]
        OpaqueBlock,
        OpaqueBlock,
        Text,
    ]
    assert encode_event(event) == data


@pytest.mark.parametrize(
    "block",
    [
        "text",
        {},
        {"type": ""},
        {"type": "text"},
        {"type": "text", "text": 5},
        {"type": "text", "text": "\ud800"},
        {"type": "tool-call", "id": "c", "name": "n", "arguments": {}},
        {"type": "tool-result", "toolCallId": "c", "content": [5]},
        {"type": "tool-result", "toolCallId": "c", "content": [], "isError": 0},
        {"type": "image", "size": float("nan")},
    ],
)
def test_broken_blocks_are_refused(block: Any) -> None:
    """core 1.4: a known block without its parts is damage, not another kind of block."""
    with pytest.raises(SessionCorruptError):
        decode_event(stored("assistant/message", answer(block)))


def test_result_without_a_flag() -> None:
    """core 1.4: a result block that does not say so is no error."""
    block: dict[str, Any] = {"type": "tool-result", "toolCallId": "c", "content": []}
    event = decode_event(stored("assistant/message", answer(block)))
    assert event.data.message.content == (ToolResult("c", ()),)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("type_name", "data"),
    [
        ("turn/start", {"turn": 0}),
        ("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "blink"}}),
        ("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0}}),
        ("tool/call", {"turn": 1, "step": 1, "callId": "c", "name": "n", "arguments": {}}),
        ("llm/retry", {"retryId": "r"}),
    ],
)
def test_damage_names_its_place(type_name: str, data: Any) -> None:
    """core 5.7: malformed data of a known type is corruption; the text names event and place."""
    with pytest.raises(SessionCorruptError, match=rf"event 0 .*{type_name}"):
        decode_event(stored(type_name, data))


@pytest.mark.parametrize("value", [None, [], "event", 5])
def test_event_is_an_object(value: Any) -> None:
    """core 1.2: what is no object is no event."""
    with pytest.raises(SessionCorruptError):
        decode_event(value)


def test_decoded_parts_are_frozen() -> None:
    """core 1.2: what comes from disk is as frozen as what our own code builds."""
    event = decode_event(stored("assistant/message", answer()))
    with pytest.raises(TypeError):
        event.data.message.source["replayState"]["k"].append(2)  # type: ignore[union-attr]


def test_own_catalogue_event_round_trips() -> None:
    """DESIGN 5: our own events are written ignorable and read back."""
    data = {"change": "added", "id": "c", "mode": "one-shot", "provider": "spawn"}
    row = stored("subagent/catalog", data, ignorable=True)
    event = decode_event(row)
    assert type(event.data) is not OpaquePayload
    assert encode_event(event) == row


def test_header_is_stopped_clock_safe() -> None:
    """core 1.1: a header that typed code built is written with what it has, no more."""
    assert encode_header(SessionHeader("s", 0)) == {"version": 0, "id": "s", "createdAt": 0}


def test_a_session_in_its_wire_form_reads_back(kit: SimpleNamespace) -> None:
    """core 15.1: header and events of to_json survive JSON and decode to what they were."""
    session = kit.session()
    session.append(TurnStart(1))
    session.append_json("weather/report", {"rain": [1]}, ignorable=True)
    header, *events = json.loads(json.dumps(session.to_json()))
    assert (header.pop("type"), header["delegationDepth"]) == ("session", 0)
    assert decode_header(header).id == session.id
    assert tuple(decode_event(event) for event in events) == session.events
