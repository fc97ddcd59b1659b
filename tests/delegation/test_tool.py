"""The tool by which a model delegates, in the foreground."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.actors.models import ScriptedModel, call, calls, fail, hang, max_tokens, text
from broodline.actors.notice import Reject
from broodline.messages.content import Reasoning, Text, ToolCall
from broodline.messages.errors import ConfigurationError, DepthTypeError
from broodline.messages.options import AgentOptions
from broodline.messages.payload import AbortCause, ToolFilter
from broodline.messages.result import SubagentResult
from broodline.providers.contract import ProviderCapabilities
from broodline.providers.spawn import SpawnProvider
from broodline.supervision.report import answer_text, failure_text, headline, value_of
from broodline.supervision.tool import SubagentTool


def observe(runtime: Any, event: str, listener: Callable[[Any], Any]) -> None:
    """Have `listener` hear an event of the runtime."""
    runtime.hooks.observe(event, listener)


def intercept(runtime: Any, event: str, answer: Callable[[Any], Any]) -> None:
    """Have `answer` asked at a decision of the runtime."""
    runtime.hooks.intercept(event, answer)


class OutsideSpec:
    """A kind of child whose end the test decides."""


class OutsideChild:
    local_agent = None

    def __init__(self, owner: Outside) -> None:
        self.owner = owner

    def begin(self, done: Any) -> None:
        self.owner.done.append(done)
        if self.owner.outcome is not None:
            done(self.owner.outcome)

    def cancel(self, cause: AbortCause) -> None:
        self.owner.cancelled.append(cause)
        self.owner.done[-1](SubagentResult((), "aborted"))

    def release(self) -> None:
        self.owner.released += 1
        if self.owner.failure is not None:
            raise self.owner.failure


class Outside:
    """Provider and driver in one: every child ends with `outcome`, released with `failure`."""

    name = "outside"
    capabilities = ProviderCapabilities(True, True, True, True, True)
    inherits_parent_context = False

    def __init__(self, outcome: Any = None, failure: Exception | None = None) -> None:
        self.outcome = outcome
        self.failure = failure
        self.requests: list[Any] = []
        self.done: list[Any] = []
        self.cancelled: list[AbortCause] = []
        self.released = 0

    async def prepare_one_shot(self, request: Any) -> object:
        self.requests.append(request)
        return OutsideSpec()

    async def create(self, _spec: Any, _birth: Any) -> OutsideChild:
        return OutsideChild(self)


def delegate(prompt: str = "do it", description: str = "work", **extra: Any) -> Any:
    """A model's wish to delegate."""
    return call("subagent", {"description": description, "prompt": prompt, **extra})


async def answer(runtime: Any, agent: Any) -> Any:
    """Have the agent take a turn; the tool results in its log."""
    agent.followup("go")
    await agent.when_idle()
    return [e.data for e in agent.session.events if e.type == "tool/result"]


def said(result: Any) -> str:
    """The text of one tool result."""
    (block,) = result.message.content
    return "".join(part.text for part in block.content)


def failed(result: Any) -> bool:
    return bool(result.message.content[0].is_error)


async def outside(open_runtime: Any, tool: SubagentTool | None = None, **kept: Any) -> Any:
    """A runtime with an `Outside`, and a root that delegates to it once."""
    model = ScriptedModel(shared=[delegate(), text("thanks")])
    owner = Outside(**kept)
    chosen = SubagentTool(provider="outside") if tool is None else tool
    runtime = await open_runtime(model, providers=[owner], tools=[chosen])
    runtime.subagents.register_driver(OutsideSpec, owner)
    root = await runtime.agents.create()
    return runtime, root, owner


async def test_answer(open_runtime: Any, census: Any) -> None:
    """providers 10, #152: by default the model waits for the answer; the run is disposed first."""
    model = ScriptedModel(shared=[delegate("look around"), text("found it"), text("thanks")])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    left: list[Any] = []
    observe(runtime, "tools/result", lambda _n: left.append(census(runtime)))
    (result,) = await answer(runtime, root.agent)
    assert not failed(result)
    assert said(result) == "found it"
    assert left == [(1, 1, 0)]
    assert model.requests[1].messages[0].content == (Text("look around"),)


