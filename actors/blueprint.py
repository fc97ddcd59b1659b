"""A blueprint: which fragments count for a scope, and what never changes of them.

Layers are tuples that are replaced, never changed, so a blueprint holds as
long as the layers it was made of are still the same objects. It is made once
and shared by every scope that sees the same layers: all agents without
registrations of their own use one.

Source: spec core 11.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeAlias

from ..messages.errors import PromptError
from .assembly import Assembly, PromptContext
from .fragment import Fragment, place

Layer: TypeAlias = tuple[Fragment, ...]

BUILT_IN = ("cwd", "model", "provider")
"""Variables that come with the context; the outermost layer of all."""

_NO_VARIABLES: Mapping[str, Fragment] = MappingProxyType({})

_CACHED = 64  # assemblies of one blueprint, one for each combination of built-in values


class Blueprint:
    """The effective fragments of one stack of layers.

    Attributes:
        layers: What it was made of, nearest first.
        sections: Effective ones, in order; only the complete one where there is one.
        contexts: Effective ones, in order.
        variables: Effective ones by name.
        waits: Something it needs is asynchronous.
        lasting: Nothing it needs can change, but for the built-in variables.
        complete: The whole prompt is one section.
    """

    __slots__ = (
        "_assemblies",
        "_assembly",
        "_key",
        "complete",
        "contexts",
        "lasting",
        "layers",
        "sections",
        "variables",
        "waits",
    )

    def __init__(self, layers: tuple[Layer, ...]) -> None:
        sections: list[Fragment] = []
        contexts: list[Fragment] = []
        variables: dict[str, Fragment] = {}
        for fragment in _effective(layers):
            if fragment.kind == "section":
                sections.append(fragment)
            elif fragment.kind == "context":
                contexts.append(fragment)
            else:
                variables[fragment.name] = fragment
        whole = [section for section in sections if section.complete]
        self.layers = layers
        self.complete = bool(whole)
        self.sections = tuple(sorted(whole or sections, key=place))
        self.contexts = tuple(sorted(contexts, key=place))
        self.variables: Mapping[str, Fragment] = variables or _NO_VARIABLES
        names = self._names()
        needed = self._needed(names)
        self.waits = any(fragment.asynchronous for fragment in needed)
        self._key: Callable[[PromptContext], Any] | None = None
        self.lasting = all(isinstance(fragment.source, str) for fragment in needed)
        if self.lasting:
            used = [name for name in names if name in BUILT_IN and name not in variables]
            self._key = attrgetter(*used) if used else None
        self._assembly: Assembly | None = None
        self._assemblies: dict[Any, Assembly] | None = None

    def check(self) -> None:
        """Refuse two sections that both want to be the whole prompt.

        Raises:
            PromptError: Naming them.
        """
        if self.complete and len(self.sections) > 1:
            names = " and ".join(repr(section.name) for section in self.sections)
            raise PromptError(
                f"prompt sections {names} are all complete, but only one section can be the whole "
                "prompt; dispose the others, or give them the same name in a nearer scope"
            )

    def recall(self, context: PromptContext) -> Assembly | None:
        """The assembly made earlier for the same values, where it must be the same."""
        if self._assemblies is None:
            return self._assembly
        assert self._key is not None
        return self._assemblies.get(self._key(context))

    def remember(self, context: PromptContext, assembly: Assembly) -> None:
        """Keep an assembly for `recall`, where nothing in it can change."""
        if not self.lasting:
            return
        if self._key is None:
            self._assembly = assembly
            return
        if self._assemblies is None or len(self._assemblies) >= _CACHED:
            self._assemblies = {}
        self._assemblies[self._key(context)] = assembly

    def _needed(self, names: Iterable[str]) -> list[Fragment]:
        """The fragments that an assembly may ask; a superset where functions give templates."""
        needed = [*self.sections, *self.contexts]
        if not self.variables:
            return needed
        if any(not isinstance(section.source, str) for section in self.sections):
            return [*needed, *self.variables.values()]
        return [*needed, *(self.variables[name] for name in names if name in self.variables)]

    def _names(self) -> Collection[str]:
        """The variables that fixed sections use, each once; none of a text that is no template."""
        names: dict[str, None] = {}
        for section in self.sections:
            if isinstance(section.source, str):
                try:
                    names.update(dict.fromkeys(section.template().names))
                except PromptError:  # raised when the section is rendered
                    continue
        return names.keys()


def _effective(layers: tuple[Layer, ...]) -> Iterable[Fragment]:
    """The fragments that are neither shadowed nor suppressed by a nearer layer."""
    found: dict[tuple[str, str], Fragment] = {}
    for layer in reversed(layers):
        for fragment in layer:
            if fragment.kind != "suppression":
                found[fragment.kind, fragment.name] = fragment
        for fragment in layer:
            if fragment.kind == "suppression":
                _suppress(found, fragment.names)
    return found.values()


def _suppress(found: dict[tuple[str, str], Fragment], names: tuple[str, ...] | None) -> None:
    if names is None:
        names = tuple(name for kind, name in found if kind == "context")
    for name in names:
        found.pop(("context", name), None)
