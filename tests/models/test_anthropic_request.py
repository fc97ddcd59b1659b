"""A request to Anthropic's Messages API: spec core 12.2."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.models.anthropic.request import body_of, names_of
from broodline.messages.content import (
    Block,
    OpaqueBlock,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from broodline.messages.errors import ModelError
from broodline.messages.message import AssistantMessage, Message, ToolMessage, UserMessage
from broodline.messages.payload import CallConfig, ToolSchema
from broodline.messages.request import ModelRequest
from broodline.testing.wire.anthropic_check import anthropic_fault

OURS = {"kind": "model", "provider": "anthropic", "model": "claude"}
IMAGE: dict[str, Any] = {"type": "image", "source": {"type": "url", "url": "https://e.org/a.png"}}


def user(*content: Block | str) -> UserMessage:
    return UserMessage("u", tuple(Text(one) if isinstance(one, str) else one for one in content))


def said(*content: Block, source: dict[str, Any] | None = None, state: Any = None) -> Message:
    origin = dict(source or OURS)
    if state is not None:
        origin["replayState"] = state
    return AssistantMessage("a", content, origin)


def result(call_id: str, *content: Block, is_error: bool = False) -> ToolMessage:
    block = ToolResult(call_id, content, is_error)
    return ToolMessage("t", (block,), {"kind": "tool", "callId": call_id})


def asked(*messages: Message, **settings: Any) -> ModelRequest:
    system, tools = settings.pop("system", None), settings.pop("tools", ())
    config = CallConfig("anthropic", "claude", **settings)
    return ModelRequest(config, list(messages), system, tools, "s1", None)


def turns(*messages: Message, **settings: Any) -> list[dict[str, Any]]:
    body = body_of(asked(*messages, **settings))
    assert anthropic_fault(body) is None
    found: list[dict[str, Any]] = body["messages"]
    return found


def signed(*signatures: str | None) -> dict[str, Any]:
    return {"format": "anthropic", "signatures": list(signatures)}


def test_the_head_of_a_request() -> None:
    """core 12.2: model, system, tools, stop, temperature and ceiling stand in their places."""
    schema = ToolSchema("add", "Adds.", {"type": "object", "properties": {}})
    request = asked(
        user("hi"), system="Be brief.", tools=(schema,), temperature=0.5, max_tokens=9, stop=("X",)
    )
    assert body_of(request) == {
        "model": "claude",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "system": "Be brief.",
        "tools": [
            {
                "name": "add",
                "description": "Adds.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
        "stop_sequences": ["X"],
        "temperature": 0.5,
    }


def test_a_ceiling_is_always_sent() -> None:
    """core 12.2: the API demands max_tokens, so a request without one gets 8192."""
    assert body_of(asked(user("hi")))["max_tokens"] == 8192


@pytest.mark.parametrize("system", [None, "", " \n"])
def test_no_system_text_is_no_system(system: str | None) -> None:
    """core 12.2: an empty system text is left out, for the API refuses one of blanks."""
    assert "system" not in body_of(asked(user("hi"), system=system))


def test_results_stand_first_in_one_turn_with_what_follows() -> None:
    """core 12.2: results and the user's next words are one user turn, the results in front."""
    found = turns(
        user("go"),
        said(Text("I look."), ToolCall("c1", "look", '{"at": 1}'), ToolCall("c2", "look", "{}")),
        result("c1", Text("one")),
        user("hurry"),
        result("c2", Text("two"), is_error=True),
    )
    assert [turn["role"] for turn in found] == ["user", "assistant", "user"]
    assert found[1]["content"] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
        {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
    ]
    assert found[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "one"}]},
        {
            "type": "tool_result",
            "tool_use_id": "c2",
            "content": [{"type": "text", "text": "two"}],
            "is_error": True,
        },
        {"type": "text", "text": "hurry"},
    ]


def test_neighbours_of_one_role_are_one_turn() -> None:
    """core 12.2: messages of one role behind one another alternate as one turn."""
    found = turns(user("a"), user("b"), said(Text("c")), said(Text("d")), user("e"))
    texts = [[part["text"] for part in turn["content"]] for turn in found]
    assert texts == [["a", "b"], ["c", "d"], ["e"]]


