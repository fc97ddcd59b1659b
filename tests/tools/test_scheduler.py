"""The calls of one message: order, overlap, cancellation, and what a fault leaves."""

# Bodies, hooks and cases are written as lambdas, whose parameters have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.actors.scope import Scope
from broodline.actors.tools import Deny, Tool, ToolContext, ToolRegistry, run_calls
from broodline.messages.content import ToolCall
from broodline.messages.errors import ConfigurationError
from broodline.messages.message import UserMessage
from broodline.messages.payload import ErrorInfo

MakeTool = Callable[..., Tool]
Note = Callable[[str], UserMessage]


def calls(*names: str) -> list[ToolCall]:
    """Calls ``1``, ``2``... of the named tools."""
    return [ToolCall(str(at), name, "{}") for at, name in enumerate(names, 1)]


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


@pytest.fixture
def tools(registry: ToolRegistry, make_tool: MakeTool, bodies: Any) -> ToolRegistry:
    """`safe` and `alone` wait at the gate of their call id."""
    registry.register(make_tool("safe", bodies, concurrency_safe=True))
    registry.register(make_tool("alone", bodies))
    return registry


async def test_results_come_in_the_models_order(
    tools: ToolRegistry, port: Any, bodies: Any
) -> None:
    """core 18.9 #214: calls that end 3, 1, 2 are logged 1, 2, 3, each citing its own call."""
    task = asyncio.create_task(run_calls(calls("safe", "safe", "safe"), port=port, registry=tools))
    await bodies.until("1", "2", "3")
    bodies.gate("3").set()
    await settle()
    assert port.results() == []
    bodies.gate("1").set()
    await settle()
    assert port.results() == ["1"]
    bodies.gate("2").set()
    await task
    assert port.log == [
        ("call", "1"), ("call", "2"), ("call", "3"),
        ("result", "1"), ("result", "2"), ("result", "3"),
    ]  # fmt: skip
    assert port.cited == port.started


async def test_an_exclusive_call_is_a_barrier(tools: ToolRegistry, port: Any, bodies: Any) -> None:
    """core 18.9 #215: safe, alone, safe: the one in the middle overlaps neither."""
    names = ("safe", "safe", "alone", "safe", "safe")
    task = asyncio.create_task(run_calls(calls(*names), port=port, registry=tools))
    await bodies.until("1", "2")
    bodies.gate("2").set()
    await bodies.until("1")
    bodies.gate("1").set()
    await bodies.until("3")
    assert port.results() == ["1", "2"]
    bodies.gate("3").set()
    await bodies.until("4", "5")
    assert port.results() == ["1", "2", "3"]
    bodies.gate("5").set()
    bodies.gate("4").set()
    await task
    assert port.results() == ["1", "2", "3", "4", "5"]


async def test_calls_are_exclusive_by_default(
    registry: ToolRegistry, make_tool: MakeTool, port: Any, bodies: Any
) -> None:
    """core 10.3: without a classifier calls run one after the other, each logged to its result."""
    registry.register(make_tool("t", bodies))
    task = asyncio.create_task(run_calls(calls("t", "t"), port=port, registry=registry))
    await bodies.until("1")
    bodies.gate("1").set()
    await bodies.until("2")
    bodies.gate("2").set()
    await task
    assert port.log == [("call", "1"), ("result", "1"), ("call", "2"), ("result", "2")]


@pytest.mark.parametrize(
    ("classifier", "arguments", "overlap"),
    [
        (lambda arguments: True, "{}", True),
        (lambda arguments: arguments["n"] == 1, '{"n":1}', True),
        (lambda arguments: 1, "{}", False),
        (lambda arguments: "yes", "{}", False),
        (lambda arguments: None, "{}", False),
        (lambda arguments: 1 / 0, "{}", False),
        (lambda arguments: arguments["n"] == 1, "{}", False),
    ],
)
async def test_only_true_overlaps(
    registry: ToolRegistry,
    make_tool: MakeTool,
    port: Any,
    bodies: Any,
    classifier: Any,
    arguments: str,
    overlap: bool,
) -> None:
    """core 18.9 #217: a classifier that returns no True, or raises, makes the call exclusive."""
    registry.register(make_tool("t", bodies, concurrency_safe=classifier))
    batch = [ToolCall("1", "t", arguments), ToolCall("2", "t", arguments)]
    task = asyncio.create_task(run_calls(batch, port=port, registry=registry))
    await bodies.until(*("1", "2") if overlap else ("1",))
    bodies.gate("1").set()
    bodies.gate("2").set()
    await task
    assert port.results() == ["1", "2"]


