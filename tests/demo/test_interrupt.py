"""Ctrl-C and its kin: the tree stops, says so, and leaves nothing."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from broodline.survey.board import Board
from broodline.survey.folder import EVERYTHING
from broodline.survey.ground import Ground
from broodline.survey.signals import caught
from broodline.survey.survey import Interruption, Order, survey

# The runner may ignore these signals, as a shell does for what it starts in the background.
COMMAND = ["env", "--default-signal=INT,TERM,HUP", sys.executable, "-m", "broodline", "demo"]


@pytest.fixture
def forest(tmp_path: Path) -> Path:
    """Twelve folders of six folders each."""
    for number in range(72):
        folder = tmp_path / f"{number % 12}" / f"{number}"
        folder.mkdir(parents=True)
        (folder / "a.py").write_text("x = 1\n")
    return tmp_path


PLAYED = """
import sys, time
from broodline.survey import ground, survey
from broodline.cli import main

def endless(self, folder, files, check):
    while True:
        check()
        time.sleep(0.01)

def stubborn(self, folder, files, check):
    print("stuck", file=sys.stderr, flush=True)
    time.sleep(600)

survey.PATIENCE = 600.0
ground.Ground.count = locals()[sys.argv[1]]
sys.argv[:2] = ["broodline", "demo"]
main()
"""
ENDLESS = [*COMMAND[:3], "-c", PLAYED, "endless"]
"""A survey that goes on until it is stopped: its tools count for ever, but they listen."""
STUBBORN = [*COMMAND[:3], "-c", PLAYED, "stubborn"]
"""A survey whose tools do not listen."""


def start(*arguments: str, command: list[str] = COMMAND, **options: Any) -> subprocess.Popen[str]:
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([*command, *arguments], start_new_session=True, **pipes)


def group_is_gone(process: subprocess.Popen[str]) -> bool:
    """Whether no process of the command's own session is left."""
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [
        (signal.SIGINT, 130, "Ctrl-C"),
        (signal.SIGTERM, 143, "SIGTERM"),
        (signal.SIGHUP, 129, "SIGHUP"),
    ],
)
@pytest.mark.parametrize("moment", ["demo: surveying ", "demo: 57 agents (57 running), "])
def test_a_signal_stops_the_tree_and_says_what_was_stopped(
    forest: Path, number: signal.Signals, code: int, word: str, moment: str
) -> None:
    """demo: at the first line or with a full tree, a signal ends all agents and is told."""
    process = start(str(forest), command=ENDLESS)
    assert process.stderr is not None
    while not process.stderr.readline().startswith(moment):
        assert process.poll() is None
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code
    last = out.splitlines()[-1]
    assert last.startswith("demo: ")
    assert f", interrupted: {word}; stopped " in last
    stopped = last.split("; stopped ")[1]
    assert stopped in ("1 agent, none is left", "57 agents, none is left") or (
        moment == "demo: surveying " and stopped.endswith(" agents, none is left")
    )
    assert "Traceback" not in err
    assert err.splitlines()[-1] == last
    assert group_is_gone(process)


