"""The checks of a one-shot start, in their order, before anything is made.

Source: DESIGN section 4, spec service sections 3, 5 and 8, providers section 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..actors.cancellation import CancellationToken
from ..messages.content import content_of
from ..messages.errors import ConfigurationError
from ..messages.payload import Descriptor
from ..providers.contract import ResolvedRequest, SubagentProvider, SubagentRequest
from .capability import check_capabilities
from .depth import check_max_depth, child_depth

if TYPE_CHECKING:
    from ..actors.agent import Agent


def resolve(
    provider: SubagentProvider, request: SubagentRequest, parent: Agent, signal: CancellationToken
) -> ResolvedRequest:
    """Check a request and make the object that the provider gets; the first failure wins.

    Args:
        provider: Who is to make the child.
        request: What the caller asked for; left as it is.
        parent: The exact live parent.
        signal: What the provider and the driver are to watch.

    Raises:
        SubagentError: ``UNSUPPORTED_CAPABILITY``.
        DepthTypeError: If the ceiling or one of the parent's depths is malformed.
        DepthRangeError: If the parent sits at the deepest place there is.
        SubagentDepthError: If the child would sit deeper than the ceiling.
        ConfigurationError: If the prompt or the label is malformed.
    """
    check_capabilities(provider, request)
    check_max_depth(request.max_depth)
    depth = child_depth(
        parent.session.header.delegation_depth, parent.options.subagent_depth, request.max_depth
    )
    return ResolvedRequest(
        content_of(request.prompt),
        parent,
        _describe(provider, request),
        depth,
        signal,
        request.label,
        request.agent_options,
        request.output_schema,
        request.max_depth,
        request.tool_filter,
        request.persona,
    )


def _describe(provider: SubagentProvider, request: SubagentRequest) -> Descriptor:
    _check_label(request.label)
    return Descriptor("one-shot", provider.name, request.label)


def _check_label(label: object) -> None:
    if label is not None and not isinstance(label, str):
        raise ConfigurationError(f"label must be a string, not {type(label).__name__}")
