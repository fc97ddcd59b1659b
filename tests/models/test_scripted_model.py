"""Scripts: spec core 12.7, 18.12, and DESIGN section 9."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.actors.models import (
    Entry,
    ScriptedModel,
    blocks,
    call,
    calls,
    chunks,
    fail,
    failure_of,
    hang,
    max_tokens,
    text,
)
from broodline.messages.chunk import (
    BlockEnd,
    BlockStart,
    Chunk,
    Finish,
    TextDelta,
    Usage,
    UsageChunk,
)
from broodline.messages.content import Reasoning, Text, ToolCall, ToolResult, text_of
from broodline.messages.errors import ConfigurationError, ModelError
from broodline.messages.message import UserMessage
from broodline.messages.request import ModelRequest

Ask = Callable[..., ModelRequest]
Play = Callable[..., Awaitable[Any]]


async def said(play: Play, model: ScriptedModel, request: ModelRequest) -> str:
    return text_of((await play(model, request)).content)


async def test_a_text_is_five_chunks(play: Play) -> None:
    """core 12.7: a text streams as start, delta, end, usage and finish."""
    played = await play(ScriptedModel(shared=[text("Hello")]))
    assert played.chunks == [
        BlockStart(0, "text"),
        TextDelta(0, "Hello"),
        BlockEnd(0, Text("Hello")),
        UsageChunk(Usage(1, 2)),
        Finish("stop"),
    ]


async def test_a_text_can_come_in_pieces(play: Play) -> None:
    """core 12.7: a text can be cut into deltas that make up the whole."""
    played = await play(ScriptedModel(shared=[text("Hello you", pieces=4)]))
    parts = [chunk.text for chunk in played.chunks if isinstance(chunk, TextDelta)]
    assert parts == ["Hel", "lo ", "you"]
    assert played.content == (Text("Hello you"),)


async def test_a_text_may_think_first(play: Play) -> None:
    """core 12.7: a text can be preceded by reasoning, and report a usage of its own."""
    usage = Usage(10, 20, reasoning_tokens=5)
    played = await play(ScriptedModel(shared=[text("so", reasoning="hm", usage=usage)]))
    assert played.content == (Reasoning("hm"), Text("so"))
    assert played.assembler.usage == usage


async def test_an_empty_text_has_no_content(play: Play) -> None:
    """core 8: a response may be empty: usage and finish, no block."""
    played = await play(ScriptedModel(shared=[""]))
    assert played.kinds == ["UsageChunk", "Finish"]
    assert played.content == ()


async def test_a_call_streams_its_arguments_in_two(play: Play) -> None:
    """core 12.7: a tool call is named in its first delta, and its arguments come in two."""
    played = await play(ScriptedModel(shared=[call("count", passage="one two", id="c1")]))
    first, second = played.chunks[1:3]
    assert (first.name, second.name) == ("count", None)
    assert first.arguments_delta + second.arguments_delta == '{"passage":"one two"}'
    assert played.content == (ToolCall("c1", "count", '{"passage":"one two"}'),)
    assert played.assembler.finish == Finish("tool-calls")


async def test_a_call_without_arguments_is_an_empty_object(play: Play) -> None:
    """core 12.7: a call without arguments sends ``{}``; raw text is sent as it is, even empty."""
    model = ScriptedModel(
        shared=[call("a"), call("a", '{"half'), call("a", ""), call("a", {"id": 1})]
    )
    raw = [(await play(model)).content[0].arguments for _ in range(4)]
    assert raw == ["{}", '{"half', "", '{"id":1}']


async def test_parallel_calls_with_leading_text(play: Play, ask: Ask) -> None:
    """core 12.7: several calls come in one message, after optional text, each with its own id."""
    entry = calls(call("a"), call("b", id="mine"), ToolCall("", "c", "{}"), text="Looking.")
    played = await play(ScriptedModel(shared=[entry]), ask(messages=[UserMessage("m", ())]))
    assert played.content == (
        Text("Looking."),
        ToolCall("call-1-1", "a", "{}"),
        ToolCall("mine", "b", "{}"),
        ToolCall("call-1-3", "c", "{}"),
    )


async def test_ids_depend_on_the_place_alone(play: Play, ask: Ask) -> None:
    """DESIGN section 2: the ids of calls repeat in every run and differ along a session."""
    history: list[Any] = [UserMessage("m", ())]
    ids: list[list[str]] = []
    for _run in range(2):
        model = ScriptedModel(each=[call("a")] * 2)
        early = await play(model, ask(messages=history))
        late = await play(model, ask(messages=history * 3))
        ids.append([early.content[0].id, late.content[0].id])
    assert ids == [["call-1-0", "call-3-0"]] * 2


async def test_the_ceiling_cuts_text_and_calls(play: Play) -> None:
    """core 12.7: a response at the ceiling streams its calls, and the message drops them."""
    played = await play(ScriptedModel(shared=[max_tokens("Hel", call("a", id="c"))]))
    assert "ToolCallDelta" in played.kinds
    assert played.content == (Text("Hel"),)
    assert played.assembler.finish == Finish("max-tokens")


async def test_a_failure_is_raised_with_its_facts(play: Play) -> None:
    """core 12.5: ``fail`` raises a ModelError with status, retry-after and id."""
    model = ScriptedModel(
        each=[fail("RATE_LIMIT", "slow", status=429, retry_after=1.5, request_id="r")] * 2
    )
    first, second = (await play(model)).error, (await play(model)).error
    assert isinstance(first, ModelError)
    assert (first.code, first.message, first.status) == ("RATE_LIMIT", "slow", 429)
    assert (first.retry_after, first.request_id) == (1.5, "r")
    assert first is not second


async def test_a_failure_may_come_after_a_whole_call(play: Play) -> None:
    """core 18.12 #275: a failed attempt may hold a complete tool call."""
    played = await play(ScriptedModel(shared=[fail("SERVER", after=call("a", id="c"))]))
    assert played.content == (ToolCall("c", "a", "{}"),)
    assert played.assembler.finish is None
    assert failure_of(played.error).code == "SERVER"


