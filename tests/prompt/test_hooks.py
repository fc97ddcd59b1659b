"""Hooks: who hears what, and what a failing listener may do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from broodline.actors.hooks import Hooks
from broodline.actors.scope import Scope


def recorder(log: list[Any], mark: str) -> Callable[[Any], None]:
    def listener(payload: Any) -> None:
        log.append((mark, payload))

    return listener


def raiser(error: Exception) -> Callable[[Any], None]:
    def listener(_payload: Any) -> None:
        raise error

    return listener


def test_registration_order() -> None:
    """core 11.2: observers are told in registration order, whatever their scopes."""
    hooks = Hooks()
    outer = Scope("outer")
    inner = Scope("inner", outer)
    log: list[Any] = []
    hooks.observe("e", recorder(log, "inner"), scope=inner)
    hooks.observe("e", recorder(log, "global"))
    hooks.observe("e", recorder(log, "outer"), scope=outer)
    hooks.observe("e", recorder(log, "inner again"), scope=inner)
    hooks.emit("e", 1, scope=inner)
    assert log == [("inner", 1), ("global", 1), ("outer", 1), ("inner again", 1)]


def test_scoped_routing() -> None:
    """core #255: A's listener hears A only; one on A's ancestor hears A; A's hears no ancestor."""
    hooks = Hooks()
    ancestor = Scope("ancestor")
    a = Scope("a", ancestor)
    b = Scope("b")
    log: list[Any] = []
    hooks.observe("e", recorder(log, "a"), scope=a)
    hooks.observe("e", recorder(log, "ancestor"), scope=ancestor)
    hooks.emit("e", "from b", scope=b)
    assert log == []
    hooks.emit("e", "from ancestor", scope=ancestor)
    assert log == [("ancestor", "from ancestor")]
    log.clear()
    hooks.emit("e", "from a", scope=a)
    assert log == [("a", "from a"), ("ancestor", "from a")]


def test_untagged_hears_all() -> None:
    """core 11.2: a listener without scope hears all; one with a scope not what has none."""
    hooks = Hooks()
    scope = Scope("a")
    log: list[Any] = []
    hooks.observe("e", recorder(log, "global"))
    hooks.observe("e", recorder(log, "scoped"), scope=scope)
    hooks.emit("e", 1)
    hooks.emit("e", 2, scope=Scope("other"))
    assert log == [("global", 1), ("global", 2)]


def test_interceptors_routed() -> None:
    """core #255: interceptors are routed like observers."""
    hooks = Hooks()
    a, b = Scope("a"), Scope("b")
    hooks.intercept("e", print, scope=a)
    hooks.intercept("e", repr)
    assert list(hooks.interceptors("e", a)) == [print, repr]
    assert list(hooks.interceptors("e", b)) == [repr]
    assert list(hooks.interceptors("e", None)) == [repr]


def test_bound_later() -> None:
    """core 11.2: a scope that is bound after the listener came hears from then on."""
    hooks = Hooks()
    outer = Scope("outer")
    inner = Scope("inner")
    log: list[Any] = []
    hooks.observe("e", recorder(log, "outer"), scope=outer)
    hooks.emit("e", 1, scope=inner)
    inner.bind(outer)
    hooks.emit("e", 2, scope=inner)
    assert log == [("outer", 2)]


def test_dies_with_scope() -> None:
    """core 11.2: a scope's listeners die with it and leave nothing behind."""
    hooks = Hooks()
    scope = Scope("a")
    log: list[Any] = []
    hooks.observe("e", recorder(log, "a"), scope=scope)
    hooks.intercept("e", print, scope=scope)
    scope.dispose_now()
    hooks.emit("e", 1, scope=scope)
    assert log == []
    assert list(hooks.interceptors("e", scope)) == []
    assert not hooks.has("e")


def test_has() -> None:
    """core 11.2: has() says whether anybody listens, and is False again after the last went."""
    hooks = Hooks()
    assert not hooks.has("e")
    first = hooks.observe("e", print)
    second = hooks.intercept("e", print)
    first.dispose()
    assert hooks.has("e")
    second.dispose()
    assert not hooks.has("e")


def test_same_function_twice() -> None:
    """core 11.2: a function registered twice is told twice; each registration ends one."""
    hooks = Hooks()
    log: list[Any] = []
    listener = recorder(log, "x")
    first = hooks.observe("e", listener)
    hooks.observe("e", listener)
    first.dispose()
    first.dispose()
    hooks.emit("e", 1)
    assert log == [("x", 1)]