def test_one_stream_for_all_tells_the_interruption_once(forest: Path) -> None:
    """demo: with 2>&1 what was stopped is told once, not on either stream."""
    process = start(str(forest), command=ENDLESS, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert out.count("interrupted: Ctrl-C; stopped ") == 1


def test_an_interrupted_json_run_is_still_one_document(forest: Path) -> None:
    """demo: with --json an interrupt gives one document that counts what was stopped."""
    process = start(str(forest), "--pace", "60", "--json")
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    document = json.loads(out)
    assert err.endswith(" interrupted: Ctrl-C; stopped 1 agent, none is left\n")
    assert (process.returncode, document["status"], document["left"]) == (130, "interrupted", 0)
    assert document["problem"] == "Ctrl-C"
    assert document["facts"] is None
    assert document["stopped"] >= 1


@pytest.mark.parametrize(
    "module", ["broodline.cli", "typer", "pydantic", "rich.live", "broodline.survey.survey"]
)
def test_an_interrupt_during_the_imports_is_met(tmp_path: Path, module: str) -> None:
    """demo: an interrupt before the first line ends with 130 and one line, no traceback."""
    command = [*COMMAND[:3], "-X", "importtime", *COMMAND[3:], str(tmp_path), "--pace", "5"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.rstrip().endswith(f" {module}"):
            break
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=30)[1]
    told = [line for line in err.splitlines() if not line.startswith("import time:")]
    assert (process.returncode, told) == (130, ["broodline: interrupted"])
    assert group_is_gone(process)


def test_a_second_interrupt_ends_it_at_once(forest: Path) -> None:
    """demo: when a tool does not listen, pressing Ctrl-C again ends the process."""
    process = start(str(forest), command=STUBBORN)
    assert process.stderr is not None
    for moment in ("stuck", "demo: stopping all agents; once more ends it at once"):
        while process.stderr.readline() != f"{moment}\n":
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert group_is_gone(process)


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    """demo: under nohup a hang-up is not an interrupt."""
    command = ["env", "--ignore-signal=HUP", *COMMAND[2:], str(tmp_path), "--pace", "0.3"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.splitlines()[-1].endswith("ok")


async def test_a_stopped_survey_leaves_no_task_and_no_thread(
    forest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """demo: after an interruption no agent, task or thread of the survey is left."""

    def endless(self: Ground, folder: str, files: list[str], check: Any) -> Any:
        while True:
            check()
            time.sleep(0.001)

    monkeypatch.setattr(Ground, "count", endless)
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    board, interruption = Board(), Interruption()

    def tick() -> None:
        if len(board.running) > 10:
            interruption.request("enough")
            interruption.request("too late")

    report = await survey(Order(str(forest)), board, interruption, tick)
    assert (report.status, report.problem, report.left) == ("interrupted", "enough", 0)
    assert report.stopped > 10
    assert not board.running
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == tasks
    assert set(threading.enumerate()) == threads


async def test_a_tool_in_the_middle_of_a_file_stops_with_its_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """demo: an interruption reaches a tool that reads, between two chunks."""
    (tmp_path / "a.txt").write_text("x\n")
    reading = threading.Event()
    real = Ground.count

    def endless(self: Ground, folder: str, files: list[str], check: Any) -> Any:
        reading.set()
        while True:
            real(self, folder, files, check)

    monkeypatch.setattr(Ground, "count", endless)
    interruption = Interruption()

    def tick() -> None:
        if reading.is_set():
            interruption.request("enough")

    report = await survey(Order(str(tmp_path)), Board(), interruption, tick)
    assert (report.status, report.stopped, report.left) == ("interrupted", 1, 0)


async def test_an_interruption_before_the_start_stops_the_root(tmp_path: Path) -> None:
    """demo: an interruption that is there already lets nothing be surveyed."""
    interruption = Interruption()
    interruption.request("early")
    report = await survey(Order(str(tmp_path), EVERYTHING), Board(), interruption, lambda: None)
    assert (report.status, report.facts, report.left) == ("interrupted", None, 0)


async def test_signals_get_their_old_effect_back() -> None:
    """demo: once the survey is over a signal does again what it did before."""
    before = {name: signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGHUP)}
    seen: list[signal.Signals] = []
    with caught(seen.append):
        os.kill(os.getpid(), signal.SIGTERM)
        while not seen:
            await asyncio.sleep(0)
    assert seen == [signal.SIGTERM]
    assert {name: signal.getsignal(name) for name in before} == before


async def test_two_signals_before_the_loop_turns_are_a_first_and_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """demo: two presses that the loop sees together end the process as two in a row do."""
    told: list[Any] = []
    with caught(told.append, lambda: told.append("given back")):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
        monkeypatch.setattr(os, "kill", lambda _pid, number: told.append(number))
        while len(told) < 3:
            await asyncio.sleep(0)
    ended = told.pop()
    assert told[1:] == ["given back"]
    assert {told[0], ended} == {signal.SIGTERM, signal.SIGHUP}
    signal.signal(ended, signal.SIG_DFL)


async def test_outside_the_main_thread_no_signal_is_caught() -> None:
    """demo: where signals cannot be caught the survey runs all the same."""

    async def inside() -> None:
        with caught(lambda number: None):
            pass

    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(inside())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert failures == []


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    """demo: a closed pipe behind the report, the document or the progress is no error to see."""
    for arguments in (["-q"], ["-q", "--json"]):
        process = start(str(tmp_path), *arguments)
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        process.stderr.close()
        assert (process.wait(30), err) == (141, "")
    process = start(str(tmp_path))
    assert process.stderr is not None
    process.stderr.close()
    assert process.stdout is not None
    assert process.stdout.read().splitlines()[-1].endswith(", ok")
    process.stdout.close()
    assert process.wait(30) == 0


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """demo: a report that cannot be written is a failure with one line, no traceback."""
    with open("/dev/full", "w") as full:
        process = start(str(tmp_path), "-q", stdout=full)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err == "demo: the report could not be written: no space left on device\n"


def on_terminal(
    *arguments: str,
    command: list[str] = COMMAND,
    interrupts: tuple[bytes, ...] = (),
    environment: dict[str, str] | None = None,
) -> tuple[int, str]:
    """Run the command on a terminal of its own: exit code, and all that was written to it.

    For each text of `interrupts` it is interrupted once, as soon as the text is there.
    """
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [*command, *arguments],
        stdin=child,
        stdout=child,
        stderr=child,
        start_new_session=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "60", "LINES": "20"} | (environment or {}),
    )
    os.close(child)
    text = b""
    while select.select([parent], [], [], 30)[0]:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        text += part
        if interrupts and interrupts[0] in text:
            process.send_signal(signal.SIGINT)
            interrupts = interrupts[1:]
    os.close(parent)
    return process.wait(30), text.decode()


