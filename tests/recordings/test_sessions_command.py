"""``broodline sessions`` as a shell sees it: exit codes, stderr, pipes, signals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer.testing

from broodline.actors.recording import RecordedLog
from broodline.actors.recording_writer import write_recording
from broodline.command import app
from broodline.messages.header import SessionHeader
from broodline.sessions.place import StorePlace

Stored = Callable[..., StorePlace]

ENTER = [sys.executable, "-c", "import sys; from broodline.cli import main; sys.exit(main())"]


@pytest.fixture
def log(kit: SimpleNamespace) -> Callable[..., RecordedLog]:
    def make(session_id: str, parent: str | None = None) -> RecordedLog:
        header = SessionHeader(session_id, 0, parent_session=parent)
        made: RecordedLog = kit.build().start().say("x").end().log(header)
        return made

    return make


Log = Callable[..., RecordedLog]


def run(*words: str) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of ``broodline sessions`` in this process."""
    result = typer.testing.CliRunner().invoke(app, ["sessions", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


def test_what_there_is() -> None:
    """DESIGN 9: alone it shows its help, which names the five sub-commands."""
    _, out, err = run()
    for name in ("list", "show", "verify", "export", "import"):
        assert f"  {name} " in out + err


@pytest.mark.parametrize("name", ["list", "show", "verify", "export", "import"])
def test_each_has_help(name: str) -> None:
    """DESIGN 9: every sub-command tells how it is used."""
    code, out, err = run(name, "--help")
    assert (code, err) == (0, "")
    assert "--json" in out


def test_from_a_log_to_a_folder_and_back(
    kit: SimpleNamespace, log: Log, tmp_path: Path, kind: str
) -> None:
    """DESIGN 9: import, list, show, verify and export, one after the other, by their words."""
    write_recording(tmp_path / "in", log("a"), log("b", "a"))
    store = f"{kind}:{tmp_path / 'store'}"
    assert run("import", str(tmp_path / "in"), store) == (
        0,
        f"imported 2 sessions, 22 events, into {store}\n",
        "",
    )
    code, out, err = run("list", store, "--parent", "a", "--json")
    assert (code, [row["id"] for row in json.loads(out)["sessions"]], err) == (0, ["b"], "")
    code, out, err = run("show", store, "a", "--last", "1")
    assert (code, out.splitlines()[-1].split()[-3:], err) == (0, ["turn", "1:", "completed"], "")
    code, out, err = run("show", store, "a", "--raw", "--from", "10")
    assert (code, json.loads(out)["type"], err) == (0, "turn/end", "")
    assert run("verify", store, "--session", "b")[0] == 0
    out_folder = str(tmp_path / "out")
    assert run("export", store, out_folder, "--tree", "a")[0] == 0
    assert run("verify", out_folder) == (0, f"{out_folder}: 2 logs, 22 events: all sound\n", "")
    code, out, err = run("export", store, out_folder, "--session", "a")
    assert (code, out) == (2, "")
    assert err.startswith(f"broodline sessions: export: {out_folder} holds a recording already ")
    assert run("import", str(tmp_path / "in"), store)[0] == 2


def test_a_guess_is_told(stored: Stored, log: Log, tmp_path: Path) -> None:
    """DESIGN 9: a store whose kind was not said is taken for what it looks like, and it is told."""
    place = stored("sqlite", log("a"), name="x.db")
    for words in (["list", place.path], ["show", place.path, "a"], ["verify", place.path]):
        code, out, err = run(*words)
        assert (code, err) == (
            0,
            f"broodline sessions: {place.path} is taken as sqlite:{place.path}\n",
        )
        assert out
    assert run("list", str(place))[2] == ""


@pytest.mark.parametrize(
    "words",
    [
        ["list", "sqlite:none/x.db"],
        ["list", "jsonl:none"],
        ["list", "none"],
        ["list", "memory"],
        ["show", "sqlite:none.db", "a"],
        ["verify", "none.jsonl"],
        ["verify", "sqlite:"],
        ["export", "sqlite:none.db", "out"],
        ["import", "none", "sqlite:x.db"],
    ],
)
def test_nothing_there(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN 9: a place with nothing is one line on stderr and code 2, and makes nothing."""
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith(f"broodline sessions: {words[0]}: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "sqlite:x", "--limit", "-1"],
        ["show", "sqlite:x", "a", "--last", "-1"],
        ["show", "sqlite:x", "a", "--raw", "--json"],
        ["nothing"],
        ["verify"],
    ],
)
def test_wrong_usage(words: list[str]) -> None:
    """DESIGN 9: wrong usage is one plain line on stderr and code 2."""
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


def test_a_session_that_is_not_there(stored: Stored, log: Log, kind: str) -> None:
    """DESIGN 9: an id that is not stored is code 2; it may hold anything."""
    place = stored(kind, log("a"))
    code, out, err = run("show", str(place), "../\x1b[2J\x00")
    assert (code, out) == (2, "")
    assert "no session" in err
    assert "\x1b" not in err


def test_a_damaged_session_is_not_shown(stored: Stored, log: Log) -> None:
    """DESIGN 9: a session that cannot be read is code 1, and the line says where and why."""
    place = stored("jsonl", log("a"))
    (path,) = Path(place.path).glob("*/a/session.jsonl")
    path.write_text(path.read_text().replace("turn/start", "turn/st\\art", 1))
    code, out, err = run("show", str(place), "a")
    assert (code, out) == (1, "")
    assert "session.jsonl:2: " in err


def test_a_reader_that_has_gone(stored: Stored, log: Log) -> None:
    """DESIGN 9: when the reader closes the pipe the command ends quietly, with 141."""
    place = stored("sqlite", *(log(f"s{number}") for number in range(50)))
    for words in (["list", str(place)], ["show", str(place), "s1"], ["verify", str(place)]):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [*ENTER, "sessions", *words], stdout=writing, stderr=subprocess.PIPE, check=False
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (141, b"")


def test_progress_is_for_a_terminal(stored: Stored, log: Log) -> None:
    """DESIGN 9: on a terminal long work counts on stderr, and takes the count away."""
    place = stored("sqlite", *(log(f"s{number}") for number in range(50)))
    words = [*ENTER, "sessions", "verify", str(place)]
    leader, follower = pty.openpty()
    with open(leader, "rb", buffering=0) as terminal:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=follower, check=False)
        told = os.read(terminal.fileno(), 65536)
        os.close(follower)
    assert done.returncode == 0
    assert b"\rverifying: 50 of 50" in told
    assert told.endswith(b"\r\x1b[K")
    quiet = subprocess.run(words, capture_output=True, check=False)
    assert quiet.stderr == b""


@pytest.mark.parametrize("command", ["verify", "import"])
def test_ctrl_c(command: str, stored: Stored, log: Log, tmp_path: Path) -> None:
    """DESIGN 9: Ctrl-C ends it with 130; a store that was looked at is left without a trace."""
    place = stored("sqlite", *(log(f"s{number}") for number in range(20)))
    before = sorted(path.name for path in tmp_path.iterdir())
    patch = (
        "import sys, os, signal\n"
        "from broodline.sessions import sheet\n"
        "ticks = []\n"
        "def tick(self):\n"
        "    ticks.append(1)\n"
        "    if len(ticks) == 1:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "sheet.Ticker.tick = tick\n"
        "from broodline.cli import main\n"
        "main()\n"
    )
    words = [str(place)] if command == "verify" else [str(place), f"sqlite:{tmp_path / 'to.db'}"]
    done = subprocess.run(
        [sys.executable, "-c", patch, "sessions", command, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGINT
    if command == "verify":
        assert (done.stdout, done.stderr) == ("", "broodline: interrupted\n")
        assert sorted(path.name for path in tmp_path.iterdir()) == before
    else:
        assert done.stdout.startswith("imported 2 sessions of 20, 22 events, into sqlite:")
        assert sorted(path.name for path in tmp_path.iterdir()) == [*before, "to.db"]


def test_a_store_in_use(stored: Stored, log: Log, kind: str, tmp_path: Path) -> None:
    """core 5.6: while a process holds a session, its store is listed, shown and verified."""
    place = stored(kind, log("a"))
    program = (
        "import asyncio, sys\n"
        "from broodline.supervision.furnishing import store_named\n"
        "async def main():\n"
        "    store = store_named(sys.argv[1])\n"
        "    async with store:\n"
        "        await store.lease('a')\n"
        "        print('held', flush=True)\n"
        "        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)\n"
        "asyncio.run(main())\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        assert json.loads(run("list", str(place), "--live", "--json")[1])["total"] == 1
        assert json.loads(run("show", str(place), "a", "--json")[1])["live"] is True
        code, out, _ = run("verify", str(place), "--json")
        assert (code, json.loads(out)["sessions"][0]["live"]) == (0, True)
    finally:
        holder.communicate("", timeout=30)
    assert holder.returncode == 0
    assert json.loads(run("list", str(place), "--live", "--json")[1])["total"] == 0
