"""Validation of JSON values against a schema of the subset.

jsonschema does it, with a strict type checker and texts of our own (its own
texts quote the whole value). It recurses, so a schema nested too deep for it
is walked here, by the same rules for each node.

Source: spec core 10.4, DESIGN section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias, cast

from jsonschema import Draft202012Validator, TypeChecker, ValidationError, validators

from .errors import ConfigurationError
from .lossless import FrozenDict, FrozenList, Link, freeze, path_text, type_name, violations
from .schema import TYPES, check_schema, has_type, is_object

_DEEPEST = 24
"""Levels of a schema that jsonschema may recurse into, about five Python frames each."""

_KEY_ORDER = ("type", "required", "properties", "items", "enum", "const", "oneOf")
"""jsonschema follows the order of the schema's keys: missing first, undeclared last."""

_JSON_NAMES: dict[object, str] = {
    dict: "object",
    FrozenDict: "object",
    list: "array",
    FrozenList: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}

_Errors: TypeAlias = Iterator[ValidationError]


class Validator:
    """A schema made ready once, to validate many values.

    Args:
        schema: Of the subset; frozen ones are taken as they are.
        subject: What to call the schema in an error.

    Attributes:
        schema: The frozen schema.

    Raises:
        UnsupportedSchemaError: If the schema is outside the subset.
    """

    __slots__ = ("_strict", "schema")

    def __init__(self, schema: object, *, subject: str = "schema") -> None:
        self.schema = check_schema(schema, subject=subject)
        self._strict: Any = None  # made at the first use: most tools of most agents never run

    def violations(self, value: object, root: str = "value") -> list[str]:
        """What keeps `value` from being valid: texts with paths, none if it is.

        A missing key stands before the faults of its neighbours, undeclared keys
        stand last. Never raises, whatever the value is.

        Args:
            value: Anything; what is not lossless JSON is not valid.
            root: What the paths start with.
        """
        try:
            frozen = freeze(value)
        except ConfigurationError:
            return self._of_lossy(value, root)
        strict = self._strict
        if strict is None:
            strict = self._strict = _compiled(self.schema)
        if strict is _TOO_DEEP:
            return _walk(self.schema, frozen, root)
        return [
            path_text(root, _link_of(error)) + error.message for error in strict.iter_errors(frozen)
        ]

    def _of_lossy(self, value: object, root: str) -> list[str]:
        lossy = list(violations(value, root))
        try:
            return _walk(self.schema, value, root) + lossy
        except Exception:  # keys may have a hostile __eq__
            return lossy


def validate(schema: object, value: object, root: str = "value") -> list[str]:
    """Violations of one value; keep a `Validator` to validate many.

    Raises:
        UnsupportedSchemaError: If the schema is outside the subset. No value raises.
    """
    return Validator(schema).violations(value, root)


def _link_of(error: ValidationError) -> Link:
    link: Link = None
    for part in error.absolute_path:
        link = (link, part)
    return link


def _json_name(value: object) -> str:
    return _JSON_NAMES.get(type(value)) or type_name(value)


# The rules of one node, shared by both ways to walk. A text follows the path.


def _type_fault(name: str, value: object) -> str | None:
    return None if has_type(value, name) else f" must be of type {name}, not {_json_name(value)}"


def _choice_fault(node: Mapping[str, Any], value: object) -> str | None:
    """For a value of the node's type, so that no True meets a 1."""
    if "const" in node:  # one of the enum's values, where there is an enum too
        return None if value == node["const"] else f" must be {node['const']!a}"
    options = node.get("enum")
    if options is not None and value not in options:
        return f" must be one of {', '.join(ascii(option) for option in options)}"
    return None


def _union_fault(count: int, matched: int) -> str | None:
    if matched == 1:
        return None
    return f" must match exactly one of {count} alternatives, but matches {matched}"


_MISSING = " is required"
_UNDECLARED = " is not declared, and no undeclared keys are allowed"


# jsonschema, made strict.


def _check_type(_: Any, name: str, value: Any, __: Any) -> _Errors:
    fault = _type_fault(name, value)
    if fault is not None:
        yield ValidationError(fault)


def _check_required(_: Any, required: list[str], value: Any, __: Any) -> _Errors:
    if is_object(value):
        for name in required:
            if name not in value:
                yield ValidationError(_MISSING, path=(name,))


def _check_choice(_: Any, __: Any, value: Any, node: Mapping[str, Any]) -> _Errors:
    if has_type(value, node["type"]):
        fault = _choice_fault(node, value)
        if fault is not None:
            yield ValidationError(fault)


def _check_undeclared(_: Any, __: Any, value: Any, node: Mapping[str, Any]) -> _Errors:
    if is_object(value):
        declared = node.get("properties", {})
        for key in value:
            if key not in declared:
                yield ValidationError(_UNDECLARED, path=(key,))


