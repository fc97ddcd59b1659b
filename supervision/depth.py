"""How deep in the tree a child may sit: pure rules over plain values.

Source: spec service section 8.
"""

from __future__ import annotations

from ..messages.errors import DepthRangeError, DepthTypeError, SubagentDepthError
from ..messages.lossless import SAFE_INTEGER
from ..messages.plain import quoted


def is_depth(value: object) -> bool:
    """Whether `value` is an int in 0..2**53-1; a bool and a float never are."""
    return type(value) is int and 0 <= value <= SAFE_INTEGER


def check_max_depth(max_depth: object) -> None:
    """Refuse a malformed ceiling; None is no ceiling.

    Raises:
        DepthTypeError: If it is neither None nor an int in 0..2**53-1.
    """
    if max_depth is not None and not is_depth(max_depth):
        raise DepthTypeError(
            f"max_depth must be an integer from 0 to {SAFE_INTEGER}, not {quoted(max_depth)}; "
            "leave it out for no limit"
        )


def effective_depth(header_depth: object, runtime_depth: object) -> int:
    """Where an agent sits: the deeper of what its header and its options say; None is 0.

    Raises:
        DepthTypeError: If one of them is neither None nor an int in 0..2**53-1.
    """
    for name, value in (("delegation_depth", header_depth), ("subagent_depth", runtime_depth)):
        if value is not None and not is_depth(value):
            raise DepthTypeError(
                f"{name} of the parent must be a safe integer, not {quoted(value)}"
            )
    return max(header_depth or 0, runtime_depth or 0)  # type: ignore[call-overload, no-any-return]


def child_depth(header_depth: object, runtime_depth: object, max_depth: int | None) -> int:
    """Where a new child would sit, checked against the ceiling.

    Args:
        header_depth: The parent's recorded depth, or None.
        runtime_depth: The parent's ``subagent_depth`` option, or None; deepens, never lifts.
        max_depth: A checked ceiling, or None for none.

    Raises:
        DepthTypeError: If one of the parent's depths is malformed.
        DepthRangeError: If the parent sits at 2**53-1 already.
        SubagentDepthError: If the child would sit deeper than `max_depth`.
    """
    depth = effective_depth(header_depth, runtime_depth) + 1
    if depth > SAFE_INTEGER:
        raise DepthRangeError(f"no child can sit below depth {SAFE_INTEGER}")
    if max_depth is not None and depth > max_depth:
        raise SubagentDepthError(depth, max_depth)
    return depth