async def test_an_emitted_abort_is_an_aborted_finish(play: Play) -> None:
    """core 12.5: an emitted failure with the code ABORTED finishes ``aborted``."""
    played = await play(ScriptedModel(shared=[fail("ABORTED", "gone", emit=True)]))
    assert played.assembler.finish.kind == "aborted"


async def test_chunks_are_streamed_as_they_are(ask: Ask) -> None:
    """core 12.7: a list of chunks is streamed verbatim, correct or not."""
    stream: list[Chunk] = [UsageChunk(Usage()), TextDelta(0, "x"), UsageChunk(Usage())]
    model = ScriptedModel(shared=[stream, chunks(stream)])
    for _ in range(2):
        async with aclosing(model.stream(ask())) as response:
            assert [chunk async for chunk in response] == stream


async def test_a_function_sees_the_request(play: Play, ask: Ask) -> None:
    """core 12.7: an entry may be a function of the request, plain or async."""

    async def slow(request: ModelRequest) -> Entry:
        await asyncio.sleep(0)
        return text(f"async for {request.session_id}")

    model = ScriptedModel(shared=[lambda request: f"plain for {request.session_id}", slow])
    assert await said(play, model, ask("x")) == "plain for x"
    assert await said(play, model, ask("y")) == "async for y"


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("so", (Text("so"),)),
        (Text("so"), (Text("so"),)),
        ([Reasoning("hm"), "so"], (Reasoning("hm"), Text("so"))),
        ([], ()),
        ([TextDelta(0, "so"), Finish("stop")], (Text("so"),)),
        (
            [call("a", id="c"), call("b", id="d")],
            (ToolCall("c", "a", "{}"), ToolCall("d", "b", "{}")),
        ),
        (call("a", id="c"), (ToolCall("c", "a", "{}"),)),
    ],
)
async def test_a_function_may_return_all_that_a_script_holds(
    play: Play, value: Any, content: Any
) -> None:
    """core 12.7: text, blocks, chunks and entries are taken from a function and from a script."""
    model = ScriptedModel(shared=[value, lambda _request: value])
    assert (await play(model)).content == content
    assert (await play(model)).content == content


@pytest.mark.parametrize("value", [None, 7, {"text": "x"}, [1], ToolResult("c", ()), [fail()]])
async def test_a_wrong_entry_is_refused(play: Play, value: Any) -> None:
    """DESIGN section 8: a wrong entry is refused at once by its place, a wrong return by name."""
    with pytest.raises(ConfigurationError, match="entry 1 of the script"):
        ScriptedModel(shared=["fine", value])

    def wrong(_request: ModelRequest) -> Any:
        return value

    error = (await play(ScriptedModel(shared=[wrong]))).error
    assert isinstance(error, ModelError)
    assert error.code == "MALFORMED_RESPONSE"
    assert "wrong returned no response" in error.message


async def test_shared_is_one_list_over_all_sessions(play: Play, ask: Ask) -> None:
    """DESIGN section 9: ``shared`` plays one list over all sessions, in the order of calls."""
    model = ScriptedModel(shared=["1", "2", "3"])
    assert [await said(play, model, ask(session)) for session in "aba"] == ["1", "2", "3"]