def _check_union(validator: Any, branches: list[Any], value: Any, _: Any) -> _Errors:
    matched = sum(not any(validator.descend(value, branch)) for branch in branches)
    fault = _union_fault(len(branches), matched)
    if fault is not None:
        yield ValidationError(fault)


def _is_of(name: str, _: object, value: object) -> bool:
    return has_type(value, name)


_STRICT: Any = cast("Any", validators).extend(
    Draft202012Validator,
    {
        "type": _check_type,
        "required": _check_required,
        "enum": _check_choice,
        "const": _check_choice,
        "additionalProperties": _check_undeclared,
        "oneOf": _check_union,
    },
    type_checker=TypeChecker(cast("Any", {name: partial(_is_of, name) for name in TYPES})),
)
_TOO_DEEP = object()


def _compiled(schema: dict[str, Any]) -> Any:
    """A jsonschema validator, or `_TOO_DEEP`."""
    root: dict[str, Any] = {}
    todo = [(schema, root, 0)]
    while todo:
        node, copy, depth = todo.pop()
        if depth > _DEEPEST:
            return _TOO_DEEP
        for key in _KEY_ORDER:
            if key in node:
                copy[key] = node[key]
        if "const" in copy:  # one rule sees to both
            copy.pop("enum", None)
        if node.get("additionalProperties") is False:
            copy["additionalProperties"] = False
        for key, part in _parts(copy):
            below: dict[Any, dict[str, Any]] = {name: {} for name, _ in part}
            todo.extend((child, below[name], depth + 1) for name, child in part)
            if key == "oneOf":
                copy[key] = list(below.values())
            else:
                copy[key] = below if key == "properties" else below["items"]
    return _STRICT(root)


def _parts(node: dict[str, Any]) -> Iterator[tuple[str, list[tuple[Any, Any]]]]:
    if "properties" in node:
        yield "properties", list(node["properties"].items())
    if "items" in node:
        yield "items", [("items", node["items"])]
    if "oneOf" in node:
        branches: list[Any] = node["oneOf"]
        yield "oneOf", list(enumerate(branches))


# Our own walk, for depths that jsonschema cannot go to and for values that are no JSON.


class _Union:
    """A ``oneOf`` under way: what each branch found, and where the verdict goes."""

    __slots__ = ("branches", "link", "sink")

    def __init__(self, count: int, link: Link, sink: list[str]) -> None:
        self.branches: list[list[str]] = [[] for _ in range(count)]
        self.link = link
        self.sink = sink


def _walk(schema: dict[str, Any], value: object, root: str) -> list[str]:
    found: list[str] = []
    # A task is a node with its value, a union to close, or a text that comes last.
    stack: list[Any] = [(schema, value, None, found)]
    while stack:
        task = stack.pop()
        if type(task) is _Union:
            matched = sum(not branch for branch in task.branches)
            fault = _union_fault(len(task.branches), matched)
            if fault is not None:
                task.sink.append(path_text(root, task.link) + fault)
        elif len(task) == 2:
            task[1].append(task[0])
        else:
            node, part, link, sink = task
            stack.extend(reversed(_visit(node, part, link, sink, root)))
    return found


def _visit(node: dict[str, Any], value: Any, link: Link, sink: list[str], root: str) -> list[Any]:
    """Check one node; returns the tasks that follow from it, in order."""
    branches = node.get("oneOf")
    if branches is not None:
        union = _Union(len(branches), link, sink)
        tasks: list[Any] = [
            (branch, value, link, into)
            for branch, into in zip(branches, union.branches, strict=True)
        ]
        return [*tasks, union]
    name = node.get("type")
    if name is None:
        return []
    fault = _type_fault(name, value) or _choice_fault(node, value)
    if fault is not None:
        sink.append(path_text(root, link) + fault)
        return []
    if name == "object":
        return _visit_object(node, value, link, sink, root)
    if name == "array" and "items" in node:
        return [(node["items"], item, (link, index), sink) for index, item in enumerate(value)]
    return []


def _visit_object(
    node: dict[str, Any], value: dict[str, Any], link: Link, sink: list[str], root: str
) -> list[Any]:
    for name in node.get("required", ()):
        if name not in value:
            sink.append(path_text(root, (link, name)) + _MISSING)
    declared = node.get("properties", {})
    tasks: list[Any] = [
        (child, value[name], (link, name), sink)
        for name, child in declared.items()
        if name in value
    ]
    if node.get("additionalProperties") is False:
        for key in value:
            if type(key) is str and key not in declared:
                tasks.append((path_text(root, (link, key)) + _UNDECLARED, sink))
    return tasks
