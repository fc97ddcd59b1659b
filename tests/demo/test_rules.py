"""The rules in the model's place, played by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from broodline.messages.content import Text, ToolCall
from broodline.messages.message import UserMessage
from broodline.survey.facts import Facts
from broodline.survey.folder import Selection
from broodline.survey.ground import Ground
from broodline.survey.rules import CALLS_A_MESSAGE, LABEL_KEPT, NO_TASK, next_message
from broodline.survey.task import Task


def test_an_agent_lists_first_then_does_all_else_in_one_message(
    hand_play: Any, tmp_path: Path
) -> None:
    """demo: after the listing one message counts, finds, reads and delegates every folder."""
    (tmp_path / "a.py").touch()
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    play = hand_play(Ground(str(tmp_path)))
    play.survey()
    said = [m.content for m in play.messages if type(m).__name__ == "AssistantMessage"]
    made = [[b.name for b in content if isinstance(b, ToolCall)] for content in said]
    assert made == [["list"], ["count", "find", "read", "subagent", "subagent"], []]


def test_a_child_gets_its_own_folder_and_one_level_less(hand_play: Any, tmp_path: Path) -> None:
    """demo: a child is told its folder, and may delegate one level less than its parent."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    play = hand_play(Ground(str(tmp_path)))
    play.survey(levels=2)
    prompts = [json.loads(c.arguments)["prompt"] for c in play.calls if c.name == "subagent"]
    assert [Task.read(prompt) for prompt in prompts] == [Task("a", 1), Task("a/b", 0)]


@pytest.mark.parametrize("levels", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("page", [1, 2, 5, 1000])
@pytest.mark.parametrize("follow", [False, True])
def test_the_facts_are_the_same_however_the_work_is_shared(
    hand_play: Any, odd_tree: Path, levels: int, page: int, follow: bool
) -> None:
    """demo: neither the depth of the tree of agents nor the size of a page changes a fact."""
    selection = Selection(follow)
    whole = hand_play(Ground(str(odd_tree), selection)).survey(levels=0)
    shared = hand_play(Ground(str(odd_tree), selection, page))
    assert shared.survey(levels) == whole
    assert (shared.agents == 1) == (levels == 0)


def test_below_the_last_level_an_agent_reads_everything_itself(
    hand_play: Any, tmp_path: Path
) -> None:
    """demo: folders deeper than the cap are surveyed by the deepest agent with its own tools."""
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c" / "x.py").write_text("def f(): pass\n")
    play = hand_play(Ground(str(tmp_path)))
    assert play.survey(levels=1) == hand_play(Ground(str(tmp_path))).survey(levels=9)
    assert play.agents == 2


def test_a_refused_delegation_is_done_by_the_agent_itself(hand_play: Any, odd_tree: Path) -> None:
    """demo: where the runtime refuses a child for its depth, its parent surveys the folder."""

    def refuse(call: ToolCall) -> tuple[str, bool] | None:
        return ("subagent depth 1 exceeds maxDepth 0", True) if call.name == "subagent" else None

    play = hand_play(Ground(str(odd_tree)), refuse)
    assert play.survey() == hand_play(Ground(str(odd_tree))).survey()
    assert play.agents == 1


@pytest.mark.parametrize("answer", [("model broke", True), ("not json", False), ("{}", False)])
def test_a_failed_child_is_named_and_the_rest_stays_true(
    hand_play: Any, tmp_path: Path, answer: tuple[str, bool]
) -> None:
    """demo: a child that fails or answers with anything but facts is named with its folder."""
    (tmp_path / "bad").mkdir()
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "a.py").write_text("x\n")

    def fail(call: ToolCall) -> tuple[str, bool] | None:
        return answer if call.name == "subagent" and '"bad"' in call.arguments else None

    facts = hand_play(Ground(str(tmp_path)), fail).survey()
    assert (facts.lines, facts.failed.count) == (1, 1)
    path, _, reason = facts.failed.first[0]
    assert path == "bad"
    assert reason == answer[0] or not answer[1]


@pytest.mark.parametrize("tool", ["list", "count", "find", "read"])
def test_a_tool_that_fails_makes_its_folder_a_failed_one(
    hand_play: Any, tmp_path: Path, tool: str
) -> None:
    """demo: an error of a tool is no silent zero: the folder counts as failed, with the text."""
    (tmp_path / "a.py").touch()

    def fail(call: ToolCall) -> tuple[str, bool] | None:
        return ("it broke " * 100, True) if call.name == tool else None

    facts = hand_play(Ground(str(tmp_path)), fail).survey()
    path, _, text = facts.failed.first[0]
    assert path == ""
    assert text.startswith("it broke")
    assert len(text) == 300


