"""The tools of a scenario: they answer, or fail, as was recorded for the same call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from broodline import SubagentRequest, SubagentTool
from broodline.actors.models.local import until_cancelled
from broodline.actors.tools.tool import Tool, ToolContext
from broodline.messages.content import Block, ToolResult, text_of
from broodline.messages.errors import ToolError
from broodline.messages.passage import decode_block, encode_block
from broodline.messages.payload import ToolAnswered
from broodline.supervision.runtime import Installable, Runtime

from .driver import Driver
from .quotation import Quotation

_OPEN = {"type": "object"}
_ERROR = "Error: "


class Scene(Protocol):
    """What a tool must know of the play it stands in."""

    quotation: Quotation
    runtime: Runtime

    def place(self, agent_id: str) -> int:
        """Which recorded session the agent's is."""
        ...

    def occasion(self, name: str) -> None:
        """Let the host act."""
        ...

    def children(self) -> int:
        """How many children there are so far."""
        ...


class RecordedFailure(Exception):
    """What a tool raises whose failure was recorded without a code."""


def tools_of(driver: Driver, scene: Callable[[], Scene]) -> list[Tool | Installable]:
    """The tools that a driver names."""
    made: list[Tool | Installable] = []
    for name, kind in driver.tools.items():
        if kind == "subagent":
            made.append(SubagentTool(name=name))
        else:
            made.append(_recorded(name, driver, scene, delegates=kind == "delegate"))
    return made


def _recorded(name: str, driver: Driver, scene: Callable[[], Scene], *, delegates: bool) -> Tool:
    async def body(_arguments: Any, context: ToolContext) -> Any:
        here = scene()
        place = here.place(context.agent.id)
        result = here.quotation.result(place, context.call_id)
        if place == 0:
            number = here.quotation.calls.index(context.call_id) + 1
            here.occasion(f"call {number}")
            for hook in driver.hooks:
                if hook.defer is not None and hook.call == number:
                    context.defer_context(here.quotation.insert(hook.defer))
        if delegates:
            await _delegate(here, context)
        return await _answer(result, context)

    return Tool(name, f"Plays the recorded tool {name}.", _OPEN, body, render=_show)


async def _delegate(scene: Scene, context: ToolContext) -> None:
    prompt = scene.quotation.insert(1, log=scene.children() + 1).content
    request = SubagentRequest(prompt, parent=context.agent, signal=context.signal)
    run = await scene.runtime.subagents.start("spawn", request)
    try:
        await run.result
    finally:
        await run.dispose()


async def _answer(result: ToolAnswered, context: ToolContext) -> list[dict[str, Any]]:
    context.meta = result.meta
    block = result.message.content[0]
    assert isinstance(block, ToolResult)
    if block.is_error:
        await _fail(result, text_of(block.content), context)
    return [encode_block(one) for one in block.content]


async def _fail(result: ToolAnswered, text: str, context: ToolContext) -> None:
    """Fail as recorded; what did not fail by itself goes well, and the loop makes it fail."""
    code = None if result.error is None else result.error.code
    if code == "ABORTED":
        await until_cancelled(context.signal)
        return
    if code == "ABORTED_BEFORE_DISPATCH" or not text.startswith(_ERROR):
        return  # it never ran, or a hook said it behind a body that went well
    said = text.removeprefix(_ERROR)
    if result.error is None:
        raise RecordedFailure(said)
    kind = type(result.error.name, (ToolError,), {"default_code": result.error.code})
    raise kind(said)


def _show(value: Any) -> list[Block]:
    return [decode_block(block) for block in value]
