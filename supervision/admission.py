"""The checks of a one-shot start, in their order, before anything is made.

Source: DESIGN section 4, spec service sections 3, 5 and 8, providers section 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..actors.cancellation import CancellationToken
from ..messages.content import content_of
from ..messages.payload import Descriptor
from ..messages.schema import check_object_schema
from ..providers.contract import ResolvedRequest, SubagentProvider, SubagentRequest
from .capability import check_capabilities
from .depth import check_max_depth, child_depth
from .soundness import sound_filter, sound_options, sound_text

if TYPE_CHECKING:
    from ..actors.agent import Agent


def resolve(
    name: str,
    provider: SubagentProvider,
    request: SubagentRequest,
    parent: Agent,
    signal: CancellationToken,
) -> ResolvedRequest:
    """Check a request and make the object that the provider gets; the first failure wins.

    Args:
        name: What the provider is registered under.
        provider: Who is to make the child.
        request: What the caller asked for; left as it is.
        parent: The exact live parent.
        signal: What the provider and the driver are to watch.

    Raises:
        SubagentError: ``UNSUPPORTED_CAPABILITY``.
        UnsupportedSchemaError: If the schema is outside the subset or not of an object.
        DepthTypeError: If the ceiling or one of the parent's depths is malformed.
        DepthRangeError: If the parent sits at the deepest place there is.
        SubagentDepthError: If the child would sit deeper than the ceiling.
        ConfigurationError: If another field is not of its kind.
    """
    check_capabilities(provider, request)
    check_max_depth(request.max_depth)
    schema = request.output_schema
    if schema is not None:
        schema = check_object_schema(schema, subject="output_schema")
    depth = child_depth(
        parent.session.header.delegation_depth, parent.options.subagent_depth, request.max_depth
    )
    label = sound_text(request.label, "label")
    return ResolvedRequest(
        content_of(request.prompt),
        parent,
        Descriptor("one-shot", name, label),
        depth,
        signal,
        label,
        sound_options(request.agent_options),
        schema,
        request.max_depth,
        sound_filter(request.tool_filter),
        sound_text(request.persona, "persona"),
    )
