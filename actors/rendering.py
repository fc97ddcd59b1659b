"""One rendering: the fragments of a blueprint become text, once, for one step.

Source: spec core 11.1.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any, cast

from ..messages.errors import PromptError
from ..messages.lossless import type_name
from .assembly import Assembly, PromptContext
from .blueprint import BUILT_IN, Blueprint
from .fragment import Fragment, parse_section, prompt_text, told
from .stray import as_exception, is_stray, running_task


class MustWaitError(Exception):
    """A function that was taken for a plain one returned an awaitable."""


class Rendering:
    """Renders one assembly; asks each provider at most once.

    Args:
        blueprint: Which fragments count.
        context: Who asks.
        may_wait: Whether asynchronous providers can be awaited.
    """

    __slots__ = ("_blueprint", "_context", "_may_wait", "_values")

    def __init__(self, blueprint: Blueprint, context: PromptContext, *, may_wait: bool) -> None:
        self._blueprint = blueprint
        self._context = context
        self._may_wait = may_wait
        self._values: dict[str, str | None] = {}

    async def assembly(self) -> Assembly:
        """Sections and contexts, before any interceptor.

        Raises:
            PromptError: If a fragment fails or a placeholder cannot be filled.
            MustWaitError: If something is asynchronous and must not be awaited.
        """
        self._blueprint.check()
        texts: list[str] = []
        for section in self._blueprint.sections:
            text = await self._section(section)
            if text and not text.isspace():
                texts.append(text)
        contexts: list[tuple[str, str]] = []
        for context in self._blueprint.contexts:
            text = await self._ask(context, context.subject)
            if text and not text.isspace():
                contexts.append((context.name, text))
        return Assembly("\n\n".join(texts) or None, tuple(contexts))

    async def _section(self, section: Fragment) -> str | None:
        if isinstance(section.source, str):
            template = section.template()
        else:
            text = await self._ask(section, section.subject)
            if not text or "{{" not in text:
                return text
            template = parse_section(section, text)
        values: list[str] = []
        for name in template.names:
            values.append(await self._value(name, section))
        return template.fill(values)

    async def _value(self, name: str, section: Fragment) -> str:
        if name in self._values:
            value = self._values[name]
        else:
            value = await self._look_up(name, section)
            self._values[name] = value
        if value is None:
            raise PromptError(
                f"{section.subject}: variable {name!r} has no value here; have its provider return "
                f"a string, or take {{{{{name}}}}} out of the section"
            )
        return value

    async def _look_up(self, name: str, section: Fragment) -> str | None:
        variable = self._blueprint.variables.get(name)
        if variable is not None:
            return await self._ask(variable, f"{section.subject}: {variable.subject}")
        if name in BUILT_IN:
            return cast("str | None", getattr(self._context, name))
        known = ", ".join(sorted({*BUILT_IN, *self._blueprint.variables}))
        raise PromptError(
            f"{section.subject}: there is no variable {name!r}; register it with "
            f"variable({name!r}, ...) or use one of: {known}"
        )

    async def _ask(self, fragment: Fragment, subject: str) -> str | None:
        """The text of a fragment; its own failure becomes the cause of one that names it."""
        if isinstance(fragment.source, str):
            return fragment.source
        try:
            result: Any = fragment.source(self._context)
            if result is not None and not isinstance(result, str) and inspect.isawaitable(result):
                result = await self._awaited(fragment, result)
        except MustWaitError:
            raise
        except BaseException as error:
            if not is_stray(error, running_task()):
                raise
            raise PromptError(
                f"{subject} failed: {told(error)}; mend its function or dispose its registration"
            ) from as_exception(error)
        if result is None or (type(result) is str and result.isascii()):
            return result
        if not isinstance(result, str):
            raise PromptError(
                f"{subject} gave a {type_name(result)}; its function must return a string, "
                "or None for nothing"
            )
        return prompt_text(result, subject)

    async def _awaited(self, fragment: Fragment, result: Awaitable[Any]) -> Any:
        if self._may_wait:
            return await result
        fragment.asynchronous = True
        if inspect.iscoroutine(result):
            result.close()  # it has not begun; the rendering that may wait calls anew
        raise MustWaitError


def render_now(blueprint: Blueprint, context: PromptContext) -> Assembly | None:
    """Render without waiting; None, and `blueprint.waits` from then on, if that cannot be.

    Raises:
        PromptError: As `Rendering.assembly`.
    """
    coroutine = Rendering(blueprint, context, may_wait=False).assembly()
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast(Assembly, end.value)
    except MustWaitError:
        blueprint.waits = True
        return None
    coroutine.close()  # cannot happen: nothing is awaited that is not refused above
    return None
