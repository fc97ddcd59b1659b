"""Children that start with an empty history."""

from __future__ import annotations

from .contract import InProcessSpec, ProviderCapabilities, ResolvedRequest

_FRESH = InProcessSpec()


class SpawnProvider:
    """Makes a fresh child: it sees its prompt and nothing of the parent's conversation.

    It inherits the parent's working directory, lineage and model route. Source:
    spec providers section 4.

    Args:
        name: What it is registered under, so that two of one kind can live side by side.
    """

    capabilities = ProviderCapabilities(
        agent_options=True, output_schema=False, depth_limit=True, tool_filter=True, persona=True
    )
    inherits_parent_context = False

    def __init__(self, *, name: str = "spawn") -> None:
        self.name = name

    async def prepare_one_shot(self, request: ResolvedRequest) -> InProcessSpec:
        """A spec without a seed, the same for every request."""
        return _FRESH
