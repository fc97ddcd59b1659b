"""Lossless JSON: what is taken, what is refused, and that frozen means frozen."""

# Cases are literals of every shape and lambdas, whose parts have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import copy
import json
import pickle
from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.messages.errors import ConfigurationError
from broodline.messages.lossless import FrozenDict, FrozenList, freeze, thaw, violations

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: str(x) != "-0.0")
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@dataclass
class Point:
    x: int = 0


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __hash__(self) -> int:
        return hash("a")


class HostileMeta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no name")

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __hash__(cls) -> int:
        return 1


class Masked(metaclass=HostileMeta):
    pass


def nested(depth: int, leaf: Any) -> Any:
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (float("nan"), "not a finite number"),
        (float("inf"), "not a finite number"),
        (float("-inf"), "not a finite number"),
        (-0.0, "negative zero"),
        (2**53, "beyond 2**53-1"),
        (-(2**53), "beyond 2**53-1"),
        (10**5000, "beyond 2**53-1"),
        ((1, 2), "of type tuple"),
        ({1}, "of type set"),
        (b"x", "of type bytes"),
        (Decimal(1), "of type Decimal"),
        (Point(), "of type Point"),
        (OrderedDict(), "of type OrderedDict"),
        (Colour.RED, "of type Colour"),
        (Level.HIGH, "of type Level"),
        (lambda: None, "of type function"),
        ("\ud800", "lone surrogate"),
        ({"\udfff": 1}, "a key with a lone surrogate"),
        ({1: "x"}, "a key of type int"),
        ({None: "x"}, "a key of type NoneType"),
        (Hostile(), "of type Hostile"),
        (Masked(), "of type Masked"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isascii() else "",
)
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"k": [{"q": x}]}])
def test_lossy_values_are_refused(value: Any, fault: str, wrap: Any) -> None:
    """core 18.1 #5: what JSON would lose or change is refused wherever it stands."""
    with pytest.raises(ConfigurationError, match="lossless JSON") as caught:
        freeze(wrap(value))
    assert fault in caught.value.message
    assert [fault in text for text in violations(wrap(value))] == [True]


def test_edges_of_the_integers_are_taken() -> None:
    """core 18.1 #10: 2^53-1 and its negative are the last integers that pass."""
    assert freeze([2**53 - 1, -(2**53) + 1]) == [2**53 - 1, -(2**53) + 1]


def test_a_bool_stays_a_bool() -> None:
    """core 18.1 #9: True is taken as a bool and never becomes an integer."""
    frozen = freeze({"a": True, "b": 1})
    assert frozen["a"] is True
    assert type(frozen["b"]) is int


def test_a_path_leads_to_the_part() -> None:
    """core 1.3: the error names the place, with odd keys in brackets."""
    with pytest.raises(
        ConfigurationError, match=r"^tool arguments is not lossless JSON: value"
    ) as e:
        freeze({"a": {"odd key": [1, {"$b-1": float("nan")}]}}, "tool arguments")
    assert "value.a['odd key'][1].$b-1 is not a finite number" in e.value.message


def test_every_place_is_listed_in_order() -> None:
    """core 1.3: violations lists all places, depth first, in the order of the value."""
    value = {"a": [-0.0, {"b": ()}], "c": float("inf"), 7: 1}
    assert list(violations(value, "it")) == [
        "it.a[0] is negative zero",
        "it.a[1].b is of type tuple, which JSON does not have",
        "it.c is not a finite number",
        "it has a key of type int; JSON keys are strings",
    ]


@pytest.mark.parametrize("depth", [5_000, 100_000])
def test_depth_is_no_limit(depth: int) -> None:
    """core 1.3: the walks use no call stack."""
    value = nested(depth, "x")
    frozen = freeze(value)
    assert list(violations(value)) == []
    levels, back = 0, thaw(frozen)
    while type(back) is list:
        back, levels = back[0], levels + 1
    assert (levels, back) == (depth, "x")


def test_a_deep_path_loses_its_middle() -> None:
    """core 1.3: a fault deep down is named in a text of bounded length."""
    (text,) = violations(nested(50_000, float("nan")))
    assert len(text) < 500
    assert "49936 levels" in text


