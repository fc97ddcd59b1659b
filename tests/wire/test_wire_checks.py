"""The server holds requests to the rules of each format, and says which is broken."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.testing.wire import WireServer, say
from broodline.testing.wire.anthropic_check import anthropic_fault
from broodline.testing.wire.openai_check import openai_fault

Body = dict[str, Any]

USER: Body = {"role": "user", "content": "hi"}
SCHEMA: Body = {"type": "object", "properties": {}}


# -- OpenAI's Chat Completions


def call_of(id: str, **more: Any) -> Body:
    return {"id": id, "type": "function", "function": {"name": "add", "arguments": "{"}} | more


def asks(*ids: str, **more: Any) -> Body:
    return {"role": "assistant", "content": None, "tool_calls": [call_of(id) for id in ids]} | more


def tells(id: str, content: Any = "ok") -> Body:
    return {"role": "tool", "tool_call_id": id, "content": content}


def function(**more: Any) -> Body:
    return {"type": "function", "function": {"name": "add", "parameters": SCHEMA} | more}


OPENAI_SOUND: list[Body] = [
    {"messages": [USER, asks("a", "b"), tells("b"), tells("a"), USER]},
    {
        "messages": [
            USER,
            asks("a"),
            tells("a", [{"type": "text", "text": ""}]),
            asks("a"),
            tells("a"),
        ]
    },
    {"messages": [{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, USER]},
    {"messages": [USER, {"role": "assistant", "content": ""}, USER]},
    {"messages": [USER, asks("a", content="I add."), tells("a", "")]},
    {"stream": True, "stream_options": {"include_usage": True}, "max_completion_tokens": 1},
    {"stream": False, "max_tokens": 5, "temperature": 2, "top_p": 0.5, "stop": ["a", "b"]},
    {"tools": [function()], "tool_choice": "auto", "parallel_tool_calls": False, "stop": "x"},
    {"tools": [{"type": "function", "function": {"name": "a"}}], "reasoning_effort": "low"},
    {"max_tokens": None, "tools": None, "tool_choice": None, "seed": 1},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
]

OPENAI_BROKEN: list[tuple[Body, str]] = [
    ({"model": None}, "model"),
    ({"model": ""}, "model"),
    ({"maxTokens": 5}, "Unrecognized request argument supplied: maxTokens"),
    ({"messages": None}, "messages"),
    ({"messages": []}, "too short - 'messages'"),
    ({"messages": ["hi"]}, r"messages\[0\]: Input should be an object"),
    ({"messages": [{"role": "robot", "content": "hi"}]}, "robot"),
    ({"messages": [{"role": "user", "content": None}]}, r"messages\[0\].content"),
    ({"messages": [{"role": "user", "content": []}]}, r"too short - 'messages\[0\].content'"),
    ({"messages": [{"role": "user", "content": [{"text": "hi"}]}]}, r"content\[0\].type"),
    ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, r"content\[0\].text"),
    ({"messages": [USER, {"role": "assistant"}]}, "got null"),
    ({"messages": [USER, {"role": "assistant", "tool_calls": []}]}, "too short"),
    ({"messages": [USER, asks("")]}, r"tool_calls\[0\].id"),
    ({"messages": [USER, asks("a", tool_calls=[call_of("a", type="tool")])]}, "type"),
    ({"messages": [USER, asks("a", tool_calls=[call_of("a", function=3)])]}, "function"),
    (
        {"messages": [USER, asks("a", tool_calls=[call_of("a", function={"name": "a b"})])]},
        "does not match",
    ),
    (
        {
            "messages": [
                USER,
                asks("a", tool_calls=[call_of("a", function={"name": "b", "arguments": {}})]),
            ]
        },
        "arguments' must be a string",
    ),
    ({"messages": [USER, asks("a", "a"), tells("a"), tells("a")]}, "one id"),
    ({"messages": [USER, asks("a")]}, "did not have response messages: a"),
    ({"messages": [USER, asks("a", "b"), tells("b"), USER]}, "did not have response messages: a"),
    ({"messages": [USER, asks("a"), USER, tells("a")]}, "did not have response messages: a"),
    ({"messages": [USER, tells("a")]}, "must be a response to a preceding message"),
    ({"messages": [USER, asks("a"), tells("b"), tells("a")]}, "no such call is 'b'"),
    ({"messages": [USER, asks("a"), tells("a"), tells("a")]}, "answered before"),
    ({"messages": [USER, asks("a"), tells("a"), USER, tells("a")]}, "preceding"),
    ({"messages": [USER, asks("a"), {"role": "tool", "content": "ok"}]}, "tool_call_id"),
    ({"messages": [USER, asks("a"), tells("a", None)]}, "content"),
    ({"stream": "yes"}, "stream"),
    ({"stream": False, "stream_options": {}}, "only allowed when 'stream'"),
    ({"max_tokens": 1, "max_completion_tokens": 1}, "at the same time"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_completion_tokens": True}, "max_completion_tokens"),
    ({"temperature": 2.1}, "temperature"),
    ({"top_p": "1"}, "top_p"),
    ({"stop": []}, "1 to 4"),
    ({"stop": ["a", ""]}, "not empty"),
    ({"stop": 3}, "stop"),
    ({"tools": []}, "too short - 'tools'"),
    ({"tools": [{"name": "add"}]}, r"tools\[0\].type"),
    ({"tools": [{"type": "function"}]}, r"tools\[0\].function"),
    ({"tools": [function(name="a" * 65)]}, "does not match"),
    ({"tools": [function(parameters={"type": "string"})]}, "must be of type 'object'"),
    ({"tools": [function(parameters=None)]}, "must be of type 'object'"),
    ({"tool_choice": "auto"}, "only allowed when 'tools'"),
    ({"parallel_tool_calls": True}, "only allowed when 'tools'"),
]


# -- Anthropic's Messages


def uses(*ids: str, **more: Any) -> Body:
    blocks = [{"type": "tool_use", "id": id, "name": "add", "input": {}} | more for id in ids]
    return {"role": "assistant", "content": blocks}


def result(id: str, **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": id, "content": "ok"} | more


def user(*blocks: Any) -> Body:
    return {"role": "user", "content": list(blocks)}


def said(text: Any) -> Body:
    return {"type": "text", "text": text}


def assistant(*blocks: Any) -> Body:
    return {"role": "assistant", "content": list(blocks)}


THOUGHT: Body = {"type": "thinking", "thinking": "", "signature": "s"}
THINKS: Body = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000}

ANTHROPIC_SOUND: list[Body] = [
    {"messages": [USER, uses("a", "b"), user(result("b"), result("a"), said("go on"))]},
    {"messages": [USER, USER, assistant(said("so")), USER]},
    {"messages": [USER, {"role": "assistant", "content": "It is"}]},
    {"messages": [USER, assistant()]},
    {"messages": [USER, uses("a"), user(result("a", content=""), said("x"))]},
    {"messages": [USER, uses("a"), user({"type": "tool_result", "tool_use_id": "a"})]},
    {"messages": [USER, uses("a"), user(result("a", is_error=True, content=[said("no")]))]},
    {"messages": [USER, assistant({"type": "web_search_tool_result", "tool_use_id": "x"}), USER]},
    {"system": "", "stop_sequences": ["x"], "temperature": 1, "top_k": 3, "stream": True},
    {"system": [said("Be brief.")], "tools": [{"name": "a", "input_schema": SCHEMA}]},
    {"tools": [{"type": "web_search_20250305", "name": "search"}], "tool_choice": {"type": "any"}},
    {"tools": []},
    THINKS | {"messages": [USER, assistant(THOUGHT, *uses("a")["content"]), user(result("a"))]},
    {"messages": [USER, assistant({"type": "redacted_thinking", "data": "x"}, said("y")), USER]},
    {"thinking": {"type": "disabled"}, "messages": [USER, uses("a"), user(result("a"))]},
]

ANTHROPIC_BROKEN: list[tuple[Body, str]] = [
    ({"max_tokens": None}, "max_tokens: Field required"),
    ({"model": None}, "model: Field required"),
    ({"model": 3}, "model"),
    ({"messages": None}, "messages: Field required"),
    ({"messages": []}, "at least one message"),
    ({"messages": "hi"}, "valid list"),
    ({"messages": [3]}, r"messages\[0\]: Input should be an object"),
    ({"stop": ["a"]}, "stop: Extra inputs are not permitted"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": 1.5}, "max_tokens"),
    ({"temperature": 1.5}, "temperature"),
    ({"top_p": -1}, "top_p"),
    ({"stream": 1}, "stream"),
    ({"stop_sequences": [" "]}, "non-whitespace"),
    ({"stop_sequences": "x"}, "valid list"),
    ({"system": [said("")]}, "system.0: text content blocks must be non-empty"),
    ({"system": [{"type": "image"}]}, "system.0.type"),
    ({"messages": [{"role": "system", "content": "s"}, USER]}, "top-level `system`"),
    ({"messages": [{"role": "assistant", "content": "a"}]}, 'first message must use the "user"'),
    ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
    ({"messages": [{"role": "user", "content": ""}]}, "non-empty content"),
    ({"messages": [user()]}, "non-empty content"),
    ({"messages": [USER, assistant(), USER]}, "non-empty content"),
    ({"messages": [user(said(""))]}, "must be non-empty"),
    ({"messages": [user(said(" \n"))]}, "must contain non-whitespace"),
    ({"messages": [user({"type": "text"})]}, "Field required"),
    ({"messages": [user({"text": "hi"})]}, "None blocks are not allowed"),
    ({"messages": [user(THOUGHT)]}, "'thinking' blocks are not"),
    (
        {"messages": [USER, assistant(result("a"), said("x"))]},
        "'tool_result' blocks are not allowed in assistant",
    ),
    ({"messages": [USER, assistant({"type": "image"})]}, "'image' blocks are not"),
    ({"messages": [USER, assistant({"type": "thinking", "thinking": "x"})]}, "signature: Field"),
    ({"messages": [USER, assistant({"type": "redacted_thinking"})]}, "data: Field required"),
    ({"messages": [USER, uses("a", input="{}"), user(result("a"))]}, "valid dictionary"),
    ({"messages": [USER, uses("a", name="a b"), user(result("a"))]}, "tool_use.name"),
    ({"messages": [USER, uses("a.b"), user(result("a.b"))]}, "tool_use.id"),
    ({"messages": [USER, uses("a", "a"), user(result("a"))]}, "ids must be unique"),
    (
        {"messages": [USER, uses("a"), user(result("a")), uses("a"), user(result("a"))]},
        "ids must be unique",
    ),
    ({"messages": [USER, uses("a")]}, "immediately after: a"),
    ({"messages": [USER, uses("a"), USER]}, "immediately after: a"),
    ({"messages": [USER, uses("a", "b"), user(result("a"))]}, "immediately after: b"),
    ({"messages": [USER, uses("a"), USER, user(result("a"))]}, "immediately after: a"),
    ({"messages": [USER, uses("a", "b"), user(result("a")), user(result("b"))]}, "after: b"),
    ({"messages": [user(result("a"))]}, "unexpected `tool_use_id`"),
    ({"messages": [USER, uses("a"), user(result("a"), result("b"))]}, "unexpected .*: b"),
    ({"messages": [USER, uses("a"), user(result("a"), result("a"))]}, "single result"),
    ({"messages": [USER, uses("a"), user(said("x"), result("a"))]}, "must come first"),
    ({"messages": [USER, uses("a"), user({"type": "tool_result"})]}, "tool_use_id: Field"),
    ({"messages": [USER, uses("a"), user(result("a", is_error=True, content=[]))]}, "is_error"),
    ({"messages": [USER, uses("a"), user(result("a", is_error="yes"))]}, "is_error"),
    ({"messages": [USER, uses("a"), user(result("a", content=[said("")]))]}, "non-empty"),
    ({"messages": [USER, uses("a"), user(result("a", content=3))]}, "valid list"),
    ({"messages": [USER, {"role": "assistant", "content": "It is "}]}, "trailing whitespace"),
    ({"tools": [{"name": "a b", "input_schema": SCHEMA}]}, "tools.0.name"),
    ({"tools": [{"name": "a", "input_schema": SCHEMA}] * 2}, "must be unique"),
    ({"tools": [{"name": "a"}]}, "input_schema: Field required"),
    ({"tools": [{"name": "a", "input_schema": {}}]}, "input_schema.type"),
    ({"tool_choice": {"type": "auto"}}, "tool_choice"),
    (THINKS | {"thinking": {"type": "enabled", "budget_tokens": 10}}, "at least 1024"),
    (THINKS | {"max_tokens": 1024}, "greater than `budget_tokens`"),
    (THINKS | {"temperature": 0.5}, "may only be set to 1"),
    (
        THINKS
        | {
            "tools": [{"name": "a", "input_schema": SCHEMA}],
            "tool_choice": {"type": "any"},
        },
        "tool_choice forces",
    ),
    (THINKS | {"messages": [USER, uses("a"), user(result("a"))]}, "found `tool_use`"),
]


def openai_body(more: Body) -> Body:
    return {"model": "m", "messages": [USER]} | more


def anthropic_body(more: Body) -> Body:
    return {"model": "m", "max_tokens": 10, "messages": [USER]} | more


@pytest.mark.parametrize("more", OPENAI_SOUND)
def test_openai_lets_sound_requests_in(more: Body) -> None:
    """Chat Completions: what the real server takes is taken."""
    assert openai_fault(openai_body(more)) is None


@pytest.mark.parametrize(("more", "said"), OPENAI_BROKEN)
def test_openai_says_what_is_wrong(more: Body, said: str) -> None:
    """Chat Completions: what the real server refuses is refused, for the reason it has."""
    with pytest.raises(ValueError, match=said):
        raise ValueError(openai_fault(openai_body(more)))


@pytest.mark.parametrize("more", ANTHROPIC_SOUND)
def test_anthropic_lets_sound_requests_in(more: Body) -> None:
    """Messages API: what the real server takes is taken."""
    assert anthropic_fault(anthropic_body(more)) is None


@pytest.mark.parametrize(("more", "said"), ANTHROPIC_BROKEN)
def test_anthropic_says_what_is_wrong(more: Body, said: str) -> None:
    """Messages API: what the real server refuses is refused, for the reason it has."""
    with pytest.raises(ValueError, match=said):
        raise ValueError(anthropic_fault(anthropic_body(more)))


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_broken_request_is_a_400(
    server: WireServer, plain: Callable[..., Any], name: str
) -> None:
    """core 12.5: the reason comes back as the message of the format's own error."""
    answer = plain(name, more={"messages": []})
    error = json.loads(answer.read())["error"]
    assert answer.status == 400
    assert error["type"] == "invalid_request_error"
    assert "messages" in error["message"]


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_nothing_is_checked_where_nothing_shall_be(body: Callable[..., Body], name: str) -> None:
    """core 12.5: without `strict` a broken request is answered by the script."""
    path = "/v1/chat/completions" if name == "openai" else "/v1/messages"
    with WireServer(strict=False) as server:
        server.play(say("a"))
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("POST", path, json.dumps(body(name, messages=[], strange=1)))
        assert connection.getresponse().status == 200
        connection.close()