async def test_schema(open_runtime: Any) -> None:
    """providers #150, #151: without background the schema has two required texts and no more."""
    runtime = await open_runtime(tools=[SubagentTool()])
    tool = runtime.tools.view(None).get("subagent")
    assert sorted(tool.parameters["properties"]) == ["description", "prompt"]
    assert tool.parameters["required"] == ["description", "prompt"]
    assert {p["type"] for p in tool.parameters["properties"].values()} == {"string"}
    assert "background" not in str(tool.parameters) + tool.description
    assert "job" not in tool.description


async def test_forced_background(open_runtime: Any) -> None:
    """providers #151: forcing the background is an error without a start."""
    model = ScriptedModel(shared=[delegate(run_in_background=True), text("hm")])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    (result,) = await answer(runtime, root.agent)
    assert failed(result)
    assert "run_in_background" in said(result)
    assert runtime.subagents.catalog(root) == ()
    assert "subagent/catalog" not in [e.type for e in root.agent.session.events]


async def test_undeclared_arguments(open_runtime: Any) -> None:
    """providers 10: arguments that nobody declared are tolerated."""
    model = ScriptedModel(shared=[delegate(mood="good", run_in_background=False), "a", "b"])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    (result,) = await answer(runtime, root.agent)
    assert said(result) == "a"


async def test_follows_its_provider(open_runtime: Any) -> None:
    """providers #153: the tool comes and goes with its provider, and its wording follows."""
    runtime = await open_runtime(tools=[SubagentTool(provider="late")])
    runtime.subagents.register(SpawnProvider(name="early"))
    assert runtime.tools.view(None).names == ()
    registration = runtime.subagents.register(SpawnProvider(name="late"))
    fresh = runtime.tools.view(None).get("subagent").description
    assert "empty history" in fresh
    runtime.subagents.register(SpawnProvider(name="another")).dispose()
    assert runtime.tools.view(None).names == ("subagent",)
    registration.dispose()
    assert runtime.tools.view(None).names == ()
    inheriting = SpawnProvider(name="late")
    inheriting.inherits_parent_context = True
    runtime.subagents.register(inheriting)
    assert "already knows this conversation" in runtime.tools.view(None).get("subagent").description


async def test_uninstalled(open_runtime: Any) -> None:
    """providers 10: a removed tool takes its listeners along; no provider brings it back."""
    runtime = await open_runtime()
    registration = SubagentTool(provider="late").install(runtime)
    provider = runtime.subagents.register(SpawnProvider(name="late"))
    assert runtime.tools.view(None).names == ("subagent",)
    registration.dispose()
    assert runtime.tools.view(None).names == ()
    provider.dispose()
    runtime.subagents.register(SpawnProvider(name="late"))
    assert runtime.tools.view(None).names == ()


async def test_depth_needs_the_capability(open_runtime: Any, stub: Any) -> None:
    """providers #155: a ceiling on a provider without depthLimit fails at once; None sends none."""
    runtime = await open_runtime()
    provider = stub(capabilities=ProviderCapabilities())
    runtime.subagents.register(provider)
    with pytest.raises(ConfigurationError, match="depthLimit"):
        SubagentTool(provider="stub").install(runtime)
    assert runtime.tools.view(None).names == ()
    SubagentTool(provider="stub", max_depth=None).install(runtime)
    root = await runtime.agents.create()
    outcome = (
        await runtime.tools.view(None)
        .get("subagent")
        .execute({"description": "d", "prompt": "p"}, context_of(root.agent))
    )
    assert outcome["kind"] == "foreground"
    assert provider.requests[0].max_depth is None


def context_of(agent: Any) -> Any:
    from broodline.actors.tools.tool import ToolContext

    return ToolContext("c", "subagent", {}, agent=agent)


