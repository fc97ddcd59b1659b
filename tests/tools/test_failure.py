"""What a developer is told of a tool that failed."""

from __future__ import annotations

import logging

import pytest

from broodline import Runtime, ScriptedModel, Tool
from broodline.actors.models import call, text
from broodline.messages.errors import SubagentDepthError

OBJECT = {"type": "object"}


def mine() -> None:
    raise KeyError("gold")


@pytest.mark.parametrize("plain", [False, True])
async def test_the_traceback_begins_in_the_tool(
    caplog: pytest.LogCaptureFixture, plain: bool
) -> None:
    """core 10.2: a tool's own error is logged with the frames of its author alone."""

    def plain_tool(args: object, context: object) -> None:
        mine()

    async def async_tool(args: object, context: object) -> None:
        mine()

    tool = Tool("t", "t", OBJECT, plain_tool if plain else async_tool)
    async with Runtime(
        model=ScriptedModel(shared=[call("t"), text("ok")]), tools=[tool]
    ) as runtime:
        root = await runtime.agents.create()
        await root.followup("go")
        await root.when_idle()
    (record,) = [r for r in caplog.records if r.name == "broodline.tools"]
    assert record.levelno == logging.WARNING
    assert record.exc_info is not None
    names = []
    frame = record.exc_info[2]
    while frame is not None:
        names.append(frame.tb_frame.f_code.co_name)
        frame = frame.tb_next
    assert names == ["plain_tool" if plain else "async_tool", "mine"]


async def test_a_limit_that_was_met_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    """DESIGN 4: a refused delegation is an answer to the model: told at INFO, in one line."""
    caplog.set_level(logging.INFO, "broodline.tools")

    async def deep(args: object, context: object) -> None:
        raise SubagentDepthError(4, 3)

    tool = Tool("t", "t", OBJECT, deep)
    async with Runtime(
        model=ScriptedModel(shared=[call("t"), text("ok")]), tools=[tool]
    ) as runtime:
        root = await runtime.agents.create()
        await root.followup("go")
        await root.when_idle()
    (record,) = [r for r in caplog.records if r.name == "broodline.tools"]
    assert (record.levelno, record.exc_info) == (logging.INFO, None)
