"""What ``broodline sessions show`` prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.recording import RecordedLog, read_log
from broodline.messages.chunk import ModelFailure
from broodline.messages.content import Text
from broodline.messages.errors import SessionError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.message import UserMessage
from broodline.messages.payload import (
    CallConfig,
    HeaderLogged,
    InboxSpliced,
    OpaquePayload,
    RequestHeader,
    ToolSchema,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    UnrecordedTools,
)
from broodline.sessions.gist import LONGEST, gist
from broodline.sessions.place import StorePlace
from broodline.sessions.showing import show, state_of_log

Stored = Callable[..., StorePlace]


def queued(*names: str) -> InboxSpliced:
    messages = tuple(UserMessage(name, (Text(f"do {name}"),)) for name in names)
    return InboxSpliced("next-turn", 0, 0, messages)


@pytest.fixture
def story(kit: SimpleNamespace) -> RecordedLog:
    """Two turns, the second open in a call; one prompt is pending."""
    build = kit.build()
    build.start(1).say("hello").end("error", error=ModelFailure("the disk is full", "DISK"))
    build.add(queued("m1"))
    build.start(2).ask(kit.ToolCall("a", "probe", "{}"))
    build.call("a")
    log: RecordedLog = build.log(SessionHeader("s", 0, "/srv", "p", None, "subagent", 1))
    return log


def test_the_facts(
    kind: str, stored: Stored, story: RecordedLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 1.1, 4: show tells lineage, the open turn and its repair, the last end, what waits."""
    place = stored(kind, story)
    assert show(place, "s") == 0
    facts, events = capsys.readouterr().out.split("\n\n")
    told = {line[:10].strip(): line[10:] for line in facts.splitlines()}
    assert told == {
        "session": "s",
        "store": str(place),
        "created": "1970-01-01 00:00:00Z",
        "cwd": "/srv",
        "parent": "p, a subagent",
        "depth": "1",
        "events": "21",
        "open": "turn 2, step 1; the next load closes it with 3 events",
        "last end": "turn 1: error: DISK, the disk is full",
        "usage": "6 tokens in, 4 out",
        "pending": "next turn: m1 do m1",
    }
    lines = events.splitlines()
    assert len(lines) == 21
    assert lines[0] == " 0  1970-01-01 00:00:00.005  turn/start              turn 1"
    assert lines[-1].endswith("tool/call               probe({})  a")