async def test_late_provider_without_the_capability(
    open_runtime: Any, stub: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """providers #155, 15 (16): a late provider stays; the tool stays away, logged."""
    runtime = await open_runtime(tools=[SubagentTool(provider="stub")])
    with caplog.at_level(logging.ERROR):
        runtime.subagents.register(stub(capabilities=ProviderCapabilities()))
    assert runtime.tools.view(None).names == ()
    assert "stub" in runtime.subagents.list()
    assert "depthLimit" in caplog.text


async def test_default_depth(open_runtime: Any) -> None:
    """service DP-7, providers #156: without a setting the ceiling is 3."""
    runtime, root, owner = await outside(open_runtime, outcome=SubagentResult((), "completed"))
    await answer(runtime, root.agent)
    assert owner.requests[0].max_depth == 3


async def test_depth_zero(open_runtime: Any) -> None:
    """providers #156: an explicit 0 is forwarded and refuses every start; the tool stays."""
    model = ScriptedModel(shared=[delegate(), text("hm")])
    runtime = await open_runtime(model, tools=[SubagentTool(max_depth=0)])
    root = await runtime.agents.create()
    (result,) = await answer(runtime, root.agent)
    assert failed(result)
    assert "subagent depth 1 exceeds maxDepth 0" in said(result)
    assert runtime.tools.view(None).names == ("subagent",)


async def test_depth_is_kept_along_the_tree(open_runtime: Any) -> None:
    """service 8: the ceiling is absolute: a grandchild of a tool with 1 is refused."""
    model = ScriptedModel(shared=[delegate(), delegate(), text("could not"), text("ok")])
    runtime = await open_runtime(model, tools=[SubagentTool(max_depth=1)])
    root = await runtime.agents.create()
    (result,) = await answer(runtime, root.agent)
    assert said(result) == "could not"
    assert "subagent depth 2 exceeds maxDepth 1" in str(model.requests[2].messages[-1].content)


@pytest.mark.parametrize("value", [True, "1", 1.5, -1, 2**53])
def test_malformed_depth(value: Any) -> None:
    """providers 10: a malformed ceiling is refused when the tool is made."""
    with pytest.raises(DepthTypeError):
        SubagentTool(max_depth=value)


def test_empty_filter() -> None:
    """providers #84: a filter with neither list is refused when the tool is made."""
    with pytest.raises(ConfigurationError):
        SubagentTool(tool_filter=ToolFilter())


@pytest.mark.parametrize("value", [0, 63, 1.5, True])
def test_malformed_limit(value: Any) -> None:
    """providers 15 (12): a limit too small for its marker is refused when the tool is made."""
    with pytest.raises(ConfigurationError):
        SubagentTool(result_limit=value)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (fail("AUTH", "no key"), ["The subagent failed.", "AUTH: no key"]),
        (max_tokens("half"), ["token limit", "half"]),
    ],
)
async def test_failing_child(entry: Any, words: list[str], open_runtime: Any) -> None:
    """providers #157: a child that did not complete is an error result with its headline."""
    model = ScriptedModel(shared=[delegate(), entry, text("hm")])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    (result,) = await answer(runtime, root.agent)
    assert failed(result)
    for word in words:
        assert word in said(result)


async def test_declined_child(open_runtime: Any) -> None:
    """providers #157: a child whose prompt was rejected is an error result that says declined."""
    model = ScriptedModel(shared=[delegate(), text("hm")])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    intercept(
        runtime, "agent/pre-step", lambda n: Reject("no") if n.agent.parent is not None else None
    )
    (result,) = await answer(runtime, root.agent)
    assert failed(result)
    assert "declined" in said(result)


def test_headlines() -> None:
    """providers #157, #159: each reason has a headline of its own; an unknown one is named."""
    reasons = ["completed", "aborted", "error", "max-tokens", "refusal", "gone-fishing"]
    headlines = [headline(reason) for reason in reasons]
    assert len(set(headlines)) == len(reasons)
    assert "gone-fishing" in headlines[-1]


def test_order_of_a_failure() -> None:
    """providers #158: headline, diagnostic, partial text, in this order."""
    result = SubagentResult((Text("half"),), "error", None, "E: broken")
    shown = failure_text(result, None, None, 1000)
    assert shown.split("\n")[0] == headline("error")
    assert shown.index("E: broken") < shown.index("half")


async def test_unknown_reason(open_runtime: Any) -> None:
    """providers #159: an unknown stop reason is an error result naming it."""
    runtime, root, _ = await outside(open_runtime, outcome=SubagentResult((), "gone-fishing"))
    (result,) = await answer(runtime, root.agent)
    assert failed(result)
    assert "gone-fishing" in said(result)
    assert result.error.code == "SUBAGENT_GONE_FISHING"


