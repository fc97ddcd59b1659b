"""The main job from end to end, with the runtime."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import broodline
from broodline.cli import main
from broodline.messages.content import ToolCall
from broodline.survey import survey as module
from broodline.survey.board import Board
from broodline.survey.facts import Facts
from broodline.survey.folder import Selection
from broodline.survey.ground import Ground
from broodline.survey.rules import next_message
from broodline.survey.survey import Interruption, Order, survey


async def surveyed(order: Order, board: Board | None = None) -> Any:
    return await survey(order, board or Board(), Interruption(), lambda: None)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command in this process: exit code, stdout, stderr."""
    before, handler = sys.argv, signal.getsignal(signal.SIGINT)
    sys.argv = ["broodline", *arguments]
    try:
        with pytest.raises(SystemExit) as left:
            main()
    finally:
        sys.argv = before
        signal.signal(signal.SIGINT, handler)
    said = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return left.value.code, said.out, said.err


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
@pytest.mark.parametrize("follow", [False, True])
async def test_agents_find_what_one_pair_of_hands_finds(
    odd_tree: Path, hand_play: Any, depth: int, follow: bool
) -> None:
    """demo: the runtime's tree of agents finds the facts that the bare tools and rules find."""
    ground = Ground(str(odd_tree), Selection(follow))
    play = hand_play(ground)
    report = await surveyed(Order(ground.root, ground.selection, depth))
    assert report.facts == play.survey(depth)
    assert (report.status, report.agents, report.turns, report.calls) == (
        "ok",
        play.agents,
        play.agents,
        len(play.calls),
    )


async def test_every_folder_has_its_agent_under_its_parents(tmp_path: Path) -> None:
    """demo: the tree of agents is the tree of folders, down to the cap."""
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "d").mkdir()
    board = Board()
    await surveyed(Order(str(tmp_path), depth=2), board)
    parents = {node.label: node.parent and node.parent.label for node in board.nodes.values()}
    assert parents == {".": None, "a": ".", "b": "a", "d": "."}
    assert {node.state for node in board.nodes.values()} == {"done"}
    assert (len(board.running), board.files, board.lines) == (0, 0, 0)


async def test_siblings_work_at_the_same_time(tmp_path: Path) -> None:
    """demo: folders beside one another are surveyed by agents that run in parallel."""
    for name in "abcd":
        (tmp_path / name).mkdir()
    board, most = Board(), 0
    seen: set[str] = set()

    def started(agent: str, parent: str | None) -> Any:
        nonlocal most
        seen.add(agent)
        node = Board.started(board, agent, parent)
        most = max(most, len(board.running))
        return node

    board.started = started  # type: ignore[method-assign]
    await surveyed(Order(str(tmp_path), pace=0.01), board)
    assert (len(seen), most) == (5, 5)


async def test_one_job_at_a_time_is_one_child_at_a_time(tmp_path: Path) -> None:
    """demo: with one job no two children of an agent live at once."""
    for name in "abcd":
        (tmp_path / name).mkdir()
    board, most = Board(), 0

    def started(agent: str, parent: str | None) -> Any:
        nonlocal most
        node = Board.started(board, agent, parent)
        most = max(most, len(board.running))
        return node

    board.started = started  # type: ignore[method-assign]
    report = await surveyed(Order(str(tmp_path), jobs=1), board)
    assert (report.agents, most) == (5, 2)


async def test_a_survey_leaves_nothing_behind(odd_tree: Path) -> None:
    """demo: after a survey no task, thread or open file of it is left."""
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    files = len(os.listdir("/proc/self/fd"))
    await surveyed(Order(str(odd_tree)))
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == tasks
    assert set(threading.enumerate()) == threads
    assert len(os.listdir("/proc/self/fd")) == files


async def test_hundreds_of_folders_and_thousands_of_files(tmp_path: Path) -> None:
    """demo: thousands of files in hundreds of folders are one survey like any other."""
    for number in range(300):
        folder = tmp_path / f"{number % 10}" / f"{number}"
        folder.mkdir(parents=True)
        for name in "abcdefghij":
            (folder / f"{name}.py").write_text("def f(): pass\n")
    report = await surveyed(Order(str(tmp_path), jobs=64))
    assert (report.status, report.agents) == ("ok", 311)
    assert (report.facts.folders, report.facts.files, report.facts.functions) == (310, 3000, 3000)