@pytest.mark.parametrize("middle", [ToolCall("2", "safe", "{"), ToolCall("2", "unknown", "{}")])
async def test_calls_that_cannot_run_are_exclusive(
    tools: ToolRegistry, port: Any, bodies: Any, middle: ToolCall
) -> None:
    """core 18.9 #217: a call with invalid arguments or an unknown tool is a barrier."""
    batch = [ToolCall("1", "safe", ""), middle, ToolCall("3", "safe", "")]
    task = asyncio.create_task(run_calls(batch, port=port, registry=tools))
    await bodies.until("1")
    bodies.gate("1").set()
    await bodies.until("3")
    assert port.results() == ["1", "2"]
    bodies.gate("3").set()
    await task


async def test_the_pool_rolls(tools: ToolRegistry, port: Any, bodies: Any) -> None:
    """core 18.9 #218: with cap 2 two bodies overlap, and a slot is refilled as soon as one ends."""
    batch = calls(*["safe"] * 5)
    task = asyncio.create_task(run_calls(batch, port=port, registry=tools, cap=2))
    await bodies.until("1", "2")
    bodies.gate("2").set()
    await bodies.until("1", "3")
    bodies.gate("3").set()
    await bodies.until("1", "4")
    assert port.results() == []
    bodies.gate("1").set()
    await bodies.until("4", "5")
    assert port.results() == ["1", "2", "3"]
    bodies.gate("4").set()
    bodies.gate("5").set()
    await task
    assert bodies.most == 2


async def test_ten_overlap_by_default(tools: ToolRegistry, port: Any, bodies: Any) -> None:
    """core 10.3: the cap is ten unless told otherwise; one is one after the other."""
    task = asyncio.create_task(run_calls(calls(*["safe"] * 12), port=port, registry=tools))
    await bodies.until(*map(str, range(1, 11)))
    for at in range(1, 13):
        bodies.gate(str(at)).set()
    await task
    bodies.most = 0
    await run_calls(calls(*["safe"] * 3), port=port, registry=tools, cap=1)
    assert bodies.most == 1


@pytest.mark.parametrize("cap", [0, -1, 1.5, True, None])
async def test_a_cap_is_a_positive_integer(tools: ToolRegistry, port: Any, cap: Any) -> None:
    """core 18.9 #218: cap 0 and other nonsense is refused before anything starts."""
    with pytest.raises(ConfigurationError, match="cap must be a positive integer"):
        await run_calls(calls("safe"), port=port, registry=tools, cap=cap)
    assert port.log == []


async def test_a_failure_harms_no_sibling(
    tools: ToolRegistry, make_tool: MakeTool, port: Any, bodies: Any
) -> None:
    """core 18.9 #219: one failing parallel call leaves the others to finish."""

    async def failing(arguments: Any, context: ToolContext) -> None:
        raise ValueError("broken")

    tools.register(make_tool("failing", failing, concurrency_safe=True))
    batch = calls("safe", "failing", "safe")
    task = asyncio.create_task(run_calls(batch, port=port, registry=tools))
    await bodies.until("1", "3")
    bodies.gate("3").set()
    bodies.gate("1").set()
    await task
    assert [port.outcomes[id].is_error for id in ("1", "2", "3")] == [False, True, False]


async def test_contexts_stand_behind_all_results(
    registry: ToolRegistry, make_tool: MakeTool, port: Any, bodies: Any, note: Note
) -> None:
    """core 18.9 #221: contexts of parallel calls are queued in model order, behind both results."""

    async def body(arguments: Any, context: ToolContext) -> str:
        await bodies(arguments, context)
        context.defer_context(note(f"{context.call_id}a"))
        context.defer_context(note(f"{context.call_id}b"))
        return "x"

    registry.register(make_tool("t", body, concurrency_safe=True))
    task = asyncio.create_task(run_calls(calls("t", "t"), port=port, registry=registry))
    await bodies.until("1", "2")
    bodies.gate("2").set()
    await bodies.until("1")
    bodies.gate("1").set()
    await task
    assert port.log[-3:-1] == [("result", "1"), ("result", "2")]
    assert [message.id for message in port.queued] == ["note-1a", "note-1b", "note-2a", "note-2b"]