def test_a_wide_folder_is_worked_off_in_several_messages(hand_play: Any, tmp_path: Path) -> None:
    """demo: no message holds more calls than the bound, and every folder gets its child."""
    for number in range(CALLS_A_MESSAGE + 10):
        (tmp_path / f"{number:03}").mkdir()
    play = hand_play(Ground(str(tmp_path)))
    assert play.survey().folders == CALLS_A_MESSAGE + 10
    assert play.agents == CALLS_A_MESSAGE + 11
    assert max(len(message.content) for message in play.messages) == CALLS_A_MESSAGE
    ids = [b.id for m in play.messages for b in m.content if isinstance(b, ToolCall)]
    assert len(ids) == len(set(ids))


def test_a_file_that_vanishes_meanwhile_is_no_file_and_is_named(
    hand_play: Any, tmp_path: Path
) -> None:
    """demo: a file that goes between listing and counting is skipped as vanished, not counted."""
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("x\n")

    def vanish(call: ToolCall) -> None:
        if call.name == "count":
            (tmp_path / "a.py").unlink()

    facts = hand_play(Ground(str(tmp_path)), vanish).survey()
    assert (facts.files, facts.text_files, facts.lines) == (1, 1, 1)
    assert facts.skipped["vanished"].count == 1
    assert facts.skipped["vanished"].first == (("a.py", 0, ""),)


def test_a_file_that_vanishes_after_counting_is_counted_and_named(
    hand_play: Any, tmp_path: Path
) -> None:
    """demo: what goes after it was counted stays counted, and the tool that missed it says so."""
    (tmp_path / "a.py").write_text("def f(): pass\n")

    def vanish(call: ToolCall) -> None:
        if call.name == "read":
            (tmp_path / "a.py").unlink()

    facts = hand_play(Ground(str(tmp_path)), vanish).survey()
    assert (facts.files, facts.lines, facts.functions) == (1, 1, 0)
    assert facts.skipped["vanished"].count == 1


def test_a_folder_that_vanishes_is_named_by_its_child(hand_play: Any, tmp_path: Path) -> None:
    """demo: a folder that goes before its child lists it is skipped as vanished."""
    (tmp_path / "a").mkdir()

    def vanish(call: ToolCall) -> None:
        if call.name == "subagent":
            (tmp_path / "a").rmdir()

    facts = hand_play(Ground(str(tmp_path)), vanish).survey()
    assert facts.skipped["vanished"].first == (("a", 0, ""),)


def test_a_prompt_without_a_task_is_answered_plainly() -> None:
    """demo: a prompt that names no folder gets an answer that says what is missing."""
    for prompt in ("hello", "{}", '{"folder": 1}', "[1]", "null", ""):
        assert next_message([UserMessage("m", (Text(prompt),))]) == NO_TASK
    assert next_message([]) == NO_TASK


def test_the_same_conversation_gives_the_same_answer(hand_play: Any, odd_tree: Path) -> None:
    """demo: the rules are a pure function: asked again, they say the same."""
    play = hand_play(Ground(str(odd_tree)))
    play.survey()
    for length, message in enumerate(play.messages):
        if type(message).__name__ == "AssistantMessage":
            again = next_message(play.messages[:length])
            said = (Text(again),) if isinstance(again, str) else tuple(again)
            assert said == message.content


def test_a_label_stays_short(hand_play: Any, tmp_path: Path) -> None:
    """demo: a child's label keeps the end of a long path."""
    (tmp_path / ("x" * 90 + "end")).mkdir()
    play = hand_play(Ground(str(tmp_path)))
    play.survey()
    call = next(call for call in play.calls if call.name == "subagent")
    label = json.loads(call.arguments)["description"]
    assert len(label) == LABEL_KEPT
    assert label.endswith("end")


def test_an_empty_folder_has_empty_facts(hand_play: Any, tmp_path: Path) -> None:
    """demo: an empty folder is no error: its facts are zeros after one listing."""
    play = hand_play(Ground(str(tmp_path)))
    assert play.survey() == Facts()
    assert len(play.calls) == 1


def test_what_counting_said_of_a_file_holds_against_later_tools(
    hand_play: Any, tmp_path: Path
) -> None:
    """demo: a file that is skipped for two reasons is named once, for the first."""
    (tmp_path / "a.bin").write_bytes(b"\0")

    def vanish(call: ToolCall) -> None:
        if call.name == "find":
            (tmp_path / "a.bin").unlink()

    facts = hand_play(Ground(str(tmp_path)), vanish).survey()
    assert {reason: noted.count for reason, noted in facts.skipped.items()} == {"not text": 1}
