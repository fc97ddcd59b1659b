"""What a chat completion is asked with."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.models.openai.name import own_names, sent_name
from broodline.actors.models.openai.request import request_body
from broodline.messages.content import Block, OpaqueBlock, Reasoning, Text, ToolCall, ToolResult
from broodline.messages.errors import ModelError
from broodline.messages.lossless import FrozenDict
from broodline.messages.message import AssistantMessage, Message, ToolMessage, UserMessage
from broodline.messages.payload import CallConfig, ToolSchema
from broodline.messages.request import ModelRequest

CALL = ToolCall("call_1", "add", '{"a":1}')


def asked(
    *messages: Message,
    system: str | None = None,
    tools: tuple[ToolSchema, ...] = (),
    official: bool = False,
    max_tokens: int | None = None,
    **config: Any,
) -> dict[str, Any]:
    request = ModelRequest(
        CallConfig("openai", "m", **config), list(messages), system, tools, "s1", None
    )
    return request_body(request, official=official, max_tokens=max_tokens)


def sent(*messages: Message, official: bool = False) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked(*messages, official=official)["messages"]
    return found


def user(*content: Block) -> UserMessage:
    return UserMessage("u", content)


def said(*content: Block, provider: str = "openai", state: Any = None) -> AssistantMessage:
    source = {"kind": "model", "provider": provider, "model": "m"}
    if state is not None:
        source["replayState"] = state
    return AssistantMessage("a", content, source)


def result(*content: Block, is_error: bool = False) -> ToolMessage:
    block = ToolResult("call_1", content, is_error)
    return ToolMessage("t", (block,), {"kind": "tool", "callId": "call_1"})


def test_the_whole_conversation_is_told_in_order() -> None:
    """core 12.2: system text, prompts, answers with calls and results become the format's roles."""
    body = asked(user(Text("Add.")), said(Text("Yes."), CALL), result(Text("1")), system="Be kind.")
    assert body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Add."},
        {
            "role": "assistant",
            "content": "Yes.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"a":1}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "1"},
    ]
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_only_what_is_set_is_sent() -> None:
    """core 12.2: settings that nobody made are left to the server."""
    assert set(asked(user(Text("x")))) == {"model", "messages", "stream", "stream_options"}


@pytest.mark.parametrize(
    ("official", "name"), [(True, "max_completion_tokens"), (False, "max_tokens")]
)
def test_every_setting_has_its_field(official: bool, name: str) -> None:
    """core 12.2: ceiling, temperature, stop words and effort go out under the server's names."""
    body = asked(
        user(Text("x")),
        official=official,
        max_tokens=9,
        temperature=0.0,
        stop=("END",),
        reasoning_effort="low",
    )
    assert (body[name], body["temperature"], body["stop"]) == (9, 0.0, ["END"])
    assert body["reasoning_effort"] == "low"


def test_the_ceiling_of_the_request_goes_first() -> None:
    """core 12.2: the adapter's own ceiling serves only where the request has none."""
    assert asked(user(Text("x")), max_tokens=9)["max_tokens"] == 9
    assert request_ceiling(5) == 5


def request_ceiling(value: int) -> Any:
    request = ModelRequest(CallConfig("openai", "m", max_tokens=value), [], None, (), "s", None)
    body = request_body(request, official=False, max_tokens=9)
    return body["max_tokens"]


def test_tools_carry_their_schemas() -> None:
    """core 12.2: a tool is a function with its JSON schema; an object always has properties."""
    schema = FrozenDict({"type": "object"})
    tools = asked(user(Text("x")), tools=(ToolSchema("add", "Adds.", schema),))["tools"]
    parameters = {"type": "object", "properties": {}}
    function = {"name": "add", "description": "Adds.", "parameters": parameters}
    assert tools == [{"type": "function", "function": function}]
    assert "properties" not in schema


@pytest.mark.parametrize("content", [(), (Reasoning("hm"),), (OpaqueBlock({"type": "sealed"}),)])
def test_an_answer_without_words_or_calls_is_left_out(content: tuple[Block, ...]) -> None:
    """core 12.4: a cut-off answer may be empty; servers refuse an empty assistant message."""
    told = sent(user(Text("a")), said(*content), user(Text("b")))
    assert [(one["role"], one["content"]) for one in told] == [("user", "a"), ("user", "b")]


def test_calls_alone_have_no_text() -> None:
    """core 12.3: an answer of calls only is told without an invented text."""
    told, _ = sent(said(CALL))
    assert told["content"] is None
    assert len(told["tool_calls"]) == 1


def test_a_failed_result_says_so() -> None:
    """core 10.2: the format has no mark for a failure, so its text begins with one, once."""
    texts = [
        sent(said(CALL), result(Text(text), is_error=failed))[1]["content"]
        for text, failed in (("gone", True), ("Error: gone", True), ("gone", False))
    ]
    assert texts == ["Error: gone", "Error: gone", "gone"]


