"""One scenario played: a runtime, the recorded model, the driver's tools, host and hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from broodline import Runtime
from broodline.actors.agent import Agent
from broodline.actors.handle import AgentHandle
from broodline.actors.inbox import Inbox
from broodline.actors.models.recorded import RecordedModel
from broodline.actors.notice import Enter, PreStep, SessionCreated, TurnStopping
from broodline.actors.recording import Recording
from broodline.actors.session import Session
from broodline.actors.tools.decision import Accept, Ask, Block, Deny, PostExecute
from broodline.actors.tools.tool import ToolContext
from broodline.messages.event import Event
from broodline.messages.payload import AbortCause

from .driver import Act, Driver, Hook
from .failing import FailingDriver, FailingProvider, FailingSpec
from .prop import tools_of
from .quotation import Quotation

CWD = "/workspace"
"""Where the agents work; nothing looks at it."""


class Stage:
    """Plays one driver on one recording; made for one play.

    Attributes:
        quotation: What the driver refers to.
        runtime: Where it is played; open while `play` runs.
        sessions: All that were made, the root's first, then in their order.
    """

    def __init__(self, driver: Driver, recording: Recording) -> None:
        self.quotation = Quotation(recording.logs)
        self.sessions: list[Session] = []
        self._driver = driver
        self._acts = [act for act in driver.host if act.when != "idle"]
        self._agent: Agent | None = None
        self._chunks = self._stops = 0
        provider, model = self.quotation.route()
        self._model = RecordedModel(recording, provider=provider, model=model)
        self.runtime = Runtime(
            model=self._model,
            tools=tools_of(driver, lambda: self),
            providers=[FailingProvider()] if driver.broken else (),
            retry=None if driver.retry is None else driver.retry.policy(),
            check_invariants=True,
        )

    async def play(self) -> None:
        """Run the scenario to its end; `sessions` then holds what came of it.

        Raises:
            AssertionError: If an act of the host never came to its time, or the model
                has something left to say.
        """
        async with self.runtime:
            if self._driver.broken:
                self.runtime.subagents.register_driver(FailingSpec, FailingDriver(self.runtime))
            self._listen()
            handle = await self.runtime.agents.create(cwd=CWD)
            self._agent = handle.agent
            handle.agent.session.observe(self._count)
            await self._host(handle)
        assert not self._acts, f"the time for {self._acts[0]} never came"
        self._model.assert_consumed()

    # What the tools ask of the stage.

    def place(self, agent_id: str) -> int:
        """Which session, in the order in which they were made, is the agent's."""
        return [session.id for session in self.sessions].index(agent_id)

    def children(self) -> int:
        """How many children there are so far."""
        return len(self.sessions) - 1

    def occasion(self, name: str) -> None:
        """Let the host do what it does at this occasion."""
        for act in [act for act in self._acts if act.when == name]:
            self._acts.remove(act)
            self._perform(act)

    # The host

    async def _host(self, handle: AgentHandle) -> None:
        for act in self._driver.host:
            if act.when == "idle":
                self._perform(act)
                await handle.when_idle()

    def _perform(self, act: Act) -> None:
        agent = self._agent
        assert agent is not None
        if act.cancel is not None:
            agent.cancel(AbortCause(act.cancel))
        if act.say is not None:
            message = self.quotation.insert(act.say)
            doors: dict[str, Callable[..., str]] = {
                "followup": agent.followup,
                "steer": agent.steer,
                "inject": agent.inject,
            }
            doors[act.how](message.content, source=message.source, id=message.id)

    def _count(self, event: Event) -> None:
        """Chunks make an occasion, but not while the turn is in the middle of one."""
        if event.type == "assistant/chunk":
            self._chunks += 1
            asyncio.get_running_loop().call_soon(self.occasion, f"chunk {self._chunks}")

    # The hooks

    def _listen(self) -> None:
        hooks = self.runtime.hooks
        hooks.observe("session/created", self._created)
        hooks.observe("agent/turn-stopping", self._stopping)
        hooks.intercept("agent/pre-step", self._before_step)
        hooks.intercept("tools/pre-execute", self._before_call)
        hooks.intercept("tools/post-execute", self._behind_call)

    def _created(self, notice: SessionCreated) -> None:
        self.sessions.append(notice.session)

    def _stopping(self, notice: TurnStopping) -> None:
        if notice.agent is self._agent:
            self._stops += 1
            self.occasion(f"stopping {self._stops}")

    def _before_step(self, notice: PreStep) -> Enter | None:
        agent = self._agent
        if agent is None or notice.agent is not agent:
            return None
        name = f"{notice.turn}.{notice.step}"
        self.occasion(f"before step {name}")
        messages = notice.messages
        for hook in self._driver.hooks:
            if hook.step == name and hook.enter is not None:
                self._staged(agent.inbox, hook)
                messages = (*messages, self.quotation.message(hook.enter))
        return Enter(messages)

    def _staged(self, inbox: Inbox, hook: Hook) -> None:
        if hook.stage is not None:
            message = self.quotation.insert(hook.stage)
            inbox.append("next-step", message)
            inbox.remove(message.id)

    def _before_call(self, context: ToolContext) -> Deny | Ask | None:
        for hook in self._hooks_at(context):
            if hook.deny is not None:
                return Deny(self.quotation.words("hook/result", hook.deny, "stderrSummary"))
            if hook.ask is not None:
                return Ask(self.quotation.words("approval/asked", hook.ask, "reason"))
        return None

    def _behind_call(self, notice: PostExecute) -> Accept | Block | None:
        for hook in self._hooks_at(notice.context):
            if hook.block is not None:
                return Block(self.quotation.words("hook/result", hook.block, "stderrSummary"))
            if hook.add is not None:
                return Accept(contexts=(self.quotation.insert(hook.add),))
        return None

    def _hooks_at(self, context: ToolContext) -> list[Hook]:
        if context.agent is not self._agent:
            return []
        number = self.quotation.calls.index(context.call_id) + 1
        return [hook for hook in self._driver.hooks if hook.call == number]