def test_nobody_listens() -> None:
    """core 11.2: emitting where nobody listens does nothing."""
    hooks = Hooks()
    hooks.emit("e", 1)
    hooks.emit_strict("e", 1, scope=Scope("a"))
    assert list(hooks.interceptors("e", None)) == []


def test_failure_contained(caplog: pytest.LogCaptureFixture) -> None:
    """core 8: an observer that raises is logged by name; the others are told, nothing is raised."""
    hooks = Hooks()
    log: list[Any] = []
    hooks.observe("agent/error", raiser(ValueError("broken")))
    hooks.observe("agent/error", recorder(log, "next"))
    with caplog.at_level(logging.ERROR, "broodline.hooks"):
        hooks.emit("agent/error", 1)
    assert log == [("next", 1)]
    assert "raiser.<locals>.listener of 'agent/error' failed" in caplog.text
    assert "ValueError: broken" in caplog.text


def test_own_logger(caplog: pytest.LogCaptureFixture) -> None:
    """core 11.2: failures go to the logger that was handed in."""
    hooks = Hooks(logger=logging.getLogger("mine"))
    hooks.observe("e", raiser(ValueError("broken")))
    with caplog.at_level(logging.ERROR):
        hooks.emit("e", 1)
    assert [record.name for record in caplog.records] == ["mine"]


async def test_async_observer() -> None:
    """core 11.2: the plain part of an emit is done when it returns, async observers run later."""
    hooks = Hooks()
    log: list[Any] = []
    done = asyncio.Event()

    async def slow(payload: Any) -> None:
        log.append(("slow", payload))
        done.set()

    hooks.observe("e", slow)
    hooks.observe("e", recorder(log, "plain"))
    hooks.emit("e", 1)
    assert log == [("plain", 1)]
    await done.wait()
    assert log == [("plain", 1), ("slow", 1)]


async def test_async_failure_contained(caplog: pytest.LogCaptureFixture) -> None:
    """core 1.7: an async observer's failure is only logged, also in a strict emit."""
    hooks = Hooks()
    ran = asyncio.Event()

    async def broken(_payload: Any) -> None:
        ran.set()
        raise ValueError("late")

    hooks.observe("session/created", broken)
    with caplog.at_level(logging.ERROR, "broodline.hooks"):
        hooks.emit_strict("session/created", 1)
        await ran.wait()
        await asyncio.sleep(0)
    assert "ValueError: late" in caplog.text


async def test_spawn_used() -> None:
    """core 11.2: async observers are started through the spawn that was handed in."""
    spawned: list[Coroutine[Any, Any, None]] = []
    hooks = Hooks(spawn=spawned.append)
    log: list[Any] = []

    async def slow(payload: Any) -> None:
        log.append(payload)

    hooks.observe("e", slow)
    hooks.emit("e", 1)
    assert log == []
    await spawned[0]
    assert log == [1]


def test_spawn_refuses(caplog: pytest.LogCaptureFixture) -> None:
    """core 11.2: when no work is taken any more, the observer is logged, not leaked or raised."""

    def refuse(_coroutine: Coroutine[Any, Any, None]) -> None:
        raise RuntimeError("closing")

    hooks = Hooks(spawn=refuse)
    log: list[Any] = []

    async def slow(_payload: Any) -> None:
        log.append("never")

    hooks.observe("e", slow)
    with caplog.at_level(logging.ERROR, "broodline.hooks"):
        hooks.emit("e", 1)
    assert log == []
    assert "RuntimeError: closing" in caplog.text


def test_veto() -> None:
    """core #122: a plain observer that raises vetoes; the very exception reaches the emitter."""
    hooks = Hooks()
    error = PermissionError("not this one")
    hooks.observe("agent/created", raiser(error))
    with pytest.raises(PermissionError) as caught:
        hooks.emit_strict("agent/created", 1)
    assert caught.value is error


def test_veto_makes_pairs() -> None:
    """core #122: all observers hear a vetoed edge, so that the opposite edge pairs each."""
    hooks = Hooks()
    log: list[Any] = []
    hooks.observe("agent/created", recorder(log, "before"))
    hooks.observe("agent/created", raiser(PermissionError("no")))
    hooks.observe("agent/created", recorder(log, "after"))
    with pytest.raises(PermissionError):
        hooks.emit_strict("agent/created", 1)
    assert log == [("before", 1), ("after", 1)]


def test_second_veto_logged(caplog: pytest.LogCaptureFixture) -> None:
    """core 6.2: the first veto is raised, a further one is logged."""
    hooks = Hooks()
    hooks.observe("e", raiser(PermissionError("first")))
    hooks.observe("e", raiser(ValueError("second")))
    with (
        caplog.at_level(logging.ERROR, "broodline.hooks"),
        pytest.raises(PermissionError, match="first"),
    ):
        hooks.emit_strict("e", 1)
    assert "ValueError: second" in caplog.text
    assert "first" not in caplog.text