def test_mixed_blocks() -> None:
    """providers #160: text is joined without a separator; the value keeps all blocks."""
    output = (Text("a"), Reasoning("hm"), ToolCall("c", "n", "{}"), Text("b"))
    value = value_of("run", SubagentResult(output, "completed"))
    assert (value["kind"], value["runId"]) == ("foreground", "run")
    assert [block["type"] for block in value["output"]] == [
        "text",
        "reasoning",
        "tool-call",
        "text",
    ]
    assert answer_text(value, 1000) == "ab"


@pytest.mark.parametrize(
    "outcome", [SubagentResult((), "completed"), SubagentResult((), "error"), OSError("lost")]
)
async def test_disposed_once(outcome: Any, open_runtime: Any) -> None:
    """providers #161: on every path the run is disposed exactly once, before the result."""
    runtime, root, owner = await outside(open_runtime, outcome=outcome)
    seen: list[int] = []
    observe(runtime, "tools/result", lambda _n: seen.append(owner.released))
    await answer(runtime, root.agent)
    assert seen == [1]
    assert owner.released == 1


async def test_answer_survives_a_failed_release(open_runtime: Any) -> None:
    """providers #163, 15 (9): a failed disposal is an error that still holds the answer."""
    runtime, root, _ = await outside(
        open_runtime,
        outcome=SubagentResult((Text("the answer"),), "completed"),
        failure=OSError("stuck"),
    )
    (result,) = await answer(runtime, root.agent)
    assert failed(result)
    assert "the answer" in said(result)
    assert "stuck" in said(result)


async def test_both_failures_survive(open_runtime: Any) -> None:
    """providers 10: when result and disposal fail, both texts are told."""
    runtime, root, _ = await outside(
        open_runtime, outcome=ValueError("lost"), failure=OSError("stuck")
    )
    (result,) = await answer(runtime, root.agent)
    assert failed(result)
    assert "lost" in said(result)
    assert "stuck" in said(result)


async def test_siblings_overlap(open_runtime: Any) -> None:
    """providers #164: two calls of one message that wait for each other both finish, in order."""
    barrier = asyncio.Barrier(2)

    async def meet(request: Any) -> Any:
        await barrier.wait()
        return text("met " + request.messages[0].content[0].text)

    both = calls(delegate("one"), delegate("two"))
    model = ScriptedModel(shared=[both, meet, meet, text("fine")])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    results = await answer(runtime, root.agent)
    assert [said(result) for result in results] == ["met one", "met two"]


async def test_ten_at_a_time(open_runtime: Any) -> None:
    """providers 10: of many calls in one message ten are unsettled at most, ended in any order."""
    gates = [asyncio.Event() for _ in range(25)]
    begun: list[int] = []
    ten = asyncio.Event()

    async def child(request: Any) -> Any:
        number = int(request.messages[0].content[0].text)
        begun.append(number)
        if len(begun) == 10:
            ten.set()
        await gates[number].wait()
        return text(f"answer {number}")

    many = calls(*[delegate(str(number)) for number in range(25)])
    model = ScriptedModel(shared=[many, *[child] * 25, text("fine")])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    turn = asyncio.ensure_future(answer(runtime, root.agent))
    await ten.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert begun == list(range(10))
    for gate in reversed(gates):
        gate.set()
    results = await turn
    assert [said(result) for result in results] == [f"answer {number}" for number in range(25)]


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{",
        "[]",
        "null",
        '{"prompt": "p"}',
        '{"description": "d"}',
        '{"description": 5, "prompt": "p"}',
        '{"description": "d", "prompt": ["p"]}',
        '{"description": "d", "prompt": null}',
        '{"description": "\\ud800", "prompt": "p"}',
        '{"description": "d", "prompt": "\\ud83d"}',
    ],
)
async def test_junk(open_runtime: Any, census: Any, arguments: str) -> None:
    """providers 10: a model's junk is an error result to it; no child is made."""
    model = ScriptedModel(shared=[call("subagent", arguments), text("sorry")])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    (result,) = await answer(runtime, root.agent)
    assert result.message.content[0].is_error
    assert len(model.requests) == 2
    assert census(runtime) == (1, 1, 0)