def test_what_is_empty_is_left_out() -> None:
    """core 12.2: texts of blanks and messages without content are not sent."""
    found = turns(user("", "a", " \n"), said(Text("")), user(), said(), user("b"))
    assert found == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ]


def test_the_user_opens_and_closes() -> None:
    """core 12.2: a history that begins or ends with the assistant gets a turn of the user there."""
    found = turns(said(Text("a")))
    assert [turn["role"] for turn in found] == ["user", "assistant", "user"]


def test_a_history_without_content_is_refused() -> None:
    """core 12.5: nothing to send is INVALID_REQUEST, before the server is asked."""
    with pytest.raises(ModelError) as caught:
        body_of(asked(user(" ")))
    assert caught.value.code == "INVALID_REQUEST"


def test_a_call_without_a_result_gets_one() -> None:
    """core D3: a call that was never answered is answered with an error, as the API demands."""
    found = turns(user("go"), said(ToolCall("c1", "look", "{}")), user("well?"))
    part = found[2]["content"][0]
    assert (part["type"], part["tool_use_id"], part["is_error"]) == ("tool_result", "c1", True)


def test_a_result_without_its_call_keeps_its_words() -> None:
    """core 13: a result whose call was compacted away is sent as text."""
    found = turns(user("go"), result("gone", Text("42")), said(Text("ok")), user("on"))
    assert [part["text"] for part in found[0]["content"]] == [
        "go",
        "Result of the earlier tool call gone:",
        "42",
    ]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"a": [1, null, "ä"]}', {"a": [1, None, "ä"]}),
        ('{"a": 1.5}', {"a": 1.5}),
        ('{"a": [' + "[]," * 200 + "0]}", {"a": [*([[]] * 200), 0]}),
        ("", {}),
        ("  ", {}),
        ('{"pa', {"raw_arguments": '{"pa'}),
        ("[1]", {"raw_arguments": "[1]"}),
        ('"x"', {"raw_arguments": '"x"'}),
        ('{"a": NaN}', {"raw_arguments": '{"a": NaN}'}),
        ('{"a": 1e999}', {"raw_arguments": '{"a": 1e999}'}),
        ('{"a": "\\ud800"}', {"raw_arguments": '{"a": "\\ud800"}'}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
    ],
)
def test_arguments_are_an_object(arguments: str, sent: dict[str, Any]) -> None:
    """core 12.2: raw arguments go back as an object; text that is none stays readable in one."""
    found = turns(user("go"), said(ToolCall("c", "t", arguments)), result("c"))
    assert found[1]["content"][0]["input"] == sent


def test_deep_arguments_stay_text() -> None:
    """core 12.2: nesting that the SDK cannot walk goes back as text and fails no request."""
    deep = '{"a":' * 5_000 + "1" + "}" * 5_000
    found = turns(user("go"), said(ToolCall("c", "t", deep)), result("c"))
    assert found[1]["content"][0]["input"] == {"raw_arguments": deep}


def test_ids_of_other_providers_fit_and_agree() -> None:
    """core 12.2: an id outside the API's pattern is sent as another, for call and result alike."""
    found = turns(user("go"), said(ToolCall("call|1:ä", "t", "{}")), result("call|1:ä"))
    call, answer = found[1]["content"][0], found[2]["content"][0]
    assert call["id"] == answer["tool_use_id"] != "call|1:ä"


def test_ids_that_repeat_are_told_apart() -> None:
    """core 12.4: call-0 of every response is a new id each time, and each result finds its own."""
    found = turns(
        user("go"),
        said(ToolCall("call-0", "t", "{}"), ToolCall("call-0", "t", "{}")),
        result("call-0", Text("1")),
        result("call-0", Text("2")),
        said(ToolCall("call-0", "t", "{}")),
        result("call-0", Text("3")),
        said(ToolCall("call-0-2", "t", "{}")),
        result("call-0-2", Text("4")),
    )
    sent = [p["id"] for turn in found for p in turn["content"] if p["type"] == "tool_use"]
    answered = [
        (p["tool_use_id"], p["content"][0]["text"])
        for turn in found
        for p in turn["content"]
        if p["type"] == "tool_result"
    ]
    assert len(set(sent)) == 4
    assert answered == list(zip(sent, "1234", strict=True))


