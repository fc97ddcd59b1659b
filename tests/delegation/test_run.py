"""One-shot runs in process: what is made, what is logged, what comes out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.actors.models import ScriptedModel, blocks, call, fail, max_tokens, text
from broodline.actors.notice import Enter, Reject
from broodline.actors.sessions import SessionRegistry
from broodline.actors.tools.decorator import tool
from broodline.messages.content import Reasoning, Text
from broodline.messages.errors import DepthRangeError, DepthTypeError, SubagentDepthError
from broodline.messages.header import SessionHeader
from broodline.messages.options import AgentOptions
from broodline.messages.payload import OpaquePayload
from broodline.providers.contract import SubagentRequest
from broodline.supervision.runtime import Runtime


def observe(runtime: Any, event: str, listener: Callable[[Any], Any]) -> None:
    """Have `listener` hear an event of the runtime."""
    runtime.hooks.observe(event, listener)


def intercept(runtime: Any, event: str, answer: Callable[[Any], Any]) -> None:
    """Have `answer` asked at a decision of the runtime."""
    runtime.hooks.intercept(event, answer)


async def parent_of(runtime: Runtime, header: dict[str, Any], options: AgentOptions) -> Any:
    """A live agent with that header and those options, made past the public door."""
    from broodline.actors.creation import AgentSpec

    made = SessionHeader(runtime.ids.new("session"), 0, **header)
    return await runtime.agents.establish(AgentSpec(made, options))


async def test_published_when_started(open_runtime: Any) -> None:
    """providers #13: at fulfilment the registry resolves run.id to run.local_agent."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert runtime.agents.get(run.id) is run.local_agent
    assert run.local_agent.parent is root.agent
    await run.dispose()


async def test_prompt_is_delivered_verbatim(open_runtime: Any) -> None:
    """providers 2.1: the prompt is one user message of source kind user, block for block."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create()
    prompt = [Text(" first\n"), Text("second ")]
    run = await runtime.subagents.start("spawn", SubagentRequest(prompt, root))
    assert (await run.result).ok
    first = model.requests[0].messages[0]
    assert first.content == tuple(prompt)
    assert first.source == {"kind": "user"}
    await run.dispose()


async def test_log_of_a_run(open_runtime: Any, types_of: Any) -> None:
    """service OS-18, providers #37: one descriptor, after the claim and before the first step."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, label="survey"))
    await run.result
    types = types_of(run.local_agent)
    assert types[:5] == [
        "agent/inbox/spliced",
        "turn/start",
        "agent/inbox/spliced",
        "subagent/descriptor",
        "step/start",
    ]
    assert types.count("subagent/descriptor") == 1
    event = run.local_agent.session.events[3]
    assert (event.data.version, event.data.mode) == (3, "one-shot")
    assert (event.data.provider, event.data.label) == ("spawn", "survey")
    assert event.surface_op is None
    assert all("survey" not in str(message) for message in model.requests[0].messages)
    await run.dispose()


async def test_descriptor_once(open_runtime: Any, types_of: Any) -> None:
    """service OS-18: a second turn of the child adds no second descriptor."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await run.result
    run.local_agent.followup("more")
    await run.local_agent.when_idle()
    assert types_of(run.local_agent).count("subagent/descriptor") == 1
    await run.dispose()


async def test_rejected_prompt(open_runtime: Any, types_of: Any) -> None:
    """service OS-16, OS-18: a rejected prompt is a refusal and leaves no descriptor."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    intercept(runtime, "agent/pre-step", lambda _notice: Reject("no"))
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    result = await run.result
    assert (result.stop_reason, result.output) == ("refusal", ())
    assert "subagent/descriptor" not in types_of(run.local_agent)
    await run.dispose()