KEYS = st.sampled_from(
    [
        "role",
        "content",
        "type",
        "text",
        "id",
        "name",
        "input",
        "function",
        "arguments",
        "tool_calls",
        "tool_call_id",
        "tool_use_id",
        "is_error",
        "signature",
        "thinking",
        "data",
    ]
)
WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "system",
        "text",
        "thinking",
        "tool_use",
        "tool_result",
        "function",
        "enabled",
        "a",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | WORDS | st.just(""),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)
FIELDS = st.sampled_from(
    [
        "messages",
        "tools",
        "tool_choice",
        "thinking",
        "system",
        "stop",
        "stop_sequences",
        "stream",
        "max_tokens",
    ]
)


@given(more=st.dictionaries(FIELDS, VALUES, max_size=5))
def test_no_request_breaks_the_checks(more: Body) -> None:
    """DESIGN 8: whatever JSON a request is, the checks answer with a text or with nothing."""
    for fault in (openai_fault(openai_body(more)), anthropic_fault(anthropic_body(more))):
        assert fault is None or fault


MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool"])},
        optional={"content": VALUES, "tool_calls": VALUES, "tool_call_id": VALUES},
    ),
    max_size=4,
)


@given(messages=MESSAGES)
def test_no_message_breaks_the_checks(messages: list[Any]) -> None:
    """DESIGN 8: whatever its messages are, the checks answer with a text or with nothing."""
    more = {"messages": [USER, *messages]}
    for fault in (openai_fault(openai_body(more)), anthropic_fault(anthropic_body(THINKS | more))):
        assert fault is None or fault
