"""The JSON-schema subset: what a schema may say."""

# Cases are literals of every shape and lambdas, whose parts have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import pytest

from broodline.messages.errors import ConfigurationError, UnsupportedSchemaError
from broodline.messages.lossless import FrozenDict
from broodline.messages.schema import check_object_schema, check_schema, schema_violations
from broodline.messages.validation import validate


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"description": "d"},
        {"title": "t", "default": [None, 1.5], "examples": [{"a": 1}]},
    ],
)
def test_no_constraint_is_any_json(schema: Any) -> None:
    """core 18.10 #226: a schema of annotations only takes any JSON."""
    checked = check_schema(schema)
    for value in (None, True, 1, 1.5, "x", [1, "a"], {"k": [None]}):
        assert validate(checked, value) == []


@pytest.mark.parametrize(
    "keyword",
    ["$ref", "anyOf", "allOf", "not", "pattern", "minimum", "maxLength", "format", "$defs"],
)
def test_other_keywords_are_refused_with_their_path(keyword: str) -> None:
    """core 18.10 #227: a keyword outside the subset is refused, never passed over."""
    schema = {"type": "object", "properties": {"a": {"type": "string", keyword: 1}}}
    assert schema_violations(schema) == (f"schema.properties.a.{keyword} is not supported",)


def test_a_list_of_types_is_refused() -> None:
    """core 18.10 #228: type is one name."""
    (text,) = schema_violations({"type": ["string", "null"]})
    assert text.startswith("schema.type must be one of object, array")


@pytest.mark.parametrize("name", ["text", "any", None, 1, {}, "String"])
def test_an_unknown_type_is_refused(name: Any) -> None:
    """core 10.4: type is one of the seven."""
    (text,) = schema_violations({"type": name})
    assert text.startswith("schema.type must be one of")


TWO = [{"type": "string"}, {"type": "null"}]


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "string", "oneOf": TWO}, "schema.type cannot stand beside oneOf"),
        ({"oneOf": [{}]}, "schema.oneOf needs at least two branches"),
        ({"oneOf": []}, "schema.oneOf needs at least two branches"),
        ({"oneOf": {}}, "schema.oneOf must be a list"),
        ({"oneOf": TWO, "properties": {}}, "schema.properties cannot stand beside oneOf"),
        ({"oneOf": TWO, "enum": ["a"]}, "schema.enum cannot stand beside oneOf"),
        ({"oneOf": [{"type": "x"}, {}]}, "schema.oneOf[0].type must be"),
    ],
)
def test_one_of_stands_alone(schema: Any, place: str) -> None:
    """core 18.10 #229: oneOf has two branches or more and no constraint beside it."""
    (text,) = schema_violations(schema)
    assert text.startswith(place)


def test_one_of_may_be_described() -> None:
    """core 10.4: annotations may stand beside oneOf."""
    assert schema_violations({"oneOf": TWO, "description": "d", "default": None}) == ()


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "string", "properties": {}}, "properties"),
        ({"type": "string", "required": []}, "required"),
        ({"type": "array", "additionalProperties": True}, "additionalProperties"),
        ({"type": "object", "items": {}}, "items"),
        ({"type": "array", "enum": [[]]}, "enum"),
        ({"type": "object", "const": {}}, "const"),
    ],
)
def test_keywords_belong_to_types(schema: Any, keyword: str) -> None:
    """core 18.10 #230: a keyword on the wrong type is refused."""
    (text,) = schema_violations(schema)
    assert text == f'schema.{keyword} cannot constrain type "{schema["type"]}"'


@pytest.mark.parametrize(
    "keyword", ["properties", "required", "additionalProperties", "items", "enum", "const"]
)
def test_constraints_need_a_type(keyword: str) -> None:
    """core 10.4: a constraint without type or oneOf is refused."""
    value: Any = {"properties": {}, "items": {}, "additionalProperties": False}.get(keyword, ["a"])
    assert schema_violations({keyword: value}) == (f'schema.{keyword} needs a "type" beside it',)


def test_required_names_must_be_declared() -> None:
    """core 18.10 #231: required lists own properties only, by string."""
    schema = {"type": "object", "properties": {"a": {}}, "required": ["a", "b", 1]}
    assert schema_violations(schema) == (
        "schema.required[1] names 'b', which properties does not declare",
        "schema.required[2] must be a string, not int",
    )
    assert len(schema_violations({"type": "object", "required": ["a"]})) == 1


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string", "enum": []}, "schema.enum must not be empty"),
        ({"type": "string", "enum": [1]}, 'schema.enum[0] must be of type "string", not int'),
        ({"type": "integer", "enum": [True]}, 'schema.enum[0] must be of type "integer", not bool'),
        ({"type": "integer", "enum": [1.5]}, 'schema.enum[0] must be of type "integer"'),
        ({"type": "string", "enum": "ab"}, "schema.enum must be a list, not str"),
        ({"type": "string", "const": None}, 'schema.const must be of type "string"'),
        ({"type": "string", "enum": ["a"], "const": "b"}, "schema.const is not among"),
        ({"type": "number", "const": float("nan")}, "schema.const is not a finite number"),
    ],
)
def test_choices_fit_their_type(schema: Any, text: str) -> None:
    """core 18.10 #232: enum is not empty and of the type, const is in it."""
    (found,) = schema_violations(schema)
    assert found.startswith(text)