async def test_emptied_prompt(open_runtime: Any) -> None:
    """service OS-16: a prompt rewritten to nothing leaves no accounting turn, so an error."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    intercept(runtime, "agent/pre-step", lambda _notice: Enter(()))
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert (await run.result).stop_reason == "error"
    await run.dispose()


async def test_result(open_runtime: Any) -> None:
    """service 5: a completed child gives its last message and nothing else."""
    runtime = await open_runtime(ScriptedModel(each=[text("answer")]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    result = await run.result
    assert (result.text, result.stop_reason, result.ok) == ("answer", "completed", True)
    assert (result.structured, result.diagnostic) == (None, None)
    await run.dispose()


async def test_failing_model(open_runtime: Any) -> None:
    """providers #35: an error on the first call is an error with empty output."""
    runtime = await open_runtime(ScriptedModel(each=[fail("AUTH", "no key")]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    result = await run.result
    assert (result.stop_reason, result.output) == ("error", ())
    assert result.diagnostic == "AUTH: no key"
    await run.dispose()


async def test_ceiling(open_runtime: Any) -> None:
    """providers #33: a child that hit its ceiling gives max-tokens with its text."""
    runtime = await open_runtime(ScriptedModel(each=[max_tokens("so far")]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    result = await run.result
    assert (result.stop_reason, result.text) == ("max-tokens", "so far")
    await run.dispose()


async def test_truncated_tool_step(open_runtime: Any) -> None:
    """service LC-24, LC-29, providers #34: an empty last message keeps the one before it."""

    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    first = blocks(Text("looking"), call("look").content[0])
    cut = max_tokens("", call("look"))
    runtime = await open_runtime(ScriptedModel(each=[first, cut]), tools=[look])
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    result = await run.result
    assert result.stop_reason == "max-tokens"
    assert result.text == "looking"
    assert "seen" not in str(result.output)
    await run.dispose()


async def test_reasoning_only(open_runtime: Any) -> None:
    """providers #40: a last message of nothing but reasoning is the output."""
    runtime = await open_runtime(ScriptedModel(each=[blocks(Reasoning("hm"))]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert (await run.result).output == (Reasoning("hm"),)
    await run.dispose()


async def test_silent_child(open_runtime: Any, ledger: Any) -> None:
    """service OS-5, providers #11: an empty output leaves the last message out of the end."""
    runtime = await open_runtime(ScriptedModel(each=[text("")]))
    root = await runtime.agents.create()
    told = ledger(runtime, "subagent/end")
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert (await run.result).output == ()
    assert told.of("subagent/end")[0].last_assistant_message is None
    await run.dispose()


async def test_injected_message_belongs_to_the_run(open_runtime: Any) -> None:
    """providers #38: what arrives while the child works is answered in the run's output."""
    inside, gate = asyncio.Event(), asyncio.Event()

    async def first(_request: Any) -> Any:
        inside.set()
        await gate.wait()
        return text("first")

    runtime = await open_runtime(ScriptedModel(each=[first, text("second")]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await inside.wait()
    run.local_agent.inject("by the way")
    gate.set()
    assert (await run.result).text == "second"
    await run.dispose()


async def test_late_metadata(open_runtime: Any) -> None:
    """providers #41: what is appended after the last turn end changes no outcome."""
    runtime = await open_runtime()
    root = await runtime.agents.create()

    def append(notice: Any) -> None:
        if notice.status == "idle" and notice.agent.parent is not None:
            notice.agent.session.append(OpaquePayload("x/late", {}), ignorable=True)

    runtime.hooks.observe("agent/status", append)
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert (await run.result).stop_reason == "completed"
    assert run.local_agent.session.events[-1].type == "x/late"
    await run.dispose()


async def test_no_extra_flush(open_runtime: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """service OS-19, providers #42: a one-shot run asks for no flush of its own."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    flushed: list[object] = []

    async def flush(_self: object, session: object) -> bool:
        flushed.append(session)
        return True

    monkeypatch.setattr(SessionRegistry, "flush", flush)
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await run.result
    await run.dispose()
    assert flushed == []


async def test_parents_log(open_runtime: Any) -> None:
    """providers #43, DESIGN 5: the parent's log grows by its catalogue and by nothing else."""
    gate = asyncio.Event()

    async def gated(_request: Any) -> Any:
        await gate.wait()
        return text("done")

    runtime = await open_runtime(ScriptedModel(each=[gated]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, label="l"))
    (entry,) = runtime.subagents.catalog(root)
    assert (entry.id, entry.mode, entry.provider, entry.label) == (run.id, "one-shot", "spawn", "l")
    gate.set()
    await run.result
    await run.dispose()
    events = root.agent.session.events
    assert [(e.type, e.ignorable, e.data.change) for e in events] == [
        ("subagent/catalog", True, "added"),
        ("subagent/catalog", True, "removed"),
    ]
    assert runtime.subagents.catalog(root) == ()


async def test_catalogue_before_publication(open_runtime: Any) -> None:
    """DESIGN 5 catalogue: the child is in it before anybody is told of the child."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    seen: list[int] = []
    observe(
        runtime, "session/created", lambda _n: seen.append(len(runtime.subagents.catalog(root)))
    )
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert seen == [1]
    await run.dispose()


async def test_catalogue_of_an_agent_without_children(open_runtime: Any) -> None:
    """DESIGN 5 catalogue: an agent that never delegated has an empty one."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    assert runtime.subagents.catalog(root) == ()


async def test_header_and_options(open_runtime: Any) -> None:
    """service DP-6, section 10, providers #32: header and options follow from the parent."""
    runtime = await open_runtime()
    root = await runtime.agents.create(cwd="/srv/tree", max_tokens=7, reasoning_effort="high")
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    header = run.local_agent.session.header
    assert header.cwd == "/srv/tree"
    assert (header.parent_session, header.origin) == (root.id, "subagent")
    assert (header.delegation_depth, header.seed_length) == (1, None)
    options = run.local_agent.options
    assert options == AgentOptions("scripted", "scripted", 7, "high", 1)
    await run.dispose()


async def test_no_cwd(open_runtime: Any) -> None:
    """providers #32: without the parent's cwd the child has none."""
    from broodline.messages.header_codec import encode_header

    runtime = await open_runtime()
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert "cwd" not in encode_header(run.local_agent.session.header)
    assert "seedLength" not in encode_header(run.local_agent.session.header)
    await run.dispose()


async def test_ceiling_of_tokens(open_runtime: Any) -> None:
    """providers #30: the parent's max_tokens is used, and the request's where there is one."""
    model = ScriptedModel(each=[text("ok")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create(max_tokens=111)
    for asked in (None, AgentOptions(max_tokens=222)):
        request = SubagentRequest("p", root, agent_options=asked)
        run = await runtime.subagents.start("spawn", request)
        await run.result
        await run.dispose()
    assert [request.config.max_tokens for request in model.requests] == [111, 222]


async def test_options_override_field_by_field(open_runtime: Any) -> None:
    """DESIGN 4 agentOptions: each given field overrides, the others are inherited."""
    other = ScriptedModel(each=[text("other")], provider="other", model="big")
    runtime = await open_runtime()
    runtime.models.register(other)
    root = await runtime.agents.create(max_tokens=5, reasoning_effort="low")
    asked = AgentOptions(provider="other", model="big", reasoning_effort="high", subagent_depth=0)
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, agent_options=asked))
    assert (await run.result).text == "other"
    assert run.local_agent.options == AgentOptions("other", "big", 5, "high", 1)
    await run.dispose()


async def test_no_route(open_runtime: Any) -> None:
    """providers #31: a route-less parent and request give options of depth alone, and an error."""
    runtime = await open_runtime()
    root = await parent_of(runtime, {}, AgentOptions())
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    assert run.local_agent.options == AgentOptions(subagent_depth=1)
    assert (await run.result).stop_reason == "error"
    await run.dispose()
    await root.dispose()


async def test_runtime_depth(open_runtime: Any, census: Any) -> None:
    """service DP-3, providers #26: header depth 2 and runtime depth 1 attempt depth 3."""
    runtime = await open_runtime()
    parent = await parent_of(runtime, {"delegation_depth": 2}, AgentOptions(subagent_depth=1))
    before = census(runtime)
    with pytest.raises(SubagentDepthError) as caught:
        await runtime.subagents.start("spawn", SubagentRequest("p", parent, max_depth=2))
    assert caught.value.attempted_depth == 3
    assert census(runtime) == before
    run = await runtime.subagents.start("spawn", SubagentRequest("p", parent, max_depth=3))
    assert run.local_agent.session.header.delegation_depth == 3
    assert run.depth == 3
    await run.dispose()


@pytest.mark.parametrize(("depth", "kind"), [(2**53 - 1, DepthRangeError), (1.5, DepthTypeError)])
async def test_parent_out_of_range(
    depth: Any, kind: type[Exception], open_runtime: Any, census: Any
) -> None:
    """service DP-5, providers #28: a parent whose depth allows no child is refused, childless."""
    runtime = await open_runtime()
    parent = await parent_of(runtime, {}, AgentOptions(subagent_depth=depth))
    before = census(runtime)
    with pytest.raises(kind):
        await runtime.subagents.start("spawn", SubagentRequest("p", parent))
    assert census(runtime) == before
    parent.agent.options = AgentOptions()


async def test_grandchildren(open_runtime: Any) -> None:
    """service 8: depth counts up along the tree, without a bound of the service's own."""
    runtime = await open_runtime()
    parent: Any = await runtime.agents.create()
    runs: list[Any] = []
    for depth in range(1, 6):
        runs.append(await runtime.subagents.start("spawn", SubagentRequest("p", parent)))
        assert runs[-1].depth == depth
        parent = runs[-1].local_agent
    await runs[0].dispose()
    assert len(runtime.agents) == 1


async def test_fault_of_reading(open_runtime: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """service OS-17: a run's fault and its release stay apart, and both settle."""
    runtime = await open_runtime()
    root = await runtime.agents.create()

    def broken(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError("unreadable")

    monkeypatch.setattr("broodline.supervision.in_process.read_result", broken)
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    with pytest.raises(RuntimeError, match="unreadable"):
        await run.result
    await run.dispose()
    assert len(runtime.agents) == 1


async def test_full_inbox_is_a_fault_of_the_run(open_runtime: Any) -> None:
    """providers 1: after publication nothing is told by rejecting the start."""
    runtime = await open_runtime(max_pending=1)
    root = await runtime.agents.create()
    observe(runtime, "agent/session-start", lambda notice: _fill(notice.agent))
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    with pytest.raises(Exception, match="full"):
        await run.result
    await run.dispose()


def _fill(agent: Any) -> None:
    if agent.parent is not None:
        agent.inject("in the way")


async def test_a_child_ended_by_somebody_else(open_runtime: Any) -> None:
    """service OS-16: a child that is disposed behind the run's back ends the run."""
    entered = asyncio.Event()

    async def forever(_request: Any) -> Any:
        entered.set()
        await asyncio.Event().wait()

    runtime = await open_runtime(ScriptedModel(each=[forever]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    await entered.wait()
    await runtime.agents.dispose(run.local_agent)
    assert (await run.result).stop_reason == "aborted"
    await run.dispose()
    assert runtime.subagents.catalog(root) == ()


async def test_streamed_text_only(open_runtime: Any) -> None:
    """service LC-26, OS-16: without any message the streamed pieces, joined, are the output."""
    runtime = await open_runtime(ScriptedModel(each=[fail("BAD", "broke off", after="half an ")]))
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    result = await run.result
    assert result.stop_reason == "error"
    assert result.output == (Text("half an "),)


async def test_message_beats_later_stream(open_runtime: Any) -> None:
    """service LC-25: a message said before wins over text that only streamed behind it."""
    model = ScriptedModel(each=[text("whole"), fail("BAD", "broke off", after="half")])
    runtime = await open_runtime(model)
    root = await runtime.agents.create()
    asked: list[Any] = []

    def ask_again(notice: Any) -> None:
        if not asked:
            asked.append(notice.agent.followup("and now?"))

    observe(runtime, "agent/inbox/dequeue", ask_again)
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    result = await run.result
    assert (result.stop_reason, result.text) == ("error", "whole")


async def test_claimed_then_cancelled_before_a_step(open_runtime: Any) -> None:
    """service LC-17, OS-15: a turn that claimed its prompt and was cancelled counts as aborted."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    signal = CancellationToken()
    runtime.hooks.intercept("agent/pre-step", lambda _step: signal.cancel("late") and None)
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root, signal=signal))
    result = await run.result
    assert (result.stop_reason, result.output) == ("aborted", ())
