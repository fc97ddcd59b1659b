"""A model that is a function."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.actors.models import Conversation, RuleModel, call, fail, failure_of, hang
from broodline.messages.chunk import Finish
from broodline.messages.content import Block, Reasoning, Text, ToolCall, ToolResult
from broodline.messages.errors import ConfigurationError, ModelError
from broodline.messages.message import AssistantMessage, ToolMessage, UserMessage
from broodline.messages.request import ModelRequest

Ask = Callable[..., ModelRequest]
Play = Callable[..., Awaitable[Any]]


def count_words(conversation: Conversation) -> str | ToolCall:
    if not conversation.answered and conversation.can("word_count"):
        return conversation.call("word_count", passage=conversation.prompt)
    return f"It has {conversation.results[-1].text} words."


async def test_a_rule_calls_a_tool_and_reads_its_result(play: Play, ask: Ask) -> None:
    """core 12.7: a rule asks for a tool, and answers from its result in the next step."""
    model = RuleModel(count_words)
    prompt = UserMessage("m1", (Text("one two"),))
    first = await play(model, ask(messages=[prompt], tools=("word_count",)))
    (asked,) = first.content
    assert asked == ToolCall("call-1-0", "word_count", '{"passage":"one two"}')
    assert first.assembler.finish == Finish("tool-calls")
    history = [
        prompt,
        AssistantMessage("m2", first.content, {"kind": "model"}),
        ToolMessage("m3", (ToolResult(asked.id, (Text("2"),)),), {"kind": "tool"}),
    ]
    second = await play(model, ask(messages=history, tools=("word_count",)))
    assert second.content == (Text("It has 2 words."),)
    assert second.assembler.finish == Finish("stop")


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("so", (Text("so"),)),
        ("", ()),
        (Text("so"), (Text("so"),)),
        (ToolCall("mine", "a", "{}"), (ToolCall("mine", "a", "{}"),)),
        (
            [Reasoning("hm"), "so", ToolCall("", "a", "{}"), ToolCall("", "b", "{}")],
            (
                Reasoning("hm"),
                Text("so"),
                ToolCall("call-0-2", "a", "{}"),
                ToolCall("call-0-3", "b", "{}"),
            ),
        ),
        ((Text("a"), Text("b")), (Text("a"), Text("b"))),
        (call("a"), (ToolCall("call-0-0", "a", "{}"),)),
    ],
)
async def test_what_a_rule_may_return(play: Play, value: Any, content: tuple[Block, ...]) -> None:
    """core 12.7: text, a block, blocks and entries are answers."""
    assert (await play(RuleModel(lambda _conversation: value))).content == content


async def test_a_rule_may_wait(play: Play) -> None:
    """core 12.7: an async rule is awaited."""

    async def slow(conversation: Conversation) -> str:
        await asyncio.sleep(0)
        return conversation.session_id

    assert (await play(RuleModel(slow))).content == (Text("s1"),)


async def test_a_waiting_rule_is_cancelled_with_its_task(ask: Ask) -> None:
    """core 9: an async rule gets the cancellation of its turn, and can clean up."""
    started, ended = asyncio.Event(), asyncio.Event()

    async def forever(_conversation: Conversation) -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async def read() -> None:
        async with aclosing(RuleModel(forever).stream(ask())) as stream:
            await anext(stream)

    task = asyncio.create_task(read())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


@pytest.mark.parametrize(
    "value", [None, 7, {"a": 1}, object(), ToolResult("c", ()), [Text("a"), 7], [fail()], [hang()]]
)
async def test_a_wrong_answer_is_a_clear_failure(play: Play, value: Any) -> None:
    """DESIGN section 8: a wrong return value is a MALFORMED_RESPONSE that names the rule."""

    def my_rule(_conversation: Conversation) -> Any:
        return value

    error = (await play(RuleModel(my_rule))).error
    assert isinstance(error, ModelError)
    assert error.code == "MALFORMED_RESPONSE"
    assert "my_rule returned no response" in error.message


async def test_a_rule_without_a_name_is_named_by_its_class(play: Play) -> None:
    """DESIGN section 8: a rule that is an object is named by its class."""

    class Thinker:
        def __call__(self, _conversation: Conversation) -> Any:
            return None

    error = (await play(RuleModel(Thinker()))).error
    assert "Thinker returned no response" in str(error)


async def test_what_a_rule_raises_fails_the_request(play: Play) -> None:
    """core 12.5: a rule's ModelError keeps its code, its other errors become UNKNOWN."""

    def broken(conversation: Conversation) -> str:
        if conversation.session_id == "s1":
            raise ValueError("no such branch")
        return ""

    def limited(_conversation: Conversation) -> str:
        raise ModelError("slow down", "RATE_LIMIT")

    unknown = failure_of((await play(RuleModel(broken))).error)
    assert (unknown.code, unknown.message) == (
        "UNKNOWN",
        "broken raised ValueError: no such branch",
    )
    assert failure_of((await play(RuleModel(limited))).error).code == "RATE_LIMIT"


async def test_a_rule_may_fail_or_hang_by_an_entry(play: Play, ask: Ask) -> None:
    """core 12.7: the words of a script are answers of a rule too."""
    assert (await play(RuleModel(lambda _c: fail("SERVER")))).error.code == "SERVER"
    signal = CancellationToken()
    signal.cancel()
    played = await play(RuleModel(lambda _c: hang("Hel")), ask(signal=signal))
    assert played.assembler.finish.kind == "aborted"


async def test_a_rule_is_asked_when_it_is_read(ask: Ask) -> None:
    """core 12.2: nothing happens before the first chunk is asked for."""
    asked: list[str] = []

    def rule(conversation: Conversation) -> str:
        asked.append(conversation.session_id)
        return "so"

    async with aclosing(RuleModel(rule).stream(ask())) as stream:
        assert asked == []
        await anext(stream)
    assert asked == ["s1"]


async def test_a_rule_records_when_asked_to(play: Play, ask: Ask) -> None:
    """DESIGN section 7: requests are kept only when wanted, so a long simulation does not grow."""
    silent, keeping = RuleModel(lambda _c: "so"), RuleModel(lambda _c: "so", record=True)
    request = ask("a")
    await play(silent, request)
    await play(keeping, request)
    assert silent.requests == []
    assert keeping.requests_of("a") == [request]


async def test_a_rule_waits_with_what_was_handed_in(play: Play) -> None:
    """DESIGN section 2: the latency of a rule goes through the sleep that was handed in."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    await play(RuleModel(lambda _c: "so", latency=1.5, sleep=sleep))
    assert slept == [1.5]


def test_a_rule_must_be_callable() -> None:
    """DESIGN section 8: what cannot be called is refused at once."""
    with pytest.raises(ConfigurationError, match="not str"):
        RuleModel("answer")  # type: ignore[arg-type]  # pyright: ignore
