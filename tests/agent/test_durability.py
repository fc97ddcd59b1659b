"""What an agent does when its store answers late, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from broodline import AgentHandle, MemoryStore, Runtime, SubagentRequest, ToolContext, tool
from broodline.actors.fold import consumed_work
from broodline.actors.models import ScriptedModel, call
from broodline.actors.store import Durability, Lease, Writer
from broodline.messages.content import Text
from broodline.messages.errors import SessionError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.lossless import FrozenDict
from broodline.messages.message import UserMessage
from broodline.messages.payload import (
    AbortCause,
    DeliveryRefused,
    InboxSpliced,
    UserMessageLogged,
)


class Disk:
    """How the store behaves: answers when the gate is open, refuses while it is broken."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.broken = False
        self.unconfirmed = False
        self.flushes = 0
        self.asked = asyncio.Event()
        self.before: Callable[[int], None] = lambda _number: None


class GatedWriter:
    """A writer whose flush waits for the gate."""

    def __init__(self, inner: Writer, log: list[Event], disk: Disk, durability: Durability) -> None:
        self._inner = inner
        self._log = log
        self._disk = disk
        self.durability = durability
        self.stored_seq = 0
        self.failure: Exception | None = None
        self.sink = None

    async def flush(self) -> bool:
        disk = self._disk
        disk.flushes += 1
        disk.before(disk.flushes)
        disk.asked.set()
        await disk.gate.wait()
        if disk.broken:
            self.failure = SessionError("disk full", code="STORE_UNAVAILABLE", retryable=True)
            raise self.failure
        if disk.unconfirmed:
            return False
        self.failure = None
        self.stored_seq = len(self._log)
        return True

    def release(self, *, discard: bool = False) -> None:
        self._inner.release(discard=discard)


class GatedStore(MemoryStore):
    """Keeps sessions in memory and says so when its disk lets it."""

    def __init__(self, disk: Disk, durability: Durability = "accepted") -> None:
        super().__init__()
        self._disk = disk
        self._level: Durability = durability

    __slots__ = ("_disk", "_level")

    def attach(self, header: SessionHeader, log: list[Event], lease: Lease | None = None) -> Any:
        return GatedWriter(super().attach(header, log, lease), log, self._disk, self._level)


class HandClock:
    """Time that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleepers: list[asyncio.Future[None]] = []
        self.slept = asyncio.Event()

    def time_ms(self) -> int:
        return 1

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.sleepers.append(sleeper)
        self.slept.set()
        await sleeper

    def wake(self) -> None:
        sleepers, self.sleepers = self.sleepers, []
        self.slept.clear()
        for sleeper in sleepers:
            if not sleeper.done():
                sleeper.set_result(None)


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def runtime(disk: Disk, clock: HandClock) -> AsyncIterator[Runtime]:
    model = ScriptedModel(each=["one", "two", "three", "four"])
    store = GatedStore(disk)
    async with Runtime(
        model=model, store=store, clock=clock, request_timeout=None, check_invariants=True
    ) as runtime:
        yield runtime
        disk.broken = disk.unconfirmed = False
        disk.gate.set()


def types_of(agent: AgentHandle) -> list[str]:
    return [event.type for event in agent.agent.session.events]


async def asked(disk: Disk) -> None:
    disk.asked.clear()
    await disk.asked.wait()


async def test_accepted_when_stored(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: a delivery returns its id once it is on disk, and no turn claims it before."""
    root = await runtime.agents.create()
    disk.gate.clear()
    reply = root.followup("Go.")
    await asked(disk)
    assert not reply.done()
    assert types_of(root) == ["agent/inbox/spliced"]
    assert root.status == "idle"
    disk.gate.set()
    await reply
    await root.when_idle()
    assert root.answer == "one"