def test_the_document(
    kind: str, stored: Stored, story: RecordedLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 9: --json is one document: the header, the state, the events as rows of the log."""
    assert show(stored(kind, story), "s", as_json=True, last=1) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["header"]["parentSession"] == "p"
    assert document["events"] == 21
    assert document["state"] == {
        "openTurn": 2,
        "openStep": 1,
        "pending": {"nextTurn": ["m1"], "nextStep": []},
        "fault": None,
        "lastEnd": {
            "turn": 1,
            "reason": {"kind": "error", "error": {"message": "the disk is full", "code": "DISK"}},
        },
        "usage": {"inputTokens": 6, "outputTokens": 4},
        "closing": 3,
    }
    (row,) = document["log"]
    assert (row["type"], row["seq"], row["time"]) == ("tool/call", 20, 5)


def test_looking_changes_nothing(kind: str, stored: Stored, story: RecordedLog) -> None:
    """core 5.1, 18.3: a log that needs repair is shown as it lies there, and lies there after."""
    place = stored(kind, story)
    folder = Path(place.path).parent
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for _ in range(2):
        assert show(place, "s") == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_raw_lines_are_a_log(
    kind: str, stored: Stored, story: RecordedLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 15.1: --raw prints the lines of a log file, which is read back as the same log."""
    assert show(stored(kind, story), "s", raw=True) == 0
    log = read_log(capsys.readouterr().out.splitlines(), form="strict")
    assert (log.header, log.events) == (story.header, story.events)


def test_raw_lines_of_a_part(
    kind: str, stored: Stored, story: RecordedLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 15.1: raw lines of a part are events alone, an event a line."""
    assert show(stored(kind, story), "s", raw=True, first=5, last=2) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["seq"] for row in rows] == [19, 20]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [(18, None, [18, 19, 20]), (None, 2, [19, 20]), (20, 5, [20]), (21, None, []), (0, 0, [])],
)
def test_a_part(
    first: int | None,
    last: int | None,
    expected: list[int],
    stored: Stored,
    story: RecordedLog,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """core 5.1: --from and --last choose events by number and from the end, and none is told."""
    place = stored("sqlite", story)
    assert show(place, "s", first=first, last=last, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["seq"] for row in document["log"]] == expected
    assert show(place, "s", first=first, last=last) == 0
    out = capsys.readouterr().out
    assert "--from 0 shows all" in out
    assert ("\nnone of the events 0 to 20; " in out) is (not expected)


def test_a_terminal_gets_the_end(
    stored: Stored,
    kit: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """DESIGN 9: on a terminal the last hundred events are shown unless it is said which."""
    build = kit.build()
    for turn in range(1, 52):
        build.add(TurnStart(turn))
        build.add(TurnEnd(turn, TurnEndReason("completed")))
    place = stored("sqlite", build.log())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert show(place, "s") == 0
    assert "\nevents 2 to 101 of 102; --from 0 shows all of them\n" in capsys.readouterr().out
    assert show(place, "s", first=0) == 0
    assert "shows all of them" not in capsys.readouterr().out


def test_an_id_that_is_not_there(kind: str, stored: Stored, story: RecordedLog) -> None:
    """core 5.1: a session that is not stored is refused by its id."""
    with pytest.raises(SessionError, match=r"no session '\.\./s'") as caught:
        show(stored(kind, story), "../s")
    assert caught.value.code == "SESSION_NOT_FOUND"


def test_a_log_that_is_not_sound(
    kind: str, stored: Stored, kit: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 3: a log that breaks the rules is shown all the same; what cannot be told says why."""
    build = kit.build()
    build.add(InboxSpliced("next-turn", 3, 1))
    build.add(TurnStart(7))
    assert show(stored(kind, build.log()), "s") == 0
    out = capsys.readouterr().out
    assert "pending   cannot be told: event 0 of session 's' splices next-turn at 3" in out


def test_what_would_steer_a_terminal(
    kind: str, stored: Stored, kit: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 8: a control character in a message, a name or an id is shown, not obeyed."""
    build = kit.build().start(prompt="\x1b[2J\u202e\r\nx")
    build.add(OpaquePayload("todo/write", {"x": "\x1b]0;t\x07"}))
    build.add(queued("\x1b[31m"))
    header = SessionHeader("\x1b[1m", 0, "/\x1b[7m", "\x1b[8m")
    assert show(stored(kind, build.log(header)), "\x1b[1m") == 0
    out = capsys.readouterr().out
    assert all(c.isprintable() or c == "\n" for c in out)
    assert len(out.split("\n\n")[1].splitlines()) == 5


def test_json_that_would_steer_a_terminal(
    kind: str, stored: Stored, kit: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 8: --raw and --json escape what does not print, and are the same JSON all the same."""
    text = "\x7f\x9b2J\u202e\u2028é😀\n"
    place = stored(kind, kit.build().start(prompt=text).log())
    for more in ({"raw": True}, {"as_json": True}):
        assert show(place, "s", **more) == 0
        out = capsys.readouterr().out
        assert all(c.isprintable() or c == "\n" for c in out)
        rows = (
            [json.loads(line) for line in out.splitlines()]
            if "raw" in more
            else (json.loads(out)["log"])
        )
        assert rows[-1]["data"]["content"][0]["text"] == text


def test_an_event_that_nests_deep(
    kind: str, stored: Stored, kit: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 1.3: a value of 5,000 levels is shown in every form."""
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    build = kit.build()
    build.add(OpaquePayload("todo/write", deep))
    place = stored(kind, build.log())
    assert show(place, "s") == 0
    assert "(nested too deep to be shown)" in capsys.readouterr().out
    assert show(place, "s", raw=True) == 0
    assert capsys.readouterr().out.count("[") == 5_001
    assert show(place, "s", as_json=True) == 0
    assert capsys.readouterr().out.count("[") > 5_001


def test_a_long_event_is_one_short_line(kit: SimpleNamespace) -> None:
    """DESIGN 8: of an event of 20 MB the gist takes one line and says that it is cut."""
    build = kit.build().start(prompt="x" * 20_000_000)
    said = gist(build.events[-1])
    assert len(said) == LONGEST
    assert said.endswith("…")


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        (None, "no tools"),
        ((ToolSchema("a", "", {}), ToolSchema("b", "", {})), "tools a, b"),
        (UnrecordedTools(), "its tools not recorded"),
    ],
)
def test_the_tools_of_a_request(tools: tuple[ToolSchema, ...] | None, said: str) -> None:
    """core 15.3: tools that a recording has a placeholder for are told from none at all."""
    header = RequestHeader(CallConfig("p", "m"), tools=tools)
    event = Event(0, 0, HeaderLogged(header, "initial"))
    assert gist(event) == f"initial: p:m, {said}"


def test_every_kind_of_event_has_a_gist(recorded_file: Path) -> None:
    """core 2: whatever stands in a recording has a gist of one printable line."""
    log = read_log(recorded_file)
    for event in log.events:
        said = gist(event)
        assert said
        assert said.isprintable()
        assert len(said) <= LONGEST
    assert state_of_log(log).closing == 0
