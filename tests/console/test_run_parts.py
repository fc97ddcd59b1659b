"""The parts of ``broodline run`` for themselves: words, tokens, pages, the outlet, the record."""

from __future__ import annotations

import io
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from broodline import Runtime, ToolError
from broodline.actors.models import ScriptedModel, call
from broodline.console.arguments import arguments_shown
from broodline.console.board import RunBoard
from broodline.console.neutral import neutral, one_line
from broodline.console.outlet import Outlet
from broodline.console.page import BYTES, LINES, passage, show_tool
from broodline.console.persona import CHILD, DELEGATES, Delegation
from broodline.console.pieces import Pieces
from broodline.console.record import Record
from broodline.console.speech import Speech
from broodline.console.tokens import Tokens
from broodline.console.view import RunView
from broodline.messages.chunk import ModelFailure, Usage
from broodline.messages.payload import RetryPlanned
from broodline.survey.ground import Ground
from broodline.survey.passage import NotSurveyedError
from broodline.survey.view import outcome_lines, tree_lines

# -- what could steer a terminal


def test_controls_are_written_out_and_text_stays() -> None:
    """run: escapes, C1 controls, direction marks and surrogates become text; the rest stays."""
    assert neutral("\x1b[2J\x07\x7f\x9b\u202e\ud800") == "\\x1b[2J\\x07\\x7f\\x9b\\u202e\\ud800"
    assert neutral("naïve\tcafé\n漢字 👍🏽\n") == "naïve\tcafé\n漢字 👍🏽\n"
    assert neutral("one\r\ntwo\rover") == "one\ntwoover"
    assert one_line("a\nb\x1b") == "a\\nb\\x1b"


@given(st.text(), st.text())
def test_pieces_are_as_harmless_as_the_whole(first: str, second: str) -> None:
    """run: however a text is cut into pieces, the same is shown, and no control is in it."""
    whole = neutral(first + second)
    assert neutral(first) + neutral(second) == whole
    assert all(character.isprintable() or character in "\n\t" for character in one_line(whole))
    assert not {"\x1b", "\x9b", "\r", "\x07", "\x00"} & {*whole}


# -- the root's words


def test_messages_are_paragraphs_and_the_last_line_ends() -> None:
    """run: between two messages stands a blank line, whether or not the first ended its line."""
    for first in ("One.", "One.\n"):
        written: list[str] = []
        speech = Speech(written.append, plain=True)
        for piece in (first, ""):
            speech.say(piece)
        speech.close()
        speech.close()
        assert "".join(written) == first
        speech.say("Two.")
        speech.deliver(written.append)
        speech.deliver(written.append)
        assert "".join(written) == "One.\n\nTwo.\n"


def test_what_is_kept_for_the_end_leaves_out_broken_attempts() -> None:
    """run: words kept for the end hold no attempt that was taken back, and what is unfinished."""
    written: list[str] = []
    speech = Speech(None, plain=False)
    for piece in ("One", "."):
        speech.say(piece)
    speech.close()
    speech.say("broken")
    assert speech.take_back()
    assert not speech.take_back()
    speech.say("so far \x1b")
    assert not written
    speech.deliver(written.append)
    assert "".join(written) == "One.\n\nso far \\x1b\n"


def test_unseen_words_are_taken_back_in_silence() -> None:
    """run: where nobody saw the words there is nothing to disown."""
    speech = Speech(None, plain=True, seen=False)
    speech.say("broken")
    assert not speech.take_back()


@given(st.lists(st.text(max_size=5)), st.integers(0, 30))
def test_the_end_of_pieces_is_that_of_their_text(parts: list[str], most: int) -> None:
    """run: the end of a text in pieces is the end of the whole."""
    pieces = Pieces()
    for part in parts:
        pieces.add(part)
    whole = "".join(parts)
    assert (str(pieces), bool(pieces)) == (whole, bool(whole))
    assert pieces.end(most) == (whole[-most:] if most else "")
    pieces.clear()
    assert not pieces


# -- tokens


