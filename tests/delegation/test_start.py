"""The checks of a start, in their order, and what a provider is handed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from broodline.actors.cancellation import CancellationToken
from broodline.messages.content import Text
from broodline.messages.errors import (
    ConfigurationError,
    DepthTypeError,
    OperationCancelledError,
    SubagentDepthError,
    SubagentError,
)
from broodline.messages.options import AgentOptions
from broodline.messages.payload import Descriptor, ToolFilter
from broodline.providers.contract import ProviderCapabilities, SubagentRequest
from broodline.supervision.runtime import Runtime


def when_done(reply: Any, callback: Callable[[Any], Any]) -> None:
    """Have `callback` called with the settled reply, at once."""
    reply.add_done_callback(callback)


async def refused(runtime: Runtime, name: str, request: SubagentRequest) -> BaseException:
    """What a start is refused with."""
    try:
        await runtime.subagents.start(name, request)
    except BaseException as error:
        return error
    raise AssertionError("the start was not refused")


async def test_unknown_provider(open_runtime: Any, ledger: Any, census: Any) -> None:
    """service PR-8, providers #1: an unknown name is refused before any other check."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    told = ledger(runtime)
    malformed: Any = 1.5
    error: Any = await refused(runtime, "nobody", SubagentRequest("p", root, max_depth=malformed))
    assert error.code == "NO_PROVIDER"
    assert "'nobody'" in str(error)
    assert "'spawn'" in str(error)
    assert told.said == []
    assert census(runtime) == (1, 1, 0)


@pytest.mark.parametrize(
    "asked",
    [
        {"agent_options": AgentOptions(max_tokens=5)},
        {"output_schema": {"type": "object"}},
        {"max_depth": 0},
        {"tool_filter": ToolFilter(deny=("x",))},
        {"persona": ""},
    ],
)
async def test_unsupported(
    asked: dict[str, Any], open_runtime: Any, stub: Any, ledger: Any
) -> None:
    """service PR-9, PR-11, providers #2: a lacking capability is refused before the provider."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub(capabilities=ProviderCapabilities())
    runtime.subagents.register(provider)
    told = ledger(runtime)
    error: Any = await refused(runtime, "stub", replace(SubagentRequest("p", root), **asked))
    assert error.code == "UNSUPPORTED_CAPABILITY"
    assert provider.requests == []
    assert told.said == []


async def test_structured_output_is_not_there_yet(open_runtime: Any) -> None:
    """DESIGN 4: spawn refuses a structured result, because the thing does not work yet."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    request = SubagentRequest("p", root, output_schema={"type": "object"}, max_depth=0)
    error: Any = await refused(runtime, "spawn", request)
    assert error.code == "UNSUPPORTED_CAPABILITY"
    assert "outputSchema" in str(error)


@pytest.mark.parametrize("ceiling", [True, "1", 1.5, -1, float("nan"), float("inf"), 2**53])
async def test_malformed_ceiling(ceiling: Any, open_runtime: Any, stub: Any) -> None:
    """service DP-1, PR-12, providers #4: a malformed ceiling is refused before the provider."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    error = await refused(runtime, "stub", SubagentRequest("p", root, max_depth=ceiling))
    assert isinstance(error, DepthTypeError)
    assert provider.requests == []


async def test_capability_before_ceiling(open_runtime: Any, stub: Any) -> None:
    """service PR-12: capabilities are checked before the shape of the ceiling."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    runtime.subagents.register(stub(capabilities=ProviderCapabilities()))
    ceiling: Any = "1"
    error: Any = await refused(runtime, "stub", SubagentRequest("p", root, max_depth=ceiling))
    assert error.code == "UNSUPPORTED_CAPABILITY"


async def test_ceiling_zero(open_runtime: Any, census: Any, stub: Any) -> None:
    """service DP-2, providers #29: a ceiling of 0 under a root refuses an attempt at depth 1."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    error: Any = await refused(runtime, "stub", SubagentRequest("p", root, max_depth=0))
    assert isinstance(error, SubagentDepthError)
    assert (error.attempted_depth, error.max_depth) == (1, 0)
    assert provider.requests == []
    assert census(runtime) == (1, 1, 0)


async def test_request_is_a_new_object(open_runtime: Any, stub: Any) -> None:
    """service PR-13: the provider gets a new object with the descriptor; the caller's stays."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    request = SubagentRequest("do it", root, label="", persona="P", max_depth=4)
    before = replace(request)
    run = await runtime.subagents.start("stub", request)
    (given,) = provider.requests
    assert request == before
    assert given.descriptor == Descriptor("one-shot", "stub", "", version=3)
    assert given.prompt == (Text("do it"),)
    assert given.parent is root.agent
    assert (given.label, given.persona, given.max_depth, given.depth) == ("", "P", 4, 1)
    assert given.output_schema is None
    await run.dispose()


async def test_request_is_frozen(open_runtime: Any) -> None:
    """providers 1: nobody can change a request after it was handed over."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    with pytest.raises(FrozenInstanceError):
        SubagentRequest("p", root).label = "x"  # type: ignore[misc]


async def test_agent_as_parent(open_runtime: Any) -> None:
    """DESIGN 4: an agent is taken as parent wherever its handle is."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    run = await runtime.subagents.start("spawn", SubagentRequest("p", root.agent))
    assert run.parent is root.agent
    assert runtime.subagents.catalog(root) == runtime.subagents.catalog(root.agent)
    await run.dispose()


