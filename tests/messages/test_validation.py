"""Values against schemas of the subset."""

# Cases are literals of every shape and lambdas, whose parts have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.messages.errors import UnsupportedSchemaError
from broodline.messages.lossless import freeze
from broodline.messages.validation import Validator, validate


def deep(depth: int, schema: Any) -> Any:
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def nested(depth: int, value: Any) -> Any:
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [0, 1, 60], ids=["flat", "nested", "deep"])
@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("integer", [1, 0, -3, 1.0, 2.0**60], [1.5, True, False, "1", None, [], {}]),
        ("number", [1, 1.5, 1e300], [True, "1", None, [1]]),
        ("string", ["", "x"], [1, None, True, ["x"]]),
        ("boolean", [True, False], [0, 1, "true", None]),
        ("null", [None], [0, False, "", [], {}]),
        ("array", [[], [1, "x"]], [{}, "x", None]),
        ("object", [{}, {"a": 1}], [[], "x", None]),
    ],
)
def test_types_are_strict(depth: int, name: str, good: list[Any], bad: list[Any]) -> None:
    """core 18.10 #237: 1.0 is an integer, 1.5 and True are not, and True is no number."""
    validator = Validator(deep(depth, {"type": name}))
    assert [validator.violations(nested(depth, value)) for value in good] == [[] for _ in good]
    for value in bad:
        (text,) = validator.violations(nested(depth, value))
        assert f" must be of type {name}, not " in text


OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "m": {}, "n": {}},
    "required": ["m", "b", "n"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("depth", [0, 1, 60])
def test_missing_first_undeclared_last(depth: int) -> None:
    """core 18.10 #239: missing keys stand before child errors, undeclared keys last."""
    value = nested(depth, {"z": 1, "b": 2, "a": "x", "y": 3})
    at = "value" + "[0]" * depth
    assert validate(deep(depth, OBJECT), value) == [
        f"{at}.m is required",
        f"{at}.n is required",
        f"{at}.a must be of type integer, not string",
        f"{at}.b must be of type string, not integer",
        f"{at}.z is not declared, and no undeclared keys are allowed",
        f"{at}.y is not declared, and no undeclared keys are allowed",
    ]


def test_objects_are_open_unless_closed() -> None:
    """core 10.4: undeclared keys pass where additionalProperties does not forbid them."""
    assert validate({"type": "object"}, {"a": 1}) == []
    assert validate({"type": "object", "additionalProperties": True}, {"a": 1}) == []
    assert len(validate({"type": "object", "additionalProperties": False}, {"a": 1})) == 1


def test_items_are_checked_by_index() -> None:
    """core 10.4: every item of an array is checked, and named by its index."""
    schema = {"type": "array", "items": {"type": "number"}}
    assert validate(schema, [1, "x", 2, None], "arguments") == [
        "arguments[1] must be of type number, not string",
        "arguments[3] must be of type number, not null",
    ]
    assert validate({"type": "array"}, [1, "x"]) == []


@pytest.mark.parametrize("depth", [0, 60])
@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "enum": [1, 2]}, [1, 2.0], [3, True]),
        ({"type": "number", "enum": [0, 1]}, [0, 1.0], [False, True, 0.5]),
        ({"type": "boolean", "enum": [True]}, [True], [False, 1]),
        ({"type": "boolean", "const": False}, [False], [True, 0]),
        ({"type": "string", "const": "1"}, ["1"], [1, ""]),
        ({"type": "integer", "const": 1, "enum": [1, 2]}, [1], [2, 3]),
    ],
)
def test_choices_are_typed(depth: int, schema: Any, good: list[Any], bad: list[Any]) -> None:
    """providers #3: True is not 1 in enum and const, 1.0 is, and each fault comes once."""
    validator = Validator(deep(depth, schema))
    assert [validator.violations(nested(depth, value)) for value in good] == [[] for _ in good]
    assert [len(validator.violations(nested(depth, value))) for value in bad] == [1 for _ in bad]


