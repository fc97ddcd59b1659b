"""An agent under every order of calls that Hypothesis can think of.

Callers, observers, tools and models act on one agent in any order, from any place.
Whatever they do, the books must balance: what was accepted is pending, claimed once
or discarded once; the log is in balance and says the same as the inbox; the status
goes up and down in pairs; and an agent that rests has nothing left that was sent to
wake it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broodline.actors.agent import Agent
from broodline.actors.fold import replay_inbox
from broodline.actors.host import AgentHost
from broodline.actors.invariants import RULES, Balance
from broodline.actors.notice import Reject
from broodline.actors.settings import AgentSettings
from broodline.actors.stores.memory import MemoryStore
from broodline.actors.tools.tool import Tool
from broodline.messages.chunk import BlockEnd, Chunk, Finish, ModelFailure, TextDelta
from broodline.messages.content import Text, ToolCall
from broodline.messages.errors import DeliveryError, MailboxFullError
from broodline.messages.message import UserMessage
from broodline.messages.payload import InboxSpliced

T = TypeVar("T")

BOUND = 5
NAMES = st.sampled_from(["a", "b", "c", "d", "e", "f", "g"])
SENDS = st.sampled_from(["followup", "steer", "inject"])
ACTS = st.sampled_from(
    ["followup", "steer", "inject", "cancel", "keep", "remove", "replace", "clear"]
)
PLACES = st.sampled_from(
    [
        "agent/inbox/enqueue",
        "agent/inbox/dequeue",
        "agent/inbox/discard",
        "agent/status",
        "agent/pre-step",
        "agent/request",
        "agent/request-error",
        "agent/turn-stopping",
        "agent/error",
        "tools/pre-execute",
        "tools/post-execute",
        "tools/result",
        "log",
        "model",
        "tool",
        "signal",
        "prompt",
    ]
)
ANSWERS = st.sampled_from(["text", "text", "call", "fail", "hang", "deaf", "empty"])


class Model:
    """Answers as planned, and says when it is asked."""

    provider = model = "planned"

    def __init__(self, machine: AgentMachine) -> None:
        self.machine = machine

    async def stream(self, request: Any) -> AsyncIterator[Chunk]:
        machine = self.machine
        request.signal.on_cancel(machine.reaching("signal"))
        plan = machine.plans.pop(0) if machine.plans else "text"
        yield TextDelta(0, "said")
        machine.reach("model")
        if plan == "hang":
            await machine.gate.wait()
        while plan == "deaf" and not machine.gate.is_set():
            try:
                await machine.gate.wait()
            except asyncio.CancelledError:
                continue
        if plan == "fail":
            yield Finish("error", ModelFailure("no", "AUTH"))
        elif plan == "call":
            yield BlockEnd(1, ToolCall("c", "act", "{}"))
            yield BlockEnd(2, ToolCall("d", "act", "{}"))
            yield Finish("tool-calls")
        else:
            yield Finish("stop")


class AgentMachine(RuleBasedStateMachine):
    """One agent and everybody around it."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.gate = asyncio.Event()
        self.plans: list[str] = []
        self.armed: dict[str, list[str]] = {}
        self.rejecting = False
        self.edges: list[str] = []
        # The books: how often each accepted message was told of.
        self.accepted: Counter[str] = Counter()
        self.told: dict[str, Counter[str]] = {
            name: Counter() for name in ("enqueue", "dequeue", "discard")
        }
        self.wakers: dict[str, None] = {}
        self.serial = 0
        self.host = AgentHost(
            store=MemoryStore(),
            settings=AgentSettings(max_pending=BOUND, check_invariants=True, max_steps=20),
            retry=None,
            default_model=Model(self),
        )
        self.run(self.host.__aenter__())
        self.host.tools.register(
            Tool("act", "acts", {"type": "object"}, self.act_in_tool, concurrency_safe=True)
        )
        self.listen()
        self.agent: Agent = self.run(self.create())

    async def create(self) -> Agent:
        return self.watched((await self.host.agents.create(id="one")).agent)

    def watched(self, agent: Agent) -> Agent:
        agent.session.observe(lambda event: self.reach("log"))
        return agent

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def on_loop(self, act: Callable[[], T]) -> T:
        async def call() -> T:
            return act()

        result: T = self.run(call())
        return result

    def teardown(self) -> None:
        self.gate.set()
        self.armed.clear()
        self.run(self.close())
        self.loop.close()

    async def close(self) -> None:
        for agent in self.host.agents.list():
            await self.host.agents.end(agent)
        await self.host.__aexit__(None, None, None)

    # Everybody who may act while something else is going on.

    def listen(self) -> None:
        hooks = self.host.hooks
        for change in self.told:
            hooks.observe(f"agent/inbox/{change}", self.keep_books(change))
        hooks.observe("agent/status", lambda notice: self.edges.append(notice.status))
        for place in ("agent/status", "agent/turn-stopping", "agent/error", "tools/result"):
            hooks.observe(place, self.reaching(place))
        for change in self.told:
            hooks.observe(f"agent/inbox/{change}", self.reaching(f"agent/inbox/{change}"))
        for place in ("agent/request", "agent/request-error"):
            hooks.intercept(place, self.reaching(place))
        for place in ("tools/pre-execute", "tools/post-execute"):
            hooks.intercept(place, self.reaching(place))
        hooks.intercept("agent/pre-step", self.pre_step)
        self.host.prompts.section("s", self.prompt)

    def reaching(self, place: str) -> Callable[[Any], None]:
        return lambda notice: self.reach(place)

    def keep_books(self, change: str) -> Callable[[Any], None]:
        def told(notice: Any) -> None:
            self.told[change][notice.message.id] += 1
            if change != "enqueue":
                self.wakers.pop(notice.message.id, None)

        return told

    async def pre_step(self, notice: Any) -> Reject | None:
        self.reach("agent/pre-step")
        await asyncio.sleep(0)
        return Reject("no") if self.rejecting else None

    async def prompt(self, context: Any) -> str:
        self.reach("prompt")
        await asyncio.sleep(0)
        return "You act."

    async def act_in_tool(self, args: Any, context: Any) -> str:
        self.reach("tool")
        await asyncio.sleep(0)
        return "acted"

    def reach(self, place: str) -> None:
        """Do what was planned for this place, once."""
        acts = self.armed.get(place)
        if acts:
            self.do(acts.pop(0))

    def do(self, act: str) -> None:
        if act in ("cancel", "keep"):
            self.wakers.clear()
            self.agent.cancel(keep_inbox=act == "keep")
        elif act == "clear":
            self.agent.inbox.clear()
        elif act in ("remove", "replace"):
            self.take_out(replace=act == "replace")
        else:
            self.serial += 1
            self.send_one(act, f"n{self.serial}")

    def take_out(self, *, replace: bool) -> None:
        inbox = self.agent.inbox
        pending = [message.id for message in (*inbox.next_turn, *inbox.next_step)]
        if not pending or pending[0] not in inbox:
            return  # being changed right now
        if not replace:
            inbox.remove(pending[0])
            return
        self.serial += 1
        name = f"r{self.serial}"
        self.accepted[name] += 1
        if pending[0] in self.wakers:
            self.wakers[name] = None
        inbox.replace(pending[0], UserMessage(name, (Text("replaced"),)))

    def send_one(self, how: str, name: str) -> None:
        agent = self.agent
        if agent.phase == "closed" or agent.session.sealed:
            return
        full, known = len(agent.inbox) >= BOUND, name in agent.inbox
        waking = how != "inject" and not agent.closing
        if waking and not known and not full:
            self.wakers[name] = None
        if not known and not full:
            self.accepted[name] += 1
        refused: DeliveryError | None = None
        try:
            getattr(agent, how)("text", id=name)
        except DeliveryError as error:
            refused = error
        assert (refused is not None) == (known or full)
        assert known or not full or isinstance(refused, MailboxFullError)

    # The rules.

    @rule(how=SENDS, name=NAMES)
    def send(self, how: str, name: str) -> None:
        self.on_loop(lambda: self.send_one(how, name))

    @rule(how=SENDS, names=st.lists(NAMES, max_size=4, unique=True))
    def send_several(self, how: str, names: list[str]) -> None:
        def send() -> None:
            for name in names:
                self.send_one(how, name)

        self.on_loop(send)

    @rule(act=ACTS)
    def act(self, act: str) -> None:
        self.on_loop(lambda: self.do(act))

    @rule(acts=st.lists(ACTS, min_size=2, max_size=4))
    def act_at_once(self, acts: list[str]) -> None:
        def act() -> None:
            for one in acts:
                self.do(one)

        self.on_loop(act)

    @rule(place=PLACES, acts=st.lists(ACTS, min_size=1, max_size=3))
    def arm(self, place: str, acts: list[str]) -> None:
        self.armed.setdefault(place, []).extend(acts)

    @rule(plans=st.lists(ANSWERS, min_size=1, max_size=3))
    def plan(self, plans: list[str]) -> None:
        self.plans.extend(plans)

    @rule(rejecting=st.booleans())
    def reject(self, *, rejecting: bool) -> None:
        self.rejecting = rejecting

    @rule(times=st.integers(1, 12))
    def tick(self, times: int) -> None:
        async def pass_by() -> None:
            for _ in range(times):
                await asyncio.sleep(0)

        self.run(pass_by())

    @rule()
    def settle(self) -> None:
        """Let everything run to its end, and look at what is left."""
        self.gate.set()
        self.run(self.agent.when_idle())
        self.gate.clear()
        assert self.agent.status == "idle"
        assert self.agent.session.open_turn == 0
        assert not self.wakers, "an agent rests over a message that was to wake it"
        assert self.edges[-1:] in ([], ["idle"])

    @precondition(lambda self: not self.armed.get("agent/status"))
    @rule()
    def dispose_and_resume(self) -> None:
        self.gate.set()
        self.run(self.turn_over())
        self.gate.clear()
        self.wakers.clear()

    async def turn_over(self) -> None:
        old = self.agent
        await self.host.agents.end(old)
        pending = [m.id for m in (*old.inbox.next_turn, *old.inbox.next_step)]
        if not old.session.seq:  # an empty log leaves no trace
            self.agent = await self.create()
            return
        self.agent = self.watched((await self.host.agents.resume("one")).agent)
        again = self.agent.inbox
        assert [m.id for m in (*again.next_turn, *again.next_step)] == pending
        assert self.agent.status == "idle"

    # What holds at every moment.

    @invariant()
    def books_balance(self) -> None:
        inbox = self.agent.inbox
        pending = [message.id for message in (*inbox.next_turn, *inbox.next_step)]
        assert len(set(pending)) == len(pending) <= BOUND
        assert self.told["enqueue"] == self.accepted
        gone = self.told["dequeue"] + self.told["discard"]
        assert self.accepted == gone + Counter(pending)

    @invariant()
    def edges_come_in_pairs(self) -> None:
        expected = ["running", "idle"] * (len(self.edges) // 2 + 1)
        assert self.edges == expected[: len(self.edges)]
        assert (self.edges[-1:] == ["running"]) == (self.agent.status == "running")

    @invariant()
    def the_log_says_the_same(self) -> None:
        session = self.agent.session
        turns, steps = replay_inbox(session.header, session.events)
        assert turns == list(self.agent.inbox.next_turn)
        assert steps == list(self.agent.inbox.next_step)

    @invariant()
    def the_log_is_in_balance(self) -> None:
        balance, prompts = Balance(), 0
        for event in self.agent.session.events:
            check, advance = RULES.get(type(event.data), (None, None))
            if check is not None:
                check(balance, event.data, event.surface_op)
            if advance is not None:
                advance(balance, event.data)
            if event.type == "turn/start":
                prompts = 0
            if isinstance(event.data, InboxSpliced) and event.data.removed_count:
                claim = event.data.outcome is None
                assert not claim or (balance.open_turn and event.data.start == 0)
                prompts += claim and event.data.target == "next-turn"
                assert prompts <= 1 or not claim

    @invariant()
    def every_call_behind_a_step_is_answered(self) -> None:
        session = self.agent.session
        if session.open_step:
            return
        called = [e.data for e in session.events if e.type == "tool/call"]
        answered = [e.data for e in session.events if e.type == "tool/result"]
        assert len(called) == len(answered)


TestAgent = AgentMachine.TestCase
TestAgent.settings = settings(max_examples=60, stateful_step_count=30)
TestAgent.__doc__ = "core 7, 8, 9: whatever is done to an agent, the books balance."