def test_an_id_that_was_made_is_not_made_again() -> None:
    """core 12.4: an id that a history already has is not given to another call."""
    calls = [ToolCall(one, "t", "{}") for one in ("a-2", "a", "a", "a")]
    sent = [part["id"] for part in turns(user("go"), said(*calls), user("on"))[1]["content"]]
    assert sent == ["a-2", "a", "a-3", "a-4"]


def test_names_that_do_not_fit_are_sent_as_others_and_known_again() -> None:
    """core 12.2: a tool's name outside the API's pattern fits, in the tools and in the history."""
    schemas = (
        ToolSchema("a.b", "", {"type": "object"}),
        ToolSchema("x" * 200, "", {"type": "object"}),
    )
    call = said(ToolCall("c", "a.b", "{}"))
    body = body_of(asked(user("go"), call, result("c"), tools=schemas))
    assert anthropic_fault(body) is None
    names = names_of(schemas)
    assert [names[tool["name"]] for tool in body["tools"]] == ["a.b", "x" * 200]
    assert body["messages"][1]["content"][0]["name"] == body["tools"][0]["name"]


def test_thinking_goes_back_with_its_signature() -> None:
    """DESIGN 3: thinking, redacted too, goes back as it came to the model that thought it."""
    redacted = OpaqueBlock({"type": "redacted_thinking", "data": "xyz"})
    thought = said(
        Reasoning("hm"),
        redacted,
        Reasoning(""),
        Reasoning("cut"),
        Text("yes"),
        state=signed("s1", "s2", None),
    )
    assert turns(user("go"), thought, user("on"))[1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s1"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "thinking", "thinking": "", "signature": "s2"},
        {"type": "text", "text": "yes"},
    ]


@pytest.mark.parametrize(
    ("source", "state"),
    [
        ({**OURS, "model": "other"}, signed("s1")),
        ({**OURS, "provider": "other"}, signed("s1")),
        ({"kind": "model"}, signed("s1")),
        (OURS, None),
        (OURS, signed()),
        (OURS, signed("s1", "s2")),
        (OURS, {"format": "openai", "signatures": ["s1"]}),
        (OURS, {"format": "anthropic"}),
        (OURS, "s1"),
    ],
)
def test_thinking_of_others_is_left_out(source: dict[str, Any], state: Any) -> None:
    """DESIGN 3: thinking of another model, or without a signature that fits, is not sent."""
    thought = said(Reasoning("hm"), Text("yes"), source=source, state=state)
    assert turns(user("go"), thought, user("on"))[1]["content"] == [{"type": "text", "text": "yes"}]


def test_blocks_of_another_provider_are_left_out() -> None:
    """core 12.5: what only the provider that made it can read is not sent to another."""
    foreign = said(
        OpaqueBlock({"type": "redacted_thinking", "data": "x"}),
        OpaqueBlock({"type": "weird"}),
        Text("yes"),
        source={"kind": "model", "provider": "openai", "model": "gpt"},
    )
    assert turns(user("go"), foreign, user("on"))[1]["content"] == [{"type": "text", "text": "yes"}]


def test_images_are_sent() -> None:
    """core 12.2: an image in the API's own form goes out, from a user and from a tool."""
    found = turns(
        user(OpaqueBlock(IMAGE), "what is it?"),
        said(ToolCall("c", "look", "{}")),
        result("c", OpaqueBlock(IMAGE)),
    )
    assert found[0]["content"][0] == IMAGE
    assert found[2]["content"][0]["content"] == [IMAGE]


