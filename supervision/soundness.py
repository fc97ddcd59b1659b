"""Whether the fields of a request are of the kind they have to be, before anything is made."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from ..actors.agent import Agent
from ..actors.cancellation import CancellationToken
from ..actors.handle import agent_of
from ..messages.errors import ConfigurationError
from ..messages.lossless import type_name
from ..messages.options import AgentOptions, check_options
from ..messages.payload import ToolFilter
from ..messages.plain import plain_text
from ..providers.contract import SubagentRequest


def request_fault(request: object) -> ConfigurationError | None:
    """Why `request` cannot even be looked at, or None."""
    if not isinstance(request, SubagentRequest):
        return ConfigurationError(f"a start takes a SubagentRequest, not {type_name(request)}")
    signal = request.signal
    if not isinstance(signal, CancellationToken | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        return ConfigurationError(f"signal must be a CancellationToken, not {type_name(signal)}")
    return None


def parent_of(reference: object) -> Agent:
    """The agent that delegates.

    Raises:
        ConfigurationError: If the reference is neither an agent nor a handle.
    """
    return agent_of(reference, "parent")


def sound_text(value: object, subject: str) -> str | None:
    """`plain_text` of what may be left out."""
    return None if value is None else plain_text(value, subject)


def sound_options(options: object) -> AgentOptions | None:
    """The options if each set one can be asked for.

    Raises:
        ConfigurationError: Naming what is wrong with them.
    """
    if options is None:
        return None
    if not isinstance(options, AgentOptions):
        raise ConfigurationError(f"agent_options must be AgentOptions, not {type_name(options)}")
    check_options(options.provider, options.model, options.max_tokens, options.reasoning_effort)
    return options


def sound_filter(chosen: object) -> ToolFilter | None:
    """The filter, or a copy of it that nobody can change.

    Raises:
        ConfigurationError: If it is no `ToolFilter`, has neither list, or a list
            holds anything but names.
    """
    if chosen is None:
        return None
    if not isinstance(chosen, ToolFilter):
        raise ConfigurationError(
            f"tool_filter must be a ToolFilter, not {type_name(chosen)}; "
            "write ToolFilter(allow=(...)) or ToolFilter(deny=(...))"
        )
    if chosen.allow is None and chosen.deny is None:
        raise ConfigurationError("a tool filter needs allow, deny or both, or leave it out")
    return ToolFilter(_names(chosen.allow, "allow"), _names(chosen.deny, "deny"))


def _names(names: object, subject: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    if not isinstance(names, tuple | list | set | frozenset):
        raise ConfigurationError(
            f"{subject} of a tool filter must be a tuple of tool names, not {type_name(names)}"
        )
    held = cast("Collection[object]", names)
    listed = [plain_text(name, f"a name in {subject} of a tool filter") for name in held]
    return tuple(listed if isinstance(names, tuple | list) else sorted(listed))
