"""What ``broodline check`` prints, and the code it leaves with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.recordings_command import check

Write = Callable[..., Path]


@pytest.fixture
def write(kit: SimpleNamespace) -> Write:
    """Writes a projected log of so many closed turns."""

    def written(name: str = "session.jsonl", turns: int = 1, **header: Any) -> Path:
        rows: list[dict[str, Any]] = [{**kit.HEADER, **header}]
        for turn in range(1, turns + 1):
            rows.append({"type": "turn/start", "data": {"turn": turn}})
            end = {"turn": turn, "reason": {"kind": "completed"}}
            rows.append({"type": "turn/end", "data": end})
        path: Path = kit.written(kit.lines(*rows), name)
        return path

    return written


def unsound(kit: SimpleNamespace, name: str = "bad.jsonl") -> Path:
    path: Path = kit.written(
        kit.lines(kit.HEADER, {"type": "turn/start", "data": {"turn": 5}}), name
    )
    return path


def test_a_sound_log(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 9: a sound log is one line: name, form, events, turns, sound; the code is 0."""
    path = write(turns=2)
    assert check([str(path)]) == 0
    out, err = capsys.readouterr()
    assert (
        out == f"{path}  projected      4 events    2 turns  sound\n\n1 log, 4 events: all sound\n"
    )
    assert err == ""


def test_faults(write: Write, kit: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 9: what is wrong stands below its log, other logs are told all the same; code 1."""
    good, bad = write(), unsound(kit)
    torn = kit.written(kit.lines(kit.HEADER) + '{"type"', "torn.jsonl")
    newer = write("newer.jsonl", version=7)
    assert check([str(path) for path in (bad, torn, newer, good)]) == 1
    out = capsys.readouterr().out
    assert "1 event     1 turn  1 fault, unfinished\n    event 0: turn/start 5 may not come" in out
    assert f"SESSION_CORRUPT\n    {torn}:2: the last line is cut off" in out
    assert f"SESSION_FORMAT_UNSUPPORTED\n    {newer}:1: " in out
    assert out.endswith("4 logs, 2 not read, 3 events in the rest: 3 not sound, 1 unfinished\n")


def test_an_unfinished_log(
    write: Write, kit: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    """core 15.6: a log that ends inside a turn is sound, and told from a finished one; code 0."""
    path = write(turns=2)
    begun = kit.lines({"type": "turn/start", "data": {"turn": 3}})
    path.write_text(path.read_text() + begun)
    done = write("done.jsonl")
    assert check([str(path), str(done)]) == 0
    first, second, *_, last = capsys.readouterr().out.splitlines()
    assert first.endswith("5 events    3 turns  sound, unfinished")
    assert second.endswith("2 events     1 turn  sound")
    assert last == "2 logs, 7 events: all sound, 1 unfinished"
    assert check([str(path)], as_json=True) == 0
    (told,) = json.loads(capsys.readouterr().out)["logs"]
    assert (told["turns"], told["unfinished"], told["sound"]) == (3, True, True)
    assert check([str(path)], quiet=True) == 0
    assert capsys.readouterr().out == ""


def test_a_log_that_cannot_be_read(
    kit: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 8: of what was not read nothing is counted, and its place is told once."""
    torn = kit.written(kit.lines(kit.HEADER) + '{"type": "turn', "torn.jsonl")
    assert check([str(torn)]) == 1
    out = capsys.readouterr().out
    assert out.endswith("1 log, not read: 1 not sound\n")
    assert "event" not in out
    assert out.count(f"{torn}:2") == 1


def test_quiet(write: Write, kit: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 9: quiet says nothing of sound logs, and only what is wrong with the others."""
    assert check([str(write())], quiet=True) == 0
    assert capsys.readouterr().out == ""
    assert check([str(write()), str(unsound(kit))], quiet=True) == 1
    out = capsys.readouterr().out
    assert out.count("\n") == 2
    assert "bad.jsonl" in out


def test_json(write: Write, kit: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 9: with --json the same facts are one document."""
    good, bad = write(), unsound(kit)
    torn = kit.written("{", "torn.jsonl")
    assert check([str(good), str(bad), str(torn)], as_json=True) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["sound"] is False
    sound, faulty, unread = document["logs"]
    assert sound == {
        "path": str(good),
        "form": "projected",
        "events": 2,
        "turns": 1,
        "unfinished": False,
        "sound": True,
        "code": None,
        "faults": [],
    }
    assert (faulty["sound"], len(faulty["faults"]), faulty["code"]) == (False, 1, None)
    assert (faulty["turns"], faulty["unfinished"]) == (1, True)
    unknown = [unread[key] for key in ("form", "events", "turns", "unfinished")]
    assert (unknown, unread["code"]) == ([None] * 4, "SESSION_CORRUPT")
    assert check([str(good)], as_json=True, quiet=True) == 0
    assert json.loads(capsys.readouterr().out)["sound"] is True


def test_folders(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 9: in a folder every *.jsonl below is a log, the root first, children by number."""
    for name in (
        *("b/session.10.jsonl", "b/session.2.jsonl", "b/session.jsonl"),
        *("b/other.jsonl", "a/own.jsonl"),
    ):
        write(name)
    (tmp_path / "b" / "notes.txt").write_text("no log")
    assert check([str(tmp_path)]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert [line.split("  ")[0].removeprefix(f"{tmp_path}/") for line in lines[:5]] == [
        "a/own.jsonl",
        "b/session.jsonl",
        "b/session.2.jsonl",
        "b/session.10.jsonl",
        "b/other.jsonl",
    ]


def test_a_fork_is_compared_with_its_parent(
    kit: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """core #283: a fork beside its parent is held against it."""
    turn: list[dict[str, Any]] = [
        {"type": "turn/start", "data": {"turn": 1}},
        {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}},
    ]
    mark = {"type": "session/end-seed", "data": {}}
    other = {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "blocked"}}}
    child = {**kit.HEADER, "id": "c", "parentSession": "s", "seedLength": 2}
    kit.written(kit.lines({**kit.HEADER, "id": "other"}), "session.jsonl")
    kit.written(kit.lines(kit.HEADER, *turn), "session.2.jsonl")
    kit.written(kit.lines(child, *turn, mark), "session.1.jsonl")
    assert check([str(tmp_path)]) == 0
    kit.written(kit.lines(child, turn[0], other, mark), "session.1.jsonl")
    capsys.readouterr()
    assert check([str(tmp_path)]) == 1
    assert "event 1: the seed differs here" in capsys.readouterr().out
    named = [str(tmp_path / f"session.{number}.jsonl") for number in (1, 2)]
    assert check(named) == 1
    out = capsys.readouterr().out
    assert "event 1: the seed differs here" in out
    assert out.index(named[0]) < out.index(named[1])