def test_a_falsy_error_is_a_veto(caplog: pytest.LogCaptureFixture) -> None:
    """core 6.2: the first veto counts, also where its class says it is false."""

    class EmptyError(Exception):
        def __len__(self) -> int:
            return 0

    hooks = Hooks()
    hooks.observe("e", raiser(EmptyError()))
    hooks.observe("e", raiser(ValueError("second")))
    with caplog.at_level(logging.ERROR, "broodline.hooks"), pytest.raises(EmptyError):
        hooks.emit_strict("e", 1)


def test_strict_scoped() -> None:
    """core #255: a scoped observer cannot veto what it does not hear."""
    hooks = Hooks()
    hooks.observe("e", raiser(PermissionError("no")), scope=Scope("a"))
    hooks.emit_strict("e", 1, scope=Scope("b"))


async def test_serial_order() -> None:
    """core 8 step 17: turn-stopping observers are awaited one after the other."""
    hooks = Hooks()
    log: list[Any] = []
    gate = asyncio.Event()

    async def slow(payload: Any) -> None:
        await gate.wait()
        log.append(("slow", payload))

    hooks.observe("agent/turn-stopping", slow)
    hooks.observe("agent/turn-stopping", recorder(log, "plain"))
    emit = asyncio.create_task(hooks.emit_serial("agent/turn-stopping", 1))
    await asyncio.sleep(0)
    assert log == []
    gate.set()
    await emit
    assert log == [("slow", 1), ("plain", 1)]


@pytest.mark.parametrize("is_async", [False, True])
async def test_serial_failure(is_async: bool) -> None:
    """core 8 step 17: a failure in a serial emit reaches the emitter; the rest hear nothing."""
    hooks = Hooks()
    log: list[Any] = []
    error = ValueError("broken")

    async def broken(_payload: Any) -> None:
        raise error

    hooks.observe("e", broken if is_async else raiser(error))
    hooks.observe("e", recorder(log, "behind"))
    with pytest.raises(ValueError, match="broken") as caught:
        await hooks.emit_serial("e", 1)
    assert caught.value is error
    assert log == []


def test_registering_during_emit() -> None:
    """core 11.2: an observer added during an emit hears the next payload, not this one."""
    hooks = Hooks()
    log: list[Any] = []

    def first(_payload: Any) -> None:
        hooks.observe("e", recorder(log, "added"))

    registration = hooks.observe("e", first)
    hooks.emit("e", 1)
    assert log == []
    registration.dispose()
    hooks.emit("e", 2)
    assert log == [("added", 2)]


def test_unregistering_during_emit() -> None:
    """core 11.2: an observer taken out during an emit is passed over, the others are told once."""
    hooks = Hooks()
    log: list[Any] = []

    def first(payload: Any) -> None:
        log.append(("first", payload))
        own.dispose()
        second.dispose()

    own = hooks.observe("e", first)
    second = hooks.observe("e", recorder(log, "second"))
    hooks.observe("e", recorder(log, "third"))
    hooks.emit("e", 1)
    hooks.emit("e", 2)
    assert log == [("first", 1), ("third", 1), ("third", 2)]


def test_scope_disposed_during_emit() -> None:
    """core 11.2: a scope that dies during an emit takes its waiting observers with it."""
    hooks = Hooks()
    scope = Scope("a")
    log: list[Any] = []
    hooks.observe("e", lambda _payload: scope.dispose_now())
    hooks.observe("e", recorder(log, "scoped"), scope=scope)
    hooks.observe("e", recorder(log, "global"))
    hooks.emit("e", 1, scope=scope)
    assert log == [("global", 1)]


def test_nested_emit() -> None:
    """core 11.2: an emit within an observer is told at once, each payload in registration order."""
    hooks = Hooks()
    log: list[Any] = []

    def first(payload: int) -> None:
        log.append(("first", payload))
        if payload == 1:
            hooks.emit("e", 2)

    hooks.observe("e", first)
    hooks.observe("e", recorder(log, "second"))
    hooks.emit("e", 1)
    assert log == [("first", 1), ("first", 2), ("second", 2), ("second", 1)]


def test_interceptors_are_a_snapshot() -> None:
    """core 11.2: the sequence of interceptors does not change under the caller that folds it."""
    hooks = Hooks()
    hooks.intercept("e", print)
    asked = hooks.interceptors("e", None)
    hooks.intercept("e", repr)
    assert list(asked) == [print]