def test_a_result_that_is_no_text_is_told_as_json() -> None:
    """core 10.2: a tool message holds text only; other blocks of a result become JSON."""
    picture = OpaqueBlock({"type": "image", "data": "aGk="})
    _, told = sent(said(CALL), result(Text("Look:"), picture))
    text, data = told["content"].split("\n")
    assert text == "Look:"
    assert json.loads(data) == {"type": "image", "data": "aGk="}


def test_parts_of_the_format_pass_untouched() -> None:
    """core 12.2: a block that is a part of the format goes out as the caller wrote it."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    (told,) = sent(user(Text("What is it?"), OpaqueBlock(picture)))
    assert told["content"] == [{"type": "text", "text": "What is it?"}, picture]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (user(OpaqueBlock({"type": "image", "data": "x"})), "image"),
        (user(CALL), "tool-call"),
        (said(ToolResult("c", ())), "tool-result"),
        (ToolMessage("t", (Text("x"),), {"kind": "tool", "callId": "c"}), "text"),
    ],
)
def test_what_cannot_be_sent_is_named(message: Message, kind: str) -> None:
    """core 12.5: content that the format cannot carry is UNSUPPORTED_CONTENT, naming its type."""
    with pytest.raises(ModelError, match=f"type '{kind}'") as caught:
        sent(message)
    assert caught.value.code == "UNSUPPORTED_CONTENT"


def test_a_known_block_with_more_keys_is_told_as_what_it_is() -> None:
    """DESIGN 3: blocks of other products with keys of their own still say their text and calls."""
    call = {"type": "tool-call", "id": "c", "name": "add", "arguments": "{}", "note": 1}
    text = OpaqueBlock({"type": "text", "text": "Hi", "note": 1})
    told = sent(user(text), said(text, OpaqueBlock(call)))[:2]
    assert [one["content"] for one in told] == ["Hi", "Hi"]
    assert told[1]["tool_calls"][0]["function"]["name"] == "add"


def test_reasoning_goes_back_only_to_a_server_that_wants_it() -> None:
    """core 12.3: thoughts before calls return, under their own name, to whom they came from."""
    thought, state = Reasoning("hm"), {"reasoningField": "reasoning_content"}
    assert sent(said(thought, CALL, state=state))[0]["reasoning_content"] == "hm"
    for message, official in (
        (said(thought, CALL, state=state), True),
        (said(thought, CALL), False),
        (said(thought, CALL, state=state, provider="other"), False),
        (said(thought, CALL, state={"reasoningField": "role"}), False),
        (said(thought, Text("x"), state=state), False),
    ):
        assert "hm" not in json.dumps(sent(message, official=official))


def test_arguments_that_are_no_json_do_not_spoil_the_conversation() -> None:
    """core 8: compatible servers refuse such a history for good; OpenAI takes it as it was."""
    slip = said(ToolCall("c", "add", '{"a":'))
    (wrapped, _), (plain, _) = sent(slip), sent(slip, official=True)
    function = wrapped["tool_calls"][0]["function"]
    assert json.loads(function["arguments"]) == {"raw_arguments": '{"a":'}
    assert plain["tool_calls"][0]["function"]["arguments"] == '{"a":'


def test_empty_arguments_are_an_empty_object() -> None:
    """core 8: a call without arguments is told as the ``{}`` that it was run with."""
    told, _ = sent(said(ToolCall("c", "now", "")), official=True)
    assert told["tool_calls"][0]["function"]["arguments"] == "{}"


_ANY_NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=90)


@given(_ANY_NAME, _ANY_NAME)
def test_any_name_fits_the_pattern(one: str, other: str) -> None:
    """core 12.2: names that the format refuses go out as ones that it takes, still different."""
    names = [sent_name(name) for name in (one, other)]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
    assert (names[0] == names[1]) == (one == other)
    back = own_names([one, other])
    assert [back.get(name, name) for name in names] == [one, other]


def test_a_foreign_name_goes_out_in_tools_and_history_alike() -> None:
    """core 12.2: tools, calls of them and of ones that never were go out under fitting names."""
    slip = ToolCall("c" * 50, "functions.add", "{}")
    answer = ToolMessage("t", (ToolResult("c" * 50, (Text("1"),)),), {"kind": "tool"})
    tool = ToolSchema("functions.add", "", FrozenDict({"type": "object"}))
    body = asked(said(slip), answer, tools=(tool,))
    sent_call = body["messages"][0]["tool_calls"][0]
    assert sent_call["function"]["name"] == body["tools"][0]["function"]["name"]
    assert sent_call["id"] == body["messages"][1]["tool_call_id"]
    assert len(sent_call["id"]) <= 40