def test_a_folder_that_cannot_be_listed(
    write: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """DESIGN 8: what nobody could look into is not called sound."""
    write("a/session.jsonl")
    write("b/session.jsonl")
    listed = os.scandir

    def scandir(path: str) -> Any:
        if os.path.basename(path) == "b":
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert check([str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert f"{tmp_path / 'b'} cannot be listed: permission denied" in out
    assert out.endswith("2 logs, 1 not read, 2 events in the rest: 1 not sound\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_in_a_folder(write: Write, tmp_path: Path) -> None:
    """DESIGN 9: a pipe among the logs of a folder is none of them, and nobody waits for it."""
    write()
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert check([str(tmp_path)]) == 0


def test_forms(kit: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 9: the form says how a log is written: projected, strict, or a mere script."""
    numbered = {"type": "turn/start", "seq": 0, "time": 0, "data": {"turn": 1}}
    chunk = {"type": "finish", "reason": {"kind": "stop"}}
    row = {"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": chunk}}
    paths = [
        kit.written(kit.lines(kit.STRICT_HEADER, numbered), "a.jsonl"),
        kit.written(kit.lines(kit.HEADER, row), "b.jsonl"),
    ]
    assert check([str(path) for path in paths]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert [line.split()[1] for line in lines[:2]] == ["strict", "script"]


@pytest.mark.parametrize("name", ["missing.jsonl", "empty", ""])
def test_nothing_there(
    name: str, write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 9: a path with nothing at it is wrong usage, told on stderr; nothing is printed."""
    (tmp_path / "empty").mkdir()
    good = write("good/session.jsonl")
    path = str(tmp_path / name) if name else ""
    assert check([str(good), path]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("broodline check: ")


def test_names_of_files_steer_no_terminal(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 9: a file name with a control character is written escaped, on one line."""
    check([str(write("a\nb\x1b.jsonl"))])
    assert "a\\x0ab\\x1b.jsonl" in capsys.readouterr().out


def test_wide_names_are_aligned(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """DESIGN 9: columns line up behind names of wide characters."""
    check([str(write("日本.jsonl")), str(write("abcd.jsonl"))])
    first, second = capsys.readouterr().out.split("\n")[:2]
    assert first.index("projected") + 2 == second.index("projected")


def test_a_file_that_may_not_be_read(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DESIGN 9: a file that the system refuses is not sound, and told why."""
    path = write()

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    assert check([str(path)]) == 1
    assert "cannot be read: permission denied" in capsys.readouterr().out


def test_a_reader_that_goes_away(write: Write) -> None:
    """DESIGN 9: when nobody reads the output any more, the code is 141 and nothing is said."""
    path = write()
    program = (
        "import sys; from broodline.recordings_command import check; sys.exit(check(sys.argv[1:]))"
    )
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, str(path)],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_the_recordings(folder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    """core 15.6: every recorded log of the reference is sound."""
    root = folder("acp-agent").parent
    assert check([str(root)]) == 0
    assert capsys.readouterr().out.endswith("all sound\n")
