"""Scopes: what is registered through one dies with it.

A scope is an identity with at most one parent. Registries keep a layer a scope
and look along `Scope.chain`, nearest first, so a parent's registrations are
seen by its descendants and never the reverse. An agent's scope has no parent
unless its creator binds one: a delegated child inherits nothing.

Source: spec core 11.2.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

from ..messages.errors import ConfigurationError, DeadlockError, OperationCancelledError
from .registration import Registration
from .stray import as_exception, is_stray

Cleanup: TypeAlias = Callable[[], Any]
"""Plain or async, without arguments; what it returns is ignored."""


class Scope:
    """One layer of registrations, with a lifetime.

    Used on its system's loop. Two scopes are equal only if they are the same.

    Args:
        name: For people: it stands in errors.
        parent: Whose registrations are inherited; None leaves it open to `bind`.

    Attributes:
        name: As given.
        disposed: True from the start of the disposal on; nothing more can be
            registered then.
    """

    __slots__ = (
        "_cleanups",
        "_failure",
        "_failures",
        "_parent",
        "_pending",
        "_sweeping",
        "_task",
        "disposed",
        "name",
    )

    def __init__(self, name: str, parent: Scope | None = None) -> None:
        self.name = name
        self.disposed = False
        self._sweeping = False
        self._parent: Scope | None = None
        # None for a registration that only has to be disposed.
        self._cleanups: dict[Registration, Cleanup | None] | None = None
        self._failures: list[Exception] | None = None
        self._failure: ExceptionGroup[Exception] | None = None
        self._pending: Awaitable[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        if parent is not None:
            self.bind(parent)

    def __repr__(self) -> str:
        return f"<Scope {self.name!r}{' disposed' if self.disposed else ''}>"

    @property
    def parent(self) -> Scope | None:
        """The scope whose registrations this one inherits, or None."""
        return self._parent

    def bind(self, parent: Scope) -> None:
        """Give this scope its parent, once.

        Raises:
            ConfigurationError: If it has one already, if `parent` is itself or a
                descendant, or if either is disposed.
        """
        self.check_open()
        parent.check_open()
        if self._parent is not None:
            raise ConfigurationError(
                f"scope {self.name!r} is bound to {self._parent.name!r} already; a scope has one "
                f"parent for life: make a new scope under {parent.name!r}"
            )
        if parent.within(self):
            raise ConfigurationError(
                f"binding scope {self.name!r} to {parent.name!r} would make a cycle: "
                f"{parent.name!r} inherits from {self.name!r}"
            )
        self._parent = parent

    def chain(self) -> Iterator[Scope]:
        """Yield this scope, then its ancestors, nearest first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope._parent

    def within(self, ancestor: Scope) -> bool:
        """Whether this scope is `ancestor` or descends from it."""
        return any(scope is ancestor for scope in self.chain())

    def check_open(self) -> None:
        """Do nothing while the scope lives.

        Raises:
            ConfigurationError: If it is disposed.
        """
        if self.disposed:
            raise ConfigurationError(
                f"scope {self.name!r} is disposed: nothing can be registered in it any more; "
                "register before its owner is disposed, or in a scope that lives longer"
            )

    def add_cleanup(self, cleanup: Cleanup) -> Registration:
        """Have `cleanup` run when the scope is disposed.

        Disposing the registration forgets the cleanup without running it.

        Raises:
            ConfigurationError: If the scope is disposed.
        """
        return self._keep(_ScopedRegistration(self, _nothing), cleanup)

    def register(self, undo: Callable[[], None]) -> Registration:
        """A registration that ends with the scope, if it was not ended before.

        Raises:
            ConfigurationError: If the scope is disposed.
        """
        return self._keep(_ScopedRegistration(self, undo), None)

    def _keep(self, registration: _ScopedRegistration, cleanup: Cleanup | None) -> Registration:
        self.check_open()
        if self._cleanups is None:
            self._cleanups = {}
        self._cleanups[registration] = cleanup
        return registration

    def forget(self, registration: Registration) -> None:
        """Let go of a registration of this scope; its own `dispose` calls this."""
        if self._cleanups is not None:
            self._cleanups.pop(registration, None)

    def dispose_now(self) -> bool:
        """Dispose without waiting, as far as that goes.

        Cleanups run in the reverse of the order in which they were added, each
        once, whatever the others do.

        Returns:
            True when everything is done. False when a cleanup is asynchronous or
            the disposal is under way elsewhere: await `dispose` for the rest.

        Raises:
            ExceptionGroup: All failures, when everything is done and some failed;
                the same object at every call.
        """
        if self._task is not None and not self._task.done():
            return False
        self.disposed = True
        if self._sweeping or self._pending is not None or not self._sweep():
            return False
        self._outcome()
        return True

    async def dispose(self) -> None:
        """Dispose and wait for the end; idempotent and shared by all callers.

        Cancelling a caller ends its wait only, not the disposal.

        Raises:
            DeadlockError: If a cleanup awaits the disposal of its own scope.
            ExceptionGroup: All failures; every caller gets the same object.
        """
        if self.dispose_now():
            return
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._finish())
        elif self._task is asyncio.current_task():
            raise DeadlockError(
                f"a cleanup of scope {self.name!r} awaits the disposal it is part of; "
                "let the cleanup return instead"
            )
        await asyncio.shield(self._task)
        self._outcome()

    def _sweep(self) -> bool:
        """Run cleanups until one turns out to be asynchronous (then False)."""
        self._sweeping = True
        try:
            while self._cleanups and self._pending is None:
                registration, cleanup = self._cleanups.popitem()
                self._run(registration.dispose if cleanup is None else cleanup)
                registration.dispose()
        finally:
            self._sweeping = False
        return self._pending is None

    def _run(self, cleanup: Cleanup) -> None:
        try:
            result = cleanup()
        except BaseException as error:  # every cleanup gets its turn
            if not is_stray(error, None):
                raise
            self._failed(as_exception(error))
            return
        if result is not None and inspect.isawaitable(result):
            self._pending = result

    async def _finish(self) -> None:
        while self._pending is not None:
            try:
                await self._pending
            except asyncio.CancelledError as error:
                # Even a loop that is shutting down gives the other cleanups their turn.
                self._failed(OperationCancelledError(error))
            except BaseException as error:
                if not is_stray(error, asyncio.current_task()):
                    raise
                self._failed(as_exception(error))
            self._pending = None
            self._sweep()

    def _failed(self, error: Exception) -> None:
        if self._failures is None:
            self._failures = []
        self._failures.append(error)

    def _outcome(self) -> None:
        if self._failures is None:
            return
        if self._failure is None:
            count = len(self._failures)
            self._failure = ExceptionGroup(
                f"scope {self.name!r}: {count} of its cleanups failed; all of them have run",
                self._failures,
            )
        raise self._failure


class _ScopedRegistration(Registration):
    """Also leaves its scope when it is disposed first."""

    __slots__ = ("_scope",)

    def __init__(self, scope: Scope, undo: Callable[[], None]) -> None:
        super().__init__(undo)
        self._scope = scope

    def dispose(self) -> None:
        self._scope.forget(self)
        super().dispose()


def _nothing() -> None:
    """What there is to undo about a cleanup that is forgotten."""


def register_in(scope: Scope | None, undo: Callable[[], None]) -> Registration:
    """A registration that ends with `scope`, or lives until disposed when that is None."""
    return Registration(undo) if scope is None else scope.register(undo)