def test_an_error_holds_text_alone() -> None:
    """core 12.2: an image in an error stands behind the results; an error without text gets one."""
    found = turns(
        user("go"),
        said(ToolCall("c", "look", "{}")),
        result("c", OpaqueBlock(IMAGE), is_error=True),
    )
    answer, image = found[2]["content"]
    assert answer["content"][0]["type"] == "text"
    assert image == IMAGE


@pytest.mark.parametrize(
    "message",
    [
        user(OpaqueBlock({"type": "image", "attachment": {"attachmentId": "sha256:1"}})),
        user(OpaqueBlock({"type": "hologram"})),
        user(ToolCall("c", "t", "{}")),
        result("c", OpaqueBlock({"type": "hologram"})),
        result("c", ToolCall("d", "t", "{}")),
        said(ToolResult("c", ())),
    ],
)
def test_what_cannot_be_sent_is_named(message: Message) -> None:
    """core 12.5: input that the API cannot take is UNSUPPORTED_CONTENT, with the block's type."""
    with pytest.raises(ModelError) as caught:
        body_of(asked(user("go"), message))
    assert caught.value.code == "UNSUPPORTED_CONTENT"
    assert any(kind in caught.value.message for kind in ("image", "hologram", "tool-"))


@pytest.mark.parametrize(
    ("effort", "thinking", "config"),
    [
        (None, None, None),
        ("none", {"type": "disabled"}, None),
        ("4096", {"type": "enabled", "budget_tokens": 4096}, None),
        ("high", {"type": "adaptive"}, {"effort": "high"}),
        ("Max", {"type": "adaptive"}, {"effort": "max"}),
    ],
)
def test_reasoning_effort(effort: str | None, thinking: Any, config: Any) -> None:
    """core 12.2: a word is an effort with adaptive thinking, a number a budget, none is off."""
    body = body_of(asked(user("hi"), reasoning_effort=effort))
    assert (body.get("thinking"), body.get("output_config")) == (thinking, config)


@pytest.mark.parametrize(("effort", "kept"), [("high", False), ("2048", False), ("none", True)])
def test_thinking_takes_no_temperature(effort: str, kept: bool) -> None:
    """core 12.2: the temperature is left out while the model thinks, as the API refuses it."""
    body = body_of(asked(user("hi"), reasoning_effort=effort, temperature=0.1))
    assert ("temperature" in body) is kept


def test_a_budget_waits_for_the_next_prompt() -> None:
    """core 12.2: an answer that began without thinking is continued without, or the API refuses."""
    call = said(ToolCall("c", "t", "{}"))
    mid = asked(user("go"), call, result("c"), reasoning_effort="2048")
    after = asked(
        user("go"), call, result("c"), said(Text("x")), user("on"), reasoning_effort="2048"
    )
    assert "thinking" not in body_of(mid)
    assert body_of(after)["thinking"]["type"] == "enabled"


_texts = st.text(alphabet="a \n|é0", max_size=4)
_blocks = st.one_of(
    st.builds(Text, _texts),
    st.builds(Reasoning, _texts),
    st.builds(ToolCall, _texts, _texts.map(lambda text: text or "t"), st.sampled_from(["{}", "x"])),
    st.just(OpaqueBlock({"type": "redacted_thinking", "data": "x"})),
)
_results = st.builds(
    ToolResult, _texts, st.lists(st.builds(Text, _texts), max_size=2).map(tuple), st.booleans()
)
_messages = st.one_of(
    st.lists(st.builds(Text, _texts), max_size=2).map(lambda blocks: user(*blocks)),
    st.builds(lambda block: ToolMessage("t", (block,), {"kind": "tool"}), _results),
    st.builds(
        lambda blocks, state: said(*blocks, state=state),
        st.lists(_blocks, max_size=4),
        st.sampled_from([None, signed("s"), signed("s", None), signed("s", "t")]),
    ),
)


@given(st.lists(_messages, max_size=8))
def test_every_history_makes_a_request_that_the_api_takes(history: list[Message]) -> None:
    """core 12.2: whatever the history holds, the request keeps the API's rules of form."""
    body = body_of(asked(user("go"), *history, temperature=0.5))
    assert anthropic_fault(body) is None