async def test_no_contexts_no_call(tools: ToolRegistry, port: Any, bodies: Any) -> None:
    """core 10.3: the inbox is not touched when no tool deferred anything."""
    bodies.gate("1").set()
    await run_calls(calls("alone"), port=port, registry=tools)
    await run_calls([], port=port, registry=tools)
    assert port.log == [("call", "1"), ("result", "1")]


async def test_hooks_are_asked_in_model_order(tools: ToolRegistry, port: Any, bodies: Any) -> None:
    """core 10.3: pre- and post-execute run in model order, one at a time; only bodies overlap."""
    order: list[str] = []
    inside: list[str] = []
    gates = {key: asyncio.Event() for key in ("pre 1", "pre 2", "post 1", "post 2")}

    async def asked(key: str) -> None:
        assert not inside
        inside.append(key)
        order.append(key)
        await gates[key].wait()
        inside.remove(key)

    tools.hooks.intercept("tools/pre-execute", lambda c: asked(f"pre {c.call_id}"))
    tools.hooks.intercept("tools/post-execute", lambda p: asked(f"post {p.context.call_id}"))
    task = asyncio.create_task(run_calls(calls("safe", "safe"), port=port, registry=tools))
    await settle()
    assert order == ["pre 1"]
    gates["pre 1"].set()
    await bodies.until("1")
    bodies.gate("1").set()
    await settle()
    assert order == ["pre 1", "pre 2"]
    gates["pre 2"].set()
    await bodies.until("2")
    bodies.gate("2").set()
    await settle()
    assert order == ["pre 1", "pre 2", "post 1"]
    gates["post 1"].set()
    gates["post 2"].set()
    await task
    assert order == ["pre 1", "pre 2", "post 1", "post 2"]
    assert port.log == [("call", "1"), ("call", "2"), ("result", "1"), ("result", "2")]


async def test_classification_is_read_before_each_start(
    registry: ToolRegistry, make_tool: MakeTool, port: Any, bodies: Any
) -> None:
    """core 10.3: what an earlier call changes in the registry holds for the later ones."""
    late = make_tool("late", bodies, concurrency_safe=True)

    async def swap(arguments: Any, context: ToolContext) -> str:
        registry.register(late)
        return "x"

    registry.register(make_tool("swap", swap))
    task = asyncio.create_task(
        run_calls(calls("swap", "late", "late"), port=port, registry=registry)
    )
    await bodies.until("2", "3")
    bodies.gate("2").set()
    bodies.gate("3").set()
    await task
    assert port.codes() == {"1": None, "2": None, "3": None}


async def test_a_call_becomes_exclusive_while_it_waits(
    registry: ToolRegistry, make_tool: MakeTool, port: Any, bodies: Any
) -> None:
    """core 10.3: a call that waited for a slot is classified again before it starts."""
    first = registry.register(make_tool("t", bodies, concurrency_safe=True))

    def swap(payload: Any) -> None:
        first.dispose()
        if registry.view().get("t") is None:
            registry.register(make_tool("t", bodies))

    registry.hooks.intercept("tools/post-execute", swap)
    task = asyncio.create_task(run_calls(calls("t", "t", "t"), port=port, registry=registry, cap=2))
    await bodies.until("1", "2")
    bodies.gate("1").set()
    await bodies.until("2")
    bodies.gate("2").set()
    await bodies.until("3")
    bodies.gate("3").set()
    await task
    assert port.results() == ["1", "2", "3"]


async def test_a_scope_sees_its_own_tools(
    registry: ToolRegistry, make_tool: MakeTool, port: Any
) -> None:
    """core 10.1: scheduling and dispatch go through the view of the scope."""
    scope = Scope("child")
    registry.register(make_tool("own"), scope=scope)
    await run_calls(calls("own"), port=port, registry=registry, scope=scope)
    await run_calls([ToolCall("2", "own", "")], port=port, registry=registry)
    assert port.codes() == {"1": None, "2": "UNKNOWN_TOOL"}


