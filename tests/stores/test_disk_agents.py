"""Agents over a store whose disk answers late or not at all, and who leave meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from broodline import AgentHandle, Runtime, ScriptedModel, ToolContext, tool
from broodline.actors.models import call
from broodline.actors.stores.disk import DiskStore
from broodline.messages.errors import SessionError
from broodline.testing.stores.clock import ManualClock


class House:
    """A runtime over a shelf, whose clock and executor are moved by hand."""

    def __init__(self, kit: SimpleNamespace, **options: Any) -> None:
        self.backend = kit.Backend()
        self.clock = ManualClock()
        self.executor = kit.Executor()
        self.store = DiskStore(self.backend)
        self.settle = kit.settle
        options.setdefault("model", ScriptedModel(each=["one", "two"]))
        self.runtime = Runtime(
            store=self.store,
            clock=self.clock,
            executor=self.executor,
            check_invariants=True,
            request_timeout=None,
            dispose_timeout=0.1,
            **options,
        )

    async def end(self) -> None:
        """Let the disk answer whoever is left."""
        self.backend.down = None
        await self.executor.open()

    async def brought_back(self, session_id: str = "a") -> list[str]:
        """What a resume finds pending, once the disk has all it is to get."""
        await self.end()
        await self.store.flush()
        agent = await self.runtime.agents.resume(session_id)
        inbox = agent.agent.inbox
        return [message.id for message in (*inbox.next_step, *inbox.next_turn)]


@pytest.fixture
async def house(kit: SimpleNamespace) -> AsyncIterator[House]:
    house = House(kit)
    async with house.runtime:
        yield house
        await house.end()


async def refused(reply: Any) -> SessionError:
    with pytest.raises(SessionError) as caught:
        async with asyncio.timeout(10):
            await reply
    return caught.value


async def test_refused_while_its_agent_ends(house: House, kit: SimpleNamespace) -> None:
    """DESIGN 3: a delivery that could not be written never runs, though its agent ends."""
    agent = await house.runtime.agents.create(id="a")
    house.executor.shut()
    reply = agent.followup("Go.", id="m")
    await house.settle()
    ending = agent.dispose()
    house.backend.down = kit.unavailable()
    await house.executor.open()
    error = await refused(reply)
    assert error.code == "DURABILITY_FAILED"
    with pytest.raises(SessionError):
        await ending
    assert await house.brought_back() == []


async def test_accepted_while_its_agent_ends(house: House) -> None:
    """DESIGN 3: a delivery that is written while its agent ends is accepted, and pending again."""
    agent = await house.runtime.agents.create(id="a")
    house.executor.shut()
    reply = agent.followup("Go.", id="m")
    await house.settle()
    ending = agent.dispose()
    await house.executor.open()
    assert await reply == "m"
    await ending
    assert await house.brought_back() == ["m"]


async def test_refused_by_a_disk_that_hangs(house: House) -> None:
    """DESIGN 3: who heard that the disk was silent to the end has sent nothing."""
    agent = await house.runtime.agents.create(id="a")
    house.executor.shut()
    reply = agent.followup("Go.", id="m")
    ending = agent.dispose()
    assert (await refused(reply)).code == "DURABILITY_FAILED"
    await house.executor.open()
    await ending
    assert await house.brought_back() == []


async def test_refused_when_its_agent_is_let_go_of(kit: SimpleNamespace) -> None:
    """DESIGN 3: an agent that had to be detached takes back first what was not stored."""
    deaf, release = asyncio.Event(), asyncio.Event()

    @tool
    async def stuck(context: ToolContext) -> str:
        """Ignore it all."""
        deaf.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "done"

    model = ScriptedModel(each=[call("stuck", {}), "never"])
    house = House(kit, model=model, tools=[stuck])
    async with house.runtime:
        agent = await house.runtime.agents.create(id="a")
        await agent.followup("Work.")
        await deaf.wait()
        house.executor.shut()
        reply = agent.followup("Go.", id="m")
        ending = agent.dispose()
        assert (await refused(reply)).code == "DURABILITY_FAILED"
        await house.executor.open()
        await ending
        assert await house.brought_back() == []
        release.set()


async def test_stored_before_the_disk_failed(house: House, kit: SimpleNamespace) -> None:
    """DESIGN 3: what is on disk is accepted, though the write of what came behind it fails."""
    agent = await house.runtime.agents.create(id="a")
    house.executor.shut()
    first = agent.inject("One.", id="m")
    await house.settle()
    second = agent.inject("Two.", id="n")
    await house.executor.pass_one()
    house.backend.down = kit.unavailable()
    await house.executor.open()
    assert (await refused(second)).code == "DURABILITY_FAILED"
    async with asyncio.timeout(10):
        assert await first == "m"
    house.backend.down = None
    await agent.dispose()
    assert await house.brought_back() == ["m"]


async def test_stored_and_sent_again(house: House, kit: SimpleNamespace) -> None:
    """DESIGN 3: of an id that was taken out and sent again each delivery has its own outcome."""
    agent = await house.runtime.agents.create(id="a")
    house.executor.shut()
    first = agent.inject("One.", id="m")
    await house.settle()
    agent.agent.inbox.remove("m")
    second = agent.inject("Again.", id="m")
    await house.executor.pass_one()
    house.backend.down = kit.unavailable()
    await house.executor.open()
    assert (await refused(second)).code == "DURABILITY_FAILED"
    async with asyncio.timeout(10):
        assert await first == "m"
    house.backend.down = None
    await agent.dispose()
    assert await house.brought_back() == []


async def cancelled_with_one_pending(house: House) -> tuple[AgentHandle, Any]:
    """An agent whose accepted message is dropped, and the cancellation that did it."""
    agent = await house.runtime.agents.create(id="a")
    await agent.inject("Go.", id="m")
    house.executor.shut()
    reply = agent.cancel()
    await house.settle()
    return agent, reply


async def test_cancelling_waits_for_the_disk(house: House) -> None:
    """DESIGN 3: a cancellation that has settled is on disk: what it dropped never comes back."""
    agent, cancelled = await cancelled_with_one_pending(house)
    assert not agent.agent.inbox.next_step
    assert not cancelled.done()
    assert len(house.backend.shelf["a"].events) == 1
    await house.executor.open()
    await cancelled
    assert len(house.backend.shelf["a"].events) == 2


async def test_cancelling_that_cannot_be_stored(house: House, kit: SimpleNamespace) -> None:
    """DESIGN 3: who cancels is told that what was dropped may come back; trying again helps."""
    agent, cancelled = await cancelled_with_one_pending(house)
    house.backend.down = kit.unavailable()
    await house.executor.open()
    error = await refused(cancelled)
    assert (error.code, error.retryable) == ("DURABILITY_FAILED", True)
    assert "pending" in str(error)
    house.backend.down = None
    await agent.cancel()
    assert len(house.backend.shelf["a"].events) == 2


async def test_cancelling_what_nobody_has_sent(house: House) -> None:
    """DESIGN 3: a cancellation that drops nothing does not wait for a disk that hangs."""
    agent = await house.runtime.agents.create(id="a")
    house.executor.shut()
    async with asyncio.timeout(10):
        await agent.cancel()
    await house.executor.open()
