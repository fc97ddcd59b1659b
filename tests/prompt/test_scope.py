"""Scopes: one parent, one end."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from broodline.actors.hooks import Hooks
from broodline.actors.prompt import PromptRegistry
from broodline.actors.registration import Registration
from broodline.actors.scope import Scope, register_in
from broodline.messages.errors import ConfigurationError, DeadlockError


def test_chain_nearest_first() -> None:
    """core 11.2: the chain goes from the scope to its farthest ancestor."""
    outer = Scope("outer")
    middle = Scope("middle", outer)
    inner = Scope("inner", middle)
    assert list(inner.chain()) == [inner, middle, outer]
    assert inner.within(outer)
    assert not outer.within(inner)


def test_no_parent_by_default() -> None:
    """core 11.2: a scope has no parent unless it is given one."""
    scope = Scope("agent")
    assert scope.parent is None
    assert list(scope.chain()) == [scope]


def test_second_parent_refused() -> None:
    """core #256: a bound scope refuses a second parent and keeps its first."""
    first = Scope("first")
    scope = Scope("child", first)
    with pytest.raises(ConfigurationError, match="'child' is bound to 'first' already"):
        scope.bind(Scope("second"))
    assert scope.parent is first


def test_same_parent_twice_refused() -> None:
    """core #256: binding the same parent again is a second binding too."""
    parent = Scope("parent")
    scope = Scope("child")
    scope.bind(parent)
    with pytest.raises(ConfigurationError, match="one parent for life"):
        scope.bind(parent)


def test_own_parent_refused() -> None:
    """core #256: a scope cannot be its own parent."""
    scope = Scope("self")
    with pytest.raises(ConfigurationError, match="cycle"):
        scope.bind(scope)
    assert scope.parent is None


def test_cycle_refused() -> None:
    """core #256: a scope cannot be bound below its own descendant."""
    top = Scope("top")
    bottom = Scope("bottom", Scope("middle", top))
    with pytest.raises(ConfigurationError, match="'bottom' inherits from 'top'"):
        top.bind(bottom)
    assert top.parent is None


def test_disposed_parent_refused() -> None:
    """core 11.2: neither a disposed parent nor a disposed child can be bound."""
    gone = Scope("gone")
    gone.dispose_now()
    with pytest.raises(ConfigurationError, match="'gone' is disposed"):
        Scope("child", gone)
    with pytest.raises(ConfigurationError, match="'gone' is disposed"):
        gone.bind(Scope("parent"))


def test_registering_in_disposed_scope() -> None:
    """core #257: section, variable, context, listener and cleanup are refused, naming the scope."""
    scope = Scope("gone")
    scope.dispose_now()
    hooks = Hooks()
    prompt = PromptRegistry(hooks)
    attempts: tuple[Callable[[], Registration], ...] = (
        lambda: prompt.section("a", "x", scope=scope),
        lambda: prompt.variable("a", "x", scope=scope),
        lambda: prompt.context("a", "x", scope=scope),
        lambda: prompt.suppress_contexts(scope),
        lambda: hooks.observe("e", print, scope=scope),
        lambda: hooks.intercept("e", print, scope=scope),
        lambda: scope.add_cleanup(print),
        lambda: register_in(scope, print),
    )
    for attempt in attempts:
        with pytest.raises(ConfigurationError, match="scope 'gone' is disposed"):
            attempt()
    assert not hooks.has("e")


def test_refused_while_disposing() -> None:
    """core #257: a scope refuses registrations from the start of its disposal on."""
    scope = Scope("closing")
    refused: list[str] = []

    def late() -> None:
        try:
            scope.add_cleanup(print)
        except ConfigurationError as error:
            refused.append(error.code)

    scope.add_cleanup(late)
    assert scope.dispose_now()
    assert refused == ["CONFIGURATION"]