async def test_denied_calls_do_not_start_bodies(
    tools: ToolRegistry, port: Any, bodies: Any
) -> None:
    """core 10.3: a denial among parallel calls is logged in its place."""
    tools.hooks.intercept("tools/pre-execute", lambda c: Deny("no") if c.call_id == "2" else None)
    task = asyncio.create_task(run_calls(calls("safe", "safe", "safe"), port=port, registry=tools))
    await bodies.until("1", "3")
    bodies.gate("1").set()
    bodies.gate("3").set()
    await task
    assert port.results() == ["1", "2", "3"]
    assert port.codes() == {"1": None, "2": "DENIED", "3": None}


async def test_a_cancel_before_any_call(tools: ToolRegistry, port: Any, bodies: Any) -> None:
    """core 9: cancelled before the tools, every call gets a synthetic pair and nothing runs."""
    token = CancellationToken()
    token.cancel()
    await run_calls(calls("safe", "alone", "unknown"), port=port, registry=tools, signal=token)
    assert port.log == [
        ("call", "1"), ("result", "1"),
        ("call", "2"), ("result", "2"),
        ("call", "3"), ("result", "3"),
    ]  # fmt: skip
    assert set(port.codes().values()) == {"ABORTED_BEFORE_DISPATCH"}
    assert bodies.begun == []


async def test_a_cancel_while_an_exclusive_call_runs(
    tools: ToolRegistry, port: Any, bodies: Any
) -> None:
    """core 18.8 #184: call 1 is awaited and ABORTED, calls 2 and 3 never start."""
    token = CancellationToken()
    task = asyncio.create_task(
        run_calls(calls("alone", "alone", "alone"), port=port, registry=tools, signal=token)
    )
    await bodies.until("1")
    token.cancel()
    await settle()
    assert port.results() == []
    bodies.gate("1").set()
    await task
    assert port.codes() == {
        "1": "ABORTED", "2": "ABORTED_BEFORE_DISPATCH", "3": "ABORTED_BEFORE_DISPATCH",
    }  # fmt: skip
    assert bodies.begun == ["1"]


async def test_a_cancel_while_bodies_overlap(
    tools: ToolRegistry, make_tool: MakeTool, port: Any, bodies: Any, note: Note
) -> None:
    """core 18.8 #196: all started bodies are awaited, failures keep their own identity."""
    token = CancellationToken()

    async def failing(arguments: Any, context: ToolContext) -> None:
        await bodies(arguments, context)
        context.defer_context(note("kept"))
        raise ValueError("disk full")

    tools.register(make_tool("failing", failing, concurrency_safe=True))
    batch = calls("safe", "failing", "safe", "safe")
    task = asyncio.create_task(run_calls(batch, port=port, registry=tools, signal=token, cap=3))
    await bodies.until("1", "2", "3")
    token.cancel()
    bodies.gate("2").set()
    bodies.gate("3").set()
    await bodies.until("1")
    assert port.results() == []
    bodies.gate("1").set()
    await task
    assert port.codes() == {
        "1": "ABORTED", "2": None, "3": "ABORTED", "4": "ABORTED_BEFORE_DISPATCH",
    }  # fmt: skip
    assert port.outcomes["2"].is_error
    assert bodies.begun == ["1", "2", "3"]
    assert [message.id for message in port.queued] == ["note-kept"]


async def test_a_cancel_during_pre_execute(tools: ToolRegistry, port: Any, bodies: Any) -> None:
    """core 9: cancelled while call 2 is admitted, call 1 is awaited, 2 and 3 do not run."""
    token = CancellationToken()

    def interceptor(context: ToolContext) -> None:
        if context.call_id == "2":
            token.cancel()

    tools.hooks.intercept("tools/pre-execute", interceptor)
    task = asyncio.create_task(
        run_calls(calls("safe", "safe", "safe"), port=port, registry=tools, signal=token)
    )
    await bodies.until("1")
    bodies.gate("1").set()
    await task
    assert port.codes() == {
        "1": "ABORTED", "2": "ABORTED_BEFORE_DISPATCH", "3": "ABORTED_BEFORE_DISPATCH",
    }  # fmt: skip


