"""One call, from the arguments to the result."""

# Bodies, hooks and cases are written as lambdas, whose parameters have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.actors.scope import Scope
from broodline.actors.tools import (
    Accept,
    Allow,
    Ask,
    Block,
    Deny,
    Execution,
    PostExecute,
    Tool,
    ToolContext,
    ToolOutcome,
    ToolProgressed,
    ToolRegistry,
    ToolResulted,
    run_call,
)
from broodline.messages.content import OpaqueBlock, Reasoning, Text, ToolCall
from broodline.messages.errors import ModelError, ToolError
from broodline.messages.lossless import FrozenDict, FrozenList
from broodline.messages.message import UserMessage
from broodline.messages.payload import ErrorInfo

MakeTool = Callable[..., Tool]
MakeCall = Callable[..., ToolCall]
Shown = Callable[[ToolOutcome], str]
Note = Callable[[str], UserMessage]
NONSENSE: Any = 3
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def code(outcome: ToolOutcome) -> str | None:
    return None if outcome.error is None else outcome.error.code


async def test_a_success(registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall) -> None:
    """core 10.2: a value that passes is rendered, frozen and kept."""
    registry.register(make_tool())
    outcome = await run_call(make_call(arguments='{"a":[1]}'), registry=registry)
    assert outcome == ToolOutcome((Text('{"a":[1]}'),), value={"a": [1]})
    assert type(outcome.value) is FrozenDict


@pytest.mark.parametrize(
    ("value", "text"),
    [("plain", "plain"), (None, "null"), ({"ü": [1.5, True]}, '{"ü":[1.5,true]}'), ("", "")],
)
async def test_default_rendering(
    registry: ToolRegistry,
    make_tool: MakeTool,
    make_call: MakeCall,
    shown: Shown,
    value: Any,
    text: str,
) -> None:
    """core 10.2: a string is shown as it is, everything else as compact JSON."""
    registry.register(make_tool(execute=lambda arguments, context: value))
    assert shown(await run_call(make_call(), registry=registry)) == text


