"""What ``broodline sessions list`` prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.recording import RecordedLog
from broodline.actors.store import Snapshot
from broodline.messages.header import SessionHeader
from broodline.sessions.listing import forest, list_sessions
from broodline.sessions.place import StorePlace

Stored = Callable[..., StorePlace]
Log = Callable[..., RecordedLog]


@pytest.fixture
def log(kit: SimpleNamespace) -> Log:
    """A log of one turn under an id, below a parent."""

    def make(session_id: str, parent: str | None = None, **more: Any) -> RecordedLog:
        header = SessionHeader(session_id, 1_783_600_629_539, parent_session=parent)
        made: RecordedLog = kit.build().start().say("x").end().log(replace(header, **more))
        return made

    return make


def snapshot(session_id: str, parent: str | None = None) -> Snapshot:
    return Snapshot(SessionHeader(session_id, 0, parent_session=parent), "r")


def test_children_stand_below_their_parents(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.1: a list shows id, creation, depth, state and parent, as a tree."""
    place = stored(
        kind,
        log("root"),
        log("other"),
        log("child", "root", delegation_depth=1),
        log("orphan", "gone"),
        log("grandchild", "child", delegation_depth=2),
    )
    assert list_sessions(place) == 0
    heading, *rows, empty, summary = capsys.readouterr().out.splitlines()
    assert heading.split() == ["ID", "CREATED", "DEPTH", "EVENTS", "STATE", "PARENT"]
    assert [row[: row.index(" 2026")].rstrip() for row in rows] == [
        "root",
        "  child",
        "    grandchild",
        "other",
        "orphan",
    ]
    events = "11" if kind == "sqlite" else "-"
    assert rows[1].split()[1:] == ["2026-07-09", "12:37:09Z", "1", events, "-", "root"]
    assert rows[0].split()[-1] == "-"
    assert (empty, summary) == ("", "5 sessions")


def test_the_document(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 9: --json is one document with every session, in the order of the tree."""
    place = stored(kind, log("root"), log("z", "root", cwd="/srv"), log("a"))
    assert list_sessions(place, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["store"], document["total"], document["more"]) == (str(place), 3, 0)
    assert [row["id"] for row in document["sessions"]] == ["root", "z", "a"]
    child = document["sessions"][1]
    assert child["parentSession"] == "root"
    assert child["header"]["cwd"] == "/srv"
    assert (child["live"], child["projected"]) == (False, False)
    assert child["events"] == (11 if kind == "sqlite" else None)


def test_children_of_one_parent(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.1: --parent shows the direct children of a session and nobody else."""
    place = stored(kind, log("root"), log("a", "root"), log("b", "a"), log("c", "root"))
    assert list_sessions(place, parent="root", as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in document["sessions"]] == ["a", "c"]
    assert list_sessions(place, parent="nobody") == 0
    assert capsys.readouterr().out == "0 sessions\n"


def test_only_what_is_live(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.6: --live shows what somebody writes now; nobody writes here."""
    place = stored(kind, log("a"))
    assert list_sessions(place, live=True) == 0
    assert capsys.readouterr().out == "0 sessions\n"


def test_a_limit(kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 9: a list that is cut says how many more there are, in both forms."""
    place = stored(kind, *(log(f"s{number}") for number in range(5)))
    assert list_sessions(place, limit=2) == 0
    out = capsys.readouterr().out
    assert "s1" in out
    assert "s2" not in out
    assert out.endswith("\n\n5 sessions; 3 more, --limit 0 shows all\n")
    assert list_sessions(place, limit=2, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["total"], document["more"], len(document["sessions"])) == (5, 3, 2)
    assert list_sessions(place, limit=0) == 0
    assert capsys.readouterr().out.endswith("\n5 sessions\n")


def test_a_terminal_gets_a_page(
    stored: Stored,
    log: Log,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """DESIGN 9: on a terminal a hundred are shown unless more are asked for, elsewhere all."""
    place = stored("sqlite", *(log(f"s{number}") for number in range(102)))
    assert list_sessions(place) == 0
    assert len(capsys.readouterr().out.splitlines()) == 102 + 3
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert list_sessions(place) == 0
    assert "102 sessions; 2 more" in capsys.readouterr().out
    assert list_sessions(place, limit=0) == 0
    assert capsys.readouterr().out.endswith("\n102 sessions\n")


def test_an_id_that_would_steer_a_terminal(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 8: control characters in ids are shown, not obeyed; JSON keeps them."""
    place = stored(kind, log("a\x1b[2Jb\nc"), log("d", "a\x1b[2Jb\nc"))
    assert list_sessions(place) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.splitlines()[1].startswith(r"a\x1b[2Jb\x0ac")
    assert list_sessions(place, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["sessions"][0]["id"] == "a\x1b[2Jb\nc"


def test_what_cannot_be_read_is_counted(
    stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 5.7: a list passes over a damaged header, and says that it did."""
    place = stored("jsonl", log("good"), log("bad"))
    (path,) = Path(place.path).glob("*/bad/session.jsonl")
    path.write_text("{]\n" + path.read_text().split("\n", 1)[1])
    assert list_sessions(place) == 0
    out, err = capsys.readouterr()
    assert out.endswith(
        "1 session beside them cannot be read; broodline sessions verify says why\n"
    )
    assert "good" in out
    assert err == ""


def test_a_time_that_no_calendar_has(
    kind: str, stored: Stored, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 1.1: a creation time up to 2**53-1 milliseconds is shown, as a number if need be."""
    place = stored(kind, log("a", created_at=2**53 - 1))
    assert list_sessions(place) == 0
    assert str(2**53 - 1) in capsys.readouterr().out


def test_sessions_that_are_their_own_ancestors() -> None:
    """DESIGN 3: damaged lineage that turns in a circle neither hangs a list nor hides a session."""
    found = [snapshot("a", "b"), snapshot("b", "a"), snapshot("c", "c"), snapshot("d", "a")]
    drawn = [(level, one.header.id) for level, one in forest(found)]
    assert sorted(name for _, name in drawn) == ["a", "b", "c", "d"]


def test_a_chain_of_ten_thousand() -> None:
    """core 1.1: a chain of children of any length is drawn."""
    found = [snapshot("0"), *(snapshot(str(n), str(n - 1)) for n in range(1, 10_000))]
    assert [level for level, _ in forest(found)] == list(range(10_000))
