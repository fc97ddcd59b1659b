"""What is told while a survey runs."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from broodline.survey import progress as module
from broodline.survey.board import Board
from broodline.survey.facts import Facts
from broodline.survey.progress import (
    CHILDREN_TOLD,
    PlainProgress,
    Silence,
    live_progress,
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_plain_lines_tell_the_start_the_first_folders_and_the_sums(clock: Clock) -> None:
    """demo: without a terminal each line is written once, the sums again after some seconds."""
    board, stream = Board(), io.StringIO()
    progress = PlainProgress(board, stream, "the start")
    progress.tick()
    board.started("root", None)
    node = board.started("child", "root")
    node.label = "sub"
    progress.tick()
    board.answered(node, Facts(files=2, lines=3))
    board.ended("child", "done")
    progress.tick()
    progress.tick()
    clock.now = 2.0
    progress.tick()
    progress.tick()
    progress.say("last")
    assert stream.getvalue().splitlines() == [
        "the start",
        "demo: sub: 2 files, 3 lines",
        "demo: 2 agents (1 running), 0 turns, 0 tool calls; 0 files, 0 lines",
        "last",
    ]


def test_plain_lines_are_few_however_many_agents_there_are(clock: Clock) -> None:
    """demo: thousands of folders do not flood a log."""
    board, stream = Board(), io.StringIO()
    progress = PlainProgress(board, stream, "the start")
    board.started("root", None)
    for number in range(5000):
        board.started(str(number), "root").label = str(number)
        board.ended(str(number), "done" if number else "stopped")
        if number % 50 == 0:
            progress.tick()
    lines = stream.getvalue().splitlines()
    assert lines[1 : CHILDREN_TOLD + 1] == [f"demo: {n}: done" for n in range(1, CHILDREN_TOLD + 1)]
    assert lines[CHILDREN_TOLD + 1 :] == ["demo: no line for each folder after the first 500"]


def test_a_broken_stream_silences_the_progress(clock: Clock) -> None:
    """demo: a reader that goes away stops the lines, not the survey."""

    class Broken(io.StringIO):
        writes = 0

        def write(self, text: str) -> int:
            self.writes += 1
            raise BrokenPipeError

    stream = Broken()
    progress = PlainProgress(Board(), stream, "the start")
    progress.tick()
    progress.say("more")
    assert stream.writes == 1


def test_the_live_tree_is_wiped_for_the_report() -> None:
    """demo: the tree is drawn in place at every tick and erased at the end, the cursor back."""
    board = Board()
    board.started("root", None).label = "the folder"
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=60, height=20)
    with live_progress(board, console, "the title") as progress:
        progress.tick()
        progress.say("a line above")
    text = file.getvalue()
    assert "the folder" in text
    assert "a line above" in text
    assert "\x1b[2K" in text[text.index("the folder") :]
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_silence_tells_nothing() -> None:
    """demo: quiet has nothing to say."""
    Silence().tick()
    Silence().say("x")
    Silence().give_back()