async def test_each_is_a_list_for_every_session(play: Play, ask: Ask) -> None:
    """DESIGN section 9: ``each`` plays the list from its start in every session."""
    model = ScriptedModel(each=["1", "2"])
    assert [await said(play, model, ask(session)) for session in "abab"] == ["1", "1", "2", "2"]


async def test_the_order_is_that_of_the_calls(ask: Ask) -> None:
    """DESIGN section 9: an entry is taken when `stream` is called, not when it is first read."""
    model = ScriptedModel(shared=["first", "second"])
    async with aclosing(model.stream(ask("a"))) as a, aclosing(model.stream(ask("b"))) as b:
        in_b = [chunk async for chunk in b]
        in_a = [chunk async for chunk in a]
    assert TextDelta(0, "first") in in_a
    assert TextDelta(0, "second") in in_b


@pytest.mark.parametrize("lists", [{}, {"shared": ["a"], "each": ["a"]}])
def test_exactly_one_list(lists: Any) -> None:
    """DESIGN section 9: exactly one of ``shared`` and ``each`` is given."""
    with pytest.raises(ConfigurationError, match=r"by name: each=\[...\]"):
        ScriptedModel(["a"])  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(ConfigurationError, match="exactly one of shared"):
        ScriptedModel(**lists)


async def test_a_used_up_script_fails_loudly(play: Play, ask: Ask) -> None:
    """core 18.12 #276: a used-up script raises UNKNOWN with session, count and advice."""
    model = ScriptedModel(shared=["one", "two"])
    await play(model, ask("a"))
    await play(model, ask("b"))
    failure = failure_of((await play(model, ask("c"))).error)
    assert failure.code == "UNKNOWN"
    assert "session c asked for response 3, but shared=[...] has 2 entries" in failure.message
    assert "each=[...]" in failure.message


async def test_a_used_up_list_of_a_session_fails_loudly(play: Play, ask: Ask) -> None:
    """core 18.12 #276: with ``each`` the count is the session's own."""
    model = ScriptedModel(each=["one"])
    await play(model, ask("a"))
    assert await said(play, model, ask("b")) == "one"
    error = (await play(model, ask("a"))).error
    assert isinstance(error, ModelError)
    assert "session a asked for response 2, but each=[...] has 1 entry;" in error.message


async def test_requests_are_recorded(play: Play, ask: Ask) -> None:
    """core 12.7: every request is recorded, also one that the script had no entry for."""
    model = ScriptedModel(shared=["one"])
    sent = [ask("a"), ask("b"), ask("a")]
    for request in sent:
        await play(model, request)
    assert all(kept is request for kept, request in zip(model.requests, sent, strict=True))
    assert model.requests_of("a") == [sent[0], sent[2]]
    assert model.requests_of("nobody") == []


async def test_recording_can_be_left_out(play: Play) -> None:
    """DESIGN section 7: a benchmark keeps no requests."""
    model = ScriptedModel(each=["one"], record=False)
    await play(model)
    assert model.requests == []


async def test_remaining_counts_down(play: Play, ask: Ask) -> None:
    """core 12.7: `remaining` counts what is not played; a used-up script has none, never less."""
    model = ScriptedModel(shared=["one", "two"])
    left = [model.remaining]
    for _ in range(3):
        await play(model, ask("a"))
        left.append(model.remaining)
    assert left == [2, 1, 0, 0]


async def test_remaining_counts_every_session(play: Play, ask: Ask) -> None:
    """core 12.7: with ``each`` `remaining` sums over the sessions that asked."""
    model = ScriptedModel(each=["one", "two"])
    left = [model.remaining]
    for session in "abba":
        await play(model, ask(session))
        left.append(model.remaining)
    assert left == [2, 1, 2, 1, 0]


async def test_left_over_entries_can_be_asserted(play: Play, ask: Ask) -> None:
    """core 12.7: `assert_consumed` says how far a script was played, and is silent at its end."""
    shared, each = ScriptedModel(shared=["1", "2"]), ScriptedModel(each=["1", "2"])
    with pytest.raises(AssertionError, match="played 0 of 2"):
        shared.assert_consumed()
    with pytest.raises(AssertionError, match="played 0 of 2"):
        each.assert_consumed()
    for session in "aba":
        await play(each, ask(session))
        await play(shared, ask(session))
    shared.assert_consumed()
    with pytest.raises(AssertionError, match="session b played 1 of 2"):
        each.assert_consumed()


