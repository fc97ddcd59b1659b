"""The JSON-schema subset: what tool parameters, tool outputs and structured answers may say.

A node has one scalar ``type``, or ``oneOf`` with two branches or more, or
neither, which is any JSON. Whatever else a schema may hold is refused, never
passed over. The walk uses no call stack, so depth is no limit.

Source: spec core 10.4, providers 3, DESIGN section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from .errors import ConfigurationError, UnsupportedSchemaError
from .lossless import FrozenDict, FrozenList, Link, freeze, path_text, type_name, violations

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
SCALARS = ("string", "number", "integer", "boolean", "null")
CONSTRAINTS = ("properties", "required", "additionalProperties", "items", "enum", "const")
ANNOTATIONS = ("title", "description", "default", "examples")
_OF_TYPE = {
    "properties": ("object",),
    "required": ("object",),
    "additionalProperties": ("object",),
    "items": ("array",),
    "enum": SCALARS,
    "const": SCALARS,
}
_KNOWN = frozenset(("type", "oneOf", *CONSTRAINTS, *ANNOTATIONS))

_Child: TypeAlias = "tuple[Link, object]"


def is_object(value: object) -> bool:
    """Whether the value is exactly a dict, plain or frozen."""
    kind: object = type(value)
    return kind is dict or kind is FrozenDict


def is_array(value: object) -> bool:
    """Whether the value is exactly a list, plain or frozen."""
    kind: object = type(value)
    return kind is list or kind is FrozenList


def has_type(value: object, name: str) -> bool:
    """Whether a value is of a JSON type: a bool is no number, 1.0 is an integer."""
    kind: object = type(value)
    if name == "string":
        return kind is str
    if name == "integer":
        return kind is int or (type(value) is float and value.is_integer())
    if name == "number":
        return kind is int or kind is float
    if name == "object":
        return kind is dict or kind is FrozenDict
    if name == "array":
        return kind is list or kind is FrozenList
    if name == "boolean":
        return kind is bool
    return value is None


def check_schema(schema: object, *, subject: str = "schema") -> dict[str, Any]:
    """Check a schema against the subset and freeze it.

    Args:
        schema: A dict; it is not changed.
        subject: What to call it in an error, such as ``"parameters of 'search'"``.

    Returns:
        The frozen schema; frozen parts are shared.

    Raises:
        UnsupportedSchemaError: With every violation and its path.
    """
    try:
        frozen = freeze(schema)
    except ConfigurationError:
        found = schema_violations(schema) or tuple(violations(schema, "schema"))
        raise UnsupportedSchemaError(found, subject=subject) from None
    found = schema_violations(frozen)
    if found:
        raise UnsupportedSchemaError(found, subject=subject)
    result: dict[str, Any] = frozen
    return result


def check_object_schema(schema: object, *, subject: str = "schema") -> dict[str, Any]:
    """Like `check_schema`, and the root must say ``"type": "object"``.

    Raises:
        UnsupportedSchemaError: With every violation; the root's type is named only
            when nothing else is wrong.
    """
    checked = check_schema(schema, subject=subject)
    if checked.get("type") != "object":
        raise UnsupportedSchemaError(('schema.type must be "object" at the root',), subject=subject)
    return checked


def schema_violations(schema: object) -> tuple[str, ...]:
    """Every way in which a schema is outside the subset, in walk order.

    A part that occurs at several places is reported at the first. Never raises.
    """
    found: list[str] = []
    open_ids: set[int] = set()
    seen: dict[int, object] = {}
    # A None beside a node means: everything below it is done.
    stack: list[tuple[Link, object] | tuple[None, object, None]] = [(None, schema)]
    while stack:
        entry = stack.pop()
        node = entry[1]
        if len(entry) == 3:
            open_ids.discard(id(node))
            continue
        link = entry[0]
        if not is_object(node):
            found.append(_at(link, f"must be an object, not {type_name(node)}"))
        elif id(node) in open_ids:
            found.append(_at(link, "contains itself"))
        elif id(node) not in seen:
            seen[id(node)] = node
            open_ids.add(id(node))
            stack.append((None, node, None))
            children: list[_Child] = []
            found.extend(_node_faults(node, link, children))  # type: ignore[arg-type]
            stack.extend(reversed(children))
    return tuple(found)


def _at(place: Link, text: str) -> str:
    return f"{path_text('schema', place)} {text}"


def _node_faults(node: dict[Any, Any], link: Link, children: list[_Child]) -> Iterator[str]:
    """What is wrong with one node itself; its sub-schemas go to `children`."""
    try:
        entries = dict(node.items())
        present = {key: entries[key] for key in entries if type(key) is str}
    except Exception:  # a key with a hostile __eq__
        yield _at(link, "has keys that are not strings")
        return
    if len(present) < len(entries):
        yield _at(link, "has keys that are not strings")
    for key in present:
        if key not in _KNOWN:
            yield _at((link, key), "is not supported")
    yield from _annotation_faults(present, link)
    if "oneOf" in present:
        yield from _union_faults(present, link, children)
    elif "type" not in present:
        for key in CONSTRAINTS:
            if key in present:
                yield _at((link, key), 'needs a "type" beside it')
    else:
        yield from _typed_faults(present, link)
    _collect(present, link, children)


def _annotation_faults(node: dict[str, Any], link: Link) -> Iterator[str]:
    for key in ("title", "description"):
        if key in node and type(node[key]) is not str:
            yield _at((link, key), f"must be a string, not {type_name(node[key])}")
    for key in ("default", "examples"):
        if key in node:
            yield from violations(node[key], path_text("schema", (link, key)))


def _union_faults(node: dict[str, Any], link: Link, children: list[_Child]) -> Iterator[str]:
    if "type" in node:
        yield _at((link, "type"), "cannot stand beside oneOf")
    for key in CONSTRAINTS:
        if key in node:
            yield _at((link, key), "cannot stand beside oneOf")
    branches = node["oneOf"]
    place: Link = (link, "oneOf")
    if not is_array(branches):
        yield _at(place, f"must be a list, not {type_name(branches)}")
        return
    if len(branches) < 2:
        yield _at(place, f"needs at least two branches, not {len(branches)}")
    children.extend(((place, index), branch) for index, branch in enumerate(branches))


def _typed_faults(node: dict[str, Any], link: Link) -> Iterator[str]:
    name = node["type"]
    if type(name) is not str or name not in TYPES:
        got = "a list of types" if is_array(name) else ascii(name) if type(name) is str else None
        shown = got or type_name(name)
        yield _at((link, "type"), f"must be one of {', '.join(TYPES)}, not {shown}")
        return
    for key in CONSTRAINTS:
        if key in node and name not in _OF_TYPE[key]:
            yield _at((link, key), f'cannot constrain type "{name}"')
    if name == "object":
        yield from _object_faults(node, link)
    elif name in SCALARS:
        yield from _choice_faults(node, name, link)


def _object_faults(node: dict[str, Any], link: Link) -> Iterator[str]:
    properties = node.get("properties")
    declared: set[str] = set()
    if is_object(properties):
        declared = {key for key in properties if type(key) is str}  # type: ignore[union-attr]
        if len(declared) < len(properties):  # type: ignore[arg-type]
            yield _at((link, "properties"), "has keys that are not strings")
    elif "properties" in node:
        yield _at((link, "properties"), f"must be an object, not {type_name(properties)}")
    closed = node.get("additionalProperties", True)
    if type(closed) is not bool:
        yield _at((link, "additionalProperties"), f"must be true or false, not {type_name(closed)}")
    required = node.get("required", [])
    if not is_array(required):
        yield _at((link, "required"), f"must be a list, not {type_name(required)}")
        return
    for index, name in enumerate(required):
        place: Link = ((link, "required"), index)
        if type(name) is not str:
            yield _at(place, f"must be a string, not {type_name(name)}")
        elif name not in declared:
            yield _at(place, f"names {name!a}, which properties does not declare")


def _choice_faults(node: dict[str, Any], name: str, link: Link) -> Iterator[str]:
    options = node.get("enum")
    if "enum" in node:
        if not is_array(options):
            yield _at((link, "enum"), f"must be a list, not {type_name(options)}")
            options = None
        elif not options:
            yield _at((link, "enum"), "must not be empty")
        for index, option in enumerate(options or ()):
            yield from _member_faults(option, name, ((link, "enum"), index))
    if "const" in node:
        wrong = list(_member_faults(node["const"], name, (link, "const")))
        yield from wrong
        sound = [one for one in options or () if has_type(one, name)]
        if not wrong and sound and node["const"] not in sound:
            yield _at((link, "const"), "is not among the enum's values")


def _member_faults(value: object, name: str, place: Link) -> Iterator[str]:
    if not has_type(value, name):
        yield _at(place, f'must be of type "{name}", not {type_name(value)}')
        return
    yield from violations(value, path_text("schema", place))


def _collect(node: dict[str, Any], link: Link, children: list[_Child]) -> None:
    properties = node.get("properties")
    if is_object(properties):
        for key, child in list(properties.items()):  # type: ignore[union-attr]
            if type(key) is str:
                children.append((((link, "properties"), key), child))
    if "items" in node:
        children.append(((link, "items"), node["items"]))