def test_tokens_are_summed_and_told() -> None:
    """run: reads and writes are told with their parts; nothing reported is not told as nothing."""
    tokens = Tokens()
    assert (str(tokens), tokens.to_dict()) == ("tokens not reported", None)
    tokens.add(Usage(1000, 200, 300, 50, 40))
    tokens.add(Usage(1, 1))
    assert str(tokens) == "1,351 tokens in (300 cached), 241 out (40 reasoning)"
    assert tokens.total == 1592
    assert (tokens.to_dict() or {})["cacheWriteTokens"] == 50


# -- the arguments of a call

NAMES = ["CHANGELOG.md", "Makefile", "README.md", "pyproject.toml", "src.log"]


def test_arguments_are_whole_or_visibly_a_part() -> None:
    """run: lists end in a count, a text in an ellipsis behind it; what fits stays as it came."""
    short = '{"folder": "",  "files": ["a"]}'
    assert arguments_shown(short, 80) == short
    listed = compact({"folder": "", "files": NAMES})
    assert arguments_shown(listed, 60) == (
        '{"folder":"","files":["CHANGELOG.md","Makefile", … 3 more]}'
    )
    assert arguments_shown(listed, 50) == '{"folder":"","files":["CHANGELOG.md", … 4 more]}'
    assert arguments_shown(listed, 35) == '{"folder":"","files":[… 5]}'
    assert arguments_shown(compact({"prompt": "word " * 50}), 30) == '{"prompt":"word word word "…}'
    both = compact({"f": ["n" * 8, "b"], "p": "p" * 15, "q": "q" * 15, "r": "r"})
    told = '{"f":[… 2],"p":"ppppppp"…,"q":"qqqqqqq"…,"r":"r"}'
    assert arguments_shown(both, 60) == told
    assert arguments_shown("no JSON " * 20, 12) == "no JSON no…"
    assert arguments_shown('{"a":"' + "\x1b[2J" * 9, 20) == '{"a":"\\x1b[2J\\x1b[2…'
    for odd in ("[" * 70_000, compact({"x": ["y" * 100_000]}), compact({"k" * 99: 1}), "1" * 99):
        assert arguments_shown(odd, 20).endswith("…")


@given(st.lists(st.text(min_size=1, max_size=30), max_size=40), st.integers(20, 90))
def test_a_name_in_a_list_is_shown_whole(names: list[str], width: int) -> None:
    """run: however long a list of names is, a name in it is whole or counted, within the width."""
    line = arguments_shown(compact({"files": names}), width)
    assert cell_len(line) <= width
    if len(names) > 1 and " … " in line and line.endswith(" more]}"):
        head, left = line.removesuffix(" more]}").rsplit(", … ", 1)
        shown = names[: len(names) - int(left)]
        assert head == one_line(compact({"files": shown}))[:-2]


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# -- the outlet


def test_what_is_written_comes_in_order_and_whole(tmp_path: Path) -> None:
    """run: pieces reach their streams in order, each at once, and closing waits for the last."""
    faults: list[Any] = []
    outlet = Outlet(lambda stream, error: faults.append(error))
    read, write = os.pipe()
    with open(write, "w") as stream, open(read, "rb") as reader:
        outlet.write(stream, "first ")
        assert reader.read(6) == b"first "
        for number in range(1000):
            outlet.write(stream, f"{number} ")
        outlet.write(stream, "\ud800")
        outlet.write(None, "nowhere")
        assert outlet.close()
        stream.close()
        assert reader.read() == "".join(f"{n} " for n in range(1000)).encode() + b"\\ud800"
    assert not faults


def test_a_slow_reader_holds_up_nobody() -> None:
    """run: writing returns at once though the pipe is full; closing gives up after its time."""
    outlet = Outlet(lambda stream, error: None)
    read, write = os.pipe()
    with open(write, "w") as stream, open(read, "rb") as reader:
        os.set_blocking(write, False)  # as whoever started the process may have it
        outlet.write(stream, "x" * 200_000)
        assert not outlet.close(0.01)
        assert len(reader.read(200_000)) == 200_000
        assert outlet.close()


def test_a_broken_stream_is_told_once_and_the_others_go_on() -> None:
    """run: a reader that left is told once; what goes elsewhere is written all the same."""
    told = threading.Event()
    faults: list[OSError] = []

    def broken(_stream: Any, error: OSError) -> None:
        faults.append(error)
        told.set()

    outlet = Outlet(broken)
    read, write = os.pipe()
    os.close(read)
    other, sink = os.pipe()
    with open(write, "w") as stream, open(sink, "w") as there, open(other) as reader:
        outlet.write(stream, "lost")
        assert told.wait(10)
        outlet.write(stream, "lost")
        outlet.write(there, "kept")
        assert outlet.close()
        there.close()
        assert reader.read() == "kept"
    assert [type(error) for error in faults] == [BrokenPipeError]


