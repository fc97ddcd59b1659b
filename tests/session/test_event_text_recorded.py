"""Lines of recordings: what has neither number nor time, and tools that nobody recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.recording import read_log
from broodline.messages.codec import decode_projected
from broodline.messages.errors import BroodlineError, ConfigurationError, SessionCorruptError
from broodline.messages.event import Event
from broodline.messages.event_text import decode_lines, encode_line, encode_projected
from broodline.messages.line_reader import LineReader, numbered
from broodline.messages.payload import CallConfig, HeaderLogged, RequestHeader, UnrecordedTools

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "recordings"
PATHS = sorted(RECORDINGS.glob("*/*/session*.jsonl"))


def unrecorded(seq: int) -> Event:
    header = RequestHeader(CallConfig("p", "m"), tools=UnrecordedTools())
    return Event(seq, 5, HeaderLogged(header, "initial"))


def test_a_stored_line_has_no_placeholder() -> None:
    """core 15.1: tools that nobody recorded are refused where no reader would take them."""
    with pytest.raises(ConfigurationError, match=r"event 7 .*request/header.*not recorded"):
        encode_line(unrecorded(7))


def test_a_recorded_line_has_it() -> None:
    """core 15.3: a recording's line keeps the placeholder both ways."""
    line = encode_projected(unrecorded(7))
    assert json.loads(line)["data"]["header"]["tools"] == "{{tools}}"
    (event,) = decode_lines([line], 7, projected=True)
    assert isinstance(event.data, HeaderLogged)
    assert isinstance(event.data.header.tools, UnrecordedTools)


LINES = [
    '{"type":"turn/start","data":{"turn":1}}',
    '{"type":"session/title","data":{"a":[1]}}',
    '{"type":"session/title","data":{"seq":1,"time":2},"surfaceOp":"append"}',
    '{"type":"weather","data":{},"ignorable":true}',
    '{"type":"weather","data":{}}',
    '{"type":"turn/start","data":{"turn":0}}',
    '{"type":"turn/start","data":{"turn":1},"data":{"turn":1}}',
    '{"type":"turn/start","data":{"turn":1},"seq":3,"time":5}',
    '{"type":"turn/start","seq":9,"time":5,"data":{"turn":1}}',
    '{"type":"turn/start","time":5,"data":{"turn":1}}',
    '{"type":"session/title","data":{},"seq":9,"more":1}',
    '{"data":{"turn":1},"type":"turn/start"}',
    '{ "type":"turn/start","data":{"turn":1}}',
    '{"type":"turn/start"}',
    '{"type":"turn/start","data":',
    "",
]


def outcome(read: Any) -> Any:
    try:
        event = read()
    except BroodlineError as error:
        return type(error)
    except ValueError:
        return SessionCorruptError
    return event, repr(event)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("twice")
    return dict(pairs)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("seq", [0, 3, 2**53 - 1, 2**53])
def test_quick_is_strict(line: str, seq: int) -> None:
    """core 15.3: a recorded line is read as the codec reads it, or refused as by it."""
    expected = outcome(lambda: decode_projected(json.loads(line, object_pairs_hook=once), seq))
    assert outcome(lambda: decode_lines([line], seq, projected=True)[0]) == expected
    assert outcome(lambda: decode_lines([line.encode()], seq, projected=True)[0]) == expected


@pytest.mark.parametrize("path", PATHS, ids=lambda path: "/".join(path.parts[-3:]))
def test_the_recordings(path: Path) -> None:
    """core 15.3: every recorded event comes back as it was, and as the codec reads it."""
    events = read_log(path).events
    lines = [encode_projected(event) for event in events]
    read = decode_lines(lines, projected=True)
    assert [encode_projected(event) for event in read] == lines
    assert read == [decode_projected(json.loads(line), seq) for seq, line in enumerate(lines)]
    assert [event.data for event in read] == [event.data for event in events]


def test_recorded_lines_are_read_where_they_stand() -> None:
    """DESIGN 7: a line of a recording needs no detour over JSON objects."""
    (line, *_) = LINES
    assert LineReader().read(numbered(line, 4), 4) == decode_lines([line], 4, projected=True)[0]