async def test_vast_prompt(open_runtime: Any) -> None:
    """providers 10: a prompt of ten million characters reaches the child as it is."""
    vast = "x" * 10_000_000
    model = ScriptedModel(shared=[delegate(vast), text("read it"), text("fine")])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    (result,) = await answer(runtime, root.agent)
    assert said(result) == "read it"
    assert model.requests[1].messages[0].content == (Text(vast),)


async def test_provider_removed_in_the_middle(open_runtime: Any) -> None:
    """providers #9, #153: a call under way survives its provider, and gives its answer."""
    provider = SpawnProvider(name="mine")
    runtime = await open_runtime(
        ScriptedModel(shared=[call("subagent", description="d", prompt="p"), text("end")]),
        tools=[SubagentTool("mine")],
    )
    registration = runtime.subagents.register(provider)
    root = await runtime.agents.create()
    observe(runtime, "subagent/start", lambda _notice: registration.dispose())
    (result,) = await answer(runtime, root.agent)
    assert said(result) == "end"
    assert runtime.tools.view(root.agent.scope).names == ()


async def test_no_agent(open_runtime: Any) -> None:
    """providers #166: without a calling agent it is an error."""
    from broodline.messages.errors import ToolError

    runtime = await open_runtime(tools=[SubagentTool()])
    tool = runtime.tools.view(None).get("subagent")
    with pytest.raises(ToolError, match="calling agent"):
        await tool.execute({"description": "d", "prompt": "p"}, context_of(None))


async def test_cancelled_turn(open_runtime: Any, census: Any) -> None:
    """providers #167, 2.4: cancelling the parent's turn cancels the child."""
    model = ScriptedModel(shared=[delegate(), hang("partial")])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    root.agent.followup("go")
    while len(model.requests) < 2:
        await asyncio.sleep(0)
    (run,) = runtime.subagents.runs
    root.agent.cancel(AbortCause("user"))
    await root.agent.when_idle()
    assert (await run.result).stop_reason == "aborted"
    assert model.requests[1].signal.cause == AbortCause("parent")
    (result,) = [e.data for e in root.agent.session.events if e.type == "tool/result"]
    assert failed(result)
    assert census(runtime) == (1, 1, 0)


async def test_signal_reaches_the_provider(open_runtime: Any) -> None:
    """providers #167: the execution signal is the request's; a child of any kind hears it."""
    _, root, owner = await outside(open_runtime)
    root.agent.followup("go")
    while not owner.done:
        await asyncio.sleep(0)
    root.agent.cancel(AbortCause("user"))
    await root.agent.when_idle()
    assert owner.cancelled == [AbortCause("parent")]
    assert owner.released == 1


async def test_body_cancelled(open_runtime: Any, census: Any) -> None:
    """providers 10: a body that is cancelled while it waits still disposes of its run."""
    model = ScriptedModel(shared=[hang("partial")])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    tool = runtime.tools.view(None).get("subagent")
    args = {"description": "d", "prompt": "p"}
    body = asyncio.create_task(tool.execute(args, context_of(root.agent)))
    while not model.requests:
        await asyncio.sleep(0)
    body.cancel()
    with pytest.raises(asyncio.CancelledError):
        await body
    assert census(runtime) == (1, 1, 0)


async def test_body_cancelled_at_publication(open_runtime: Any, census: Any) -> None:
    """providers 10: a body cancelled as its child is published leaves no child behind."""
    runtime = await open_runtime(ScriptedModel(each=[hang("x")]), tools=[SubagentTool()])
    root = await runtime.agents.create()
    tool = runtime.tools.view(None).get("subagent")
    args = {"description": "d", "prompt": "p"}
    body = asyncio.create_task(tool.execute(args, context_of(root.agent)))
    observe(runtime, "subagent/start", lambda _n: body.cancel())
    with pytest.raises(asyncio.CancelledError):
        await body
    for _ in range(20):
        await asyncio.sleep(0)
    assert census(runtime) == (1, 1, 0)


