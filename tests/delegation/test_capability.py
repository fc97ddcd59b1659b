"""Whether a provider can do what is asked: pure checks in a fixed order."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from broodline.messages.errors import SubagentError
from broodline.messages.options import AgentOptions
from broodline.messages.payload import ToolFilter
from broodline.providers.contract import (
    InProcessSpec,
    ProviderCapabilities,
    ResolvedRequest,
    SubagentProvider,
    SubagentRequest,
)
from broodline.providers.spawn import SpawnProvider
from broodline.supervision.capability import check_capabilities, missing_capability

NOTHING = ProviderCapabilities()
PARENT: Any = object()
BARE = SubagentRequest("p", PARENT)
ASKED: list[tuple[str, str, str, Any]] = [
    ("agentOptions", "agent_options", "agent_options", AgentOptions()),
    ("outputSchema", "output_schema", "output_schema", {"type": "object"}),
    ("depthLimit", "depth_limit", "max_depth", 0),
    ("toolFilter", "tool_filter", "tool_filter", ToolFilter(deny=("x",))),
    ("persona", "persona", "persona", ""),
]


class Provider:
    name = "limited"
    inherits_parent_context = False

    def __init__(self, capabilities: ProviderCapabilities) -> None:
        self.capabilities = capabilities

    async def prepare_one_shot(self, request: ResolvedRequest) -> InProcessSpec:
        return InProcessSpec()


@pytest.mark.parametrize(("name", "flag", "field", "value"), ASKED)
def test_each_capability(name: str, flag: str, field: str, value: Any) -> None:
    """service PR-9, PR-11: each requested field needs its flag; empty and zero are requests."""
    request = replace(BARE, **{field: value})
    with pytest.raises(SubagentError) as caught:
        check_capabilities(Provider(NOTHING), request)
    assert caught.value.code == "UNSUPPORTED_CAPABILITY"
    assert "'limited'" in str(caught.value)
    assert name in str(caught.value)
    check_capabilities(Provider(replace(NOTHING, **{flag: True})), request)


def test_order() -> None:
    """service PR-10: the first lacking capability in the order of DESIGN 4 is the one named."""
    request = replace(BARE, **{field: value for _, _, field, value in ASKED})
    granted = NOTHING
    for name, flag, _, _ in ASKED:
        assert missing_capability(Provider(granted), request) == name
        granted = replace(granted, **{flag: True})
    assert missing_capability(Provider(granted), request) is None


def test_only_requested() -> None:
    """providers 1: a provider without any capability serves a request that asks for none."""
    assert missing_capability(Provider(NOTHING), BARE) is None


def test_spawn_tells_the_truth() -> None:
    """DESIGN 4: spawn has every flag whose thing works; structured output is not there yet."""
    assert SpawnProvider().capabilities == ProviderCapabilities(
        agent_options=True, output_schema=False, depth_limit=True, tool_filter=True, persona=True
    )
    assert SpawnProvider().inherits_parent_context is False
    assert not hasattr(SpawnProvider, "prepare_continuable")


def test_capabilities_are_frozen() -> None:
    """service OP-1: nobody can change what a provider advertises."""
    with pytest.raises(FrozenInstanceError):
        NOTHING.persona = True  # type: ignore[misc]


def test_spawn_is_a_provider() -> None:
    """providers 4: spawn prepares the same seedless spec for every request, under any name."""
    provider: SubagentProvider = SpawnProvider(name="other")
    assert isinstance(provider, SubagentProvider)
    assert provider.name == "other"
    assert SpawnProvider().name == "spawn"


async def test_spawn_spec() -> None:
    """providers 4: a spawned child starts without a seed."""
    resolved: Any = None
    assert await SpawnProvider().prepare_one_shot(resolved) == InProcessSpec(seed=None)
