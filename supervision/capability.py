"""Whether a provider can do what a request asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..messages.errors import SubagentError, SubagentErrorCode

if TYPE_CHECKING:
    from ..providers.contract import SubagentProvider, SubagentRequest


_FIELDS = {
    "agentOptions": "agent_options",
    "outputSchema": "output_schema",
    "depthLimit": "max_depth",
    "toolFilter": "tool_filter",
    "persona": "persona",
}
"""What a user wrote, by the wire name of the capability."""


def missing_capability(provider: SubagentProvider, request: SubagentRequest) -> str | None:
    """The wire name of the first requested capability that the provider lacks, or None.

    The order is fixed; a field counts as requested when it is not None, so an empty
    persona and a `max_depth` of 0 do. Source: DESIGN section 4.
    """
    can = provider.capabilities
    if request.agent_options is not None and not can.agent_options:
        return "agentOptions"
    if request.output_schema is not None and not can.output_schema:
        return "outputSchema"
    if request.max_depth is not None and not can.depth_limit:
        return "depthLimit"
    if request.tool_filter is not None and not can.tool_filter:
        return "toolFilter"
    if request.persona is not None and not can.persona:
        return "persona"
    return None


def check_capabilities(provider: SubagentProvider, request: SubagentRequest) -> None:
    """Refuse a request that the provider cannot fulfil.

    Raises:
        SubagentError: ``UNSUPPORTED_CAPABILITY``, naming the provider and the first
            capability it lacks.
    """
    missing = missing_capability(provider, request)
    if missing is not None:
        raise SubagentError(
            f"provider {provider.name!r} does not support {_FIELDS[missing]} in this version; "
            f"leave it out of the request or choose another provider (capability {missing})",
            code=SubagentErrorCode.UNSUPPORTED_CAPABILITY,
            details={"provider": provider.name, "capability": missing},
        )
