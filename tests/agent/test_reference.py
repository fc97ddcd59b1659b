"""Agents as actors: what goes through their `ActorRef` and their handle."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pykka
import pytest

from broodline.actors.host import AgentHost
from broodline.actors.models import ScriptedModel, hang, text
from broodline.actors.settings import AgentSettings
from broodline.actors.stores.memory import MemoryStore
from broodline.messages.content import text_of
from broodline.messages.errors import ActorDeadError, DeliveryError, MailboxFullError


async def test_a_told_text_is_a_followup(open_host: Any, ends_of: Any) -> None:
    """DESIGN 2: what is told to an agent is in the inbox that its log folds to, at once."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    agent = (await host.agents.create()).agent
    agent.actor_ref.tell("prompt")
    assert [text_of(m.content) for m in agent.inbox.next_turn] == ["prompt"]
    await agent.when_idle()
    assert ends_of(agent) == ["completed"]


async def test_an_ask_is_answered_with_the_message_id(open_host: Any) -> None:
    """DESIGN 2: an ask of an agent is answered with the id of the accepted message."""
    host = await open_host(ScriptedModel(shared=[text("ok")]))
    agent = (await host.agents.create()).agent
    message_id = await agent.actor_ref.ask(agent.message("prompt", id="m1"), block=False)
    assert message_id == "m1"
    with pytest.raises(DeliveryError):
        await agent.actor_ref.ask(agent.message("again", id="m1"), block=False)
    await agent.when_idle()


async def test_a_signal_overtakes_the_inbox(open_host: Any) -> None:
    """DESIGN 2: an agent deep in a model call still answers what it is doing, and since when."""
    model = ScriptedModel(shared=[hang("thinking")])
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    streamed = asyncio.Event()
    agent.session.observe(lambda e: streamed.set() if e.type == "assistant/chunk" else None)
    agent.actor_ref.tell("one")
    agent.actor_ref.tell("two")
    await streamed.wait()
    proxy = agent.actor_ref.proxy()
    assert await proxy.phase == "model"
    assert await proxy.phase_since <= host.clock.monotonic()
    assert await proxy.status == "running"


async def test_a_full_inbox_refuses_ask_and_tell(open_host: Any) -> None:
    """DESIGN 2: at its bound an agent's inbox answers MailboxFullError and logs nothing."""
    host = await open_host(max_pending=1)
    agent = (await host.agents.create()).agent
    agent.inject("one")
    length = agent.session.seq
    with pytest.raises(MailboxFullError):
        await agent.actor_ref.ask("two", block=False)
    with pytest.raises(MailboxFullError):
        agent.followup("three")
    assert agent.session.seq == length
    assert agent.status == "idle"


async def test_stop_through_the_reference_disposes(open_host: Any) -> None:
    """DESIGN 2: stopping an agent's reference is its disposal; a second stop says False."""
    host = await open_host()
    agent = (await host.agents.create(id="a")).agent
    reference = agent.actor_ref
    assert await reference.stop(block=False) is True
    assert host.agents.get("a") is None
    assert not reference.is_alive()
    assert await reference.stop(block=False) is False
    with pytest.raises(pykka.ActorDeadError):
        reference.tell("late")


async def test_a_reference_kept_by_an_old_door_is_dead(open_host: Any) -> None:
    """DESIGN 2: an ask that meets a disposed agent is answered with ActorDeadError."""
    host = await open_host()
    handle = await host.agents.create()
    inbox = handle.agent.actor_inbox
    reference = handle.agent.actor_ref
    await handle.dispose()
    assert inbox.empty()
    with pytest.raises(ActorDeadError):
        await reference.ask("late", block=False)


def test_a_handle_works_from_any_thread() -> None:
    """DESIGN 2: followup, steer, inject, cancel, when_idle and dispose work from plain threads."""
    model = ScriptedModel(each=[text("ok")] * 9)
    settings = AgentSettings(check_invariants=True)
    with AgentHost(store=MemoryStore(), settings=settings, retry=None, default_model=model) as host:
        handle = host.agents.create().result(timeout=10)
        barrier = threading.Barrier(3)

        def send(name: str) -> None:
            barrier.wait()
            for number in range(3):
                handle.followup(f"{name}{number}").result(timeout=10)

        threads = [threading.Thread(target=send, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        handle.when_idle().result(timeout=10)
        handle.inject("context").result(timeout=10)
        handle.cancel().result(timeout=10)
        said = [
            text_of(e.data.message.content)  # type: ignore[union-attr]
            for e in handle.agent.session.events
            if e.type == "user/message"
        ]
        for name in "abc":
            assert [s for s in said if s[0] == name] == [f"{name}{n}" for n in range(3)]
        assert len(handle.agent.inbox) == 0
        handle.dispose().result(timeout=10)
        assert host.agents.list() == ()