async def test_waiting_for_rest_waits_for_the_delivery(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: a turn that a delivery will bring is due: `when_idle` waits for it."""
    root = await runtime.agents.create()
    root.followup("Go.")
    end = await root.when_idle()
    assert end is not None
    assert end.kind == "completed"


async def test_order_of_deliveries(runtime: Runtime, disk: Disk) -> None:
    """core 7: deliveries that wait for one write keep their order, a turn each."""
    root = await runtime.agents.create()
    disk.gate.clear()
    replies = [root.followup(text) for text in ("a", "b", "c")]
    disk.gate.set()
    ids = [await reply for reply in replies]
    await root.when_idle()
    assert _prompts(root) == ids
    assert root.agent.session.last_turn == 3


def _prompts(root: AgentHandle) -> list[str]:
    """Ids of the messages that the user sent and a step took in, in the order of the log."""
    messages = [
        event.data.message
        for event in root.agent.session.events
        if isinstance(event.data, UserMessageLogged)
    ]
    return [message.id for message in messages if message.source["kind"] == "user"]


async def test_refused_delivery(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: what cannot be stored never runs, is taken back, and its caller is told."""
    root = await runtime.agents.create()
    disk.broken = True
    with pytest.raises(SessionError) as caught:
        await root.followup("Go.")
    assert caught.value.code == "DURABILITY_FAILED"
    assert caught.value.retryable
    assert caught.value.details["cause"]["code"] == "STORE_UNAVAILABLE"
    events = root.agent.session.events
    assert types_of(root) == ["agent/inbox/spliced", "agent/inbox/spliced", "agent/inbox/refused"]
    taken_back = events[1].data
    assert isinstance(taken_back, InboxSpliced)
    assert taken_back.outcome == "canceled"
    assert events[2].ignorable
    assert len(root.agent.inbox) == 0
    assert root.status == "idle"


async def test_refusal_drops_no_work(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: a delivery that was taken back does not count as dropped work."""
    root = await runtime.agents.create()
    disk.broken = True
    with pytest.raises(SessionError):
        await root.followup("Go.")
    events = root.agent.session.events
    assert not consumed_work(events).dropped_unrun
    without = [event for event in events if not isinstance(event.data, DeliveryRefused)]
    assert consumed_work(without).dropped_unrun


async def test_unconfirmed_is_refused(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 5: a flush that the store does not confirm counts as little as one that fails."""
    root = await runtime.agents.create()
    disk.unconfirmed = True
    with pytest.raises(SessionError) as caught:
        await root.followup("Go.")
    assert caught.value.code == "DURABILITY_FAILED"
    assert len(root.agent.inbox) == 0


async def test_log_does_not_grow_while_the_disk_is_down(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: while the store does not answer, a delivery is refused without an event."""
    root = await runtime.agents.create()
    disk.broken = True
    for _ in range(3):
        with pytest.raises(SessionError):
            await root.followup("Go.")
    assert root.agent.session.seq == 3


async def test_next_delivery_recovers(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: a delivery behind the recovery of the disk is accepted and runs."""
    root = await runtime.agents.create()
    disk.broken = True
    with pytest.raises(SessionError):
        await root.followup("Go.")
    disk.broken = False
    await root.followup("Now.")
    await root.when_idle()
    assert root.answer == "one"


async def test_no_new_work_until_the_disk_is_back(
    runtime: Runtime, disk: Disk, clock: HandClock
) -> None:
    """DESIGN 3: prompts stay pending while the store fails, and run when it answers again."""
    root = await runtime.agents.create()
    disk.gate.clear()
    replies = [root.followup("a"), root.followup("b")]
    await asked(disk)

    def fail_at_the_first_request(_number: int) -> None:
        disk.broken = True

    disk.before = fail_at_the_first_request
    disk.gate.set()
    for reply in replies:
        await reply
    end = await root.when_idle()
    assert end is not None
    assert end.kind == "error"
    assert end.error is not None
    assert "could not be stored" in end.error.message
    assert [message.content[0].text for message in root.agent.inbox.next_turn] == ["b"]  # type: ignore[union-attr]
    await clock.slept.wait()
    clock.wake()
    await clock.slept.wait()
    assert root.status == "idle"
    disk.before = lambda _number: None
    disk.broken = False
    clock.wake()
    while root.status == "idle" and not root.answer:
        await asyncio.sleep(0)
    await root.when_idle()
    assert root.answer == "one"


async def test_checkpoint_before_a_step(runtime: Runtime, disk: Disk) -> None:
    """core 18.5 #111: a failed flush at pre-step leaves the turn's edges, the prompt is gone."""
    root = await runtime.agents.create()
    await _fail_at(disk, 2)
    await root.followup("Go.")
    end = await root.when_idle()
    assert end is not None
    assert end.kind == "error"
    assert types_of(root) == [
        "agent/inbox/spliced",
        "turn/start",
        "agent/inbox/spliced",
        "turn/end",
    ]
    assert len(root.agent.inbox) == 0


async def test_checkpoint_before_a_request(disk: Disk, clock: HandClock) -> None:
    """core 18.5 #109: with a failed flush the model is not asked and the turn ends ``error``."""
    model = ScriptedModel(each=["one"])
    async with Runtime(model=model, store=GatedStore(disk), clock=clock) as runtime:
        root = await runtime.agents.create()
        await _fail_at(disk, 3)
        await root.followup("Go.")
        end = await root.when_idle()
        assert end is not None
        assert end.kind == "error"
        assert "request/header" in types_of(root)
        assert not model.requests
        disk.broken = False


async def _fail_at(disk: Disk, number: int) -> None:
    def fail(current: int) -> None:
        disk.broken = current >= number

    disk.before = fail


async def test_checkpoint_before_a_tool(disk: Disk, clock: HandClock) -> None:
    """core 18.5 #110: with a failed flush the body does not run, the call has an error result."""
    ran: list[str] = []

    @tool
    def note(text: str) -> str:
        """Note a text."""
        ran.append(text)
        return text

    model = ScriptedModel(each=[call("note", {"text": "x"}), "done"])
    async with Runtime(model=model, store=GatedStore(disk), clock=clock, tools=[note]) as runtime:
        root = await runtime.agents.create()

        def fail_once(current: int) -> None:
            disk.broken = current == 4

        disk.before = fail_once
        await root.followup("Go.")
        await root.when_idle()
        results = [event for event in root.agent.session.events if event.type == "tool/result"]
        assert not ran
        assert len(results) == 1
        assert results[0].data.error.code == "DURABILITY_FAILED"  # type: ignore[union-attr]
        assert root.answer == "done"


async def test_cancelled_during_the_flush_of_a_tool(disk: Disk, clock: HandClock) -> None:
    """core 5.4: a cancellation while the call is being stored ends it before its body runs."""
    ran: list[str] = []

    @tool
    async def note(text: str, context: ToolContext) -> str:
        """Note a text."""
        ran.append(text)
        return text

    model = ScriptedModel(each=[call("note", {"text": "x"}), "done"])
    async with Runtime(model=model, store=GatedStore(disk), clock=clock, tools=[note]) as runtime:
        root = await runtime.agents.create()

        def hold(current: int) -> None:
            if current == 4:
                disk.gate.clear()
                root.agent.cancel(AbortCause("user"))
                asyncio.get_running_loop().call_soon(disk.gate.set)

        disk.before = hold
        await root.followup("Go.")
        await root.when_idle()
        results = [event for event in root.agent.session.events if event.type == "tool/result"]
        assert not ran
        assert results[0].data.error.code == "ABORTED_BEFORE_DISPATCH"  # type: ignore[union-attr]


async def test_child_whose_prompt_is_refused(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: a child whose task could not be stored ends with that error, undone."""
    root = await runtime.agents.create()
    disk.broken = True
    run = await runtime.subagents.start("spawn", SubagentRequest(prompt="Go.", parent=root))
    result = await run.result
    assert result.stop_reason == "error"
    assert result.diagnostic is not None
    assert result.diagnostic.startswith("DURABILITY_FAILED: ")
    assert "could not be stored" in result.diagnostic
    disk.broken = False
    await run.dispose()


async def test_called_off_before_it_is_accepted(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 2: a delivery whose caller is cancelled before it is stored is taken back."""
    root = await runtime.agents.create()
    disk.gate.clear()

    async def send() -> None:
        await root.followup("Go.")

    sending = asyncio.create_task(send())
    await asked(disk)
    sending.cancel()
    await asyncio.wait((sending,))
    disk.gate.set()
    await root.when_idle()
    assert len(root.agent.inbox) == 0
    assert root.agent.session.last_turn == 0


@pytest.mark.parametrize("durability", ["checkpoint", "settled"])
async def test_other_durabilities(durability: Durability, disk: Disk, clock: HandClock) -> None:
    """DESIGN 3: where deliveries need not be stored, they are accepted at once."""
    store = GatedStore(disk, durability)
    async with Runtime(model=ScriptedModel(each=["one"]), store=store, clock=clock) as runtime:
        root = await runtime.agents.create()
        await root.followup("Go.")
        await root.when_idle()
        assert root.answer == "one"
        assert disk.flushes == (2 if durability == "checkpoint" else 0)


async def test_tell_and_ask_wait_too(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: what comes through pykka's door is accepted when it is stored, as all else."""
    root = await runtime.agents.create()
    disk.broken = True
    with pytest.raises(SessionError) as caught:
        await root.agent.actor_ref.ask("Go.", block=False)
    assert caught.value.code == "DURABILITY_FAILED"
    disk.broken = False
    assert await root.agent.actor_ref.ask("Go.", block=False)
    await root.when_idle()
    assert root.answer == "one"


async def test_cancelled_with_its_inbox_kept(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: a delivery that is being stored when the agent is cancelled wakes nobody later."""
    root = await runtime.agents.create()
    disk.gate.clear()
    reply = root.followup("Go.")
    await asked(disk)
    await root.cancel(keep_inbox=True)
    disk.gate.set()
    await reply
    await root.when_idle()
    assert len(root.agent.inbox) == 1
    assert root.agent.session.last_turn == 0


async def test_id_that_is_taken_out_and_sent_again(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: an id that is sent again while its first insert is written is stored and runs."""
    root = await runtime.agents.create()
    disk.gate.clear()
    first = root.followup("Go.", id="m")
    await asked(disk)
    assert root.agent.inbox.remove("m")
    again = root.followup("Now.", id="m")
    disk.gate.set()
    async with asyncio.timeout(10):
        assert [await first, await again] == ["m", "m"]
        await root.when_idle()
    assert disk.flushes >= 2
    assert _prompts(root) == ["m"]


async def test_id_that_is_sent_again_before_a_write(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: two deliveries of one id before any write are told alike, though one is out."""
    root = await runtime.agents.create()
    disk.broken = True
    first = root.followup("Go.", id="m")
    assert root.agent.inbox.remove("m")
    again = root.followup("Now.", id="m")
    async with asyncio.timeout(10):
        outcomes = await asyncio.gather(first, again, return_exceptions=True)
    codes = [outcome.code for outcome in outcomes if isinstance(outcome, SessionError)]
    assert codes == ["DURABILITY_FAILED"] * 2
    assert len(root.agent.inbox) == 0


async def test_calling_off_leaves_a_later_delivery_of_the_id(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 2: a delivery that is called off takes back itself, not what has its id since."""
    root = await runtime.agents.create()
    disk.gate.clear()

    async def send() -> None:
        await root.followup("Go.", id="m")

    sending = asyncio.create_task(send())
    await asked(disk)
    root.agent.inbox.remove("m")
    again = root.followup("Now.", id="m")
    sending.cancel()
    await asyncio.wait((sending,))
    disk.gate.set()
    async with asyncio.timeout(10):
        await again
        await root.when_idle()
    assert _prompts(root) == ["m"]


async def test_replacement_of_a_held_message(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: what takes the place of a message that is being stored is stored too, and runs."""
    root = await runtime.agents.create()
    disk.gate.clear()
    reply = root.followup("Go.", id="m")
    await asked(disk)
    root.agent.inbox.replace("m", _message("n"))
    disk.gate.set()
    async with asyncio.timeout(10):
        await reply
        await root.when_idle()
    assert _prompts(root) == ["n"]


async def test_replacement_that_cannot_be_stored(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: what takes the place of a message that cannot be stored is taken back like it."""
    root = await runtime.agents.create()
    disk.broken = True
    reply = root.followup("Go.", id="m")
    root.agent.inbox.replace("m", _message("n"))
    async with asyncio.timeout(10):
        with pytest.raises(SessionError):
            await reply
        await root.when_idle()
    assert len(root.agent.inbox) == 0


def _message(message_id: str) -> UserMessage:
    return UserMessage(message_id, (Text("Instead."),), FrozenDict({"kind": "user"}))


async def test_delivery_that_an_observer_takes_out(runtime: Runtime, disk: Disk) -> None:
    """DESIGN 3: one that is dropped in its own event is accepted when that is on disk as well."""
    root = await runtime.agents.create()

    def drop(event: Event) -> None:
        if isinstance(event.data, InboxSpliced) and event.data.inserted:
            root.agent.inbox.remove("m")

    root.agent.session.observe(drop)
    disk.gate.clear()
    reply = root.followup("Go.", id="m")
    await asked(disk)
    assert not reply.done()
    disk.gate.set()
    assert await reply == "m"
    assert types_of(root) == ["agent/inbox/spliced"] * 2


async def test_parked_agent_of_an_id_that_is_used_again(
    runtime: Runtime, disk: Disk, clock: HandClock
) -> None:
    """DESIGN 3: an agent that went while its store was asked does not unpark its id's next one."""
    old = await runtime.agents.create(id="a")
    other = await runtime.agents.create(id="b")
    disk.gate.clear()
    disk.broken = True
    runtime.recovery.park(other.agent)
    runtime.recovery.park(old.agent)
    await clock.slept.wait()
    clock.wake()
    await asked(disk)
    await old.dispose()
    new = await runtime.agents.create(id="a")
    runtime.recovery.park(new.agent)
    disk.gate.set()
    async with asyncio.timeout(10):
        await clock.slept.wait()
    assert len(runtime.recovery) == 2
