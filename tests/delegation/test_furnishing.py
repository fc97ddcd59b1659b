"""What a runtime is made with."""

from __future__ import annotations

from typing import Any

import pytest

from broodline import CancellationToken, ConfigurationError, Runtime, ScriptedModel, SubagentTool
from broodline.actors.models import call, text
from broodline.actors.tools.tool import Tool
from broodline.messages.content import text_of


@pytest.mark.parametrize(
    "wrong",
    [
        {"store": 5},
        {"store": "redis:x"},
        {"retry": 5},
        {"executor": 5},
        {"clock": 5},
        {"ids": 5},
        {"random": 5},
        {"tools": 5},
        {"tools": "abc"},
        {"tools": [len]},
        {"providers": 5},
        {"model": 5},
        {"model": len},
        {"tools": [SubagentTool]},
        {"max_steps": 0},
        {"request_timeout": -1},
        {"stall_threshold": 0},
    ],
    ids=str,
)
def test_a_wrong_argument_is_refused_before_anything_starts(wrong: dict[str, Any]) -> None:
    """DESIGN 8: a runtime that cannot be made says which argument, as a ConfigurationError."""
    with pytest.raises(ConfigurationError) as refused:
        Runtime(**wrong)
    name = next(iter(wrong))
    assert name in str(refused.value) or name == "model"


async def test_a_signal_that_is_none_is_refused(open_runtime: Any) -> None:
    """DESIGN 2: what is no token is refused through the reply, and nothing is made."""
    runtime = await open_runtime()
    with pytest.raises(ConfigurationError, match="CancellationToken"):
        await runtime.agents.create(signal="soon")
    assert runtime.agents.list() == ()
    await runtime.agents.create(signal=CancellationToken())


async def test_two_contexts_of_one_id_are_both_told(open_runtime: Any) -> None:
    """core 10.3: contexts that tools gave the same id reach the model all the same."""
    model = ScriptedModel(shared=[call("note"), text("ok")])
    runtime = await open_runtime(model)

    async def note(args: Any, context: Any) -> str:
        context.defer_context(context.agent.message("one", id="same"))
        context.defer_context(context.agent.message("two", id="same"))
        return "noted"

    tool = Tool("note", "notes", {"type": "object"}, note)
    root = await runtime.agents.create(tools=[tool])
    await root.followup("go")
    await root.when_idle()
    assert [text_of(m.content) for m in model.requests[1].messages[-2:]] == ["one", "two"]