@pytest.mark.parametrize("where", ["call 3", "result 1", "result 2"])
async def test_a_fault_leaves_no_call_unanswered(
    tools: ToolRegistry, port: Any, bodies: Any, where: str
) -> None:
    """core D3: a fault drains the running bodies, answers every call, and is raised then."""
    fault, left = RuntimeError("disk full"), [where]

    def fail_at(kind: str, id: str) -> BaseException | None:
        if left and f"{kind} {id}" == left[0]:
            left.clear()
            return fault
        return None

    port.fail_at = fail_at
    batch = calls("safe", "safe", "safe", "alone")
    task = asyncio.create_task(run_calls(batch, port=port, registry=tools))
    await bodies.until(*("1", "2") if where == "call 3" else ("1", "2", "3"))
    if where != "call 3":
        bodies.gate("1").set()
        bodies.gate("2").set()
    await settle()
    assert not task.done()
    for key in "123":
        bodies.gate(key).set()
    with pytest.raises(RuntimeError) as caught:
        await task
    assert caught.value is fault
    assert port.results() == ["1", "2", "3", "4"]
    assert port.cited == port.started
    synthetic = [id for id, outcome in port.outcomes.items() if outcome.is_error]
    assert (
        synthetic
        == {"call 3": list("1234"), "result 1": list("1234"), "result 2": list("234")}[where]
    )
    assert port.outcomes["4"].error == ErrorInfo("ToolError", "SCHEDULER_FAULT")
    assert "4" not in bodies.begun


async def test_a_log_that_takes_nothing_more(tools: ToolRegistry, port: Any, bodies: Any) -> None:
    """core D3: when the results cannot be written either, the first fault is still raised."""
    port.fail_at = lambda kind, id: RuntimeError(f"{kind} {id}") if kind == "result" else None
    bodies.gate("1").set()
    with pytest.raises(RuntimeError, match="result 1"):
        await run_calls(calls("alone", "alone"), port=port, registry=tools)
    assert port.results() == []


async def test_contexts_survive_a_fault(
    registry: ToolRegistry, make_tool: MakeTool, port: Any, note: Note
) -> None:
    """core D3: what settled calls deferred is queued even when a later call breaks the batch."""

    async def body(arguments: Any, context: ToolContext) -> str:
        context.defer_context(note(context.call_id))
        return "x"

    registry.register(make_tool("t", body))
    left = [RuntimeError("once")]
    port.fail_at = lambda kind, id: left.pop() if left and (kind, id) == ("call", "2") else None
    with pytest.raises(RuntimeError, match="once"):
        await run_calls(calls("t", "t"), port=port, registry=registry)
    assert [message.id for message in port.queued] == ["note-1"]
    assert port.results() == ["1", "2"]


async def test_cancelling_the_task_answers_every_call(
    tools: ToolRegistry, port: Any, bodies: Any
) -> None:
    """core 10.3: a cancelled caller takes its bodies along and leaves no call unanswered."""
    batch = calls("safe", "safe", "alone")
    task = asyncio.create_task(run_calls(batch, port=port, registry=tools))
    await bodies.until("1", "2")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bodies.running == []
    assert port.codes() == {"1": "ABORTED", "2": "ABORTED", "3": "ABORTED_BEFORE_DISPATCH"}


async def test_cancelling_the_task_again_answers_every_call(
    tools: ToolRegistry, port: Any, bodies: Any, make_tool: MakeTool
) -> None:
    """core D3: a second cancellation ends the wait for a stubborn body, and answers its call."""
    stubborn, gate = asyncio.Event(), asyncio.Event()

    async def body(arguments: Any, context: ToolContext) -> None:
        try:
            await gate.wait()
        except asyncio.CancelledError:
            stubborn.set()
            await gate.wait()

    tools.register(make_tool("stubborn", body, concurrency_safe=True))
    batch = calls("stubborn", "safe", "alone")
    task = asyncio.create_task(run_calls(batch, port=port, registry=tools))
    await bodies.until("2")
    task.cancel()
    await stubborn.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert port.codes() == {"1": "ABORTED", "2": "ABORTED", "3": "ABORTED_BEFORE_DISPATCH"}
    assert port.cited == port.started
