"""The live view and the tree in the report."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from broodline.survey.board import Board, Node, State
from broodline.survey.facts import Facts, Noted
from broodline.survey.view import LiveView, outcome_lines, tree_lines
from broodline.survey.width import clipped, shortened, wrapped

Shape = list[tuple[int, State]]
shapes = st.lists(
    st.tuples(
        st.integers(0, 400), st.sampled_from(["running", "done", "unread", "failed", "stopped"])
    ),
    max_size=120,
)


def board_of(shape: Shape) -> Board:
    """A board whose agents hang below any earlier one; those that ended did so in order."""
    board = Board()
    board.started("0", None).label = "."
    for number, (parent, _) in enumerate(shape, start=1):
        node = board.started(str(number), str(parent % number))
        node.label = f"folder {number}"
    for number, (_, state) in enumerate(shape, start=1):
        if state == "done":
            board.answered(board.nodes[str(number)], Facts(files=number))
        if state != "running":
            board.ended(str(number), state)
    return board


def shown_nodes(board: Board, lines: list[Text]) -> list[Node]:
    """The agents whose labels stand in the lines."""
    by_label = {node.label: node for node in board.nodes.values()}
    found: list[Node] = []
    for line in lines:
        words = line.plain.lstrip("│├└─ ").split("  ")[0]
        if words[:1] in "●✓!✗■":
            found.append(by_label[words[2:]])
    return found


@given(shapes, st.integers(1, 40))
def test_the_tree_is_bounded_and_counts_whom_it_leaves_out(shape: Shape, most: int) -> None:
    """demo: the tree never takes more lines than there are, and says how many agents it hides."""
    board = board_of(shape)
    lines = list(tree_lines(board, most, 200))
    assert 1 <= len(lines) <= most
    nodes = shown_nodes(board, lines)
    hidden = board.agents - len(nodes)
    if hidden and most > 1:
        assert lines[-1].plain.startswith(f"… and {hidden} more (")
    else:
        assert len(lines) == len(nodes)


@given(shapes, st.integers(2, 40))
def test_no_agent_is_shown_without_those_above_it(shape: Shape, most: int) -> None:
    """demo: every agent in the tree stands below its parent, each once."""
    board = board_of(shape)
    nodes = shown_nodes(board, list(tree_lines(board, most, 200)))
    assert len(nodes) == len(set(nodes))
    for node in nodes:
        assert node.parent is None or nodes.index(node.parent) < nodes.index(node)


@given(shapes, st.integers(2, 40))
def test_running_agents_come_first(shape: Shape, most: int) -> None:
    """demo: an ended agent is shown only when every running one that fits is, too."""
    board = board_of(shape)
    nodes = set(shown_nodes(board, list(tree_lines(board, most, 200))))
    above_running: set[Node] = set()
    for node in board.running.values():
        line: Node | None = node
        while line is not None:
            above_running.add(line)
            line = line.parent
    if not nodes - above_running:
        return
    room = most if board.agents <= most else most - 1
    taken = len(nodes & above_running)
    for node in [*board.running.values()][:room]:
        line, need = node, 0
        while line is not None and line not in nodes:
            line, need = line.parent, need + 1
        assert need == 0 or need > room - taken


@given(shapes, st.integers(1, 60), st.booleans())
def test_no_line_is_wider_than_the_terminal(shape: Shape, width: int, plain: bool) -> None:
    """demo: lines fit the terminal however narrow it is, and are ASCII where it takes no more."""
    board = board_of(shape)
    board.nodes["0"].label = "größe 日本語 folder of a long name"
    for lines in (tree_lines(board, 20, width, plain), outcome_lines(board, 20, width, plain)):
        for line in lines:
            assert line.cell_len <= width
            assert not plain or line.plain.isascii()


@given(shapes, st.integers(2, 40))
def test_the_outcome_shows_the_upper_levels(shape: Shape, most: int) -> None:
    """demo: the tree of the report is bounded and prefers agents near the root."""
    board = board_of(shape)
    lines = list(outcome_lines(board, most, 200))
    assert len(lines) <= most
    nodes = shown_nodes(board, lines)
    levels = [level(node) for node in nodes]
    hidden = [level(node) for node in board.nodes.values() if node not in nodes]
    assert not hidden or max(levels) <= min(hidden)
    assert bool(hidden) == lines[-1].plain.startswith("… and")


def level(node: Node) -> int:
    return 0 if node.parent is None else 1 + level(node.parent)


def test_large_folders_come_before_small_ones_in_the_outcome() -> None:
    """demo: when not all folders of a level fit, the report shows the largest."""
    board = Board()
    board.started("root", None)
    for number in range(10):
        node = board.started(str(number), "root")
        node.label = f"folder {number}"
        board.answered(node, Facts(lines=number))
    nodes = shown_nodes(board, list(outcome_lines(board, 5, 80))[1:])
    assert {node.label for node in nodes} == {"folder 9", "folder 8", "folder 7"}


@pytest.mark.parametrize("height", [3, 10, 24, 40])
@pytest.mark.parametrize("colour", [True, False])
def test_a_view_of_many_agents_fits_the_screen(height: int, colour: bool) -> None:
    """demo: with 500 agents the whole view is no higher than the terminal, coloured or not."""
    shape: Shape = [(0, "running")] * 250
    ended: Shape = [(3, "done")] * 250
    board = board_of([*shape, *ended])
    console = Console(
        file=io.StringIO(), width=80, height=height, force_terminal=True, no_color=not colour
    )
    with console.capture() as capture:
        console.print(LiveView(board, "demo: surveying [red]x[/red]"))
    text = capture.get()
    assert text.count("\n") <= max(height - 1, 7)
    assert "[red]x[/red]" in text
    assert ("\x1b[36m" in text) == colour


def test_an_agent_tells_what_it_does() -> None:
    """demo: a line says what its agent waits for, found, or how it ended."""
    board = Board()
    root = board.started("root", None)
    child = board.started("child", "root")
    assert root.note() == "waits for its child"
    assert child.note() == ""
    child.label = "a"
    assert child.note() == "thinks"
    child.doing = "count, find"
    assert child.note() == "count, find"
    board.answered(child, Facts(files=1, lines=1))
    assert child.note() == "1 file, 1 line"
    board.ended("child", "done")
    board.ended("child", "failed")
    root.label = "."
    assert (child.state, root.note(), root.ended) == ("done", "thinks", 1)
    for number in range(1200):
        board.started(str(number), "root")
    assert root.note() == "waits for 1,200 of 1,201 children"
    board.ended("root", "stopped")
    assert (root.note(), board.stopped, len(board.running)) == ("stopped", 1, 1200)


def test_a_clipped_line_says_so() -> None:
    """demo: what does not fit is cut with an ellipsis, in ASCII without one."""
    assert clipped(Text("a long line"), 6).plain == "a lon…"
    assert clipped(Text("… and é"), 6, plain=True).plain == "... an"


def test_nothing_is_drawn_before_there_is_an_agent() -> None:
    """demo: an empty board has no tree."""
    assert list(tree_lines(Board(), 10, 80)) == []
    assert list(outcome_lines(Board(), 10, 80)) == []


def test_an_agent_without_a_prompt_yet_is_starting() -> None:
    """demo: a child that was just made is shown as starting, not as a question mark."""
    board = Board()
    board.started("root", None).label = "."
    board.started("child", "root")
    assert [line.plain for line in tree_lines(board, 9, 80)][1] == "└─ ● starting"


def test_a_folder_that_could_not_be_read_says_so() -> None:
    """demo: an unreadable folder's agent is marked and tells the reason, not a count of zero."""
    board = Board()
    board.started("root", None).label = "."
    node = board.started("child", "root")
    node.folder, node.label = "a/locked", "locked"
    facts = Facts(skipped={"permission denied": Noted.of([("a/locked", 0, "")])})
    board.answered(node, facts)
    board.ended("child", "unread")
    assert [line.plain for line in outcome_lines(board, 9, 80)][1] == (
        "└─ ! locked  permission denied"
    )
    node.folder = "a"
    assert node.refusal() is None