@pytest.mark.parametrize("label", [3, b"x", ["x"]])
async def test_malformed_label(label: Any, open_runtime: Any, stub: Any) -> None:
    """service DE-2: what cannot stand in a descriptor is refused before any child work."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    error = await refused(runtime, "stub", SubagentRequest("p", root, label=label))
    assert isinstance(error, ConfigurationError)
    assert provider.requests == []


async def test_malformed_prompt(open_runtime: Any, stub: Any) -> None:
    """providers 1: a prompt that is no content is refused before the provider."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    prompt: Any = 5
    assert isinstance(
        await refused(runtime, "stub", SubagentRequest(prompt, root)), ConfigurationError
    )
    assert provider.requests == []


async def test_provider_refuses(open_runtime: Any, stub: Any, ledger: Any, census: Any) -> None:
    """service OS-2, providers #5: what the provider raises reaches the caller, without events."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    error = ValueError("not today")
    runtime.subagents.register(stub(error))
    told = ledger(runtime)
    assert await refused(runtime, "stub", SubagentRequest("p", root)) is error
    assert told.said == []
    assert census(runtime) == (1, 1, 0)
    assert root.agent.session.seq == 0


async def test_provider_raises_plainly(open_runtime: Any, stub: Any, ledger: Any) -> None:
    """service OS-2: a provider that raises before it awaits anything is the same."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    error = ValueError("at once")

    def plain(_request: Any) -> Any:
        raise error

    provider.prepare_one_shot = plain
    runtime.subagents.register(provider)
    told = ledger(runtime)
    assert await refused(runtime, "stub", SubagentRequest("p", root)) is error
    assert told.said == []


async def test_signal_first(open_runtime: Any, stub: Any) -> None:
    """service OS-10, ER-1: a fired signal is looked at first; its very cause is raised."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    cause = KeyError("mine")
    token = CancellationToken()
    token.cancel(cause)
    error = await refused(runtime, "nobody", SubagentRequest("p", root, signal=token))
    assert error is cause
    assert await refused(runtime, "stub", SubagentRequest("p", root, signal=token)) is cause
    assert provider.requests == []


async def test_signal_with_a_plain_cause(open_runtime: Any) -> None:
    """service ER-1: a cause that is no exception is carried by the error."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    token = CancellationToken()
    reason = object()
    token.cancel(reason)
    error = await refused(runtime, "spawn", SubagentRequest("p", root, signal=token))
    assert isinstance(error, OperationCancelledError)
    assert error.reason is reason


async def test_parent_before_provider(open_runtime: Any) -> None:
    """service 26 W14: a stale caller learns nothing of what there is."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    await root.dispose()
    error: Any = await refused(runtime, "nobody", SubagentRequest("p", root))
    assert isinstance(error, SubagentError)
    assert error.code == "UNAUTHORIZED"
    assert root.id in str(error)


async def test_foreign_parent(open_runtime: Any) -> None:
    """service 1: only an exact live agent of this very runtime can delegate."""
    here, there = await open_runtime(), await open_runtime()
    stranger = await there.agents.create()
    error: Any = await refused(here, "spawn", SubagentRequest("p", stranger))
    assert error.code == "UNAUTHORIZED"


async def test_same_id_is_not_the_same_agent(open_runtime: Any) -> None:
    """service 1: an agent of the same id in another runtime is not the live one."""
    here, there = await open_runtime(), await open_runtime()
    await here.agents.create(id="twin")
    twin = await there.agents.create(id="twin")
    error: Any = await refused(here, "spawn", SubagentRequest("p", twin))
    assert error.code == "UNAUTHORIZED"


async def test_concurrent_preparations(open_runtime: Any, stub: Any, census: Any) -> None:
    """service PR-16, PR-17: a cancelled preparation leaves its sibling alone and nothing behind."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    gate, both = asyncio.Event(), asyncio.Barrier(3)

    async def parked(_request: Any) -> object:
        from broodline.providers.contract import InProcessSpec

        await both.wait()
        await gate.wait()
        return InProcessSpec()

    runtime.subagents.register(stub(parked))
    token = CancellationToken()
    doomed = runtime.subagents.start("stub", SubagentRequest("a", root, signal=token))
    sibling = runtime.subagents.start("stub", SubagentRequest("b", root))
    await both.wait()
    token.cancel(KeyError("off"))
    with pytest.raises(KeyError):
        await doomed
    assert census(runtime) == (1, 1, 0)
    gate.set()
    run = await sibling
    assert (await run.result).ok
    await run.dispose()
    assert [entry.id for entry in await runtime.store.list()] == [root.id, run.id]


async def test_starts_when_called(open_runtime: Any) -> None:
    """DESIGN 2: a start runs without being awaited; its reply may be taken later."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    reply = runtime.subagents.start("spawn", SubagentRequest("p", root))
    done = asyncio.Event()
    when_done(reply, lambda _reply: done.set())
    await done.wait()
    run = await reply
    await run.dispose()


async def test_closed_runtime(open_runtime: Any) -> None:
    """README of the spec on SV-1: a closed runtime answers CONTINUATION_UNAVAILABLE."""
    async with Runtime() as runtime:
        root = await runtime.agents.create()
    error: Any = await refused(runtime, "spawn", SubagentRequest("p", root))
    assert isinstance(error, SubagentError)
    assert error.code == "CONTINUATION_UNAVAILABLE"
    assert "Runtime" in str(error)


async def test_nothing_is_promised(open_runtime: Any) -> None:
    """service SV-5: there is no cancel, kill, resume or steer, and nothing continuable yet."""
    runtime = await open_runtime()
    for name in ("cancel", "kill", "resume", "steer", "start_continuable", "followup"):
        assert not hasattr(runtime.subagents, name)