def test_choices_that_fit_are_taken() -> None:
    """core 10.4: 1.0 is an integer, and const may be the enum's 1."""
    assert schema_violations({"type": "integer", "enum": [1, 2.0], "const": 1.0}) == ()
    assert schema_violations({"type": "null", "const": None}) == ()


def test_all_violations_are_in_one_error() -> None:
    """core 18.10 #233: five independent violations come in one UNSUPPORTED_SCHEMA error."""
    schema = {
        "type": "object",
        "title": 1,
        "properties": {
            "a": {"type": ["string"]},
            "b": {"type": "string", "pattern": "x"},
            "c": {"type": "array", "items": {"$ref": "#"}},
        },
        "required": ["z"],
    }
    with pytest.raises(UnsupportedSchemaError, match="parameters of 'x'") as caught:
        check_schema(schema, subject="parameters of 'x'")
    assert caught.value.code == "UNSUPPORTED_SCHEMA"
    assert [text.partition(" ")[0] for text in caught.value.violations] == [
        "schema.title",
        "schema.required[0]",
        "schema.properties.a.type",
        "schema.properties.b.pattern",
        "schema.properties.c.items.$ref",
    ]


def test_cycles_are_refused_and_sharing_is_not() -> None:
    """core 18.10 #235: a schema inside itself is refused; one used twice is fine."""
    own: dict[str, Any] = {"type": "array"}
    own["items"] = own
    assert schema_violations(own) == ("schema.items contains itself",)
    with pytest.raises(UnsupportedSchemaError):
        check_schema(own)
    part = {"type": "string"}
    shared = {"type": "object", "properties": {"a": part, "b": part}}
    assert check_schema(shared) == shared


def test_sharing_does_not_explode() -> None:
    """core 10.4: a part that stands at many places is walked, and reported, once."""
    schema: dict[str, Any] = {"type": "string", "minLength": 1}
    for _ in range(60):
        schema = {"type": "object", "properties": {"a": schema, "b": schema}}
    (text,) = schema_violations(schema)
    assert text.endswith(".minLength is not supported")


def test_depth_is_no_limit() -> None:
    """core 10.4: the walk uses no call stack."""
    schema: dict[str, Any] = {"type": "integer", "minimum": 1}
    for _ in range(20_000):
        schema = {"type": "array", "items": schema}
    (text,) = schema_violations(schema)
    assert text.endswith(".minimum is not supported")


def test_the_root_of_an_object_schema() -> None:
    """core 10.4: a root that is no object is reported only if nothing else is wrong."""
    with pytest.raises(UnsupportedSchemaError) as alone:
        check_object_schema({"type": "string"})
    assert alone.value.violations == ('schema.type must be "object" at the root',)
    with pytest.raises(UnsupportedSchemaError) as other:
        check_object_schema({"type": "string", "minLength": 1})
    assert other.value.violations == ("schema.minLength is not supported",)
    for root in ({}, {"oneOf": TWO}):
        with pytest.raises(UnsupportedSchemaError):
            check_object_schema(root)


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        [],
        "x",
        {1: 2},
        {"type": "object", "properties": {1: {}}},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "properties": []},
        {"type": "object", "required": "a"},
        {"type": "object", "additionalProperties": {}},
        {"type": "object", "additionalProperties": 1},
        {"type": "array", "items": [{}]},
        {"description": 1},
        {"default": float("nan")},
        {"examples": [(1,)]},
        {"type": "string", "title": "\ud800"},
    ],
)
def test_malformed_schemas_are_refused(schema: Any) -> None:
    """core 10.4: a schema whose own parts are of the wrong kind is refused, with a text."""
    with pytest.raises(ConfigurationError) as caught:
        check_schema(schema)
    assert caught.value.code == "UNSUPPORTED_SCHEMA"
    assert caught.value.details["violations"]


def test_a_checked_schema_is_frozen() -> None:
    """core 10.4: what is checked cannot change afterwards."""
    original: dict[str, Any] = {"type": "object", "properties": {}}
    checked = check_schema(original)
    original["properties"]["late"] = {"$ref": "#"}
    assert type(checked) is FrozenDict
    assert checked == {"type": "object", "properties": {}}
    assert check_schema(checked) is checked
