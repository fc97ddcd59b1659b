"""How deep a child may sit: every value of the domain."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.messages.errors import DepthRangeError, DepthTypeError, SubagentDepthError
from broodline.supervision.depth import check_max_depth, child_depth, effective_depth, is_depth

TOP = 2**53 - 1
MALFORMED: list[Any] = [
    float("nan"),
    1.5,
    -1,
    -0.0,
    1.0,
    float("inf"),
    2**53,
    "1",
    True,
    False,
    [],
    {},
]


@pytest.mark.parametrize("value", MALFORMED)
def test_malformed_ceiling(value: Any) -> None:
    """service DP-1, providers #4: a ceiling outside the domain is refused with its value."""
    with pytest.raises(DepthTypeError, match="max_depth") as caught:
        check_max_depth(value)
    assert repr(value) in str(caught.value)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("value", [None, 0, 1, TOP])
def test_wellformed_ceiling(value: int | None) -> None:
    """service 8: None is no ceiling, and both ends of the domain belong to it."""
    check_max_depth(value)


@given(st.one_of(st.integers(), st.floats(), st.booleans(), st.text(), st.none()))
def test_domain(value: Any) -> None:
    """service 8: a depth is an int of the safe range that is no bool, and nothing else."""
    wanted = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= TOP
    assert is_depth(value) is wanted


def test_ceiling_zero() -> None:
    """service DP-2, providers #29: a ceiling of 0 refuses a root's child as an attempt at 1."""
    with pytest.raises(SubagentDepthError) as caught:
        child_depth(None, None, 0)
    assert (caught.value.attempted_depth, caught.value.max_depth) == (1, 0)
    assert str(caught.value) == "subagent depth 1 exceeds maxDepth 0"


@pytest.mark.parametrize(
    ("header", "option", "child"),
    [(None, None, 1), (2, 1, 3), (1, 2, 3), (0, 0, 1), (None, 5, 6), (5, None, 6)],
)
def test_runtime_option_deepens(header: int | None, option: int | None, child: int) -> None:
    """service DP-3: the runtime's option may deepen an agent, never lift it."""
    assert child_depth(header, option, None) == child


def test_ceiling_is_absolute() -> None:
    """providers #26: a parent of header depth 2 and runtime depth 1 attempts 3 against 2."""
    with pytest.raises(SubagentDepthError) as caught:
        child_depth(2, 1, 2)
    assert caught.value.attempted_depth == 3
    assert child_depth(2, 1, 3) == 3


@pytest.mark.parametrize("value", MALFORMED)
@pytest.mark.parametrize("place", ["header", "option"])
def test_malformed_parent(value: Any, place: str) -> None:
    """service DP-5: a malformed depth of the parent is a type error, wherever it stands."""
    header, option = (value, None) if place == "header" else (None, value)
    with pytest.raises(DepthTypeError):
        effective_depth(header, option)


def test_deepest_parent() -> None:
    """service DP-5, providers #28: below the deepest safe integer there is no child."""
    assert child_depth(TOP - 1, None, None) == TOP
    with pytest.raises(DepthRangeError) as caught:
        child_depth(None, TOP, None)
    assert isinstance(caught.value, OverflowError)


def test_overflow_before_ceiling() -> None:
    """service 8: at the deepest place the range error comes before the ceiling's."""
    with pytest.raises(DepthRangeError):
        child_depth(TOP, None, 3)


def test_no_ceiling() -> None:
    """service DP-7: without a ceiling the service sets no bound of its own."""
    assert child_depth(10_000, None, None) == 10_001


@given(st.integers(0, TOP - 1), st.integers(0, TOP - 1), st.integers(0, TOP))
def test_ceiling_rule(header: int, option: int, ceiling: int) -> None:
    """service 8: a start is refused exactly when the child would sit below the ceiling."""
    depth = max(header, option) + 1
    if depth > ceiling:
        with pytest.raises(SubagentDepthError):
            child_depth(header, option, ceiling)
    else:
        assert child_depth(header, option, ceiling) == depth