def test_a_terminal_shows_the_tree_while_it_works(forest: Path) -> None:
    """demo: on a terminal the agents are drawn live, then the report takes their place."""
    code, text = on_terminal(str(forest), "--pace", "0.2", "--jobs", "20")
    assert code == 0
    assert "waits for 12 of 12 children" in text
    assert "more (" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert text.rstrip().endswith(", ok\x1b[0m")


def test_an_interrupt_on_a_terminal_gives_it_back(forest: Path) -> None:
    """demo: after Ctrl-C the cursor is back and the last line says what was stopped."""
    code, text = on_terminal(str(forest), command=ENDLESS, interrupts=(b"waits for",))
    assert code == 130
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    plain = text.replace("\r\n", "")
    assert plain.count("none is left") == 1


def test_a_second_interrupt_on_a_terminal_gives_it_back(forest: Path) -> None:
    """demo: a process that Ctrl-C had to end by force leaves the cursor visible."""
    moments = (b"stuck", b"once more ends it at once")
    code, text = on_terminal(str(forest), command=STUBBORN, interrupts=moments)
    assert code == -signal.SIGINT
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(["--no-live"], {}), ([], {"TERM": "dumb"}), (["-q"], {})],
)
def test_the_tree_can_be_left_out(
    tmp_path: Path, arguments: list[str], environment: dict[str, str]
) -> None:
    """demo: --no-live, --quiet and a terminal that cannot move its cursor get no live tree."""
    code, text = on_terminal(str(tmp_path), *arguments, environment=environment)
    assert code == 0
    assert "\x1b[?25l" not in text


def test_no_color_is_respected(tmp_path: Path) -> None:
    """demo: with NO_COLOR nothing is coloured, on the report or the live tree."""
    (tmp_path / "a").mkdir()
    _, text = on_terminal(str(tmp_path), environment={"NO_COLOR": "1"})
    assert "\x1b[3" not in text.replace("\x1b[3m", "")


def test_forced_colour_draws_no_live_tree_into_a_file(tmp_path: Path) -> None:
    """demo: a program that wants colours in its log gets no cursor movements and no cut lines."""
    (tmp_path / ("x" * 200)).mkdir()
    environment = os.environ | {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"}
    process = start(str(tmp_path), env=environment)
    out, err = process.communicate(timeout=30)
    assert "\x1b[?25l" not in err
    assert "x" * 200 in out