def test_a_stream_without_a_descriptor_is_written_to_as_it_is() -> None:
    """run: what stands in for stdout in a test takes text, and no thread is started."""
    stream = io.StringIO()
    outlet = Outlet(lambda stream, error: None)
    outlet.write(stream, "text")
    assert stream.getvalue() == "text"
    assert outlet.close(0.0)


# -- the tool that shows a file


def shown(path: Path, first: int = 1) -> dict[str, Any]:
    return passage(str(path), first, lambda: None)


def test_a_file_is_shown_in_pages(tmp_path: Path) -> None:
    """run: a passage begins at a line and says where the next begins; 0 is the end."""
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{number}\r\n" for number in range(1, LINES + 11)))
    page = shown(path)
    assert page["text"].startswith("1\r\n2\r\n")
    assert page["next"] == LINES + 1
    rest = shown(path, LINES + 1)
    assert (rest["text"].split("\r\n")[0], rest["next"]) == (str(LINES + 1), 0)
    assert shown(path, 10**6) == {"text": "", "next": 0}


def test_a_page_is_bounded_in_bytes(tmp_path: Path) -> None:
    """run: long lines fill a page early; one that is longer than a page is cut, visibly."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"a" * (BYTES - 10) + b"\n" + b"b" * 20 + b"\n" + b"c" * 3_000_000 + b"\nd")
    first, second, third = shown(path), shown(path, 2), shown(path, 3)
    assert (set(first["text"]), first["next"]) == ({"a"}, 2)
    assert (second["text"], second["next"]) == ("b" * 20, 3)
    assert third["text"] == "c" * BYTES + " [line cut]"
    assert shown(path, third["next"]) == {"text": "d", "next": 0}
    path.write_bytes(b"\xff\0")
    with pytest.raises(NotSurveyedError):
        shown(path)


@pytest.fixture
def fenced(tmp_path: Path) -> Path:
    """A folder with ways out of it."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.py").write_text("hunter2 = 'TODO'\n")
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub" / "a.txt").write_text("plain\n")
    (inside / ".env").write_text("hidden\n")
    (inside / ".git").mkdir()
    (inside / ".git" / "config").write_text("hidden\n")
    (inside / "out").symlink_to(tmp_path / "secret")
    (inside / "key.py").symlink_to(tmp_path / "secret" / "key.py")
    (inside / "near").symlink_to("sub")
    (inside / "settings").symlink_to(".env")
    (inside / "__pycache__").mkdir()
    (inside / "__pycache__" / "a.py").write_text("hidden\n")
    return inside


WAYS_OUT = [
    ("", "../secret/key.py"),
    ("../secret", "key.py"),
    ("out", "key.py"),
    ("", "out/key.py"),
    ("", "key.py"),
    ("", "/etc/passwd"),
    ("sub", "../../secret/key.py"),
    ("near", "../../secret/key.py"),
    ("", "out\\x2fkey.py"),
]


@pytest.mark.parametrize(("folder", "file"), WAYS_OUT)
async def test_no_tool_leaves_the_folder(fenced: Path, folder: str, file: str) -> None:
    """run: names with .., absolute ones and links that lead out are refused by every tool."""
    ground = Ground(str(fenced))
    for tool in (ground.count, ground.find, ground.read):
        with pytest.raises(ToolError) as refused:
            tool(folder, [file], lambda: None)
        assert refused.value.code == "OUTSIDE"
    arguments = {"folder": folder, "file": file}
    said = await answer_of(fenced, "show", arguments)
    assert "hunter2" not in said
    assert "Error" in said


def test_no_folder_outside_is_listed(fenced: Path) -> None:
    """run: a link to a folder outside is not listed; one that stays inside may be named."""
    ground = Ground(str(fenced))
    for folder in ("out", "..", "/etc"):
        with pytest.raises(ToolError):
            ground.list_page(folder, False, "", lambda: None)
    assert ground.list_page("near", False, "", lambda: None)["files"] == ["a.txt"]


