"""Reads a function's signature: a schema for the model, a converter for each argument."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import PydanticJsonSchemaWarning
from pydantic_core import to_jsonable_python

from ...messages.errors import ConfigurationError
from ...messages.lossless import freeze, path_text, thaw
from .docstring import describe
from .reduction import Unsupported, reduce_schema
from .returned import jsonable, writer_of
from .tool import ToolContext

Convert = Callable[[Any], Any]
_METHOD_NAMES = ("self", "cls")


class Signature:
    """What a function takes and returns.

    Args:
        function: Plain or async, with an annotation at every parameter.
        label: What to call it in an error.
        names: Where annotations may find the names of a local scope.

    Attributes:
        parameters: JSON schema of the arguments a model gives.
        output_schema: Of the returned value; None where there is no annotation or the
            subset cannot say it.
        description: The docstring before its first section.

    Raises:
        ConfigurationError: Naming the parameter that does not fit.
    """

    __slots__ = (
        "_contexts",
        "_converters",
        "_writer",
        "description",
        "output_schema",
        "parameters",
    )

    def __init__(self, function: Callable[..., Any], label: str, names: Mapping[str, Any]) -> None:
        hints = _hints(function, label, names)
        self.description, texts = describe(inspect.getdoc(function))
        self._contexts: list[str] = []
        self._converters: dict[str, Convert | None] = {}
        properties: dict[str, Any] = {}
        required: list[str] = []
        for parameter in inspect.signature(function).parameters.values():
            name = parameter.name
            _check_kind(parameter, hints, label)
            if _is_context(hints[name]):
                self._contexts.append(name)
                continue
            schema, self._converters[name] = _parameter(name, hints[name], label)
            if texts.get(name):
                schema.setdefault("description", texts[name])
            if parameter.default is parameter.empty:
                required.append(name)
            else:
                _put_default(schema, parameter.default)
            properties[name] = schema
        self.parameters: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            self.parameters["required"] = required
        self.output_schema = _output(hints)
        self._writer = writer_of(hints.get("return"))

    def result(self, value: Any) -> Any:
        """What the function returned, as JSON where it can be said in it."""
        return jsonable(value, self._writer)

    def arguments(self, values: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """The keyword arguments for the function.

        Args:
            values: Valid against `parameters`; undeclared keys are left out.
            context: Injected where the function asks for it.

        Returns:
            Plain, changeable values of the annotated types.

        Raises:
            InvalidArguments: What the types themselves refuse.
        """
        found: dict[str, Any] = {}
        faults: list[str] = []
        for name, convert in self._converters.items():
            if name not in values:
                continue
            value = values[name]
            if convert is not None:
                try:
                    value = convert(value)
                except ValidationError as error:
                    faults.extend(_faults(name, error))
            found[name] = value
        if faults:
            raise InvalidArguments(faults)
        for name in self._contexts:
            found[name] = context
        return found


class InvalidArguments(Exception):
    """Private to the package: arguments that the schema admits and a type refuses."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("invalid arguments: " + "; ".join(faults))


def _hints(function: Callable[..., Any], label: str, names: Mapping[str, Any]) -> dict[str, Any]:
    target: Any = inspect.unwrap(getattr(function, "func", function))
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return get_type_hints(target, localns=dict(names), include_extras=True)
    except Exception as error:
        raise ConfigurationError(
            f"tool {label}: its annotations cannot be read ({type(error).__name__}: {error}); "
            "define or import the types where the tool is defined"
        ) from error


def _is_context(annotation: Any) -> bool:
    """Whether the parameter takes the call's context; it may be optional, for calls by hand."""
    return annotation is ToolContext or ToolContext in get_args(annotation)


def _check_kind(parameter: inspect.Parameter, hints: Mapping[str, Any], label: str) -> None:
    name = parameter.name
    if name in _METHOD_NAMES and name not in hints:
        raise ConfigurationError(
            f"tool {label} is a method, and {name!r} is nothing a model can give; "
            "decorate a function, or make a tool of the bound method: tool(thing.method)"
        )
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
        raise ConfigurationError(
            f"tool {label}: parameter {stars}{name} has no schema; name each argument, "
            "or take a list or a dict"
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise ConfigurationError(
            f"tool {label}: parameter {name!r} is positional-only, and arguments come by name; "
            "remove the '/'"
        )
    if isinstance(parameter.default, FieldInfo):
        raise ConfigurationError(
            f"tool {label}: parameter {name!r} has a Field(...) for its default, which the "
            f"function would get; write {name}: Annotated[<type>, Field(...)] = <default>"
        )
    if name not in hints:
        raise ConfigurationError(
            f"tool {label}: parameter {name!r} has no annotation; say its type, or Any"
        )


def _parameter(name: str, annotation: Any, label: str) -> tuple[dict[str, Any], Convert | None]:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        schema = _schema_of(adapter, "validation")
    except Unsupported as error:
        raise ConfigurationError(f"tool {label}: parameter {name!r}: {error.message}") from None
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise ConfigurationError(
            f"tool {label}: parameter {name!r}: {annotation!r} has no JSON schema ({reason})"
        ) from error
    if annotation in (str, bool):
        return schema, None
    if annotation in (int, float):
        return schema, annotation
    return schema, lambda value: adapter.validate_python(thaw(value))


def _schema_of(
    adapter: TypeAdapter[Any], mode: Literal["validation", "serialization"]
) -> dict[str, Any]:
    with warnings.catch_warnings():  # a default that is no JSON is left out, which is enough
        warnings.simplefilter("ignore", PydanticJsonSchemaWarning)
        return reduce_schema(adapter.json_schema(mode=mode))


def _put_default(schema: dict[str, Any], default: Any) -> None:
    try:
        schema["default"] = freeze(to_jsonable_python(default))
    except Exception:  # the function's own business: a model cannot be told
        schema.pop("default", None)


def _output(hints: Mapping[str, Any]) -> dict[str, Any] | None:
    if "return" not in hints:
        return None
    try:
        schema = _schema_of(TypeAdapter(hints["return"]), "serialization")
    except Exception:  # such a value is checked for being JSON only
        return None
    return schema or None


def _faults(name: str, error: ValidationError) -> list[str]:
    found: list[str] = []
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        link: Any = (None, name)
        for part in fault["loc"]:
            link = (link, part)
        found.append(f"{path_text('arguments', link)}: {fault['msg']}")
    return found