def test_reverse_order() -> None:
    """core 11.2: cleanups run in the reverse order of their registration."""
    scope = Scope("s")
    ran: list[int] = []
    for number in range(4):
        scope.add_cleanup(partial(ran.append, number))
    assert scope.dispose_now()
    assert ran == [3, 2, 1, 0]


async def test_reverse_order_mixed() -> None:
    """core 11.2: an async cleanup is awaited before the one registered earlier runs."""
    scope = Scope("s")
    ran: list[str] = []
    gate = asyncio.Event()

    async def slow() -> None:
        await gate.wait()
        ran.append("slow")

    scope.add_cleanup(lambda: ran.append("first"))
    scope.add_cleanup(slow)
    scope.add_cleanup(lambda: ran.append("last"))
    disposal = asyncio.create_task(scope.dispose())
    await asyncio.sleep(0)
    assert ran == ["last"]
    gate.set()
    await disposal
    assert ran == ["last", "slow", "first"]


def test_same_function_twice() -> None:
    """core 11.2: a function that is registered twice runs twice."""
    scope = Scope("s")
    ran: list[int] = []

    def cleanup() -> None:
        ran.append(1)

    scope.add_cleanup(cleanup)
    scope.add_cleanup(cleanup)
    scope.dispose_now()
    assert ran == [1, 1]


def test_forgotten_cleanup() -> None:
    """core 11.2: disposing the registration of a cleanup forgets it without running it."""
    scope = Scope("s")
    ran: list[int] = []
    registration = scope.add_cleanup(lambda: ran.append(1))
    registration.dispose()
    scope.dispose_now()
    assert ran == []


def test_cleanup_that_ran_is_inactive() -> None:
    """core 11.2: the registration of a cleanup is over when the cleanup has run."""
    scope = Scope("s")
    registration = scope.add_cleanup(lambda: None)
    assert registration.active
    scope.dispose_now()
    assert not registration.active


def test_registration_ends_with_scope() -> None:
    """core 11.2: what is registered through a scope dies with it, and says so."""
    scope = Scope("s")
    undone: list[int] = []
    registration = register_in(scope, lambda: undone.append(1))
    scope.dispose_now()
    assert undone == [1]
    assert not registration.active
    registration.dispose()
    assert undone == [1]


def test_registration_ended_before_scope() -> None:
    """core 11.2: a registration that is disposed first is undone once, at once."""
    scope = Scope("s")
    undone: list[int] = []
    registration = register_in(scope, lambda: undone.append(1))
    registration.dispose()
    assert undone == [1]
    scope.dispose_now()
    assert undone == [1]


def test_registration_without_scope() -> None:
    """core 11.2: without a scope a registration lives until it is disposed."""
    undone: list[int] = []
    registration = register_in(None, lambda: undone.append(1))
    assert type(registration) is Registration
    registration.dispose()
    assert undone == [1]


def test_dispose_twice() -> None:
    """core 11.2: disposal is idempotent."""
    scope = Scope("s")
    ran: list[int] = []
    scope.add_cleanup(lambda: ran.append(1))
    assert scope.dispose_now()
    assert scope.dispose_now()
    assert ran == [1]


def test_dispose_now_plain_needs_no_loop() -> None:
    """core 11.2: a scope without async cleanups is disposed without a loop."""
    scope = Scope("s")
    scope.add_cleanup(lambda: None)
    assert scope.dispose_now() is True
    assert scope.disposed


async def test_dispose_now_leaves_the_rest() -> None:
    """core 11.2: dispose_now begins, says False at an async cleanup, and dispose goes on there."""
    scope = Scope("s")
    ran: list[str] = []

    async def slow() -> None:
        ran.append("slow")

    scope.add_cleanup(lambda: ran.append("first"))
    scope.add_cleanup(slow)
    scope.add_cleanup(lambda: ran.append("last"))
    assert scope.dispose_now() is False
    assert scope.dispose_now() is False
    assert ran == ["last"]
    await scope.dispose()
    assert ran == ["last", "slow", "first"]
    assert scope.dispose_now() is True