async def test_only_what_is_configured(open_runtime: Any) -> None:
    """providers #168: what is not configured is not requested."""
    runtime, root, owner = await outside(open_runtime, outcome=SubagentResult((), "completed"))
    await answer(runtime, root.agent)
    (request,) = owner.requests
    assert (request.agent_options, request.persona, request.tool_filter) == (None, None, None)
    assert request.output_schema is None
    assert (request.label, request.prompt) == ("work", (Text("do it"),))


async def test_what_is_configured(open_runtime: Any) -> None:
    """providers 10: options, persona, filter and ceiling of the tool go into every request."""
    tool = SubagentTool(
        "outside",
        "subagent",
        2,
        AgentOptions(max_tokens=9),
        "",
        ToolFilter(deny=("subagent",)),
    )
    runtime, root, owner = await outside(
        open_runtime, tool, outcome=SubagentResult((), "completed")
    )
    await answer(runtime, root.agent)
    (request,) = owner.requests
    assert (request.max_depth, request.agent_options) == (2, AgentOptions(max_tokens=9))
    assert (request.persona, request.tool_filter) == ("", ToolFilter(deny=("subagent",)))


async def test_denied_in_a_child(open_runtime: Any) -> None:
    """providers #169: where the tool is denied, neither schema nor guidance is shown."""
    denied = ToolFilter(deny=("subagent",))
    model = ScriptedModel(shared=[delegate(), text("ok"), text("fine")])
    runtime = await open_runtime(model, tools=[SubagentTool(tool_filter=denied)])
    root = await runtime.agents.create()
    await answer(runtime, root.agent)
    assert [schema.name for schema in model.requests[0].tools] == ["subagent"]
    assert model.requests[1].tools == ()
    assert model.requests[1].system is None


async def test_two_tools(open_runtime: Any) -> None:
    """providers 10: two instances with different names stand side by side."""
    tools = [SubagentTool(name="scout"), SubagentTool(provider="other", name="judge", persona="J")]
    runtime = await open_runtime(providers=[SpawnProvider(name="other")], tools=tools)
    assert runtime.tools.view(None).names == ("judge", "scout")


async def test_same_name_twice(open_runtime: Any) -> None:
    """providers 10: two instances of one name are refused."""
    with pytest.raises(ConfigurationError, match="'subagent'"):
        await open_runtime(tools=[SubagentTool(), SubagentTool()])


async def test_bounded_result(open_runtime: Any) -> None:
    """providers 15 (12): a long answer is cut; its marker says how long it is and where it is."""
    long = "x" * 70_000
    model = ScriptedModel(shared=[delegate(), text(long), text("thanks")])
    runtime = await open_runtime(model, tools=[SubagentTool()])
    root = await runtime.agents.create()
    (result,) = await answer(runtime, root.agent)
    shown = said(result)
    assert len(shown.encode()) <= 64 * 1024
    (child,) = {made.session_id for made in model.requests} - {root.id}
    assert shown.endswith(f"\n[truncated: 70000 bytes in all; see subagent {child} for the whole]")


def test_bounded_partial() -> None:
    """providers 15 (12): a partial text is bounded as well."""
    result = SubagentResult((Text("x" * 1000),), "error")
    assert "[truncated: 1000 bytes in all]" in failure_text(result, None, None, 100)
    assert "; see subagent abc for" in failure_text(result, None, None, 300, "abc")
    assert "[truncated" not in failure_text(replace(result, output=(Text("x"),)), None, None, 100)


def test_bounded_fault() -> None:
    """providers 15 (12): a fault or a failed release cannot flood the parent either."""
    shown = failure_text(None, OSError("f" * 99_999), OSError("r" * 99_999), 100)
    assert len(shown) < 9_000
    assert "Fault: fff" in shown
    assert "Release: rrr" in shown


async def test_fired_signal(open_runtime: Any, census: Any) -> None:
    """providers 10: a signal that has fired already starts nothing."""
    runtime = await open_runtime(tools=[SubagentTool()])
    root = await runtime.agents.create()
    tool = runtime.tools.view(None).get("subagent")
    context = context_of(root.agent)
    context.signal = CancellationToken()
    context.signal.cancel(KeyError("off"))
    with pytest.raises(KeyError):
        await tool.execute({"description": "d", "prompt": "p"}, context)
    assert census(runtime) == (1, 1, 0)
