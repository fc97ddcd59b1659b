"""Which tools there are, and which of them a scope sees.

A layer holds what one scope registered; the global layer belongs to no scope.
A view is what a scope sees: presentation, look-up, classification and dispatch
all go through it, so a tool that is not seen does not run. That is no sandbox
against code of the same process.

Source: spec core 10.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from ...messages.errors import ConfigurationError
from ...messages.payload import ToolSchema
from ..hooks import Hooks
from ..registration import Registration
from ..scope import Scope, register_in
from .tool import Tool, ToolContext, is_async

Guard: TypeAlias = Callable[[ToolContext], str | None]


class ToolView:
    """The tools one scope sees; never changes, shared by all scopes that see the same.

    Attributes:
        schemas: What a model sees, sorted by name.
    """

    __slots__ = ("__weakref__", "_tools", "schemas")

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.schemas: tuple[ToolSchema, ...] = tuple(tool.schema for tool in tools)

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, sorted."""
        return tuple(self._tools)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, sorted by name."""
        return tuple(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())


class _Restriction:
    """One `restrict` call; equal only to itself."""

    __slots__ = ("allow", "deny")

    def __init__(self, allow: frozenset[str] | None, deny: frozenset[str] | None) -> None:
        self.allow = allow
        self.deny = deny

    def admits(self, name: str) -> bool:
        if self.allow is not None and name not in self.allow:
            return False
        return self.deny is None or name not in self.deny


class _Layer:
    """What one scope registered. `stamp` changes with it; the views remember theirs."""

    __slots__ = ("own", "own_view", "restrictions", "stamp", "view", "view_stamps")

    def __init__(self) -> None:
        self.own: dict[str, Tool] = {}
        self.restrictions: tuple[_Restriction, ...] = ()
        self.stamp = 0
        # `own_view` belongs to this scope, `view` to descendants without a layer.
        self.own_view: ToolView | None = None
        self.view: ToolView | None = None
        self.view_stamps: tuple[int, ...] = ()


class ToolRegistry:
    """The tools of one runtime. Used on its loop.

    Args:
        hooks: Where the interceptors and observers of calls are registered.
    """

    __slots__ = ("_global", "_guards", "_layers", "_stamps", "_views", "hooks")

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self._global = _Layer()
        self._layers: dict[Scope, _Layer] = {}
        self._guards: dict[Scope | None, tuple[Guard, ...]] = {}
        self._stamps = count(1)
        # By content, so that a thousand children with one filter share one view.
        self._views: WeakValueDictionary[tuple[Tool, ...], ToolView] = WeakValueDictionary()

    def register(self, tool: Tool, *, scope: Scope | None = None) -> Registration:
        """Add a tool to the global layer or to a scope's.

        A scope's tool hides an inherited one of the same name and is exempt from
        restrictions.

        Raises:
            ConfigurationError: If `tool` is no `Tool`, the layer has one of that name,
                or the scope is disposed.
        """
        if not isinstance(tool, Tool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                f"{tool!r} is no tool; decorate the function with @tool or build a Tool"
            )
        if scope is not None:
            scope.check_open()
        layer = self._layer(scope)
        if tool.name in layer.own:
            where = "globally" if scope is None else f"in scope {scope.name!r}"
            raise ConfigurationError(
                f"a tool named {tool.name!r} is registered {where} already; "
                "dispose its registration first, or choose another name"
            )
        layer.own[tool.name] = tool
        self._changed(layer)
        return register_in(scope, partial(self._unregister, scope, tool.name))

    def restrict(
        self,
        scope: Scope | None,
        *,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] | None = None,
    ) -> Registration:
        """Narrow what a scope and its descendants inherit; several intersect.

        Args:
            scope: Whose view is narrowed; its own tools are exempt.
            allow: Only these are inherited, later ones of other names never.
            deny: These are not inherited.

        Raises:
            ConfigurationError: Without a scope, with neither list, or with a name
                that the scope does not inherit now.
        """
        if scope is None:
            raise ConfigurationError(
                "restrict needs a scope; unregister a tool to take it from everybody"
            )
        scope.check_open()
        if allow is None and deny is None:
            raise ConfigurationError(
                f"a restriction of scope {scope.name!r} needs allow=, deny= or both"
            )
        restriction = _Restriction(_name_set("allow", allow), _name_set("deny", deny))
        self._check_known(scope, restriction)
        layer = self._layer(scope)
        layer.restrictions = (*layer.restrictions, restriction)
        self._changed(layer)
        return register_in(scope, partial(self._lift, scope, restriction))

    def guard(self, fn: Guard, *, scope: Scope | None = None) -> Registration:
        """Have `fn` asked last before a body runs; no one can overrule its denial.

        Args:
            fn: Plain; returns a reason to deny, or None. Raising denies too.
            scope: Limits it to calls of this scope and its descendants.

        Raises:
            ConfigurationError: If `fn` is a coroutine function or the scope is disposed.
        """
        if not callable(fn) or is_async(fn):
            raise ConfigurationError(f"a guard must be a plain function, not {fn!r}")
        if scope is not None:
            scope.check_open()
        entry: Guard = partial(fn)  # an identity of its own: one function may guard twice
        self._guards[scope] = (*self._guards.get(scope, ()), entry)
        return register_in(scope, partial(self._unguard, scope, entry))

    def guards(self, scope: Scope | None) -> tuple[Guard, ...]:
        """Who guards calls of a scope: the global ones, then the farthest ancestor's first."""
        if not self._guards:
            return ()
        found = self._guards.get(None, ())
        if scope is None:
            return found
        scoped = [self._guards[one] for one in scope.chain() if one in self._guards]
        return found + tuple(guard for layer in reversed(scoped) for guard in layer)

    def view(self, scope: Scope | None = None) -> ToolView:
        """What a scope sees now; the same object as long as nothing it sees changes."""
        layers = self._layers
        if scope is None or (scope.parent is None and scope not in layers):
            return self._cached(self._global, (), own=True)
        chain = [layers[one] for one in scope.chain() if one in layers]
        if not chain:
            return self._cached(self._global, (), own=True)
        return self._cached(chain[0], chain, own=scope in layers)

    def _cached(self, nearest: _Layer, chain: Iterable[_Layer], *, own: bool) -> ToolView:
        """The view kept on the nearest layer, remade if a layer under it has changed."""
        stamps = (self._global.stamp, *(layer.stamp for layer in chain))
        if nearest.view_stamps != stamps:
            nearest.view_stamps = stamps
            nearest.own_view = nearest.view = None
        view = nearest.own_view if own else nearest.view
        if view is None:
            view = self._make(tuple(chain), own=own)
            if own:
                nearest.own_view = view
            else:
                nearest.view = view
        return view

    def _make(self, chain: tuple[_Layer, ...], *, own: bool) -> ToolView:
        inherited = dict(self._global.own)
        for layer in reversed(chain[1:] if own else chain):
            inherited.update(layer.own)
        for layer in chain:
            for restriction in layer.restrictions:
                inherited = {
                    name: tool for name, tool in inherited.items() if restriction.admits(name)
                }
        if own and chain:
            inherited.update(chain[0].own)
        key = tuple(inherited[name] for name in sorted(inherited))
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = ToolView(key)
        return view

    def _check_known(self, scope: Scope, restriction: _Restriction) -> None:
        inherited = dict.fromkeys(self._global.own)
        for one in scope.chain():
            if one is not scope and one in self._layers:
                inherited.update(dict.fromkeys(self._layers[one].own))
        wanted = (restriction.allow or frozenset()) | (restriction.deny or frozenset())
        unknown = sorted(wanted - inherited.keys())
        if unknown:
            names = ", ".join(repr(name) for name in unknown)
            plural = "s" if len(unknown) > 1 else ""
            known = ", ".join(repr(name) for name in sorted(inherited)) or "none"
            raise ConfigurationError(
                f"scope {scope.name!r} cannot be restricted by the unknown tool{plural} {names}; "
                f"it inherits: {known}",
                details={"unknown": unknown, "known": sorted(inherited)},
            )

    def _layer(self, scope: Scope | None) -> _Layer:
        if scope is None:
            return self._global
        layer = self._layers.get(scope)
        if layer is None:
            layer = self._layers[scope] = _Layer()
        return layer

    def _changed(self, layer: _Layer) -> None:
        layer.stamp = next(self._stamps)

    def _unregister(self, scope: Scope | None, name: str) -> None:
        layer = self._layer(scope)
        del layer.own[name]
        self._settle(scope, layer)

    def _lift(self, scope: Scope, restriction: _Restriction) -> None:
        layer = self._layers[scope]
        layer.restrictions = tuple(one for one in layer.restrictions if one is not restriction)
        self._settle(scope, layer)

    def _settle(self, scope: Scope | None, layer: _Layer) -> None:
        if scope is not None and not layer.own and not layer.restrictions:
            del self._layers[scope]
        self._changed(layer)

    def _unguard(self, scope: Scope | None, entry: Guard) -> None:
        rest = tuple(guard for guard in self._guards[scope] if guard is not entry)
        if rest:
            self._guards[scope] = rest
        else:
            del self._guards[scope]


def _name_set(label: str, names: Iterable[str] | None) -> frozenset[str] | None:
    if names is None:
        return None
    listed: tuple[Any, ...] = () if isinstance(names, str) else tuple(names)
    if isinstance(names, str) or not all(type(name) is str for name in listed):
        raise ConfigurationError(f"{label} must be a list of tool names, not {names!r}")
    return frozenset(listed)
