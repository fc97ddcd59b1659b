"""What a model brings along: its ceiling, its replay state, its connections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from broodline import ConfigurationError, Runtime, ScriptedModel
from broodline.actors.models import call
from broodline.actors.models import chunks as streamed
from broodline.actors.notice import RequestProposal
from broodline.messages.chunk import BlockEnd, Chunk, Finish, TextDelta
from broodline.messages.content import Text
from broodline.messages.payload import CallConfig
from broodline.messages.request import ModelRequest


def headers_of(agent: Any) -> list[Any]:
    return [event.data.header for event in agent.session.events if event.type == "request/header"]


async def asked(agent: Any, prompt: str = "prompt") -> None:
    agent.followup(prompt)
    await agent.when_idle()


async def test_the_models_ceiling_fills_a_gap(open_host: Any) -> None:
    """core 12.1: where nobody sets a ceiling the model's is asked with, and marked as its own."""
    model = ScriptedModel(each=["a", "b"], max_tokens=77)
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    await asked(agent)
    await asked(agent)
    (header,) = headers_of(agent)
    assert header.config.max_tokens == 77
    assert header.adapter_defaults == {"maxTokens": True}
    assert [request.config.max_tokens for request in model.requests] == [77, 77]
    assert agent.options.max_tokens is None


async def test_the_agents_ceiling_wins(open_host: Any) -> None:
    """core 12.1: a ceiling that the agent has is not the model's, and not marked."""
    model = ScriptedModel(each=["a"], max_tokens=77)
    host = await open_host(model)
    agent = (await host.agents.create(max_tokens=5)).agent
    await asked(agent)
    (header,) = headers_of(agent)
    assert (header.config.max_tokens, header.adapter_defaults) == (5, None)
    assert model.requests[0].config.max_tokens == 5


async def test_an_interceptors_ceiling_wins(open_host: Any) -> None:
    """core 12.1: the default comes last, behind what interceptors of a request set."""
    model = ScriptedModel(each=["a", "b"], max_tokens=77)
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    await asked(agent)

    def propose(proposal: RequestProposal) -> CallConfig:
        assert proposal.config.max_tokens is None
        return replace(proposal.config, max_tokens=9)

    host.hooks.intercept("agent/request", propose)
    await asked(agent)
    found = [(header.config.max_tokens, header.adapter_defaults) for header in headers_of(agent)]
    assert found == [(77, {"maxTokens": True}), (9, None)]


@pytest.mark.parametrize("ceiling", [0, -1, True, 1.5, "many", 2**53])
def test_a_ceiling_that_is_none(ceiling: Any) -> None:
    """core 12.1: a model whose ceiling is no positive safe integer is refused when registered."""
    with pytest.raises(ConfigurationError, match="max_tokens"):
        Runtime(model=ScriptedModel(each=["a"], max_tokens=ceiling))


async def test_replay_state_comes_back(open_host: Any) -> None:
    """core 2.1: what a finish hands over stands in the message's source at the next request."""
    state = {"signatures": ["c2ln"]}
    finish = Finish("stop", replay_state=state)
    first: list[Chunk] = [TextDelta(0, "a"), BlockEnd(0, Text("a")), finish]
    model = ScriptedModel(shared=[streamed(first), "b"])
    host = await open_host(model)
    agent = (await host.agents.create()).agent
    await asked(agent)
    await asked(agent)
    said = [m for m in model.requests[1].messages if type(m).__name__ == "AssistantMessage"]
    expected = {"kind": "model", "provider": "scripted", "model": "scripted", "replayState": state}
    assert [message.source for message in said] == [expected]
    assert "replayState" not in agent.session.messages()[-1].source


class Connected:
    """A model that counts how often it is told to let go."""

    provider = "connected"
    model = "connected"

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        yield TextDelta(0, "a")
        yield Finish("stop")

    async def aclose(self) -> None:
        self.closed += 1
        if self.failure is not None:
            raise self.failure


async def test_a_runtime_closes_its_models_once() -> None:
    """DESIGN 2: leaving a runtime closes every model it had, under however many names."""
    first, second, gone = Connected(), Connected(), Connected()
    async with Runtime(model=first) as runtime:
        runtime.models.register(second, providers=["two", "three"])
        runtime.models.register(gone, providers=["gone"]).dispose()
    assert [first.closed, second.closed, gone.closed] == [1, 1, 1]


async def test_a_model_that_fails_to_close_keeps_no_other_open() -> None:
    """DESIGN 2: a failure while closing is raised at the end, and all the rest is closed."""
    broken, sound = Connected(OSError("stuck")), Connected()
    with pytest.raises(ExceptionGroup) as told:
        async with Runtime(model=broken) as runtime:
            runtime.models.register(sound, providers=["sound"])
    assert told.value.subgroup(OSError) is not None
    assert sound.closed == 1


def test_a_close_that_is_no_coroutine_is_refused() -> None:
    """DESIGN 8: a model whose aclose could not be awaited is refused before anything starts."""

    class Wrong(ScriptedModel):
        def aclose(self) -> None:
            """Not async."""

    with pytest.raises(ConfigurationError, match="aclose of Wrong"):
        Runtime(model=Wrong(each=[call("x")]))