async def test_a_tool_renders_its_value(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: render makes the content, and what it makes is frozen."""
    image = {"type": "image", "data": ["x"]}
    registry.register(
        make_tool(render=lambda value: [Text("seen"), Reasoning("r"), OpaqueBlock(image)])
    )
    outcome = await run_call(make_call(), registry=registry)
    image["data"] = "changed"
    block = outcome.content[2]
    assert isinstance(block, OpaqueBlock)
    assert block.data == {"type": "image", "data": ["x"]}
    assert type(block.data["data"]) is FrozenList


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "not valid JSON"),
        ("nonsense", "not valid JSON"),
        ('{"n": NaN}', "NaN is not JSON"),
        ('{"n": 1e999}', "not a finite number"),
        ('{"n": -0.0}', "negative zero"),
        ('{"n": 9007199254740993}', "beyond 2**53-1"),
        ('{"n": "\\ud800"}', "lone surrogate"),
        ("[" * 100_000, "arguments are n"),
        ("[]", "arguments must be of type object, not array"),
        ("null", "arguments must be of type object, not null"),
        ("{}", "arguments.n is required"),
        ('{"n": true}', "arguments.n must be of type integer, not boolean"),
    ],
)
async def test_bad_arguments(
    registry: ToolRegistry,
    make_tool: MakeTool,
    make_call: MakeCall,
    shown: Shown,
    text: str,
    fault: str,
) -> None:
    """core 10.2: arguments that are no JSON or break the schema are INVALID_ARGS, body unrun."""
    ran: list[Any] = []
    registry.register(make_tool(execute=lambda *a: ran.append(a), parameters=NUMBER))
    outcome = await run_call(make_call(arguments=text), registry=registry)
    assert code(outcome) == "INVALID_ARGS"
    assert fault in shown(outcome)
    assert not ran


async def test_all_argument_violations_are_listed(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, shown: Shown
) -> None:
    """core 10.2: every violation is in the one result."""
    properties = {"a": {"type": "string"}, "b": {"type": "string"}, "c": {}}
    parameters = {"type": "object", "properties": properties, "required": ["c"]}
    registry.register(make_tool(parameters=parameters))
    outcome = await run_call(make_call(arguments='{"a":1,"b":2}'), registry=registry)
    assert shown(outcome) == (
        "Error: invalid arguments: arguments.c is required; "
        "arguments.a must be of type string, not integer; "
        "arguments.b must be of type string, not integer"
    )


async def test_empty_and_open_arguments(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: no text is {}, no defaults are applied, and the root is open."""
    parameters = {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}
    registry.register(make_tool(parameters=parameters))
    assert (await run_call(make_call(arguments=""), registry=registry)).value == {}
    extra = await run_call(make_call(arguments='{"z":1}'), registry=registry)
    assert extra.value == {"z": 1}


async def test_hooks_see_the_raw_text_of_bad_arguments(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 8: invalid JSON is handed on as the raw text."""
    registry.register(make_tool())
    seen: list[Any] = []
    registry.hooks.intercept("tools/pre-execute", lambda context: seen.append(context.arguments))
    await run_call(make_call(arguments='{"a":'), registry=registry)
    assert seen == ['{"a":']


async def test_hidden_and_absent_tools_fail_alike(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 18.9 #205: a hidden tool is UNKNOWN_TOOL in the same shape, and never runs."""
    ran: list[Any] = []
    scope = Scope("child")
    registry.register(make_tool("hidden", lambda *a: ran.append(a)))
    registry.restrict(scope, deny=["hidden"])
    hidden = await run_call(make_call("hidden"), registry=registry, scope=scope)
    absent = await run_call(make_call("absent"), registry=registry, scope=scope)
    assert hidden == ToolOutcome(
        (Text("Error: unknown tool 'hidden'"),), True, ErrorInfo("ToolError", "UNKNOWN_TOOL")
    )
    assert absent.error == hidden.error
    assert absent.content == (Text("Error: unknown tool 'absent'"),)
    assert not ran


async def test_visibility_is_read_at_dispatch(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.1: a tool taken back while the call is admitted does not run."""
    registration = registry.register(make_tool())
    registry.hooks.intercept("tools/pre-execute", lambda context: registration.dispose())
    assert code(await run_call(make_call(), registry=registry)) == "UNKNOWN_TOOL"


async def test_a_guard_beats_an_allow(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, shown: Shown
) -> None:
    """core 18.9 #207: what a guard denies no pre-execute can allow."""
    order: list[str] = []

    def pre(context: ToolContext) -> Allow:
        order.append("pre")
        return Allow()

    def guard(context: ToolContext) -> str:
        order.append("guard")
        return "not now"

    registry.register(make_tool(execute=lambda *a: order.append("body")))
    registry.hooks.intercept("tools/pre-execute", pre)
    registry.guard(guard)
    outcome = await run_call(make_call(), registry=registry)
    assert code(outcome) == "DENIED"
    assert shown(outcome) == "Error: tool call denied: not now"
    assert order == ["pre", "guard"]


async def test_guards_hold_in_their_scope(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.1: a scope's guard judges calls of it and its descendants, no others."""
    scope = Scope("one")
    registry.register(make_tool())
    registry.guard(lambda context: "no", scope=scope)
    denied = await run_call(make_call(), registry=registry, scope=Scope("heir", scope))
    assert code(denied) == "DENIED"
    assert not (await run_call(make_call(), registry=registry, scope=Scope("x"))).is_error
    assert not (await run_call(make_call(), registry=registry)).is_error


async def test_a_broken_guard_denies(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, shown: Shown
) -> None:
    """core 10.1: a guard that raises or answers nonsense lets nothing pass."""
    registry.register(make_tool())
    answers: list[Any] = [1, False]
    with registry.guard(lambda context: answers.pop()):
        for _ in range(2):
            assert code(await run_call(make_call(), registry=registry)) == "DENIED"
        outcome = await run_call(make_call(), registry=registry)
    assert shown(outcome) == "Error: tool call denied: a guard failed: pop from empty list"


async def test_asking_is_denied(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, shown: Shown
) -> None:
    """core 18.9 #208: ask without anybody to approve is a denial."""
    registry.register(make_tool())
    registry.hooks.intercept("tools/pre-execute", lambda context: Ask("deletes files"))
    outcome = await run_call(make_call(), registry=registry)
    assert code(outcome) == "DENIED"
    assert "approval" in shown(outcome)
    assert shown(outcome).endswith("deletes files")


@pytest.mark.parametrize(
    ("answers", "denied"),
    [
        ([Deny("no"), Allow()], False),
        ([Allow(), Deny("no")], True),
        ([Deny("no"), None], True),
        ([None, None], False),
    ],
)
async def test_the_last_decision_counts(
    registry: ToolRegistry,
    make_tool: MakeTool,
    make_call: MakeCall,
    answers: list[Any],
    denied: bool,
) -> None:
    """core 10.2: of several pre-execute answers the last that is one decides."""
    registry.register(make_tool())

    async def answer_later(answer: Any, context: ToolContext) -> Any:
        return answer

    for answer in answers:
        registry.hooks.intercept("tools/pre-execute", partial(answer_later, answer))
    outcome = await run_call(make_call(), registry=registry)
    assert (code(outcome) == "DENIED") is denied


async def test_post_execute_sees_every_failure_of_the_call(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 18.9 #209: deny, unknown tool, bad arguments and a raising body reach post-execute."""
    seen: list[tuple[str, str | None]] = []

    def body(arguments: Any, context: ToolContext) -> None:
        raise ValueError("broken")

    registry.register(make_tool("raising", body))
    registry.register(make_tool("strict", parameters=NUMBER))
    registry.hooks.intercept(
        "tools/pre-execute", lambda c: Deny("no") if c.name == "denied" else None
    )
    registry.hooks.intercept(
        "tools/post-execute", lambda p: seen.append((p.context.name, code(p.outcome)))
    )
    for name in ("denied", "unknown", "strict", "raising"):
        assert (await run_call(make_call(name), registry=registry)).is_error
    assert seen == [
        ("denied", "DENIED"),
        ("unknown", "UNKNOWN_TOOL"),
        ("strict", "INVALID_ARGS"),
        ("raising", None),
    ]


@pytest.mark.parametrize("answer", ["raise", "nonsense"])
async def test_a_raising_pre_execute_is_final(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, shown: Shown, answer: str
) -> None:
    """core 18.9 #209: a pre-execute that raises ends the call; post-execute is not asked."""
    asked: list[Any] = []
    registry.register(make_tool(execute=lambda *a: asked.append("body")))

    def interceptor(context: ToolContext) -> Any:
        if answer == "raise":
            raise ModelError("judge is down", "SERVER")
        return "yes"

    registry.hooks.intercept("tools/pre-execute", interceptor)
    registry.hooks.intercept("tools/post-execute", asked.append)
    outcome = await run_call(make_call(), registry=registry)
    expected = ("SERVER", "judge is down") if answer == "raise" else ("CONFIGURATION", "Allow")
    assert code(outcome) == expected[0]
    assert expected[1] in shown(outcome)
    assert not asked


async def test_a_block_is_a_failure(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, note: Note
) -> None:
    """core 18.9 #210: a block gives its feedback and its contexts, and drops the body's."""

    async def body(arguments: Any, context: ToolContext) -> str:
        context.defer_context(note("body"))
        context.conclude_turn()
        return "fine"

    registry.register(make_tool(execute=body))
    registry.hooks.intercept("tools/post-execute", lambda p: Accept(contexts=(note("early"),)))
    registry.hooks.intercept("tools/post-execute", lambda p: Block("tests fail", (note("why"),)))
    registry.hooks.intercept("tools/post-execute", lambda p: Accept(contexts=(note("late"),)))
    outcome = await run_call(make_call(), registry=registry)
    assert outcome.is_error
    assert outcome.content == (Text("tests fail"),)
    assert outcome.value is None
    assert not outcome.conclude
    assert outcome.contexts == (note("why"), note("late"))


async def test_accept_keeps_contexts_in_order(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, note: Note
) -> None:
    """core 10.2: an accept puts its contexts behind those of the body and may change the text."""

    async def body(arguments: Any, context: ToolContext) -> str:
        context.defer_context(note("body"))
        return "fine"

    registry.register(make_tool(execute=body))
    registry.hooks.intercept(
        "tools/post-execute", lambda p: Accept(content="rewritten", contexts=(note("more"),))
    )
    outcome = await run_call(make_call(), registry=registry)
    assert outcome.content == (Text("rewritten"),)
    assert outcome.value == "fine"
    assert outcome.contexts == (note("body"), note("more"))
    assert not outcome.is_error


async def test_accept_takes_content_or_value(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, shown: Shown
) -> None:
    """core 18.9 #211: both at once is an error result."""
    registry.register(make_tool())
    registry.hooks.intercept("tools/post-execute", lambda p: Accept(content="x", value=None))
    outcome = await run_call(make_call(), registry=registry)
    assert outcome.is_error
    assert "not both" in shown(outcome)


@pytest.mark.parametrize(("value", "valid"), [("other", True), (3, False), (float("nan"), False)])
async def test_an_accepted_value_is_checked_and_rendered(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, value: Any, valid: bool
) -> None:
    """core 10.2: a replaced value goes through the output schema and the renderer again."""
    registry.register(
        make_tool(
            execute=lambda a, c: "first",
            output_schema={"type": "string"},
            render=lambda value: f"<{value}>",
        )
    )
    registry.hooks.intercept("tools/post-execute", lambda p: Accept(value=value))
    outcome = await run_call(make_call(), registry=registry)
    if valid:
        assert (outcome.value, outcome.content) == ("other", (Text("<other>"),))
    else:
        assert code(outcome) == "INVALID_TOOL_OUTPUT"


async def test_a_failed_call_gets_no_value(
    registry: ToolRegistry, make_call: MakeCall, shown: Shown
) -> None:
    """core 10.2: an accept with a value makes no success of a failure; content may change."""
    with registry.hooks.intercept("tools/post-execute", lambda p: Accept(value=1)):
        outcome = await run_call(make_call("unknown"), registry=registry)
    assert outcome.is_error
    assert "cannot give a failed call a value" in shown(outcome)
    registry.hooks.intercept("tools/post-execute", lambda p: Accept(content="try another"))
    outcome = await run_call(make_call("unknown"), registry=registry)
    assert (outcome.is_error, shown(outcome)) == (True, "try another")
    assert code(outcome) == "UNKNOWN_TOOL"


@pytest.mark.parametrize("answer", [lambda: 1 / 0, lambda: "yes", lambda: Block(NONSENSE)])
async def test_a_broken_post_execute_fails_the_call(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, note: Note, answer: Any
) -> None:
    """core 10.2: a post-execute that raises or answers nonsense gives an error result."""

    async def body(arguments: Any, context: ToolContext) -> str:
        context.defer_context(note("body"))
        return "fine"

    registry.register(make_tool(execute=body))
    registry.hooks.intercept("tools/post-execute", lambda p: answer())
    outcome = await run_call(make_call(), registry=registry)
    assert outcome.is_error
    assert outcome.contexts == ()


@pytest.mark.parametrize(
    ("value", "fields", "fault"),
    [
        (3, {"output_schema": {"type": "string"}}, "value must be of type string, not integer"),
        ({"a": 1}, {"output_schema": NUMBER}, "value.n is required"),
        (float("nan"), {}, "not a finite number"),
        ((1,), {}, "of type tuple"),
        (object(), {}, "of type object"),
        ({1: 2}, {}, "a key of type int"),
        ("x", {"render": lambda value: 1 / 0}, "division by zero"),
        ("x", {"render": lambda value: 3}, "content"),
        ("x", {"render": lambda value: Text("\ud800")}, "lone surrogate"),
        ("x", {"render": lambda value: [ToolCall("1", "t", "")]}, "ToolCall cannot stand"),
        ("x", {"render": lambda value: OpaqueBlock({"a": {1}})}, "of type set"),
    ],
)
async def test_invalid_output(
    registry: ToolRegistry,
    make_tool: MakeTool,
    make_call: MakeCall,
    shown: Shown,
    value: Any,
    fields: Any,
    fault: str,
) -> None:
    """core 18.9 #212: a value outside its schema, no JSON, or unrendered is INVALID_TOOL_OUTPUT."""
    registry.register(make_tool(execute=lambda arguments, context: value, **fields))
    outcome = await run_call(make_call(), registry=registry)
    assert code(outcome) == "INVALID_TOOL_OUTPUT"
    assert fault in shown(outcome)
    assert outcome.value is None


async def test_arguments_are_frozen(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, shown: Shown
) -> None:
    """core 18.9 #213: a body that changes its arguments fails, and the call stays as it was."""

    async def body(arguments: Any, context: ToolContext) -> None:
        arguments["list"].append(2)

    registry.register(make_tool(execute=body))
    call = make_call(arguments='{"list":[1]}')
    outcome = await run_call(call, registry=registry)
    assert outcome.is_error
    assert "cannot be changed" in shown(outcome)
    assert call.arguments == '{"list":[1]}'


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class HostileCode(ToolError):
    code: Any = property(lambda self: 1 / 0)

    def __init__(self) -> None:
        Exception.__init__(self, "sly")


@pytest.mark.parametrize(
    ("error", "text", "info"),
    [
        (ValueError("broken"), "broken", None),
        (ValueError(), "ValueError", None),
        (Hostile(), "Hostile (its message cannot be read)", None),
        (ValueError("a\ud800b"), "a\\ud800b", None),
        (ToolError("gone", code="FS_NOT_FOUND"), "gone", ErrorInfo("ToolError", "FS_NOT_FOUND")),
        (ModelError("busy", "RATE_LIMIT"), "busy", ErrorInfo("ModelError", "RATE_LIMIT")),
        (HostileCode(), "sly", ErrorInfo("HostileCode", "TOOL")),
        (SystemExit(3), "SystemExit: 3", None),
        (KeyError("gold"), "KeyError: 'gold'", None),
        (ValueError("a", 2), "ValueError: ('a', 2)", None),
        (IndexError(7), "IndexError: 7", None),
        (OSError(2, "No such file"), "[Errno 2] No such file", None),
        (asyncio.CancelledError(), "tool 'echo' cancelled itself", None),
        (StopAsyncIteration(), "async generator raised", None),
        (ExceptionGroup("two", [ValueError("a")]), "two (1 sub-exception)", None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
@pytest.mark.parametrize("plain", [False, True])
async def test_a_raising_body(
    registry: ToolRegistry,
    make_tool: MakeTool,
    make_call: MakeCall,
    shown: Shown,
    system: Any,
    error: BaseException,
    text: str,
    info: Any,
    plain: bool,
) -> None:
    """core 18.9 #223: whatever a body raises becomes one safe text; a code only of our errors."""

    async def body(arguments: Any, context: ToolContext) -> None:
        raise error

    def plain_body(arguments: Any, context: ToolContext) -> None:
        raise error

    registry.register(make_tool(execute=plain_body if plain else body))
    outcome = await run_call(make_call(), registry=registry, system=system)
    assert outcome.is_error
    assert shown(outcome).startswith("Error: ")
    assert len(outcome.content) == 1
    if not isinstance(error, StopAsyncIteration):
        assert outcome.content == (Text(f"Error: {text}"),)
        assert outcome.error == info


async def test_a_pre_aborted_call(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: with a fired signal nobody is asked and the body never runs."""
    asked: list[Any] = []
    registry.register(make_tool(execute=lambda *a: asked.append("body")))
    registry.hooks.intercept("tools/pre-execute", asked.append)
    registry.hooks.intercept("tools/post-execute", asked.append)
    token = CancellationToken()
    token.cancel("enough")
    outcome = await run_call(make_call(), registry=registry, signal=token)
    assert outcome == ToolOutcome(
        (Text("Error: tool call aborted before dispatch"),),
        True,
        ErrorInfo("AbortError", "ABORTED_BEFORE_DISPATCH"),
    )
    assert not asked


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "ABORTED_BEFORE_DISPATCH"),
        (Deny("no"), "DENIED"),
        ("raise", "ABORTED_BEFORE_DISPATCH"),
    ],
)
async def test_an_abort_during_pre_execute(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, answer: Any, expected: str
) -> None:
    """core 9: aborted while it is admitted, a call does not run; a denial keeps its identity."""
    ran: list[Any] = []
    token = CancellationToken()

    def interceptor(context: ToolContext) -> Any:
        token.cancel()
        if answer == "raise":
            context.signal.raise_if_cancelled()
        return answer

    registry.register(make_tool(execute=lambda *a: ran.append(a)))
    registry.hooks.intercept("tools/pre-execute", interceptor)
    assert code(await run_call(make_call(), registry=registry, signal=token)) == expected
    assert not ran


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("return", "ABORTED"),
        ("raise", None),
        ("raise cause", "ABORTED"),
        ("own code", "MINE"),
        ("invalid", "INVALID_TOOL_OUTPUT"),
    ],
)
async def test_an_abort_during_the_body(
    registry: ToolRegistry,
    make_tool: MakeTool,
    make_call: MakeCall,
    note: Note,
    end: str,
    expected: str | None,
) -> None:
    """core 18.8 #184, #196: a started body is awaited; a success becomes ABORTED, contexts stay."""
    token, begun, go = CancellationToken(), asyncio.Event(), asyncio.Event()

    async def body(arguments: Any, context: ToolContext) -> Any:
        context.defer_context(note("kept"))
        context.conclude_turn()
        begun.set()
        await go.wait()
        match end:
            case "raise":
                raise ValueError("disk full")
            case "raise cause":
                context.signal.raise_if_cancelled()
            case "own code":
                raise ToolError("mine", code="MINE")
            case "invalid":
                return {1}
            case _:
                return "done"
        return None

    registry.register(make_tool(execute=body))
    task = asyncio.create_task(run_call(make_call(), registry=registry, signal=token))
    await begun.wait()
    token.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    go.set()
    outcome = await task
    assert outcome.is_error
    assert code(outcome) == expected
    assert outcome.contexts == (note("kept"),)
    assert not outcome.conclude
    assert outcome.value is None


async def test_raising_the_cause_is_an_abort(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: a body that raises the exception its signal fired with was aborted."""
    token = CancellationToken()

    async def body(arguments: Any, context: ToolContext) -> None:
        token.cancel(ToolError("closing", code="CLOSING"))
        context.signal.raise_if_cancelled()

    registry.register(make_tool(execute=body))
    assert code(await run_call(make_call(), registry=registry, signal=token)) == "ABORTED"


async def test_an_abort_during_post_execute(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: a cancellation before the final result makes ABORTED of a success."""
    token = CancellationToken()
    registry.register(make_tool())
    registry.hooks.intercept("tools/post-execute", lambda p: (token.cancel(), None)[1])
    assert code(await run_call(make_call(), registry=registry, signal=token)) == "ABORTED"


async def test_cancelling_the_callers_task_ends_the_body(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, bodies: Any
) -> None:
    """core 10.2: the cancellation of the calling task itself is raised, and reaches the body."""
    registry.register(make_tool(execute=bodies))
    task = asyncio.create_task(run_call(make_call(), registry=registry))
    await bodies.until("c1")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bodies.running == []


async def test_conclude_counts_on_success_only(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: conclude_turn is kept by a success and dropped by a failure."""

    async def body(arguments: Any, context: ToolContext) -> str:
        context.conclude_turn()
        if arguments:
            raise ValueError("no")
        return "x"

    registry.register(make_tool(execute=body))
    assert (await run_call(make_call(), registry=registry)).conclude
    assert not (await run_call(make_call(arguments='{"a":1}'), registry=registry)).conclude


async def test_meta_is_frozen_beside_the_result(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: what a body leaves in meta is logged with the result if it is JSON."""
    metas: list[Any] = [{1: 2}, {"lines": [3]}]

    async def body(arguments: Any, context: ToolContext) -> str:
        context.meta = metas.pop()
        return "x"

    registry.register(make_tool(execute=body))
    outcome = await run_call(make_call(), registry=registry)
    assert type(outcome.meta) is FrozenDict
    assert outcome.meta == {"lines": [3]}
    assert code(await run_call(make_call(), registry=registry)) == "INVALID_TOOL_OUTPUT"


async def test_a_finished_call_takes_nothing_more(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, note: Note
) -> None:
    """core 10.2: a context deferred behind the body's end is refused, not lost."""
    kept: list[ToolContext] = []

    async def body(arguments: Any, context: ToolContext) -> None:
        kept.append(context)

    registry.register(make_tool(execute=body))
    await run_call(make_call(), registry=registry)
    with pytest.raises(ToolError, match="is over"):
        kept[0].defer_context(note("late"))


async def test_the_context_tells_of_the_call(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: a body sees ids, name, frozen arguments, agent, signal and the call around it."""
    seen: list[ToolContext] = []
    token, agent = CancellationToken(), object()

    async def outer(arguments: Any, context: ToolContext) -> str:
        seen.append(context)
        await run_call(
            make_call("inner", id="c2"), registry=registry, parent=context, signal=context.signal
        )
        return "x"

    async def inner(arguments: Any, context: ToolContext) -> str:
        seen.append(context)
        return "y"

    registry.register(make_tool("outer", outer))
    registry.register(make_tool("inner", inner))
    await run_call(make_call("outer", '{"a":1}'), registry=registry, signal=token, agent=agent)
    first, second = seen
    assert (first.call_id, first.root_call_id, first.name) == ("c1", "c1", "outer")
    assert (first.arguments, first.agent, first.signal) == ({"a": 1}, agent, token)
    assert (second.call_id, second.root_call_id, second.parent) == ("c2", "c1", first)


async def test_observers_hear_the_final_outcome(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: tools/result comes last, once a call, and a failing observer changes nothing."""
    heard: list[ToolResulted] = []
    scope = Scope("agent")
    registry.register(make_tool())
    registry.hooks.intercept("tools/post-execute", lambda p: Accept(content="final"))
    registry.hooks.observe("tools/result", lambda payload: 1 / 0)
    registry.hooks.observe("tools/result", heard.append, scope=scope)
    outcome = await run_call(make_call(), registry=registry, scope=scope)
    await run_call(make_call("unknown"), registry=registry)
    assert [payload.outcome for payload in heard] == [outcome]
    assert outcome.content == (Text("final"),)


async def test_progress_reaches_observers(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: what a body says of its progress is told, while it runs."""
    heard: list[Any] = []

    async def body(arguments: Any, context: ToolContext) -> None:
        context.progress(0.5)

    registry.register(make_tool(execute=body))
    await run_call(make_call(), registry=registry)
    registry.hooks.observe("tools/progress", heard.append)
    await run_call(make_call(), registry=registry)
    (told,) = heard
    assert isinstance(told, ToolProgressed)
    assert (told.value, told.context.name) == (0.5, "echo")


async def test_a_wrapper_cannot_cut_the_signal(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 18.9 #225: with a replaced signal the caller's cancel still reaches the body."""
    token, own = CancellationToken(), CancellationToken()
    heard: list[Any] = []
    begun = asyncio.Event()

    async def body(arguments: Any, context: ToolContext) -> str:
        heard.append(context.signal)
        stopped = asyncio.Event()
        context.signal.on_cancel(heard.append)
        context.signal.on_cancel(lambda cause: stopped.set())
        begun.set()
        await stopped.wait()
        return "x"

    async def wrapper(execution: Execution) -> Any:
        return await execution.proceed(own)

    registry.register(make_tool(execute=body))
    registry.hooks.intercept("tools/execute", wrapper)
    task = asyncio.create_task(run_call(make_call(), registry=registry, signal=token))
    await begun.wait()
    token.cancel("enough")
    assert code(await task) == "ABORTED"
    assert heard[1] == "enough"
    assert heard[0] not in (token, own)


async def test_a_wrappers_own_signal_reaches_the_body(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: a wrapper may end the body by a signal of its own; the caller's stays open."""
    token, own = CancellationToken(), CancellationToken()

    async def body(arguments: Any, context: ToolContext) -> str:
        own.cancel("too long")
        return "stopped" if context.signal.cancelled else "ran on"

    registry.register(make_tool(execute=body))
    registry.hooks.intercept("tools/execute", lambda execution: execution.proceed(own))
    outcome = await run_call(make_call(), registry=registry, signal=token)
    assert outcome.value == "stopped"
    assert not token.cancelled


async def test_wrappers_stand_around_the_body(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: wrappers nest in the order of registration and may change the value."""
    order: list[str] = []

    def wrapper(name: str) -> Callable[[Execution], Any]:
        async def wrap(execution: Execution) -> Any:
            order.append(f"{name} in")
            value = await execution.proceed()
            order.append(f"{name} out")
            return [name, value]

        return wrap

    async def body(arguments: Any, context: ToolContext) -> str:
        order.append("body")
        return "x"

    registry.register(make_tool(execute=body))
    registry.hooks.intercept("tools/execute", wrapper("a"))
    registry.hooks.intercept("tools/execute", wrapper("b"))
    outcome = await run_call(make_call(), registry=registry)
    assert outcome.value == ["a", ["b", "x"]]
    assert order == ["a in", "b in", "body", "b out", "a out"]


async def test_post_execute_reads_what_the_last_one_left(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall
) -> None:
    """core 10.2: post-execute is a waterfall: each sees the outcome of those before it."""
    seen: list[PostExecute] = []
    registry.register(make_tool())
    registry.hooks.intercept("tools/post-execute", lambda p: Accept(content="one"))
    registry.hooks.intercept("tools/post-execute", seen.append)
    await run_call(make_call(), registry=registry)
    assert seen[0].outcome.content == (Text("one"),)


STRAYS = [asyncio.CancelledError(), SystemExit(1), GeneratorExit()]


@pytest.mark.parametrize("error", STRAYS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "where", ["pre", "guard", "wrapper", "body", "render", "post", "classifier"]
)
async def test_no_stray_error_gets_out(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, where: str, error: Any
) -> None:
    """core 10.2: a call is a result, also when what is asked on its way lets no Exception out."""

    def broken(*_: Any) -> Any:
        raise error

    fields: dict[str, Any] = {}
    if where == "body":
        fields["execute"] = broken
    elif where == "render":
        fields["render"] = broken
    elif where == "classifier":
        fields["concurrency_safe"] = broken
    elif where == "guard":
        registry.guard(broken)
    else:
        names = {"pre": "pre-execute", "post": "post-execute", "wrapper": "execute"}
        registry.hooks.intercept(f"tools/{names[where]}", broken)
    registry.register(make_tool(**fields))
    outcome = await run_call(make_call(), registry=registry)
    assert outcome.is_error is (where != "classifier")


@pytest.mark.parametrize("where", ["guard", "render", "classifier"])
async def test_an_awaitable_where_an_answer_is_due(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, where: str
) -> None:
    """core 10.1, 10.2: a function that turns out to be asynchronous is told so, and closed."""

    async def later(*_: Any) -> Any:
        return "x"

    fields: dict[str, Any] = {}
    if where == "classifier":
        fields["concurrency_safe"] = lambda arguments: later()
    if where == "render":
        fields["render"] = lambda value: later()
    if where == "guard":
        registry.guard(lambda context: later())  # type: ignore[arg-type, return-value]
    registry.register(make_tool(**fields))
    outcome = await run_call(make_call(), registry=registry)
    assert code(outcome) == {"guard": "DENIED", "render": "INVALID_TOOL_OUTPUT"}.get(where)


def returns(answer: Any, _notice: PostExecute) -> Any:
    return answer


@pytest.mark.parametrize("messages", [["x"], [None], [UserMessage("", ())], "x"])
async def test_only_messages_are_put_before_the_model(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, messages: Any
) -> None:
    """core 10.2: contexts that are no messages are the interceptor's error, not the turn's."""
    registry.register(make_tool())
    for answer in (Accept(contexts=messages), Block("no", contexts=messages)):
        with registry.hooks.intercept("tools/post-execute", partial(returns, answer)):
            outcome = await run_call(make_call(), registry=registry)
        assert outcome.is_error
        assert outcome.contexts == ()


class UnspeakableError(ToolError):
    """Ends the process, or so it wants, when somebody asks what it says."""

    def __str__(self) -> str:
        raise SystemExit(2)


async def test_an_error_that_must_not_be_asked(
    registry: ToolRegistry, make_tool: MakeTool, make_call: MakeCall, shown: Shown
) -> None:
    """core #223: an error whose text and code raise even a SystemExit is a safe result."""

    class Code(str):
        __slots__ = ()

        def __str__(self) -> str:
            raise SystemExit(1)

    def body(arguments: Any, context: ToolContext) -> None:
        raise UnspeakableError("x", code=Code("X"))

    registry.register(make_tool(execute=body))
    outcome = await run_call(make_call(), registry=registry)
    assert outcome.is_error
    assert "UnspeakableError" in shown(outcome)
    assert code(outcome) == "TOOL"


async def test_the_developer_is_told_what_a_tool_raised(
    registry: ToolRegistry,
    make_tool: MakeTool,
    make_call: MakeCall,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DESIGN 8: an error that is no ToolError is logged with tool, agent and traceback."""

    async def careless(arguments: Any, context: ToolContext) -> None:
        raise KeyError("gold")

    registry.register(make_tool(execute=careless))
    await run_call(make_call(), registry=registry, agent=SimpleNamespace(id="lead"))
    [record] = caplog.records
    assert (record.name, record.levelname) == ("broodline.tools", "WARNING")
    assert record.getMessage() == "tool 'echo' of agent 'lead' failed: KeyError: 'gold'"
    assert "in careless" in caplog.text


async def test_what_was_meant_for_the_model_is_no_news(
    registry: ToolRegistry,
    make_tool: MakeTool,
    make_call: MakeCall,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DESIGN 8: a ToolError speaks to the model; the developer's log stays empty."""

    async def body(arguments: Any, context: ToolContext) -> None:
        raise ToolError("no such file")

    registry.register(make_tool(execute=body))
    await run_call(make_call(), registry=registry)
    assert caplog.records == []


async def test_the_developer_is_told_of_a_value_that_cannot_be_shown(
    registry: ToolRegistry,
    make_tool: MakeTool,
    make_call: MakeCall,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DESIGN 8: a failing render, like a failing body, is logged."""

    def render(value: Any) -> str:
        raise KeyError("gold")

    registry.register(make_tool(render=render))
    outcome = await run_call(make_call(), registry=registry)
    assert outcome.content == (Text("Error: KeyError: 'gold'"),)
    assert "in render" in caplog.text