async def test_latency_is_slept_with_what_was_handed_in(play: Play) -> None:
    """DESIGN section 2: the wait before a response goes through the sleep that was handed in."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    model = ScriptedModel(each=["one", "two"], latency=0.05, sleep=sleep)
    await play(model)
    await play(model)
    assert slept == [0.05, 0.05]


async def test_the_signal_is_looked_at_between_chunks(ask: Ask) -> None:
    """core 12.7: a response whose signal fires between chunks ends with an aborted finish."""
    signal = CancellationToken()
    received: list[Chunk] = []
    async with aclosing(ScriptedModel(shared=["Hello"]).stream(ask(signal=signal))) as stream:
        async for chunk in stream:
            received.append(chunk)
            signal.cancel()
    assert received[0] == BlockStart(0, "text")
    assert isinstance(received[1], Finish)
    assert received[1].kind == "aborted"
    assert len(received) == 2


async def _hanging(model: ScriptedModel, request: ModelRequest, received: list[Chunk]) -> None:
    async with aclosing(model.stream(request)) as stream:
        async for chunk in stream:
            received.append(chunk)


async def test_a_hang_ends_with_the_signal(ask: Ask) -> None:
    """core 18.8 #180: a hang streams its text, then waits for the signal and ends aborted."""
    signal = CancellationToken()
    received: list[Chunk] = []
    task = asyncio.create_task(
        _hanging(ScriptedModel(shared=[hang("Hel")]), ask(signal=signal), received)
    )
    for _ in range(5):
        await asyncio.sleep(0)
    assert received == [BlockStart(0, "text"), TextDelta(0, "Hel")]
    assert not task.done()
    signal.cancel("enough")
    await task
    assert isinstance(received[-1], Finish)
    assert received[-1].failure is not None
    assert received[-1].failure.code == "ABORTED"


async def test_a_hang_hears_a_signal_from_another_thread(ask: Ask) -> None:
    """core 12.7: the signal of a hang may be fired by any thread."""
    signal = CancellationToken()
    received: list[Chunk] = []
    task = asyncio.create_task(
        _hanging(ScriptedModel(shared=[hang()]), ask(signal=signal), received)
    )
    await asyncio.sleep(0)
    thread = threading.Thread(target=signal.cancel)
    thread.start()
    await task
    thread.join()
    assert [type(chunk) for chunk in received] == [Finish]


@pytest.mark.parametrize("with_signal", [True, False])
async def test_a_hang_ends_with_its_task(ask: Ask, with_signal: bool) -> None:
    """core 18.8 #180: cancelling the task ends a hang too, with a signal or without one."""
    signal = CancellationToken() if with_signal else None
    task = asyncio.create_task(_hanging(ScriptedModel(shared=[hang()]), ask(signal=signal), []))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    if signal is not None:
        signal.cancel()  # nobody listens any more


async def test_a_hang_under_a_fired_signal_ends_at_once(play: Play, ask: Ask) -> None:
    """core 18.8 #179: a request made under a fired signal ends aborted without waiting."""
    signal = CancellationToken()
    signal.cancel()
    played = await play(ScriptedModel(shared=[hang()]), ask(signal=signal))
    assert played.assembler.finish.kind == "aborted"


@pytest.mark.parametrize("by_task", [True, False])
async def test_a_hang_may_linger(ask: Ask, by_task: bool) -> None:
    """core 12.7: a slow hang notices its cancellation, and ends a while later."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    model = ScriptedModel(shared=[hang(linger=0.05)], sleep=sleep)
    signal = CancellationToken()
    task = asyncio.create_task(_hanging(model, ask(signal=signal), []))
    await asyncio.sleep(0)
    assert slept == []
    if by_task:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        signal.cancel()
        await task
    assert slept == [0.05]


def test_arguments_must_be_json() -> None:
    """DESIGN section 8: arguments that are not JSON, or given twice, are refused by name."""
    for wrong in ({"a": object()}, {"a": float("nan")}, {"a": {1}}):
        with pytest.raises(ConfigurationError, match=r"call\('count'\) are not JSON"):
            call("count", wrong)
    with pytest.raises(ConfigurationError, match="twice"):
        call("count", {"a": 1}, b=2)


def test_calls_need_a_call() -> None:
    """DESIGN section 8: an entry of parallel calls without a call is refused."""
    with pytest.raises(ConfigurationError, match="at least one"):
        calls(text="nothing")


def test_blocks_must_be_a_models_own() -> None:
    """DESIGN section 8: a model cannot be scripted to say a tool result, or in no pieces."""
    with pytest.raises(ConfigurationError, match="ToolResult"):
        blocks(ToolResult("c", ()))
    with pytest.raises(ConfigurationError, match="pieces"):
        text("x", pieces=0)


def test_a_scripted_model_has_the_attributes_of_a_model() -> None:
    """core 12.1: provider, model and the ceiling are what the constructor was given."""
    model = ScriptedModel(each=[], provider="p", model="m", max_tokens=100)
    assert (model.provider, model.model, model.max_tokens) == ("p", "m", 100)