HIDDEN = [
    ("", ".env"),
    ("./", "./.env"),
    ("", "\\x2eenv"),
    ("\\x2egit", "config"),
    ("", ".git/config"),
    ("", "settings"),
    ("__pycache__", "a.py"),
    ("", "\\x5f_pycache__/a.py"),
]


@pytest.mark.parametrize(("folder", "file"), HIDDEN)
async def test_hidden_files_are_not_shown(fenced: Path, folder: str, file: str) -> None:
    """run: what the list tool passes over no tool reads, however it is written or linked."""
    ground = Ground(str(fenced))
    for tool in (ground.count, ground.find, ground.read):
        with pytest.raises(ToolError, match="is hidden") as refused:
            tool(folder, [file], lambda: None)
        assert refused.value.code == "HIDDEN"
    said = await answer_of(fenced, "show", {"folder": folder, "file": file})
    assert "is hidden" in said
    if folder not in ("", "./"):
        with pytest.raises(ToolError, match="is hidden"):
            ground.list_page(folder, False, "", lambda: None)


async def test_a_file_is_shown_to_the_model(fenced: Path) -> None:
    """run: the show tool gives a model the text of a file."""
    for folder, file in (("sub", "a.txt"), (".", "sub/a.txt"), ("./sub/", "./a.txt")):
        said = await answer_of(fenced, "show", {"folder": folder, "file": file})
        assert said == '{"text":"plain","next":0}'
    said = await answer_of(fenced, "show", {"folder": "sub", "file": "no"})
    assert "there is no such file" in said
    wrong = {"folder": "", "file": "sub/a.txt", "first": 0}
    assert "Error" in await answer_of(fenced, "show", wrong)


async def answer_of(folder: Path, name: str, arguments: dict[str, Any]) -> str:
    """What a model is told of one call."""
    model = ScriptedModel(shared=[call(name, **arguments), "Done."])
    async with Runtime(model=model, tools=[show_tool(Ground(str(folder)))]) as runtime:
        agent = await runtime.agents.create()
        await agent.followup("Go.")
        await agent.when_idle()
    block: Any = model.requests[1].messages[-1].content[0]
    return str(block.content[0].text)


# -- delegation


async def test_only_the_last_level_does_not_delegate() -> None:
    """run: of two levels the first is told how to delegate and can, the second is not told."""
    part = call("subagent", description="part", prompt="part")
    model = ScriptedModel(shared=[part, part, "Deep.", "Middle.", "Top."])
    async with Runtime(model=model, tools=[Delegation(2)], persona="Root.") as runtime:
        root = await runtime.agents.create()
        await root.followup("Go.")
        await root.when_idle()
        assert root.answer == "Top."
    top, middle, deep, *_rest = model.requests
    assert [len(request.tools) for request in (top, middle, deep)] == [1, 1, 0]
    assert top.system == "Root."
    assert middle.system == CHILD + DELEGATES
    assert deep.system == CHILD


# -- the record


async def test_logs_are_on_disk_while_the_run_goes_on(tmp_path: Path) -> None:
    """run: what has happened is written at every look, not only at the end."""
    record = Record(str(tmp_path))
    model = ScriptedModel(shared=["One.", "Two."])
    async with Runtime(model=model) as runtime:
        with record.follow(runtime):
            root = await runtime.agents.create()
            sizes: list[int] = []
            for task in ("First.", "Second."):
                await root.followup(task)
                await root.when_idle()
                record.write()
                sizes.append(len((tmp_path / "session.jsonl").read_text().splitlines()))
            lines = root.agent.session.to_json()
    assert sizes[0] < sizes[1] == len(lines)


def test_a_folder_with_a_child_alone_holds_a_recording(tmp_path: Path) -> None:
    """run: any session's file makes a folder one that is not written into."""
    (tmp_path / "session.3.jsonl").touch()
    with pytest.raises(FileExistsError):
        Record(str(tmp_path))


# -- the view


