"""Children whose log starts from another log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from broodline.actors.fold import completed_turn_prefix
from broodline.actors.models import ScriptedModel, text
from broodline.messages.chunk import Usage
from broodline.messages.errors import ConfigurationError, SessionCorruptError
from broodline.providers.contract import InProcessSpec, SubagentRequest


def intercept(runtime: Any, event: str, answer: Callable[[Any], Any]) -> None:
    """Have `answer` asked at a decision of the runtime."""
    runtime.hooks.intercept(event, answer)


async def learned(runtime: Any) -> tuple[Any, tuple[Any, ...]]:
    """An agent with one completed turn, and that turn as a seed."""
    root = await runtime.agents.create()
    root.agent.followup("hello")
    await root.agent.when_idle()
    return root, tuple(completed_turn_prefix(root.agent.session.events))


async def test_silent_seeded_child(open_runtime: Any, stub: Any) -> None:
    """service OS-20, providers 2.5: a silent child gives nothing, never its parent's words."""
    model = ScriptedModel(shared=[text("the parent's words"), text("")])
    runtime = await open_runtime(model)
    root, seed = await learned(runtime)
    runtime.subagents.register(stub(InProcessSpec(seed)))
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    result = await run.result
    assert (result.stop_reason, result.output) == ("completed", ())
    assert run.local_agent.session.header.seed_length == len(seed)
    await run.dispose()


async def test_seeded_child(open_runtime: Any, stub: Any, types_of: Any) -> None:
    """providers 2.3, DE-12: the descriptor lies behind the seed, and turns go on counting."""
    model = ScriptedModel(shared=[text("before"), text("after")])
    runtime = await open_runtime(model)
    root, seed = await learned(runtime)
    runtime.subagents.register(stub(InProcessSpec(seed)))
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert (await run.result).text == "after"
    events = run.local_agent.session.events
    described = [event.seq for event in events if event.type == "subagent/descriptor"]
    assert len(described) == 1
    assert described[0] >= len(seed)
    starts = [event.data.turn for event in events if event.type == "turn/start"]
    assert starts == [1, 2]
    assert model.requests[1].messages[0].content == model.requests[0].messages[0].content
    await run.dispose()


async def test_usage_of_a_seeded_child(open_runtime: Any, stub: Any) -> None:
    """core 1.6: what a child's seed holds was used by its parent, not by the child."""
    script = [text("before", usage=Usage(10, 1)), text("after", usage=Usage(3, 2))]
    runtime = await open_runtime(ScriptedModel(shared=script))
    root, seed = await learned(runtime)
    runtime.subagents.register(stub(InProcessSpec(seed)))
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    await run.result
    assert (root.usage, run.local_agent.usage) == (Usage(10, 1), Usage(3, 2))
    await run.dispose()


async def test_refused_seeded_child(open_runtime: Any, stub: Any) -> None:
    """providers 2.5: the parent's completed turn never accounts for a child without one."""
    from broodline.actors.notice import Enter

    runtime = await open_runtime(ScriptedModel(shared=[text("before")]))
    root, seed = await learned(runtime)
    runtime.subagents.register(stub(InProcessSpec(seed)))
    intercept(runtime, "agent/pre-step", lambda _notice: Enter(()))
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert (await run.result).stop_reason == "error"
    await run.dispose()


async def test_empty_seed(open_runtime: Any, stub: Any) -> None:
    """providers 4: an empty seed is no seed at all."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    runtime.subagents.register(stub(InProcessSpec(())))
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert run.local_agent.session.header.seed_length is None
    assert "session/end-seed" not in [event.type for event in run.local_agent.session.events]
    await run.dispose()


async def test_broken_seed(open_runtime: Any, stub: Any, ledger: Any, census: Any) -> None:
    """providers 1 publication: a seed that is no log refuses the start and leaves nothing."""
    runtime = await open_runtime()
    root, seed = await learned(runtime)
    told = ledger(runtime)
    provider = stub()
    runtime.subagents.register(provider)
    for broken in (seed[1:], seed[:3], (replace(seed[0], seq=1),)):
        provider.answer = InProcessSpec(broken)
        with pytest.raises((ConfigurationError, SessionCorruptError)):
            await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert told.said == []
    assert census(runtime) == (1, 1, 0)
    assert runtime.subagents.catalog(root) == ()