@pytest.mark.parametrize("width", [66, 80])
def test_a_live_view_keeps_the_ends_of_its_lines(width: int) -> None:
    """demo: the seconds, the sums and what an agent does stay in sight on a narrow terminal."""
    board = board_of([(0, "running")] * 2563)
    board.turns, board.calls, board.files, board.lines = 12_345, 123_456, 98_765, 12_345_678
    board.nodes["0"].label = "a_very_long_name" * 9
    console = Console(file=io.StringIO(), width=width, height=12, force_terminal=True)
    with console.capture() as capture:
        console.print(LiveView(board, f"demo: surveying {'/long' * 30}, the model is rules"))
    lines = Text.from_ansi(capture.get()).plain.splitlines()
    assert lines[0].endswith(", the model is rules")
    assert lines[2].endswith("waits for 2,563 of 2,563 children")
    assert any(line.startswith("… and 2,5") and line.endswith(" done)") for line in lines)
    assert lines[-2] == "2,564 agents (2,564 running), 12,345 turns, 123,456 tool calls"
    assert lines[-1].startswith("98,765 files, 12,345,678 lines, ")
    assert lines[-1].endswith(" s")


@given(st.text(), st.integers(0, 40), st.booleans())
def test_a_shortened_text_keeps_both_ends(text: str, width: int, plain: bool) -> None:
    """demo: what is too wide loses its middle; what fits is left alone."""
    short = shortened(text, width, plain)
    assert cell_len(short) <= width or short == text
    if cell_len(text) > width:
        assert cell_len(short) <= width


def test_paths_keep_their_name_and_line() -> None:
    """demo: a shortened path still tells the file and the line."""
    assert shortened("src/some/folder/of/many/file.py:12", 20) == "src/so…ny/file.py:12"
    assert shortened("src/some/folder/of/many/file.py:12", 20, True) == "src/s...y/file.py:12"
    assert shortened("short", 20) == "short"
    assert [*wrapped(["one", "two", "three", "x" * 30], 9)] == ["one two", "three", "xx…xxxxxx"]
    assert [*wrapped([], 9)] == []
