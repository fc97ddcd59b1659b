"""Errors and results of delegation say why, and what to do next."""

from __future__ import annotations

import time
from typing import Any

import pytest

from broodline.actors.models import ScriptedModel, call, hang, text
from broodline.actors.models import calls as together
from broodline.actors.tools.decorator import tool
from broodline.messages.errors import ConfigurationError, SubagentError
from broodline.providers.contract import SubagentRequest
from broodline.supervision.runtime import Runtime


async def test_a_run_that_the_runtime_cut_off_says_so() -> None:
    """DESIGN 4: a result that is aborted by the end of the runtime has a diagnostic."""
    async with Runtime(model=ScriptedModel(shared=[hang()])) as runtime:
        root = await runtime.agents.create()
        run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
    result = await run.result
    assert (result.stop_reason, result.diagnostic) == ("aborted", "the runtime closed")


async def test_a_run_that_its_parents_end_cut_off_says_so() -> None:
    """DESIGN 4: a result that is aborted by an end above has a diagnostic; by its owner, none."""
    async with Runtime(model=ScriptedModel(shared=[hang(), hang(), hang()])) as runtime:
        root = await runtime.agents.create()
        run = await runtime.subagents.start("spawn", SubagentRequest("p", root))
        assert run.local_agent is not None
        below = await runtime.subagents.start("spawn", SubagentRequest("p", run.local_agent))
        own = await runtime.subagents.start("spawn", SubagentRequest("p", root))
        await own.dispose()
        await root.dispose()
        ends = [(await each.result).diagnostic for each in (own, run, below)]
    assert ends == [None, "its parent was disposed", "its parent was disposed"]


async def test_a_missing_capability_is_named_as_the_user_wrote_it() -> None:
    """DESIGN 4: the refusal names the field of the request, and says that it is not there yet."""
    async with Runtime(model=ScriptedModel(shared=[])) as runtime:
        root = await runtime.agents.create()
        asked = SubagentRequest("p", root, output_schema={"type": "object"})
        with pytest.raises(SubagentError, match="does not support output_schema in this version"):
            await runtime.subagents.start("spawn", asked)


async def test_statistics_count_agents() -> None:
    """DESIGN 2: agents are counted beside the actors."""
    async with Runtime(model=ScriptedModel(shared=[])) as runtime:
        await runtime.agents.create()
        await runtime.agents.create()
        figures = runtime.statistics()
        assert (figures.agents, figures.actors) == (2, 0)


def test_one_tool_is_no_list() -> None:
    """DESIGN 8: a tool that stands where a list belongs is named by its type, with the remedy."""

    @tool
    def alone() -> int:
        """One."""
        return 1

    listless: Any = alone
    with pytest.raises(ConfigurationError) as caught:
        Runtime(tools=listless)
    assert str(caught.value) == "tools= takes a list, not Tool; write tools=[...]"


@pytest.mark.parametrize("calls", [1, 2])
async def test_a_stall_names_the_tool(caplog: pytest.LogCaptureFixture, calls: int) -> None:
    """DESIGN 2: an async body that holds up the loop is named, once, alone or beside others."""

    @tool(concurrency_safe=True)
    async def heavy() -> int:
        """Holds up the loop."""
        time.sleep(0.02)
        return 1

    script = [together(*[call("heavy")] * calls), text("ok")]
    model = ScriptedModel(shared=script)
    async with Runtime(model=model, tools=[heavy], stall_threshold=0.015) as runtime:
        root = await runtime.agents.create(id="lead")
        await root.followup("go")
        await root.when_idle()
        stalls = [r.getMessage() for r in caplog.records if "stood still" in r.getMessage()]
        assert sum("because of tool 'heavy' of agent lead" in stall for stall in stalls) == calls
