"""What a rule sees of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broodline.actors.models import Conversation
from broodline.messages.content import Block, Text, ToolCall, ToolResult
from broodline.messages.errors import ConfigurationError
from broodline.messages.message import AssistantMessage, Message, ToolMessage, UserMessage
from broodline.messages.request import ModelRequest

Ask = Callable[..., ModelRequest]


def told(text: str, **source: Any) -> UserMessage:
    return UserMessage("m", (Text(text),), source or {"kind": "user"})


def answered(*content: Block) -> AssistantMessage:
    return AssistantMessage("m", content, {"kind": "model"})


def tool(call_id: str, text: str, *, failed: bool = False) -> ToolMessage:
    result = ToolResult(call_id, (Text(text),), failed)
    return ToolMessage("m", (result,), {"kind": "tool", "callId": call_id})


A, B, C = (ToolCall(name, f"tool_{name}", f'{{"n":"{name}"}}') for name in "abc")
SNAPSHOT = told("It is Monday.", kind="plugin", plugin="runtime-context", form="snapshot")
HISTORY: list[Message] = [
    told("First task"),
    SNAPSHOT,
    answered(A),
    tool("a", "old"),
    answered(Text("Done with "), Text("the first.")),
    told("Second task", kind="coordinator", senderSessionId="p"),
    SNAPSHOT,
    answered(Text("Looking."), B, C),
    tool("b", '{"n": 2}'),
    tool("c", "broke", failed=True),
]


@pytest.fixture
def talk(ask: Ask) -> Conversation:
    return Conversation(ask("s9", messages=HISTORY, tools=("tool_a", "tool_b"), system="Be short."))


def test_the_prompt_is_the_last_thing_told(talk: Conversation) -> None:
    """core 2.1: the prompt is the last user message that is no context, with its source."""
    assert talk.prompt == "Second task"
    assert talk.prompt_kind == "coordinator"
    assert talk.prompt_source["senderSessionId"] == "p"


def test_results_are_those_since_the_prompt(talk: Conversation) -> None:
    """core 10.3: results are paired with their calls, in order, since the last prompt only."""
    assert talk.results == [(B, '{"n": 2}', False), (C, "broke", True)]
    assert talk.answered
    call, text, is_error = talk.results[1]
    assert (call.name, text, is_error) == ("tool_c", "broke", True)


def test_a_result_is_found_by_tool_or_id(talk: Conversation) -> None:
    """core 10.3: a result is found by its tool's name or its call's id, and read as JSON."""
    by_name, by_id = talk.result("tool_b"), talk.result("c")
    assert by_name is not None
    assert by_name.value == {"n": 2}
    assert by_name.name == "tool_b"
    assert by_id is not None
    assert by_id.value == "broke"
    assert talk.result("tool_a") is None


def test_the_last_of_several_results_is_found(ask: Ask) -> None:
    """core 10.3: of several results of one tool the last is given."""
    again = ToolCall("a2", "tool_a", "{}")
    history = [told("Go"), answered(A), tool("a", "1"), answered(again), tool("a2", "2")]
    result = Conversation(ask(messages=history)).result("tool_a")
    assert result is not None
    assert result.text == "2"


def test_a_result_without_its_call_is_still_given(ask: Ask) -> None:
    """core 1.8: where the call is gone from the history the result keeps its id."""
    talk = Conversation(ask(messages=[tool("gone", "left")]))
    assert talk.results == [(ToolCall("gone", "", ""), "left", False)]


def test_turns_and_steps_are_counted(talk: Conversation, ask: Ask) -> None:
    """core 8: turns count what was told, steps the answers since; the first of each is 1."""
    assert (talk.turn, talk.step) == (2, 2)
    fresh = Conversation(ask(messages=[told("Go"), SNAPSHOT]))
    assert (fresh.turn, fresh.step) == (1, 1)


def test_the_whole_history_can_be_read(talk: Conversation) -> None:
    """core 12.2: the first task, every prompt, the last words and the request are there."""
    assert talk.task == "First task"
    assert talk.prompts == ["First task", "Second task"]
    assert talk.said == "Looking."
    assert (talk.session_id, talk.system) == ("s9", "Be short.")
    assert talk.messages is talk.request.messages


def test_tools_are_named(talk: Conversation) -> None:
    """core 12.2: the tools of the request are named in order, and can be asked for."""
    assert talk.tools == ("tool_a", "tool_b")
    assert talk.can("tool_a")
    assert not talk.can("tool_c")


def test_an_empty_conversation_has_empty_answers(ask: Ask) -> None:
    """core 12.2: nothing was told: every view is empty and none fails."""
    talk = Conversation(ask())
    assert (talk.prompt, talk.prompt_kind, talk.task, talk.said, talk.system) == ("",) * 5
    assert (talk.results, talk.prompts, talk.tools, talk.answered) == ([], [], (), False)
    assert (talk.turn, talk.step) == (0, 1)
    assert talk.prompt_source == {}


def test_a_call_is_built_by_name_or_mapping(talk: Conversation) -> None:
    """core 12.7: a call takes its arguments by name, as a mapping or as raw text."""
    assert talk.call("a", n=1) == talk.call("a", {"n": 1}) == ToolCall("", "a", '{"n":1}')
    assert talk.call("a", "{") == ToolCall("", "a", "{")
    assert talk.call("a", id="x", name="y") == ToolCall("", "a", '{"id":"x","name":"y"}')
    with pytest.raises(ConfigurationError, match="not JSON"):
        talk.call("a", n=object())


@pytest.mark.parametrize("form", ["snapshot", "instructions", "catalog"])
def test_context_is_no_prompt(ask: Ask, form: str) -> None:
    """core 2.1: instructions, catalogues and snapshots are no prompt; a notice is one."""
    context = told("Background", kind="plugin", form=form)
    talk = Conversation(ask(messages=[told("Go"), context]))
    assert talk.prompt == "Go"
    notice = told("Child settled.", kind="subagent-settled", form="notice")
    assert Conversation(ask(messages=[told("Go"), notice])).prompt == "Child settled."
    assert Conversation(ask(messages=[context])).prompt == ""


class CountingList(list[Message]):
    """Counts how many messages were looked at."""

    looked = 0

    def __reversed__(self) -> Any:
        for message in super().__reversed__():
            self.looked += 1
            yield message

    def __iter__(self) -> Any:
        raise AssertionError("the whole history was read")


def test_a_long_history_is_not_read(ask: Ask) -> None:
    """DESIGN section 7: a rule's usual questions cost what the last prompt's messages cost."""
    history = CountingList(HISTORY * 100)
    talk = Conversation(ask(messages=history))
    assert (talk.prompt, talk.answered, talk.step) == ("Second task", True, 2)
    assert len(talk.results) == 2
    assert history.looked == 5
