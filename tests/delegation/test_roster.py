"""Which providers a runtime knows."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from broodline.messages.errors import ConfigurationError, SubagentError
from broodline.providers.contract import InProcessSpec, SubagentRequest
from broodline.providers.spawn import SpawnProvider
from broodline.supervision.runtime import Runtime
from broodline.supervision.tool import SubagentTool


async def test_register(open_runtime: Any, ledger: Any) -> None:
    """service PR-1: a registered provider is listed, found as itself, and told of once."""
    runtime = await open_runtime()
    told = ledger(runtime, "subagent/provider-added")
    provider = SpawnProvider(name="mine")
    runtime.subagents.register(provider)
    assert runtime.subagents.list() == ("spawn", "mine")
    assert runtime.subagents.get("mine") is provider
    assert told.said == [("subagent/provider-added", provider)]


async def test_remove(open_runtime: Any, ledger: Any) -> None:
    """service PR-2, IV-1: a removed provider is not found, and its known name is told once."""
    runtime = await open_runtime()
    told = ledger(runtime, "subagent/provider-removed")
    registration = runtime.subagents.register(SpawnProvider(name="mine"))
    registration.dispose()
    registration.dispose()
    assert runtime.subagents.get("mine") is None
    assert runtime.subagents.list() == ("spawn",)
    assert told.said == [("subagent/provider-removed", "mine")]


async def test_duplicate(open_runtime: Any, ledger: Any) -> None:
    """service PR-3, IV-1: a second one of a live name is refused and nothing changes."""
    runtime = await open_runtime()
    first = SpawnProvider(name="mine")
    runtime.subagents.register(first)
    told = ledger(runtime, "subagent/provider-added", "subagent/provider-removed")
    with pytest.raises(SubagentError, match="'mine'") as caught:
        runtime.subagents.register(SpawnProvider(name="mine"))
    assert caught.value.code == "DUPLICATE_PROVIDER"
    assert runtime.subagents.get("mine") is first
    assert told.said == []


async def test_name_is_free_again(open_runtime: Any) -> None:
    """service 3: a removed provider's name can be taken by another."""
    runtime = await open_runtime()
    runtime.subagents.register(SpawnProvider(name="mine")).dispose()
    second = SpawnProvider(name="mine")
    runtime.subagents.register(second)
    assert runtime.subagents.get("mine") is second


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


async def test_removal_listeners_are_contained(
    open_runtime: Any, settle: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """service PR-6: whatever one removal listener raises, the others run and disposal succeeds."""
    runtime = await open_runtime()
    heard: list[str] = []

    def plain(_name: str) -> None:
        raise ValueError("plain")

    async def later(_name: str) -> None:
        raise ValueError("later")

    def unspeakable(_name: str) -> None:
        raise Unspeakable

    for listener in (plain, later, unspeakable, heard.append):
        runtime.hooks.observe("subagent/provider-removed", listener)
    registration = runtime.subagents.register(SpawnProvider(name="mine"))
    with caplog.at_level(logging.ERROR):
        registration.dispose()
        await settle()
    assert heard == ["mine"]
    assert len(caplog.records) == 3


async def test_removal_keeps_runs(open_runtime: Any, census: Any) -> None:
    """service PR-7, providers #9: removal blocks new starts; a run settles and disposes."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    registration = runtime.subagents.register(SpawnProvider(name="mine"))
    run = await runtime.subagents.start("mine", SubagentRequest("p", root))
    registration.dispose()
    with pytest.raises(SubagentError, match="'mine'") as caught:
        await runtime.subagents.start("mine", SubagentRequest("p", root))
    assert caught.value.code == "NO_PROVIDER"
    assert (await run.result).ok
    await run.dispose()
    assert census(runtime) == (1, 1, 0)


async def test_empty_name(open_runtime: Any) -> None:
    """service PR-19: the registry itself takes an empty name."""
    runtime = await open_runtime()
    runtime.subagents.register(SpawnProvider(name=""))
    assert runtime.subagents.list() == ("spawn", "")


async def test_no_provider_at_all(open_runtime: Any) -> None:
    """service 3: what is no provider is refused, saying what it needs."""
    runtime = await open_runtime()
    for thing in (object(), SpawnProvider, 3):
        if thing is SpawnProvider:
            continue
        with pytest.raises(ConfigurationError, match="prepare_one_shot"):
            runtime.subagents.register(thing)


async def test_own_spawn(open_runtime: Any) -> None:
    """DESIGN 4: a provider of one's own may take the name spawn."""
    mine = SpawnProvider()
    runtime = await open_runtime(providers=[mine])
    assert runtime.subagents.get("spawn") is mine
    assert runtime.subagents.list() == ("spawn",)


async def test_no_model_visible_tool(open_runtime: Any) -> None:
    """service SV-6: the service itself registers no tool."""
    runtime = await open_runtime()
    assert runtime.tools.view(None).names == ()


def test_from_other_threads(stub: Any) -> None:
    """service PR-1, PR-2, DESIGN 2: whichever thread changes the roster, the loop tells of it."""
    told: list[tuple[str, int]] = []

    def listener(event: str) -> Any:
        return lambda _payload: told.append((event, threading.get_ident()))

    with Runtime(tools=[SubagentTool("stub")]) as runtime:
        loop_thread = runtime.settle_now(threading.get_ident).result()
        for event in ("added", "removed"):
            runtime.hooks.observe(f"subagent/provider-{event}", listener(event))
        registration = runtime.subagents.register(stub())
        assert runtime.subagents.list() == ("spawn", "stub")
        registration.dispose()
        assert runtime.subagents.list() == ("spawn",)
        runtime.settle_now(int).result()
    assert told == [("added", loop_thread), ("removed", loop_thread)]


def test_one_name_from_many_threads(stub: Any) -> None:
    """service PR-3: of many threads that register one name, exactly one is not refused."""
    with Runtime() as runtime:
        barrier = threading.Barrier(8)
        refused: list[str] = []

        def register() -> None:
            barrier.wait()
            try:
                runtime.subagents.register(stub())
            except SubagentError as error:
                refused.append(error.code)

        threads = [threading.Thread(target=register) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert refused == ["DUPLICATE_PROVIDER"] * 7


async def test_registrations_are_apart(open_runtime: Any, stub: Any, ledger: Any) -> None:
    """service PR-2, PR-3: a registration takes back its own provider once, never a later one."""
    runtime = await open_runtime()
    told = ledger(runtime, "subagent/provider-removed")
    first = runtime.subagents.register(stub())
    first.dispose()
    later = stub()
    runtime.subagents.register(later)
    first.dispose()
    assert runtime.subagents.get("stub") is later
    assert told.said == [("subagent/provider-removed", "stub")]


async def test_replaced_while_it_prepares(open_runtime: Any, stub: Any) -> None:
    """service PR-7, section 6: a start goes on with the provider it was admitted with."""
    asked, gate = asyncio.Event(), asyncio.Event()

    async def slow(_request: Any) -> object:
        asked.set()
        await gate.wait()
        return InProcessSpec()

    runtime = await open_runtime()
    root = await runtime.agents.create()
    registration = runtime.subagents.register(stub(slow))
    reply = runtime.subagents.start("stub", SubagentRequest("p", root))
    await asked.wait()
    registration.dispose()
    other = stub()
    runtime.subagents.register(other)
    gate.set()
    run = await reply
    assert (await run.result).ok
    assert run.provider == "stub"
    assert other.requests == []
