"""The tool by which a model delegates: it starts a child, waits, and gives the answer.

Source: spec providers section 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..actors.cancellation import CancellationToken
from ..actors.registration import Registration
from ..actors.tools.tool import Tool, ToolContext
from ..messages.content import Text
from ..messages.errors import ConfigurationError, ToolError
from ..messages.options import AgentOptions
from ..messages.payload import ToolFilter
from ..messages.plain import name_text, plain_text, quoted
from ..messages.result import SubagentResult
from ..providers.contract import SubagentProvider, SubagentRequest
from .depth import check_max_depth
from .lifecycle import PROVIDER_ADDED, PROVIDER_REMOVED
from .report import answer_text, failure_text, value_of
from .soundness import sound_filter, sound_options, sound_text

if TYPE_CHECKING:
    from ..actors.agent import Agent
    from .run import SubagentRun
    from .runtime import Runtime

RESULT_LIMIT = 64 * 1024
"""Most UTF-8 bytes of a child's text that its parent's model is shown."""

_PARAMETERS = {
    "type": "object",
    "properties": {
        "description": {
            "type": "string",
            "description": "A short name for the task, in a few words; shown to people.",
        },
        "prompt": {"type": "string", "description": "The task, in full."},
    },
    "required": ["description", "prompt"],
}

_FRESH = (
    "Hands a task to a subagent and waits for its answer. The subagent starts with an empty "
    "history: it sees nothing of this conversation, so the prompt must hold everything it needs. "
)
_INHERITING = (
    "Hands a task to a subagent and waits for its answer. The subagent already knows this "
    "conversation up to the turn before this one, but not the current turn: state only what is "
    "new. "
)
_COMMON = (
    "You get what it says at its end, not the steps on the way. Tasks that do not depend on each "
    "other run at the same time when you call this several times in one message."
)


class SubagentTool:
    """Lets models delegate to one provider; give it to ``Runtime(tools=[...])``.

    The model sees the tool as long as its provider is registered. Several, with
    different names, can stand side by side.

    Args:
        provider: Name of the provider, which may be registered later.
        name: What the model calls the tool.
        max_depth: Deepest place of a child; 0 forbids delegation, None sends no limit.
        agent_options: Overrides what children inherit from the calling agent.
        persona: Of every child.
        tool_filter: Of every child.
        result_limit: Most UTF-8 bytes of a child's text that the model is shown, at
            least 64.

    Raises:
        ConfigurationError: If an argument is not of its kind or out of range, or the
            filter is empty.
    """

    __slots__ = (
        "agent_options",
        "max_depth",
        "name",
        "persona",
        "provider",
        "result_limit",
        "tool_filter",
    )

    def __init__(
        self,
        provider: str = "spawn",
        name: str = "subagent",
        max_depth: int | None = 3,
        agent_options: AgentOptions | None = None,
        persona: str | None = None,
        tool_filter: ToolFilter | None = None,
        *,
        result_limit: int = RESULT_LIMIT,
    ) -> None:
        check_max_depth(max_depth)
        if type(result_limit) is not int or result_limit < 64:
            raise ConfigurationError(
                f"result_limit={quoted(result_limit)} must be an integer from 64"
            )
        self.provider = plain_text(provider, "provider of a SubagentTool")
        self.name = name_text(name, "name of a SubagentTool")
        self.max_depth = max_depth
        self.agent_options = sound_options(agent_options)
        self.persona = sound_text(persona, "persona")
        self.tool_filter = sound_filter(tool_filter)
        self.result_limit = result_limit

    def install(self, runtime: Runtime) -> Registration:
        """Show the tool in `runtime` while its provider is there.

        Disposing the registration removes the tool and stops following the provider.

        Raises:
            ConfigurationError: If the provider is there and has no ``depthLimit`` to keep
                `max_depth` by, or the tool's name is taken.
        """
        mount = _Mount(runtime, self)
        provider = runtime.subagents.get(self.provider)
        if provider is not None:
            mount.show(provider)
        return mount.follow()

    def request(
        self, agent: Agent, args: dict[str, Any], signal: CancellationToken
    ) -> SubagentRequest:
        """What one call asks of the service; what is not configured is not requested."""
        return SubagentRequest(
            Text(args["prompt"]),
            agent,
            args["description"],
            signal,
            self.agent_options,
            None,
            self.max_depth,
            self.tool_filter,
            self.persona,
        )


class _Mount:
    """One tool in one runtime: there while the provider is."""

    __slots__ = ("_followed", "_runtime", "_shown", "_tool")

    def __init__(self, runtime: Runtime, tool: SubagentTool) -> None:
        self._runtime = runtime
        self._tool = tool
        self._shown: Registration | None = None
        self._followed: tuple[Registration, ...] = ()

    def follow(self) -> Registration:
        hooks = self._runtime.hooks
        self._followed = (
            hooks.observe(PROVIDER_ADDED, self._added),
            hooks.observe(PROVIDER_REMOVED, self._removed),
        )
        return Registration(self._end)

    def show(self, provider: SubagentProvider) -> None:
        tool = self._tool
        if tool.max_depth is not None and not provider.capabilities.depth_limit:
            raise ConfigurationError(
                f"tool {tool.name!r} limits the depth, but provider {provider.name!r} does not "
                "support depthLimit; give the tool max_depth=None"
            )
        context = _INHERITING if provider.inherits_parent_context else _FRESH
        self._shown = self._runtime.tools.register(
            Tool(
                tool.name,
                context + _COMMON,
                _PARAMETERS,
                self._run,
                render=self._render,
                concurrency_safe=True,
            )
        )

    def hide(self) -> None:
        if self._shown is not None:
            self._shown.dispose()
            self._shown = None

    def _added(self, provider: SubagentProvider) -> None:
        if provider.name == self._tool.provider and self._shown is None:
            self.show(provider)

    def _removed(self, name: str) -> None:
        if name == self._tool.provider:
            self.hide()

    def _end(self) -> None:
        for registration in self._followed:
            registration.dispose()
        self.hide()

    def _render(self, value: Any) -> str:
        return answer_text(value, self._tool.result_limit)

    async def _run(self, args: dict[str, Any], context: ToolContext) -> Any:
        agent: Agent | None = context.agent
        if agent is None:
            raise ToolError(f"{self._tool.name} needs a calling agent; nobody called it here")
        if args.get("run_in_background") is True:
            raise ToolError(
                f"{self._tool.name} cannot run in the background here; call it without "
                "run_in_background and it waits for the answer"
            )
        request = self._tool.request(agent, args, context.signal)
        started = self._runtime.subagents.start(self._tool.provider, request)
        try:
            run = await started
        except BaseException:
            # The wait may have been cancelled behind publication: nobody else knows the run.
            started.add_done_callback(_dispose_of)
            raise
        return await self._outcome(run)

    async def _outcome(self, run: SubagentRun) -> Any:
        result: SubagentResult | None = None
        fault: Exception | None = None
        try:
            result = await run.result
        except Exception as error:
            fault = error
        finally:
            left = await _released(run)
        limit = self._tool.result_limit
        if result is None or left is not None or not result.ok:
            text = failure_text(result, fault, left, limit, run.id)
            raise ToolError(text, code=_code(result))
        return value_of(run.id, result)


async def _released(run: SubagentRun) -> Exception | None:
    """Dispose of the run; what could not be released is handed back, not raised."""
    try:
        await run.dispose()
    except Exception as error:
        return error
    return None


def _dispose_of(started: Any) -> None:
    if started.error() is None:
        started.result().dispose()


def _code(result: SubagentResult | None) -> str:
    if result is None or result.ok:
        return "SUBAGENT_FAULT"
    return "SUBAGENT_" + result.stop_reason.upper().replace("-", "_")