@pytest.mark.parametrize(("width", "height"), [(80, 24), (30, 10), (12, 5), (1, 1)])
async def test_the_view_fits_any_terminal(width: int, height: int) -> None:
    """run: the picture is never wider than the terminal, and shows the end of a long text."""
    board, speech = RunBoard(), Speech(None, plain=False)
    root = board.hired("root", None)
    for number in range(50):
        board.name(board.hired(str(number), "root"), f"a rather long label {number} \x1b[2J")
    speech.say("word " * 5000 + "\n\n\nthe end")
    root.attempt.add("word " * 5000)
    file = io.StringIO()
    console = Console(file=file, width=width, height=height, force_terminal=True, no_color=True)
    console.print(RunView(board, speech))
    lines = file.getvalue().splitlines()
    assert "\x1b[2J" not in file.getvalue()
    assert len(lines) <= max(height, 10)
    if width >= 12:
        assert any("the end" in line for line in lines)


def test_tokens_are_no_matter_before_a_request_has_ended() -> None:
    """run: the view says nothing of tokens until a request has ended, then also that none came."""
    board = RunBoard()
    board.hired("root", None)
    assert "token" not in drawn(board)
    board.requests += 1
    assert "tokens not reported, 0." in drawn(board)


def test_the_tree_stands_in_the_order_of_the_beginning() -> None:
    """run: children stand as they began, as their logs are numbered, whatever they are called."""
    board = RunBoard()
    board.hired("root", None)
    for number in range(12, 0, -1):
        board.name(board.hired(str(number), "root"), f"kid {number}")
    board.ended("7", "done")
    lines = [line.plain for line in tree_lines(board, 20, 80)][1:]
    assert [line.split("  ")[0][5:] for line in lines] == [f"kid {n}" for n in range(12, 0, -1)]
    assert lines == [line.plain for line in outcome_lines(board, 20, 80)][1:]


def test_a_cause_takes_the_room_that_is_left() -> None:
    """run: the cause of a retry stands behind all else of a line, without model and address."""
    board = RunBoard()
    root = board.hired("root", None)
    failure = ModelFailure("acme:x at http://h:1/v1: the connection\nfailed (why)", "TRANSPORT")
    root.retry = RetryPlanned("", 1, 1, "acme", "normal", "", 1, 500, failure)
    root.waiting = "retrying in 0.50 s (TRANSPORT)"
    line = next(iter(tree_lines(board, 5, 80))).plain
    assert line == "● root  retrying in 0.50 s (TRANSPORT): the connection failed (why)"
    assert next(iter(tree_lines(board, 5, 50))).plain.endswith("(TRANSPORT): the conne…")
    root.waiting = ""
    assert root.detail() == ""


def drawn(board: RunBoard) -> str:
    file = io.StringIO()
    Console(file=file, width=80).print(RunView(board, Speech(None, plain=False)))
    return file.getvalue()


def test_equal_labels_are_told_apart() -> None:
    """run: two children of the same name are two in the tree and in the lines."""
    board = RunBoard()
    board.hired("root", None)
    for number in range(3):
        board.name(board.hired(str(number), "root"), " same \n name ")
    assert [worker.label for worker in board.workers.values()] == [
        "root",
        "same name",
        "same name (2)",
        "same name (3)",
    ]


async def test_a_line_of_the_tree_says_what_an_agent_does() -> None:
    """run: thinking, speaking, writing a call, using a tool, waiting: each is told, with tokens."""
    board = RunBoard()
    root = board.hired("root", None)
    child = board.hired("child", "root")
    assert (root.note(), child.note()) == ("waits for its child", "thinks")
    child.attempt.add("one two three four five six seven eight")
    assert child.note() == "“…ur five six seven eight”"
    child.writing = "list"
    child.tokens.add(Usage(3, 4))
    assert child.note() == "writes a call of list, 7 tokens"
    child.writing = ""
    child.doing = "list, show"
    assert child.note() == "list, show, 7 tokens"
    child.waiting = "retrying in 2.0 s (RATE_LIMIT 429)"
    assert child.note() == "retrying in 2.0 s (RATE_LIMIT 429), 7 tokens"
    child.failure, child.end = ModelFailure("no", "AUTH"), "error"
    board.ended("child", child.how_it_ended())
    assert child.note() == "failed: AUTH, 7 tokens"
    root.attempt.add("Words")
    assert root.note() == "speaks"
    root.end = "max-tokens"
    board.ended("root", root.how_it_ended())
    assert root.note() == "failed: max-tokens"