async def test_concurrent_disposals_share_failure() -> None:
    """core #258: a failing async cleanup: all run once, every caller gets the same outcome."""
    scope = Scope("s")
    ran: list[str] = []
    gate = asyncio.Event()

    async def broken() -> None:
        ran.append("broken")
        await gate.wait()
        raise ValueError("lost")

    scope.add_cleanup(lambda: ran.append("first"))
    scope.add_cleanup(broken)
    scope.add_cleanup(lambda: ran.append("last"))
    callers = [asyncio.create_task(scope.dispose()) for _ in range(3)]
    await asyncio.sleep(0)
    gate.set()
    outcomes = await asyncio.gather(*callers, return_exceptions=True)
    assert ran == ["last", "broken", "first"]
    assert isinstance(outcomes[0], ExceptionGroup)
    assert outcomes[1] is outcomes[0]
    assert outcomes[2] is outcomes[0]
    with pytest.raises(ExceptionGroup) as late:
        await scope.dispose()
    assert late.value is outcomes[0]


async def test_failures_collected() -> None:
    """core #258: sync and async failures come in one group, in the order they happened."""
    scope = Scope("s")

    def broken() -> None:
        raise KeyError("sync")

    async def broken_too() -> None:
        raise ValueError("async")

    scope.add_cleanup(broken)
    scope.add_cleanup(broken_too)
    with pytest.raises(ExceptionGroup, match="scope 's': 2 of its cleanups failed") as caught:
        await scope.dispose()
    assert [type(one) for one in caught.value.exceptions] == [ValueError, KeyError]


async def test_cancelled_caller() -> None:
    """core #258: cancelling one caller ends its wait, not the disposal."""
    scope = Scope("s")
    ran: list[str] = []
    gate = asyncio.Event()

    async def slow() -> None:
        await gate.wait()
        ran.append("slow")

    scope.add_cleanup(slow)
    first = asyncio.create_task(scope.dispose())
    second = asyncio.create_task(scope.dispose())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    assert first.cancelled()
    gate.set()
    await second
    assert ran == ["slow"]


async def test_cancelled_cleanup() -> None:
    """core #258: a cleanup that ends cancelled is a failure like any other."""
    scope = Scope("s")
    ran: list[str] = []

    async def cancelled() -> None:
        raise asyncio.CancelledError

    scope.add_cleanup(lambda: ran.append("first"))
    scope.add_cleanup(cancelled)
    with pytest.raises(ExceptionGroup):
        await scope.dispose()
    assert ran == ["first"]


async def test_cleanup_awaiting_own_disposal() -> None:
    """core 11.2: a cleanup that awaits its own scope's disposal fails instead of hanging."""
    scope = Scope("s")
    scope.add_cleanup(scope.dispose)
    with pytest.raises(ExceptionGroup) as caught:
        await scope.dispose()
    assert isinstance(caught.value.exceptions[0], DeadlockError)


def test_disposing_within_cleanup() -> None:
    """core 11.2: a plain cleanup that disposes its own scope neither hangs nor repeats."""
    scope = Scope("s")
    ran: list[Any] = []
    scope.add_cleanup(lambda: ran.append("first"))
    scope.add_cleanup(lambda: ran.append(scope.dispose_now()))
    assert scope.dispose_now()
    assert ran == [False, "first"]


def test_disposed_scope_is_freed() -> None:
    """DESIGN section 2: a disposed scope with registrations leaves no reference cycle."""

    class Probe(Scope):
        __slots__ = ("__weakref__",)

    hooks = Hooks()
    scope = Probe("s")
    registration = PromptRegistry(hooks).section("a", "x", scope=scope)
    hooks.observe("e", print, scope=scope)
    gone = weakref.ref(scope)
    gc.disable()
    try:
        scope.dispose_now()
        del scope, registration
        assert gone() is None
    finally:
        gc.enable()