@pytest.mark.parametrize("depth", [0, 60])
def test_one_of_is_exactly_one(depth: int) -> None:
    """core 10.4: overlap fails like no match, and the count of matches is told."""
    schema = {"oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]}
    validator = Validator(deep(depth, schema))
    assert validator.violations(nested(depth, "x")) == []
    assert validator.violations(nested(depth, 1.5)) == []
    at = "value" + "[0]" * depth
    for value, count in ((1, 2), (None, 0)):
        assert validator.violations(nested(depth, value)) == [
            f"{at} must match exactly one of 3 alternatives, but matches {count}"
        ]


@pytest.mark.parametrize("depth", [1, 30, 60])
def test_unions_inside_unions(depth: int) -> None:
    """core 10.4: oneOf nests; a branch counts only if all below it is valid."""
    schema: Any = {"type": "integer"}
    good: Any = 1
    bad: Any = "x"
    for _ in range(depth):
        inner = {"type": "object", "properties": {"k": schema}, "required": ["k"]}
        schema, good, bad = {"oneOf": [inner, {"type": "null"}]}, {"k": good}, {"k": bad}
    assert validate(schema, good) == []
    assert validate(schema, bad) == [
        "value must match exactly one of 2 alternatives, but matches 0"
    ]


def test_depth_is_no_limit() -> None:
    """providers #3: deep schemas and deep values are validated without the call stack."""
    validator = Validator(deep(20_000, {"type": "integer"}))
    assert validator.violations(nested(20_000, 1)) == []
    (text,) = validator.violations(nested(20_000, "x"))
    assert text.endswith("must be of type integer, not string")
    assert len(text) < 500
    assert validate({"type": "string"}, nested(100_000, 1)) == [
        "value must be of type string, not array"
    ]
    assert validate({}, nested(100_000, 1)) == []


def test_a_lossy_part_of_an_open_object_fails() -> None:
    """core 18.10 #240: a container whose children pass but that is no JSON is invalid."""
    assert validate({"type": "object"}, {"x": [float("nan")]}) == [
        "value.x[0] is not a finite number"
    ]
    assert validate({}, [-0.0]) == ["value[0] is negative zero"]


class Hostile:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __hash__(self) -> int:
        return hash("a")

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Sly(dict[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no item")

    def __contains__(self, key: object) -> bool:
        raise RuntimeError("no membership")


def cyclic() -> Any:
    value: list[Any] = []
    value.append({"a": value})
    return value


@pytest.mark.parametrize(
    "value",
    [
        Hostile(),
        {Hostile(): 1},
        {"a": Hostile()},
        Sly(),
        {"a": Sly()},
        cyclic(),
        {"a": cyclic()},
        {1: 2},
        ("x",),
        {"a": {1}},
        10**5000,
        float("nan"),
        object,
        "\ud800",
        {"a": "\ud800"},
    ],
    ids=range(15),
)
@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"type": "integer", "enum": [1]},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"oneOf": [{"type": "object"}, {"type": "array", "items": {}}]},
        deep(40, {"type": "integer"}),
    ],
)
def test_no_value_raises(schema: Any, value: Any) -> None:
    """core 18.10 #241: any hostile value gives a list of violations, never an exception."""
    found = validate(schema, value)
    assert found
    assert all(type(text) is str for text in found)


def test_everything_wrong_with_a_lossy_value_is_told() -> None:
    """core 10.4: schema violations and lossy parts of one value come in one list."""
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}
    assert validate(schema, {"a": float("inf")}) == [
        "value.b is required",
        "value.a is not a finite number",
    ]


def test_a_validator_refuses_other_schemas() -> None:
    """core 10.4: a validator is made of the subset only."""
    with pytest.raises(UnsupportedSchemaError, match="output of 'x'"):
        Validator({"$ref": "#"}, subject="output of 'x'")


SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 1.5, "a", "b", ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
LEAVES = st.sampled_from(
    [
        {},
        *({"type": name} for name in ("string", "number", "integer", "boolean", "null", "object")),
        {"type": "integer", "enum": [0, 1]},
        {"type": "string", "const": "a"},
        {"type": "boolean", "enum": [True]},
    ]
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def build(properties: dict[str, Any], closed: bool, count: int) -> Any:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties)[:count],
            "additionalProperties": not closed,
        }

    return st.builds(
        build,
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        st.booleans(),
        st.integers(0, 2),
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        _objects(inner)
        | st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda one, two: {"oneOf": [one, two]}, inner, inner)
    ),
    max_leaves=8,
)


@given(SCHEMAS, VALUES)
def test_both_walks_agree(schema: Any, value: Any) -> None:
    """core 10.4: jsonschema and our own walk give the same texts in the same order."""
    shallow = validate(schema, value)
    below = validate(deep(40, schema), nested(40, value))
    assert [text.replace("value" + "[0]" * 40, "value", 1) for text in below] == shallow


def test_a_validator_serves_many_values() -> None:
    """DESIGN 5: a validator is compiled once and holds nothing of a value."""
    validator = Validator({"type": "object", "properties": {"a": {"type": "string"}}})
    assert validator.violations(freeze({"a": 1})) != []
    assert validator.violations(freeze({"a": "x"})) == []
    assert validator.violations({"a": 1}, "arguments") == [
        "arguments.a must be of type string, not integer"
    ]
