"""A fragment: one registered piece of a prompt."""

from __future__ import annotations

import inspect
from typing import Literal, TypeAlias, cast

from ..messages.errors import ConfigurationError, PromptError
from ..messages.lossless import type_name
from ..messages.plain import is_finite, plain_text, quoted
from .assembly import TextSource
from .template import Template, TemplateSyntaxError, parse

FragmentKind: TypeAlias = Literal["section", "variable", "context", "suppression"]


class Fragment:
    """A section, a variable, a context, or the suppression of contexts.

    Attributes:
        kind: What it is.
        name: Unique among the fragments of its kind in one layer.
        source: The text, or a function that gives it.
        order: Ascending; ties go by `number`.
        number: Its place among all registrations of the registry.
        complete: A section that is the whole prompt.
        names: Of a suppression: which contexts; None is all of them.
        asynchronous: Its function has to be awaited. Also learned, from what a
            plain function returns.
    """

    __slots__ = (
        "_template",
        "asynchronous",
        "complete",
        "kind",
        "name",
        "names",
        "number",
        "order",
        "source",
    )

    def __init__(
        self,
        kind: FragmentKind,
        name: str,
        source: TextSource,
        *,
        order: float = 0,
        number: int = 0,
        complete: bool = False,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.kind: FragmentKind = kind
        self.name = name
        self.source = source
        self.order = order
        self.number = number
        self.complete = complete
        self.names = names
        self.asynchronous = not isinstance(source, str) and _is_async(source)
        self._template: Template | None = None

    @property
    def subject(self) -> str:
        """What to call it in an error."""
        label = {"section": "prompt section", "variable": "prompt variable"}
        return f"{label.get(self.kind, 'runtime context')} {self.name!r}"

    def template(self) -> Template:
        """The template of a section whose source is a text; parsed once.

        Raises:
            PromptError: If the text is no template; names the section.
        """
        if self._template is None:
            assert isinstance(self.source, str)
            self._template = parse_section(self, self.source)
        return self._template


def parse_section(section: Fragment, text: str) -> Template:
    """Cut the text of a section at its placeholders.

    Raises:
        PromptError: If the text is no template; names the section.
    """
    try:
        return parse(text)
    except TemplateSyntaxError as error:
        raise PromptError(f"{section.subject}: {error}") from error


def prompt_text(text: str, subject: str) -> str:
    """The text as it goes into a request, which is logged.

    Raises:
        PromptError: If JSON would not keep it; names the subject.
    """
    try:
        return plain_text(text, subject)
    except ConfigurationError as error:
        raise PromptError(error.message) from None


def told(error: BaseException) -> str:
    """Class and text of somebody else's error, whatever its own conversion does."""
    try:
        text = plain_text(str(error), "text")
    except KeyboardInterrupt:
        raise
    except BaseException:
        return f"{type_name(error)} (its text cannot be read)"
    return f"{type_name(error)}: {text}"


def place(fragment: Fragment) -> tuple[float, int]:
    """Sort key of a fragment."""
    return fragment.order, fragment.number


def check_fragment(fragment: Fragment) -> None:
    """Refuse what can never become part of a prompt.

    Raises:
        ConfigurationError: If the name is empty or no string, the order is not a
            finite number, or the source is neither a string nor callable.
    """
    order = cast(object, fragment.order)
    source = cast(object, fragment.source)
    name = cast(object, fragment.name)
    if not isinstance(name, str) or not name:
        raise ConfigurationError(
            f"a {fragment.kind} needs a name: a non-empty string, not {quoted(name)}"
        )
    plain_text(name, f"name of a {fragment.kind}")
    if not is_finite(order):
        raise ConfigurationError(
            f"{fragment.subject}: order must be a finite number, not {quoted(order)}"
        )
    if not isinstance(source, str) and not callable(source):
        raise ConfigurationError(
            f"{fragment.subject} must be a string or a function of a PromptContext, "
            f"not {type(source).__name__}"
        )
    if isinstance(source, str):
        plain_text(source, fragment.subject)


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object may have an async __call__
    )