async def test_rules_that_break_fail_the_survey_not_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """demo: when the root's model fails the survey says so."""

    def broken(messages: object) -> str:
        raise RuntimeError("no idea")

    monkeypatch.setattr(module, "next_message", broken)
    report = await surveyed(Order(str(tmp_path)))
    assert (report.status, report.facts) == ("failed", None)
    assert "no idea" in report.problem


async def test_a_child_whose_model_breaks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """demo: when a child's model fails its folder is named, the others stay surveyed."""
    for name in ("bad", "good"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("x\n")
    rules = next_message

    def sometimes(messages: Any) -> str | list[ToolCall]:
        if '"bad"' in str(messages[0]):
            raise RuntimeError("no idea")
        return rules(messages)

    monkeypatch.setattr(module, "next_message", sometimes)
    board = Board()
    report = await surveyed(Order(str(tmp_path)), board)
    assert (report.status, report.facts.lines, report.facts.failed.count) == ("failed", 1, 1)
    assert report.problem.startswith("1 folder was not surveyed, bad: ")
    assert sorted(node.state for node in board.nodes.values()) == ["done", "failed", "failed"]


async def test_an_answer_that_is_no_facts_fails_the_survey(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """demo: a root that answers with anything else is a failed survey, with the reason."""

    def polite(messages: object) -> str:
        return "hello"

    monkeypatch.setattr(module, "next_message", polite)
    report = await surveyed(Order(str(tmp_path)))
    assert report.problem.startswith("the root agent did not answer with facts")


async def test_a_tool_keeps_inside_its_ground(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """demo: a path outside of the folder surveyed is refused by every tool."""
    said: list[str] = []

    def curious(messages: Any) -> str | list[ToolCall]:
        if len(messages) == 1:
            paths = ("../x", "/etc", "a/../../b", "..")
            return [
                ToolCall(f"{number}", "list", json.dumps({"folder": path}))
                for number, path in enumerate(paths)
            ] + [ToolCall("f", "count", '{"folder": "", "files": ["../x"]}')]
        said.extend(str(message.content) for message in messages[2:])
        return Facts().to_json()

    monkeypatch.setattr(module, "next_message", curious)
    await surveyed(Order(str(tmp_path)))
    assert len(said) == 5
    assert all("outside the survey" in text for text in said)


def test_the_command_ends_with_the_summary(
    odd_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """demo: the report goes to stdout and ends with the summary; progress goes to stderr."""
    code, out, err = run(capsys, "demo", str(odd_tree))
    assert code == 0
    last = out.splitlines()[-1]
    assert last.startswith("demo: 14 agents, 14 turns, ")
    assert last.endswith(" tool calls, ok")
    assert "the model is rules" in err.splitlines()[0]
    assert "The model of these agents is rules" in out


def test_json_is_one_document_and_nothing_else(
    odd_tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """demo: with --json stdout is exactly one JSON document, quiet or not."""
    code, out, err = run(capsys, "demo", "--json", "--quiet", str(odd_tree))
    document = json.loads(out)
    assert (code, err, document["status"], document["agents"]) == (0, "", "ok", 14)
    assert Facts.from_dict(document["facts"]).files == 18


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("missing", 2, "there is no such folder"),
        ("file.txt", 2, "this is a file; name the folder that it is in"),
        ("a" * 300, 1, "file name too long"),
        ("nul\0", 2, "null"),
    ],
)
def test_a_path_that_cannot_be_surveyed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, code: int, words: str
) -> None:
    """demo: a wrong path gets one line on stderr, or one document, and its exit code."""
    (tmp_path / "file.txt").touch()
    root = f"{tmp_path}/{path}"
    got, out, err = run(capsys, "demo", root)
    assert (got, out, err.count("\n")) == (code, "", 1)
    assert words in err
    got, out, err = run(capsys, "demo", "--json", root)
    assert (got, err) == (code, "")
    assert words in json.loads(out)["problem"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nope"],
        ["--depth", "-1"],
        ["--jobs", "0"],
        ["--pace", "x"],
        ["--match", "a/b"],
        ["--match", ""],
        ["--match", "[^a]"],
        ["--match", "[a"],
        ["--match", "a[]"],
        ["--match", "[!]"],
        ["--match", "[ab]*[c"],
        [""],
        ["a", "b"],
    ],
)
def test_wrong_usage_ends_with_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """demo: options that make no sense are refused before anything starts."""
    code, out, err = run(capsys, "demo", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("demo: ")
    assert err.endswith("; try broodline demo --help\n")
    assert err.count("\n") == 1


def test_the_version_and_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """demo: --version prints the package's version, --help ends with 0, no command with 2."""
    assert run(capsys, "--version")[:2] == (0, f"broodline {broodline.__version__}\n")
    code, out, _ = run(capsys, "demo", "-h")
    assert code == 0
    assert "--json" in out
    assert run(capsys)[0] == 2


def test_without_a_path_the_package_itself_is_surveyed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """demo: the default folder is the installed package, links followed, and find agrees."""
    code, out, _ = run(capsys, "demo", "--json", "--explain")
    document = json.loads(out)
    package = os.path.dirname(os.path.abspath(broodline.__file__))
    assert (document["problem"], code) == (None, 0)
    assert (document["path"], document["followLinks"]) == (package, True)
    for fact in ("files", "lines", "folders"):
        command = document["checks"][fact]
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        assert int(done.stdout) == document["facts"][fact]
    assert document["facts"]["pythonFiles"] > 100


def test_an_empty_folder_is_a_report_of_zeros(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """demo: an empty folder is surveyed like any other."""
    code, out, _ = run(capsys, "demo", str(tmp_path))
    assert (code, out.splitlines()[-1]) == (0, "demo: 1 agent, 1 turn, 1 tool call, ok")


def test_an_unreadable_folder_below_is_reported_and_the_survey_is_ok(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """demo: a folder without permission is skipped with the reason; nothing is half made."""
    (tmp_path / "shut").mkdir()
    scandir = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    code, out, err = run(capsys, "demo", str(tmp_path))
    assert code == 0
    assert "permission denied: shut" in out
    assert "! shut  permission denied" in out
    assert "demo: shut: permission denied\n" in err
    code, _, err = run(capsys, "demo", str(tmp_path / "shut"))
    assert (code, err.split(": ", 2)[2]) == (1, "the folder cannot be read: permission denied\n")


async def test_very_long_paths_fit_an_answer(tmp_path: Path) -> None:
    """demo: answers that name many paths of the greatest length still reach the root whole."""
    folder = str(tmp_path)
    for _ in range(15):
        folder += "/" + "\x01" * 200
        os.mkdir(folder)
    for number in range(12):
        with open(f"{folder}/{number}.py", "w") as file:
            file.write("def f(): pass  # TODO\n")
    report = await surveyed(Order(str(tmp_path)))
    assert (report.status, report.facts.marks.count) == ("ok", 12)
    assert len(report.facts.to_json()) > 64 * 1024


def test_what_the_parser_warns_of_is_not_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """demo: sources that Python warns about parse, even where warnings are errors."""
    (tmp_path / "a.py").write_text("def f(): return '\\d' is 1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code, out, err = run(capsys, "demo", "--json", "-q", str(tmp_path))
    assert (code, err) == (0, "")
    assert json.loads(out)["facts"]["unparsed"]["count"] == 0


@pytest.mark.parametrize("pattern", ["[]x]*", "[!]]*", "*[a-c].py", "[!a]?"])
def test_brackets_that_are_closed_are_a_pattern(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pattern: str
) -> None:
    """demo: a set of characters may hold a bracket that stands first; no match is no failure."""
    code, out, _ = run(capsys, "demo", "--match", pattern, str(tmp_path))
    assert code == 0
    assert f"no file is named like '{pattern}'\n" in out


def test_every_top_folder_that_is_done_has_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """demo: in a pipe each folder of the top is told once, with the same words each time."""
    for number in range(30):
        (tmp_path / f"folder {number}").mkdir()
        (tmp_path / f"folder {number}" / "a.txt").write_text("1\n" * number)
    told: set[tuple[str, ...]] = set()
    for _ in range(2):
        _, _, err = run(capsys, "demo", str(tmp_path))
        told.add(tuple(sorted(line for line in err.splitlines() if ": folder " in line)))
    (lines,) = told
    words = ["lines"] * 30
    words[1] = "line"
    assert lines == tuple(sorted(f"demo: folder {n}: 1 file, {n} {words[n]}" for n in range(30)))
