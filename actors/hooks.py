"""Hooks: observers that are told, interceptors that are asked.

Listeners without a scope hear everything; a listener with a scope hears what
is emitted with that scope or a descendant of it, and dies with it. Listeners
are kept by scope, so emitting to one agent costs nothing for the listeners of
the others. `docs/hooks.md` lists the events; their payloads are in `notice.py`.

Source: spec core 6.2, 11.2.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeAlias

from .registration import Registration
from .scope import Scope, register_in
from .stray import as_exception, is_stray

ListenerFunction: TypeAlias = Callable[[Any], Any]
Spawn: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]

_LOGGER = logging.getLogger("broodline.hooks")


class Listener:
    """One registered function; `order` is its place among all listeners."""

    __slots__ = ("_event", "_scope", "_table", "active", "function", "order")

    def __init__(
        self, function: ListenerFunction, order: int, table: Table, event: str, scope: Scope | None
    ) -> None:
        self.function = function
        self.order = order
        self.active = True
        self._table = table
        self._event = event
        self._scope = scope

    def join(self) -> None:
        """Take its place behind the listeners that are there."""
        layers = self._table.setdefault(self._event, {})
        layers[self._scope] = (*layers.get(self._scope, ()), self)

    def stop(self) -> None:
        """Leave its place; an emit that is under way passes over it."""
        self.active = False
        layers = self._table[self._event]
        rest = tuple(other for other in layers[self._scope] if other is not self)
        if rest:
            layers[self._scope] = rest
            return
        del layers[self._scope]
        if not layers:  # so that an event nobody hears costs one look-up
            del self._table[self._event]


Table: TypeAlias = dict[str, dict[Scope | None, tuple[Listener, ...]]]
"""Listeners by event and scope; the tuples are replaced, never changed."""


def _order(listener: Listener) -> int:
    return listener.order


def _matching(table: Table, event: str, scope: Scope | None) -> tuple[Listener, ...]:
    """The listeners of `event` that hear `scope`, in registration order."""
    layers = table.get(event)
    if layers is None:
        return ()
    found = layers.get(None, ())
    if scope is None or (found and len(layers) == 1):
        return found
    scoped = [listener for one in scope.chain() for listener in layers.get(one, ())]
    return tuple(sorted((*found, *scoped), key=_order)) if scoped else found


class Asked(Sequence[Callable[[Any], Any]]):
    """The interceptors of one asking."""

    __slots__ = ("_listeners",)

    def __init__(self, listeners: tuple[Listener, ...]) -> None:
        self._listeners = listeners

    def __iter__(self) -> Iterator[Callable[[Any], Any]]:
        for listener in self._listeners:
            if listener.active:
                yield listener.function

    def __len__(self) -> int:
        return len(self._listeners)

    def __getitem__(self, index: Any) -> Any:
        functions: Any = [listener.function for listener in self._listeners]
        return functions[index]


class Hooks:
    """The event switch of one runtime. Used on its system's loop.

    Args:
        spawn: Starts the coroutine of an asynchronous observer and keeps it alive
            (``ActorSystem.spawn``). None makes a task on the running loop.
        logger: Where failures of observers go; None is ``broodline.hooks``.
    """

    __slots__ = ("_count", "_interceptors", "_logger", "_observers", "_spawn", "_tasks")

    def __init__(self, *, spawn: Spawn | None = None, logger: logging.Logger | None = None) -> None:
        self._observers: Table = {}
        self._interceptors: Table = {}
        self._count = 0
        self._logger = _LOGGER if logger is None else logger
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._spawn: Spawn = self._own_task if spawn is None else spawn

    def observe(
        self, event: str, listener: ListenerFunction, *, scope: Scope | None = None
    ) -> Registration:
        """Have `listener` told of every `event`.

        Args:
            event: Such as ``"agent/status"``; any name may be used.
            listener: Takes the payload; plain or async. What it returns is ignored.
            scope: Limits it to payloads of this scope and its descendants.

        Raises:
            ConfigurationError: If `scope` is disposed.
        """
        return self._add(self._observers, event, listener, scope)

    def intercept(
        self, event: str, fn: Callable[[Any], Any], *, scope: Scope | None = None
    ) -> Registration:
        """Have `fn` asked at every `event`; what its answer means is the event's own rule.

        Raises:
            ConfigurationError: If `scope` is disposed.
        """
        return self._add(self._interceptors, event, fn, scope)

    def has(self, event: str) -> bool:
        """Whether anybody, in whatever scope, hears or is asked at `event`."""
        return event in self._observers or event in self._interceptors

    def interceptors(self, event: str, scope: Scope | None) -> Sequence[Callable[[Any], Any]]:
        """Who is to be asked, in registration order; a snapshot, mostly empty.

        Going through it passes over those whose registration has ended by then.
        """
        if event not in self._interceptors:
            return ()
        found = _matching(self._interceptors, event, scope)
        return Asked(found) if found else ()

    def emit(self, event: str, payload: Any, *, scope: Scope | None = None) -> None:
        """Tell every matching observer; failures are logged, never raised.

        Plain observers have run when this returns, async ones are spawned. One that
        is added meanwhile does not hear this payload; one whose registration ends
        before its turn does not either.
        """
        if event not in self._observers:
            return
        for listener in _matching(self._observers, event, scope):
            if listener.active:
                self._tell(listener, event, payload)

    def emit_strict(self, event: str, payload: Any, *, scope: Scope | None = None) -> None:
        """Tell every matching observer, then raise what the first failing one raised.

        All of them hear the event before the veto is raised, so that the opposite
        edge, which the caller then emits, makes a pair for each. Further failures
        and those of async observers are logged.

        Raises:
            Exception: The first failure of a plain observer, itself: a veto.
        """
        if event not in self._observers:
            return
        veto: Exception | None = None
        for listener in _matching(self._observers, event, scope):
            if not listener.active:
                continue
            failure = self._tell(listener, event, payload, contained=veto is not None)
            veto = failure if veto is None else veto
        if veto is not None:
            raise veto

    async def emit_serial(self, event: str, payload: Any, *, scope: Scope | None = None) -> None:
        """Tell the matching observers one by one, awaiting each.

        Raises:
            Exception: What an observer raises, at once; those behind it hear nothing.
        """
        if event not in self._observers:
            return
        for listener in _matching(self._observers, event, scope):
            if listener.active:
                result = listener.function(payload)
                if result is not None and inspect.isawaitable(result):
                    await result

    def _add(
        self, table: Table, event: str, function: ListenerFunction, scope: Scope | None
    ) -> Registration:
        self._count += 1
        listener = Listener(function, self._count, table, event, scope)
        registration = register_in(scope, listener.stop)
        listener.join()
        return registration

    def _tell(
        self, listener: Listener, event: str, payload: Any, *, contained: bool = True
    ) -> Exception | None:
        """Call one observer; its failure is logged, or returned when not `contained`."""
        try:
            result = listener.function(payload)
        except BaseException as error:
            if not is_stray(error, None):
                raise
            if not contained:
                return as_exception(error)
            self._report(event, listener.function, error)
            return None
        if result is not None and inspect.isawaitable(result):
            self._start(listener.function, event, result)
        return None

    def _start(self, function: ListenerFunction, event: str, result: Awaitable[Any]) -> None:
        coroutine = self._contain(function, event, result)
        try:
            self._spawn(coroutine)
        except Exception as error:  # a system that is closing takes no more work
            coroutine.close()
            if inspect.iscoroutine(result):
                result.close()
            self._report(event, function, error)

    async def _contain(
        self, function: ListenerFunction, event: str, result: Awaitable[Any]
    ) -> None:
        try:
            await result
        except BaseException as error:
            if not is_stray(error, asyncio.current_task()):
                raise
            self._report(event, function, error)

    def _report(self, event: str, function: ListenerFunction, error: BaseException) -> None:
        name = getattr(function, "__qualname__", None) or type(function).__qualname__
        self._logger.error(
            "observer %s of %r failed; the work it was told of goes on", name, event, exc_info=error
        )

    def _own_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks[task] = None  # a loop alone does not keep its tasks alive
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
