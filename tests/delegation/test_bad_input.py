"""Requests of the wrong kind: refused through the reply, by name, with nothing made."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.messages.content import Text
from broodline.messages.errors import (
    BroodlineError,
    ConfigurationError,
    DepthTypeError,
    SubagentError,
    UnsupportedSchemaError,
)
from broodline.messages.options import AgentOptions
from broodline.messages.payload import ToolFilter
from broodline.providers.contract import InProcessSpec, SubagentRequest
from broodline.supervision.tool import SubagentTool


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    def __hash__(self) -> int:
        raise RuntimeError("no")


class Word(str):
    __slots__ = ()


async def refused(runtime: Any, name: Any, request: Any) -> BaseException:
    """What the reply of a start is settled with; the call itself never raises."""
    reply = runtime.subagents.start(name, request)
    with pytest.raises(BroodlineError) as caught:
        await reply
    return caught.value


def say(value: object) -> str:
    """A name for a case."""
    return type(value).__name__


@pytest.mark.parametrize("request_", [None, {}, "p", 5, object()], ids=say)
async def test_no_request(open_runtime: Any, census: Any, request_: Any) -> None:
    """DESIGN 2: what is no request is refused through the reply, not by raising."""
    runtime = await open_runtime()
    error = await refused(runtime, "spawn", request_)
    assert isinstance(error, ConfigurationError)
    assert "SubagentRequest" in str(error)
    assert census(runtime) == (0, 0, 0)


@pytest.mark.parametrize("signal", [5, "x", False, object()], ids=say)
async def test_no_signal(open_runtime: Any, census: Any, signal: Any) -> None:
    """DESIGN 2: a signal that is none is refused through the reply."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    error = await refused(runtime, "spawn", SubagentRequest("p", root, signal=signal))
    assert isinstance(error, ConfigurationError)
    assert "signal" in str(error)
    assert census(runtime) == (1, 1, 0)


async def test_no_parent(open_runtime: Any) -> None:
    """service 1: an id or anything else that is no agent is refused as a parent, saying why."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    lookalike = SimpleNamespace(id=root.id, closing=False)
    references: tuple[Any, ...] = (root.id, None, 5, runtime, lookalike, Unprintable())
    for parent in references:
        error = await refused(runtime, "spawn", SubagentRequest("p", parent))
        assert isinstance(error, ConfigurationError)
        assert "parent" in str(error)


async def test_forged_parent(open_runtime: Any) -> None:
    """service 1: a copy of a live agent is not that agent."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    error = await refused(runtime, "spawn", SubagentRequest("p", copy.copy(root.agent)))
    assert isinstance(error, SubagentError)
    assert error.code == "UNAUTHORIZED"


@pytest.mark.parametrize("name", [None, 5, [], {}, b"spawn", Unprintable()], ids=say)
async def test_no_name(open_runtime: Any, name: Any) -> None:
    """service PR-8: what can be no name names no provider."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    error: Any = await refused(runtime, name, SubagentRequest("p", root))
    assert error.code == "NO_PROVIDER"
    assert runtime.subagents.get(name) is None
    assert error.to_dict()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", None),
        ("prompt", {"type": "text"}),
        ("prompt", [Text("a"), 5]),
        ("prompt", "\ud800"),
        ("label", 5),
        ("label", []),
        ("label", "\ud800"),
        ("persona", 5),
        ("persona", "\ud800"),
        ("persona", lambda _context: "a function"),
        ("agent_options", {}),
        ("agent_options", {"model": "m"}),
        ("agent_options", False),
        ("agent_options", AgentOptions(provider=5)),  # type: ignore[arg-type]
        ("agent_options", AgentOptions(model=[])),  # type: ignore[arg-type]
        ("agent_options", AgentOptions(max_tokens=0)),
        ("agent_options", AgentOptions(max_tokens=True)),
        ("agent_options", AgentOptions(max_tokens=2**53)),
        ("agent_options", AgentOptions(reasoning_effort=5)),  # type: ignore[arg-type]
        ("tool_filter", {}),
        ("tool_filter", {"allow": []}),
        ("tool_filter", "subagent"),
        ("tool_filter", False),
        ("tool_filter", ToolFilter()),
        ("tool_filter", ToolFilter(allow="subagent")),  # type: ignore[arg-type]
        ("tool_filter", ToolFilter(allow=5)),  # type: ignore[arg-type]
        ("tool_filter", ToolFilter(deny=(None,))),  # type: ignore[arg-type]
        ("max_depth", Unprintable()),
    ],
)
async def test_bad_field(
    open_runtime: Any, stub: Any, census: Any, ledger: Any, field: str, value: Any
) -> None:
    """providers 1: a malformed field is refused before the provider; no run, child or event."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    told = ledger(runtime)
    fields: dict[str, Any] = {"prompt": "p", "parent": root, field: value}
    error = await refused(runtime, "stub", SubagentRequest(**fields))
    assert isinstance(error, ConfigurationError)
    assert provider.requests == []
    assert told.said == []
    assert census(runtime) == (1, 1, 0)


