"""``Runtime``: the house that agents live in, and the first thing a user makes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ..actors.agent import Agent
from ..actors.agents import AgentRegistry
from ..actors.clock import Clock
from ..actors.executor import Executor
from ..actors.host import AgentHost
from ..actors.identity import IdSource
from ..actors.models.naming import model_named
from ..actors.models.protocol import Model
from ..actors.models.retry import RetryPolicy
from ..actors.registration import Registration
from ..actors.settings import AgentSettings
from ..actors.store import Durability, Store
from ..actors.tools.tool import Tool
from ..messages.errors import ConfigurationError
from ..providers.contract import SubagentProvider
from .furnishing import check_list, check_seams, store_of
from .service import SubagentService
from .tree import Tree, tree_of


@runtime_checkable
class Installable(Protocol):
    """Something that registers itself: `SubagentTool` is one."""

    def install(self, runtime: Runtime) -> Registration:
        """Register with `runtime`; disposing the registration takes it back."""
        ...


class Runtime(AgentHost):
    """Agents, their tools, models, sessions, and delegation between them.

    ::

        async with Runtime(model=model, tools=[word_count]) as runtime:
            root = await runtime.agents.create(persona="You coordinate research.")
            run = await runtime.subagents.start("spawn", SubagentRequest("Survey.", parent=root))
            print((await run.result).text)

    ``agents.create(persona=, id=, provider=, model=, tools=, cwd=, ...)`` takes everything
    by name and nothing that is required; ``subagents.start(name, request)`` takes the name
    of a provider and a `SubagentRequest`. Both return a `Reply`: await it, or call
    ``.result()`` in a thread. What other members there are is for the runtime itself.

    ``async with Runtime(...) as runtime`` uses the running loop; ``with
    Runtime(...) as runtime`` starts a loop of its own in a thread. Leaving it
    disposes every agent, children first, bounded in time. Several runtimes may
    live side by side; they know nothing of each other.

    Args:
        model: Answers agents that name no other; more with ``runtime.models.register``.
            Text such as ``"openai:gpt-5"`` makes the model of that name.
        tools: Seen by every agent: what ``@tool`` makes, and `SubagentTool`.
        persona: What every agent is told it is, unless it has a persona of its own.
        store: ``"memory"``, ``"sqlite:PATH"``, ``"jsonl:FOLDER"``, or a store of one's own.
        durability: What waits for the disk: ``"accepted"`` (the default), every delivery
            and every checkpoint; ``"checkpoint"``, what was logged before a step, a model
            request and a tool; ``"settled"``, only the end of an agent.
        providers: Ways to delegate beside ``spawn``.
        retry: How failed requests to `model` are met; None is five retries with
            back-off for what may pass.
        max_pending: Messages pending in one inbox; None is no bound.
        max_steps: Steps of one turn; None is no bound.
        max_response_chars: Characters of one model response; None is no bound.
        request_timeout: Seconds a model may be silent; None waits for ever.
        dispose_timeout: Seconds a disposal waits for work that ignores its cancellation.
        tool_parallelism: Tool bodies of one message that may overlap.
        stall_threshold: Seconds the loop may be held up before it is logged who does it.
        check_invariants: Check every append against the balance rules of the log.
        clock: Where time comes from.
        ids: Where ids come from.
        random: Where chance comes from; a seeded one makes ids and jitter repeatable.
        executor: Where plain tools run.

    Attributes:
        subagents: Delegation.
        agents: The live agents.
        tools: The registry of tools.
        prompts: The registry of prompt sections, variables and contexts.
        models: The registry of models.
        hooks: Observers and interceptors; docs/hooks.md lists the events.
        sessions: The live sessions.
        store: The kept ones.

    Raises:
        ConfigurationError: If an argument is wrong; nothing was started.
    """

    agents: AgentRegistry

    def __init__(
        self,
        *,
        model: Model | str | None = None,
        tools: Sequence[Tool | Installable] = (),
        persona: str | None = None,
        store: str | Store = "memory",
        durability: Durability | None = None,
        providers: Sequence[SubagentProvider] = (),
        retry: RetryPolicy | None = None,
        max_pending: int | None = 10_000,
        max_steps: int | None = 1_000,
        max_response_chars: int | None = 16_000_000,
        request_timeout: float | None = 600.0,
        dispose_timeout: float = 10.0,
        tool_parallelism: int = 10,
        stall_threshold: float = 0.25,
        check_invariants: bool = False,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        random: random.Random | None = None,
        executor: Executor | None = None,
    ) -> None:
        check_seams(clock=clock, ids=ids, random=random, executor=executor, retry=retry)
        check_list("tools", tools)
        check_list("providers", providers)
        settings = AgentSettings(
            max_pending,
            max_steps,
            max_response_chars,
            request_timeout,
            dispose_timeout,
            tool_parallelism,
            check_invariants,
        )
        super().__init__(
            store=store_of(store, durability),
            settings=settings,
            retry=retry,
            default_model=model_named(model) if isinstance(model, str) else model,
            clock=clock,
            ids=ids,
            random=random,
            executor=executor,
            stall_threshold=stall_threshold,
            # Every disposal gets its own time before the runtime loses patience.
            shutdown_timeout=2 * dispose_timeout + 5,
        )
        self.subagents = SubagentService(self)
        self._furnish(tools, persona, providers)

    def tree(self) -> Tree:
        """A picture of this moment: who lives, under whom, doing what. Any thread."""
        return tree_of(self)

    def _furnish(
        self,
        tools: Sequence[Tool | Installable],
        persona: str | None,
        providers: Sequence[SubagentProvider],
    ) -> None:
        for provider in providers:
            self.subagents.register(provider)
        self.subagents.open()
        if persona is not None:
            self.prompts.persona(persona)
        for tool in tools:
            if isinstance(tool, Tool):
                self.tools.register(tool)
            elif isinstance(tool, type):
                raise ConfigurationError(
                    f"tools= holds the class {tool.__name__}; pass one of them: {tool.__name__}()"
                )
            elif isinstance(tool, Installable):  # pyright: ignore[reportUnnecessaryIsInstance]
                tool.install(self)
            else:
                raise ConfigurationError(
                    f"tools= holds a {type(tool).__name__}; decorate the function with "
                    "@broodline.tool, or pass a SubagentTool"
                )

    def _cut_off(self, root: Agent) -> None:
        """Let a root begin nothing more, while those below it are still ending."""
        try:
            if not root.closing:
                root.begin_disposal()
        except Exception:
            self.logger.exception(
                "agent %r could not be cut off; it is ended all the same", root.id
            )

    async def _open(self) -> None:
        await self.store.open(self)

    async def _close(self) -> None:
        self.agents.closed = True
        for root in self.agents.roots():
            self._cut_off(root)
        # Whatever fails, all that stands behind it gets its turn.
        outcomes: list[object] = []
        outcomes += await asyncio.gather(self.subagents.close(), return_exceptions=True)
        for agents in (self.agents.roots, self.agents.list):
            ends = [self.agents.end(agent) for agent in agents()]
            outcomes += await asyncio.gather(*ends, return_exceptions=True)
        closing = (self.models.close(), self.store.close(), super()._close())
        outcomes += await asyncio.gather(*closing, return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if failures:
            raise ExceptionGroup("agents could not be released while the runtime closed", failures)
