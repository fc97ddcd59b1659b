"""Makes a tool of a typed function.

::

    @tool
    def word_count(passage: str) -> int:
        \"\"\"Count the words of a passage.\"\"\"
        return len(passage.split())
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast, overload

from ...messages.errors import ConfigurationError, ToolError
from .signature import InvalidArguments, Signature
from .tool import Execute, Render, Tool, ToolContext, is_async


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    concurrency_safe: bool | Callable[[Any], bool] = False,
    timeout: float | None = None,
    render: Render | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    concurrency_safe: bool | Callable[[Any], bool] = False,
    timeout: float | None = None,
    render: Render | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a `Tool` of a function, with or without arguments to the decorator.

    ::

        @tool(concurrency_safe=True)
        def word_count(passage: str) -> int:
            \"\"\"Count the words of a passage.\"\"\"
            return len(passage.split())

    The signature becomes the schema, the docstring the description and, with its
    ``Args`` section, those of the parameters. Arguments arrive as the annotated
    types (models, dataclasses, enums), by name. A parameter annotated `ToolContext`
    gets the call's context and is no part of the schema. The return annotation
    becomes the output schema where the subset can say it; models, dataclasses and
    enum members are returned as JSON, tuples, dates and paths where the annotation
    names them. The tool can still be called like the function.

    A plain function runs in the runtime's executor, a coroutine function on its loop.

    Args:
        function: The function, when used without arguments.
        name: None is the function's name.
        description: None is the docstring before its first section; without one, the name
            in words.
        concurrency_safe: Whether calls may overlap; a function of the raw arguments
            may decide.
        timeout: Seconds; see `Tool`.
        render: Makes content of the returned value, as frozen JSON.

    Raises:
        ConfigurationError: If the function cannot be a tool, naming the parameter.
    """
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    names: Mapping[str, Any] = {} if caller is None else caller.f_locals  # for local types

    def decorate(function: Callable[..., Any]) -> Tool:
        target = _function_of(function)
        label = name or getattr(target, "__name__", None)
        if not isinstance(label, str) or (name is None and not label.isidentifier()):
            raise ConfigurationError(f"{target!r} has no name a model could use; give name=")
        signature = Signature(target, label, names)
        return Tool(
            label,
            (signature.description or _in_words(label)) if description is None else description,
            signature.parameters,
            _body_of(target, signature),
            output_schema=signature.output_schema,
            render=render,
            timeout=timeout,
            concurrency_safe=concurrency_safe,
            function=target,
        )

    return decorate if function is None else decorate(function)


def _in_words(name: str) -> str:
    words = name.strip("_").replace("_", " ")
    return words[:1].upper() + words[1:] + "."


def _function_of(function: Any) -> Any:
    if isinstance(function, staticmethod):
        return cast("Any", function).__func__
    if isinstance(function, classmethod):
        raise ConfigurationError(
            "a classmethod object is no function yet; make a tool of the bound method: "
            "tool(Class.method)"
        )
    if isinstance(function, Tool):
        raise ConfigurationError(f"{function.name!r} is a tool already; decorate it once")
    if not callable(function) or inspect.isclass(function):
        raise ConfigurationError(f"@tool takes a function, not {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigurationError(f"{function!r} is a generator; a tool returns one value")
    return function


def _body_of(function: Callable[..., Any], signature: Signature) -> Execute:
    def bound(arguments: Any, context: ToolContext) -> dict[str, Any]:
        try:
            return signature.arguments(arguments, context)
        except InvalidArguments as error:
            raise ToolError(str(error), code="INVALID_ARGS") from None

    if is_async(function):

        async def execute_async(arguments: Any, context: ToolContext) -> Any:
            return signature.result(await function(**bound(arguments, context)))

        return execute_async

    async def finished(value: Awaitable[Any]) -> Any:
        return signature.result(await value)

    def execute(arguments: Any, context: ToolContext) -> Any:
        value = function(**bound(arguments, context))
        return finished(value) if inspect.isawaitable(value) else signature.result(value)

    return execute
