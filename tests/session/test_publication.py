"""Observers: contained, in order, and allowed to append."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.registration import Registration
from broodline.messages.errors import ConfigurationError, SessionError
from broodline.messages.event import Event
from broodline.messages.payload import OpaquePayload


def note(number: int) -> OpaquePayload:
    return OpaquePayload("session/title", number)


def test_failing_observer_is_contained(
    kit: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """core #11: an observer that raises is logged; the append stands, later ones are told."""
    session = kit.session()
    heard: list[Any] = []

    def broken(_: Event) -> None:
        raise ValueError("broken observer")

    session.observe(broken)
    session.observe(heard.append)
    event = session.append(note(1))
    assert heard == [event]
    assert session.events == (event,)
    assert "broken" in caplog.text


def test_cancelled_observer_is_contained(kit: SimpleNamespace) -> None:
    """core 1.2: a cancellation that an observer lets out does not cancel who appends."""
    session = kit.session()
    heard: list[Any] = []

    def cancelled(_: Event) -> None:
        raise asyncio.CancelledError

    session.observe(cancelled)
    session.observe(heard.append)
    session.append(note(1))
    assert len(heard) == 1


async def test_async_failure_is_logged(
    kit: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """core #12: an async observer's failure is reported; the append had succeeded long before."""
    tasks: list[asyncio.Task[None]] = []

    def spawn(coroutine: Any) -> None:
        tasks.append(asyncio.get_running_loop().create_task(coroutine))

    session = kit.session(spawn=spawn)

    async def broken(_: Event) -> None:
        raise ValueError("broken later")

    session.observe(broken)
    assert session.append(note(1)).seq == 0
    assert caplog.text == ""
    await asyncio.gather(*tasks)
    assert "broken later" in caplog.text


def test_async_observer_needs_a_runtime(
    kit: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """core 1.2: an async observer that nobody can run is reported and does no harm."""
    session = kit.session()
    heard: list[Any] = []

    async def later(_: Event) -> None:
        raise AssertionError("never runs")

    session.observe(later)
    session.observe(heard.append)
    session.append(note(1))
    assert len(heard) == 1
    assert "async observer" in caplog.text


def test_nested_append_is_queued(kit: SimpleNamespace) -> None:
    """core #14: an append from an observer (D4) is told to all after the current event."""
    session = kit.session()
    first: list[int] = []
    second: list[int] = []
    returned: list[Event] = []

    def nesting(event: Event) -> None:
        first.append(event.seq)
        if event.seq in (0, 1):
            returned.append(session.append(note(10 + event.seq)))

    session.observe(nesting)

    def listening(event: Event) -> None:
        second.append(event.seq)

    session.observe(listening)
    outer = session.append(note(0))
    assert outer.seq == 0
    assert first == second == [0, 1, 2]
    assert [event.seq for event in session.events] == [0, 1, 2]
    assert returned == list(session.events[1:])
    assert session.append(note(3)).seq == 3


def test_nested_refusal_reaches_the_observer(kit: SimpleNamespace) -> None:
    """core #14: a nested append that is refused raises in the observer and leaves no gap."""
    session = kit.session()
    refusals: list[Any] = []

    def nesting(event: Event) -> None:
        if event.seq == 0:
            try:
                session.append(kit.ended(4))
            except Exception as error:
                refusals.append(error)

    session.observe(nesting)
    session.append(note(0))
    assert len(refusals) == 1
    assert session.append(note(1)).seq == 1


def test_observer_leaves_during_publication(kit: SimpleNamespace) -> None:
    """core 1.2: an observer taken away by an earlier one does not hear the event any more."""
    session = kit.session()
    heard: list[Any] = []
    leaving: list[Registration] = []

    def ending(_: Event) -> None:
        leaving[0].dispose()

    session.observe(ending)
    leaving.append(session.observe(heard.append))
    session.append(note(0))
    session.append(note(1))
    assert heard == []


def test_observer_that_joins_hears_the_next(kit: SimpleNamespace) -> None:
    """core 1.2: an observer added by another one hears from the next event on."""
    session = kit.session()
    heard: list[Any] = []

    def joining(event: Event) -> None:
        if event.seq == 0:
            session.observe(heard.append)

    session.observe(joining)
    session.append(note(0))
    event = session.append(note(1))
    assert heard == [event]


def test_disposed_observer_hears_nothing(kit: SimpleNamespace) -> None:
    """core 1.2: the registration of an observer takes back that one alone."""
    session = kit.session()
    heard: list[Any] = []
    one, two = session.observe(heard.append), session.observe(heard.append)
    one.dispose()
    one.dispose()
    session.append(note(0))
    assert len(heard) == 1
    two.dispose()
    session.append(note(1))
    assert len(heard) == 1


def test_logger_is_named(kit: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    """core 1.2: the report names the observer, the event and the session."""
    session = kit.session(id="root")

    def naming(_: Event) -> None:
        raise ValueError

    session.observe(naming)
    session.append(note(0))
    record = caplog.records[0]
    assert record.levelno == logging.ERROR
    assert record.name == "broodline.session"
    for part in ("naming", "event 0", "session/title", "root"):
        assert part in record.getMessage()


def test_a_check_may_seal(kit: SimpleNamespace) -> None:
    """core 1.2: a session that a check seals takes no event any more, nor the one asked about."""
    session = kit.session()

    def sealing(_: Event) -> None:
        session.seal("its runtime is gone")

    registration = session.add_check(sealing)
    with pytest.raises(SessionError, match="its runtime is gone"):
        session.append(note(1))
    assert session.sealed
    assert session.seq == 0
    registration.dispose()
    with pytest.raises(SessionError, match="its runtime is gone"):
        session.append(note(1))


def test_a_check_is_no_seal(kit: SimpleNamespace) -> None:
    """core 1.2: a session is not sealed while a check is asked."""
    session = kit.session()
    seen: list[bool] = []

    def looking(_: Event) -> None:
        seen.append(session.sealed)

    session.add_check(looking)
    session.append(note(1))
    assert seen == [False]


def test_a_check_is_plain(kit: SimpleNamespace) -> None:
    """core 1.2 #13: a check that would have to be awaited could never veto, so it is refused."""
    session = kit.session()

    async def veto(event: Event) -> None:
        raise ValueError

    with pytest.raises(ConfigurationError, match="plain function"):
        session.add_check(veto)


def test_sources_are_the_logs_own(kit: SimpleNamespace) -> None:
    """core 1.2 #4: citations in a list, which could still change, are refused."""
    session = kit.session()
    session.append(kit.user_logged("u1"), surface="append")
    cited: Any = [0]
    with pytest.raises(ConfigurationError, match="give a tuple"):
        session.append(kit.user_logged("u2"), surface="append", sources=cited)
    assert session.seq == 1


@dataclass
class Recorder:
    """Equal to every other that has heard the same."""

    heard: list[int] = field(default_factory=list[int])

    def __call__(self, event: Event) -> None:
        self.heard.append(event.seq)


def test_equal_listeners_are_not_the_same(kit: SimpleNamespace) -> None:
    """core 1.2: taking one observer or check back leaves an equal one in place."""
    session = kit.session()
    first, second = Recorder(), Recorder()
    session.observe(first)
    session.observe(second).dispose()
    session.add_check(first)
    session.add_check(second).dispose()
    session.append(note(1))
    assert first.heard == [0, 0]
    assert second.heard == []


def test_what_waits_for_a_publication_is_not_lost(
    kit: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    """core 1.7: one failure among what was put off until the observers are done leaves the rest."""
    session = kit.session()
    done: list[str] = []

    def fail() -> None:
        raise ValueError("first")

    def observer(event: Event) -> None:
        session.after_publication(fail)
        session.after_publication(lambda: done.append("second"))

    session.observe(observer)
    session.append(note(1))
    assert done == ["second"]
    assert "failed" in caplog.text