def test_cycles_are_refused() -> None:
    """core 1.3: a part that contains itself is refused, directly or further down."""
    own: list[Any] = []
    own.append(own)
    pair: dict[str, Any] = {"list": []}
    pair["list"].append({"up": pair})
    for value in (own, pair):
        with pytest.raises(ConfigurationError, match="contains itself"):
            freeze(value)


def test_a_shared_part_is_no_cycle() -> None:
    """core 18.1 #7: the same part at two places is taken and stands at both."""
    shared = {"x": [1]}
    frozen = freeze({"a": shared, "b": [shared, shared]})
    assert frozen == {"a": {"x": [1]}, "b": [{"x": [1]}, {"x": [1]}]}
    leaf = [1]
    frozen = freeze([leaf, leaf])
    assert frozen[0] is frozen[1]


def test_sharing_does_not_explode() -> None:
    """core 1.3: a part met at many places is copied once, however often it nests."""
    value: Any = ["leaf"]
    for _ in range(200):
        value = [value, value]
    assert len(freeze(value)) == 2
    assert list(violations(value)) == []


def test_a_frozen_value_is_taken_as_it_is() -> None:
    """core 1.3: nothing is copied twice; frozen parts are shared."""
    part = freeze({"x": [1, 2]})
    assert freeze(part) is part
    assert freeze({"part": part})["part"] is part


def test_the_caller_keeps_its_object() -> None:
    """core 18.1 #3: changing the original afterwards changes nothing frozen."""
    original: Any = {"a": [1], "b": {"c": [2]}}
    frozen = freeze(original)
    original["a"].append(2)
    original["b"]["c"].append(3)
    assert frozen == {"a": [1], "b": {"c": [2]}}


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.__setitem__("a", 1),
        lambda v: v.__delitem__("a"),
        lambda v: v.update(a=2),
        lambda v: v.pop("a"),
        lambda v: v.popitem(),
        lambda v: v.clear(),
        lambda v: v.setdefault("z", 1),
        lambda v: v.__ior__({"z": 1}),
        lambda v: v["a"].append(1),
        lambda v: v["a"].extend([1]),
        lambda v: v["a"].insert(0, 1),
        lambda v: v["a"].pop(),
        lambda v: v["a"].remove(1),
        lambda v: v["a"].sort(),
        lambda v: v["a"].reverse(),
        lambda v: v["a"].clear(),
        lambda v: v["a"].__setitem__(0, 2),
        lambda v: v["a"].__delitem__(0),
        lambda v: v["a"].__iadd__([1]),
        lambda v: v["a"].__imul__(2),
        lambda v: v["b"]["c"].update(d=1),
    ],
)
def test_frozen_refuses_every_change(change: Any) -> None:
    """core 18.1 #4: no method of a frozen value changes it, at any depth."""
    frozen = freeze({"a": [1], "b": {"c": {}}})
    with pytest.raises(TypeError, match="thaw"):
        change(frozen)
    assert frozen == {"a": [1], "b": {"c": {}}}


@given(JSON)
def test_freeze_keeps_every_json_value(value: Any) -> None:
    """core 1.3: a JSON value goes through unchanged, and back."""
    frozen = freeze(value)
    assert json.dumps(frozen) == json.dumps(value)
    assert json.dumps(thaw(frozen)) == json.dumps(value)
    assert freeze(frozen) is frozen or not isinstance(value, dict | list)


def test_thaw_gives_plain_parts_to_change() -> None:
    """core 1.3: a thawed value is plain all the way down and shares nothing."""
    frozen = freeze({"a": [{"b": [1]}]})
    back = thaw(frozen)
    back["a"][0]["b"].append(2)
    assert type(back) is dict
    assert type(back["a"]) is list
    assert type(back["a"][0]) is dict
    assert frozen == {"a": [{"b": [1]}]}


def test_frozen_values_copy_and_pickle_as_frozen() -> None:
    """core 1.3: copies of a frozen value are frozen too."""
    frozen = freeze({"a": [1]})
    for other in (copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen))):
        assert other == frozen
        assert type(other) is FrozenDict
        assert type(other["a"]) is FrozenList


def test_a_hostile_key_is_refused() -> None:
    """core 1.3: keys whose comparison raises are refused like others that are no strings."""
    with pytest.raises(ConfigurationError, match="a key of type Hostile"):
        freeze({Hostile(): 1})