async def test_words_become_plain(open_runtime: Any, stub: Any) -> None:
    """service DE-2: a label of a class of its own is recorded as the text that it holds."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    request = SubagentRequest(Word("p"), root, label=Word("l"), persona=Word("You are p."))
    run = await runtime.subagents.start("stub", request)
    seen = provider.requests[0]
    kinds = [type(seen.label), type(seen.descriptor.label), type(seen.persona)]
    assert [*kinds, type(run.label), type(seen.prompt[0].text)] == [str] * 5


async def test_filter_is_snapshotted(open_runtime: Any, stub: Any) -> None:
    """providers 1: a list in a filter that the caller changes later changes no request."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    names: Any = []
    await runtime.subagents.start("stub", SubagentRequest("p", root, tool_filter=ToolFilter(names)))
    names.append("x")
    assert provider.requests[0].tool_filter == ToolFilter(())


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array"},
        {"type": "object", "$ref": "#"},
        {"type": "object", "oneOf": []},
        {"type": "object", "required": ["undeclared"]},
        "object",
        5,
    ],
)
async def test_schema(open_runtime: Any, stub: Any, census: Any, schema: Any) -> None:
    """service PR-12, providers #60, #62, #66: a schema outside the subset refuses the start."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    error = await refused(runtime, "stub", SubagentRequest("p", root, output_schema=schema))
    assert isinstance(error, UnsupportedSchemaError)
    assert error.code == "UNSUPPORTED_SCHEMA"
    assert provider.requests == []
    assert census(runtime) == (1, 1, 0)


async def test_schema_behind_the_ceiling(open_runtime: Any, stub: Any) -> None:
    """service PR-12: with both malformed, the ceiling is named."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    runtime.subagents.register(stub())
    malformed: Any = {"type": "array"}
    request = SubagentRequest("p", root, output_schema=malformed, max_depth=-1)
    assert isinstance(await refused(runtime, "stub", request), DepthTypeError)


async def test_schema_is_snapshotted(open_runtime: Any, stub: Any) -> None:
    """service PR-13: neither provider nor caller can change the schema under the other."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    runtime.subagents.register(provider)
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    await runtime.subagents.start("stub", SubagentRequest("p", root, output_schema=schema))
    schema["properties"]["late"] = {"type": "string"}
    seen = provider.requests[0].output_schema
    assert seen == {"type": "object", "properties": {}}
    with pytest.raises(TypeError):
        seen["properties"]["late"] = 1


@pytest.mark.parametrize(
    "settings",
    [
        {"provider": 5},
        {"provider": []},
        {"name": 5},
        {"name": ""},
        {"persona": 5},
        {"agent_options": {}},
        {"agent_options": AgentOptions(max_tokens=-1)},
        {"tool_filter": {}},
        {"tool_filter": {"allow": []}},
        {"tool_filter": ToolFilter(allow="abc")},  # type: ignore[arg-type]
        {"max_depth": Unprintable()},
        {"result_limit": True},
    ],
)
def test_tool_settings(settings: dict[str, Any]) -> None:
    """providers 10: a malformed setting is refused when the tool is made."""
    with pytest.raises(ConfigurationError):
        SubagentTool(**settings)


@pytest.mark.parametrize(
    "part",
    [
        {"name": 5},
        {"name": None},
        {"name": "\ud800"},
        {"capabilities": {}},
        {"capabilities": None},
        {"prepare_one_shot": "spec"},
    ],
)
async def test_no_provider(open_runtime: Any, stub: Any, part: dict[str, Any]) -> None:
    """service 3: a provider whose parts are not of their kind is refused; nothing is told."""
    runtime = await open_runtime()
    told: list[Any] = []
    runtime.hooks.observe("subagent/provider-added", told.append)
    provider = stub()
    vars(provider).update(part)
    with pytest.raises(ConfigurationError):
        runtime.subagents.register(provider)
    assert runtime.subagents.list() == ("spawn",)
    assert told == []


async def test_provider_that_cannot_say_what_it_is(open_runtime: Any) -> None:
    """service 3: a provider whose name cannot be read is refused, with the cause."""

    class Shy:
        capabilities = None
        inherits_parent_context = False

        @property
        def name(self) -> str:
            raise OSError("shy")

        async def prepare_one_shot(self, _request: Any) -> InProcessSpec:
            return InProcessSpec()

    runtime = await open_runtime()
    shy: Any = Shy()
    with pytest.raises(ConfigurationError) as caught:
        runtime.subagents.register(shy)
    assert isinstance(caught.value.__cause__, OSError)


async def test_provider_that_changes_its_name(open_runtime: Any, stub: Any) -> None:
    """service 6: events and descriptor carry the name that the provider was chosen by."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    provider = stub()
    registration = runtime.subagents.register(provider)
    provider.name = "other"
    run = await runtime.subagents.start("stub", SubagentRequest("p", root))
    assert run.provider == "stub"
    assert provider.requests[0].descriptor.provider == "stub"
    registration.dispose()
    assert runtime.subagents.list() == ("spawn",)


async def test_no_driver(open_runtime: Any) -> None:
    """DESIGN 4: what is no class of specs, or no driver, is refused at once."""
    runtime = await open_runtime()
    with pytest.raises(ConfigurationError):
        runtime.subagents.register_driver("spec", object())
    with pytest.raises(ConfigurationError):
        runtime.subagents.register_driver(dict, object())


async def test_catalog_of_no_agent(open_runtime: Any) -> None:
    """DESIGN 5 catalogue: it is asked for by an agent or a handle; an id is refused, saying so."""
    runtime = await open_runtime()
    root = await runtime.agents.create()
    with pytest.raises(ConfigurationError, match="parent"):
        runtime.subagents.catalog(root.id)
