"""A tool: a function a model may call, and what one call of it sees.

Source: spec core 10.1, 10.2.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...messages.content import ContentLike
from ...messages.errors import ConfigurationError, ToolError
from ...messages.message import UserMessage, sound_message
from ...messages.payload import ToolSchema
from ...messages.plain import is_finite, plain_text, quoted
from ...messages.schema import check_object_schema
from ...messages.validation import Validator
from ..cancellation import CancellationToken

Execute: TypeAlias = Callable[[Any, "ToolContext"], Any]
Render: TypeAlias = Callable[[Any], ContentLike]


class ToolContext:
    """One call on its way. The object itself is the call's identity: models reuse call ids.

    A plain tool uses it in its thread, an async one on the loop.

    Attributes:
        call_id: The id the model gave the call.
        root_call_id: The id of the outermost call, for one made inside another.
        name: The tool's name as the model wrote it.
        arguments: Frozen JSON; the raw text where that was no lossless JSON.
        agent: The live ``Agent``, or None for a call made by no agent.
        signal: Fires when the call is to end; the body should then return soon.
        parent: The call in whose body this one was made, or None.
        meta: What the body wants logged beside its result; JSON, never shown to a model.
    """

    __slots__ = (
        "_closed",
        "_contexts",
        "_reporter",
        "agent",
        "arguments",
        "call_id",
        "concluded",
        "meta",
        "name",
        "parent",
        "root_call_id",
        "signal",
    )

    def __init__(
        self,
        call_id: str,
        name: str,
        arguments: Any,
        *,
        agent: Any = None,
        signal: CancellationToken | None = None,
        parent: ToolContext | None = None,
        reporter: Callable[[ToolContext, Any], None] | None = None,
    ) -> None:
        self.call_id = call_id
        self.root_call_id: str = call_id if parent is None else parent.root_call_id
        self.name = name
        self.arguments = arguments
        self.agent = agent
        self.signal = CancellationToken() if signal is None else signal
        self.parent = parent
        self.meta: Any = None
        self.concluded = False
        self._contexts: list[UserMessage] | None = None
        self._reporter = reporter
        self._closed = False

    def defer_context(self, message: UserMessage) -> None:
        """Have `message` put before the model at the next step, behind the results.

        Raises:
            ConfigurationError: If it is no `UserMessage` that can be logged.
            ToolError: If the call is over.
        """
        message = sound_message(message)
        if self._closed:
            raise ToolError(
                f"call {self.call_id} of tool {self.name!r} is over; "
                "defer contexts before its body returns"
            )
        if self._contexts is None:
            self._contexts = []
        self._contexts.append(message)

    def conclude_turn(self) -> None:
        """Have the turn end behind this batch of calls; counts only if the call succeeds."""
        self.concluded = True

    def progress(self, value: Any) -> None:
        """Tell the observers of ``tools/progress``; call it on the loop."""
        if self._reporter is not None and not self._closed:
            self._reporter(self, value)

    def close(self) -> tuple[UserMessage, ...]:
        """End the call for its body; returns what was deferred. For the pipeline."""
        self._closed = True
        return () if self._contexts is None else tuple(self._contexts)

    def __repr__(self) -> str:
        return f"<ToolContext {self.name!r} {self.call_id}>"


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A tool, checked when it is made. Two tools are equal only if they are the same.

    Attributes:
        name: What the model calls it.
        description: What the model reads about it.
        parameters: JSON schema of the subset with an object at its root; frozen.
        execute: Called with the frozen arguments and a `ToolContext`. A coroutine
            function runs on the loop; any other runs in the runtime's executor.
        output_schema: What `execute` returns; None is any lossless JSON.
        render: Makes content of the returned value. The default shows a string as
            it is and everything else as compact JSON.
        timeout: Seconds until the call ends with TIMEOUT; None is no limit. At the
            limit the signal fires and an async body is cancelled and awaited; a
            thread cannot be stopped, so a plain function may go on behind the result.
        concurrency_safe: Whether calls may overlap; a function of the arguments may
            decide. Only exactly True counts.
        plain: Whether `execute` runs in the executor; None finds out.
        function: What calling the tool like a function calls.
        schema: The part a model sees.

    Raises:
        ConfigurationError: If a field is wrong.
        UnsupportedSchemaError: If a schema is outside the subset.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    execute: Execute
    output_schema: dict[str, Any] | None = None
    render: Render | None = None
    timeout: float | None = None
    concurrency_safe: bool | Callable[[Any], bool] = False
    plain: bool | None = None
    function: Callable[..., Any] | None = None
    schema: ToolSchema = field(init=False, repr=False)
    arguments: Validator = field(init=False, repr=False)
    output: Validator | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_fields(self)
        name = self.name
        put = object.__setattr__
        parameters = check_object_schema(self.parameters, subject=f"parameters of tool {name!r}")
        put(self, "parameters", parameters)
        put(self, "schema", ToolSchema(name, self.description, parameters))
        put(self, "arguments", Validator(parameters))
        put(self, "output", None)
        if self.output_schema is not None:
            output = Validator(self.output_schema, subject=f"output schema of tool {name!r}")
            put(self, "output_schema", output.schema)
            put(self, "output", output)
        if self.plain is None:
            put(self, "plain", not is_async(self.execute))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the decorated function itself, without a runtime.

        Raises:
            ConfigurationError: If the tool was not made of a function.
        """
        if self.function is None:
            raise ConfigurationError(
                f"tool {self.name!r} was not made by @tool; run it through a ToolRegistry"
            )
        return self.function(*args, **kwargs)

    def show(self, value: Any) -> ContentLike:
        """The content a model sees for a returned value."""
        if self.render is not None:
            return self.render(value)
        return value if type(value) is str else compact_json(value)


def compact_json(value: Any) -> str:
    """JSON without spaces, every character as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def is_async(fn: object) -> bool:
    """Whether calling `fn` gives a coroutine, as far as can be told without calling it."""
    if inspect.iscoroutinefunction(fn):
        return True
    call = getattr(type(fn), "__call__", None)  # noqa: B004  # an object with an async __call__
    return not inspect.isroutine(fn) and inspect.iscoroutinefunction(call)


def _check_fields(tool: Tool) -> None:
    name: object = tool.name
    if type(name) is not str or not name.strip():
        raise ConfigurationError(f"a tool's name must be a non-empty string, not {quoted(name)}")
    plain_text(name, "name of a tool")
    for label, value, fits in (
        ("description", tool.description, type(tool.description) is str),
        ("execute", tool.execute, callable(tool.execute)),
        ("render", tool.render, tool.render is None or _is_plain(tool.render)),
        ("timeout", tool.timeout, _is_timeout(tool.timeout)),
        ("concurrency_safe", tool.concurrency_safe, _is_classifier(tool.concurrency_safe)),
    ):
        if not fits:
            raise ConfigurationError(
                f"tool {name!r}: {label} must be {_WANTED[label]}, not {quoted(value)}"
            )
    plain_text(tool.description, f"description of tool {name!r}")


_WANTED = {
    "description": "a string",
    "execute": "callable",
    "render": "a plain function or None",
    "timeout": "a positive, finite number of seconds or None",
    "concurrency_safe": "a bool or a plain function of the arguments",
}


def _is_timeout(value: object) -> bool:
    return value is None or (is_finite(value) and value > 0)  # type: ignore[operator]


def _is_plain(value: object) -> bool:
    return callable(value) and not is_async(value)


def _is_classifier(value: object) -> bool:
    return type(value) is bool or _is_plain(value)
