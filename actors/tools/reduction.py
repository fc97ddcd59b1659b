"""Brings the JSON schemas that pydantic writes into the subset, or says why it cannot.

References are put in place, ``anyOf`` becomes ``oneOf`` where its branches
exclude each other, generated titles go. What the subset has no word for is
refused, so that no tool promises a model less than it checks.

Source: spec core 10.4.
"""

from __future__ import annotations

from typing import Any, cast

from ...messages.errors import ConfigurationError
from ...messages.lossless import violations
from ...messages.schema import SCALARS, has_type
from .tool import compact_json

_PASSED = ("type", "description", "const", "required")
_DROPPED = ("title", "$defs", "discriminator")


class Unsupported(ConfigurationError):
    """A type that the subset cannot describe; the message says which part of it."""


def reduce_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema in the words of the subset.

    Args:
        schema: As ``TypeAdapter.json_schema()`` gives it.

    Raises:
        Unsupported: If the subset has no words for it.
    """
    return _reduce(schema, schema.get("$defs", {}), ())


def _reduce(schema: object, definitions: dict[str, Any], trail: tuple[str, ...]) -> dict[str, Any]:
    if schema is True:
        return {}
    if not isinstance(schema, dict):
        raise Unsupported("a value that nothing fits has no schema here")
    node = cast("dict[str, Any]", schema)
    if "$ref" in node:
        return _inlined(node, definitions, trail)
    result: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("anyOf", "oneOf"):
            result.update(_union([_reduce(branch, definitions, trail) for branch in value]))
        elif key == "properties":
            result[key] = {
                name: _reduce(child, definitions, trail) for name, child in value.items()
            }
        elif key == "items":
            result[key] = _reduce(value, definitions, trail)
        elif key == "additionalProperties":
            if value is False:
                result[key] = value
            elif value is not True:
                _describe_values(result, node, _reduce(value, definitions, trail))
        elif key in ("default", "examples"):
            if next(violations(value), None) is None:
                result[key] = value
        elif key == "enum":
            result.update(_choice(value, node))
        elif key in _PASSED:
            result.setdefault(key, value)
        elif key not in _DROPPED:
            raise Unsupported(
                f"{key!r} is not in the JSON-schema subset that tools may use; "
                "take a plainer type and check the value in the function"
            )
    return result


def _inlined(
    node: dict[str, Any], definitions: dict[str, Any], trail: tuple[str, ...]
) -> dict[str, Any]:
    name: str = node["$ref"].removeprefix("#/$defs/")
    if name in trail:
        raise Unsupported(f"the type {name!r} contains itself, which a schema cannot say here")
    target = _reduce(definitions[name], definitions, (*trail, name))
    beside = {key: value for key, value in node.items() if key != "$ref"}
    return {**target, **_reduce(beside, definitions, trail)}


def _describe_values(result: dict[str, Any], node: dict[str, Any], values: dict[str, Any]) -> None:
    """Keys of a dict are free here and share no schema: pydantic checks them, words tell."""
    if values:
        told = f"Every value must be valid against {compact_json(values)}."
        result["description"] = " ".join(filter(None, (node.get("description"), told)))


def _choice(values: list[Any], node: dict[str, Any]) -> dict[str, Any]:
    """An ``enum``, split by type where its values are of several."""
    groups: list[tuple[str, list[Any]]] = []
    for value in values:
        kind = next((name for name in reversed(SCALARS) if has_type(value, name)), None)
        if kind is None or next(violations(value), None) is not None:
            raise Unsupported(f"the choice {value!r} is no JSON scalar")
        group = next((members for name, members in groups if name == kind), None)
        if group is None:
            groups.append((kind, [value]))
        else:
            group.append(value)
    if len(groups) == 1:
        return {"type": node.get("type", groups[0][0]), "enum": values}
    return {"oneOf": [{"type": name, "enum": members} for name, members in groups]}


def _union(branches: list[dict[str, Any]]) -> dict[str, Any]:
    flat: list[dict[str, Any]] = []
    for branch in branches:
        nested = branch.get("oneOf")
        for one in nested if nested is not None else [branch]:
            if one not in flat:
                flat.append(one)
    if any("type" not in branch for branch in flat):
        return {}  # a branch takes any JSON, so all of it does
    if {"type": "number"} in flat:
        flat = [branch for branch in flat if branch["type"] != "integer"]
    if len(flat) == 1:
        return flat[0]
    for at, one in enumerate(flat):
        for other in flat[at + 1 :]:
            if not _exclusive(one, other):
                raise Unsupported(
                    f"the alternatives {compact_json(one)} and {compact_json(other)} overlap, and "
                    "a value must fit exactly one; tell them apart by a Literal field"
                )
    return {"oneOf": flat}


def _exclusive(one: dict[str, Any], other: dict[str, Any]) -> bool:
    kinds = {one["type"], other["type"]}
    if kinds == {"integer", "number"} or len(kinds) == 1:
        if "object" in kinds:
            return _tagged(one, other)
        mine, theirs = _options(one), _options(other)
        if mine is None or theirs is None:
            return False
        return not any(option in theirs for option in mine)
    return True


def _tagged(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two objects have a required key whose values never agree."""
    for name in one.get("required", ()):
        if name in other.get("required", ()):
            mine, theirs = one["properties"][name], other["properties"][name]
            if "type" in mine and "type" in theirs and _exclusive(mine, theirs):
                return True
    return False


def _options(node: dict[str, Any]) -> list[Any] | None:
    if "const" in node:
        return [node["const"]]
    options: list[Any] | None = node.get("enum")
    return options
