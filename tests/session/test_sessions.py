"""The registry of live sessions: lifecycle, forks, flushes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from broodline.actors.hooks import Hooks
from broodline.actors.session import Session
from broodline.actors.sessions import SessionRegistry
from broodline.actors.stores.memory import MemoryStore
from broodline.messages.errors import (
    ConfigurationError,
    SessionCorruptError,
    SessionError,
    SessionLeasedError,
)
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import EndSeed, OpaquePayload, TurnStart

NOTE = OpaquePayload("session/title", {})


def refuse(_: object) -> None:
    """A check that vetoes everything."""
    raise ZeroDivisionError


class House:
    """A registry with its hooks, its store, and what its hooks told."""

    def __init__(self, kit: SimpleNamespace, store: MemoryStore | None = None) -> None:
        self.hooks = Hooks()
        self.store = MemoryStore() if store is None else store
        self.registry = SessionRegistry(self.hooks, clock=kit.CountedClock(), store=self.store)
        self.edges: list[tuple[str, str]] = []
        for name in ("created", "disposed"):
            self.hooks.observe(f"session/{name}", self._listener(name))

    def _listener(self, name: str) -> Any:
        def told(notice: Any) -> None:
            self.edges.append((name, notice.session.id))

        return told

    def live(self, id: str = "s", seed: Any = None, **header: Any) -> Session:
        session = self.registry.prepare(SessionHeader(id, 1, **header), seed)
        self.registry.enter(session)
        return session


@pytest.fixture
def house(kit: SimpleNamespace) -> House:
    return House(kit)


def code(caught: pytest.ExceptionInfo[SessionError]) -> str:
    return str(caught.value.code)


def test_life_of_a_session(house: House) -> None:
    """core 1.7: prepared it is unknown, entered it is found, announced it is told of, once."""
    session = house.registry.prepare(SessionHeader("s", 1))
    assert house.registry.get("s") is None
    registration = house.registry.enter(session)
    assert house.registry.get("s") is session
    assert house.registry.list() == (session,)
    assert house.edges == []
    house.registry.announce(session)
    assert house.edges == [("created", "s")]
    registration.dispose()
    registration.dispose()
    assert house.edges == [("created", "s"), ("disposed", "s")]
    assert house.registry.get("s") is None
    assert session.sealed


def test_announced_once(house: House) -> None:
    """core 1.7: a second announcement, or one of a session that is not live, is refused."""
    session = house.live()
    house.registry.announce(session)
    with pytest.raises(SessionError):
        house.registry.announce(session)
    with pytest.raises(SessionError):
        house.registry.announce(house.registry.prepare(SessionHeader("t", 1)))
    assert house.edges == [("created", "s")]


def test_duplicates(house: House) -> None:
    """core 1.7: a live id is refused at prepare; of several prepared ones one enters."""
    one, two = (house.registry.prepare(SessionHeader("s", 1)) for _ in range(2))
    house.registry.enter(two)
    for attempt in (
        lambda: house.registry.enter(one),
        lambda: house.registry.enter(two),
        lambda: house.registry.prepare(SessionHeader("s", 1)),
    ):
        with pytest.raises(SessionError) as caught:
            attempt()
        assert code(caught) == "SESSION_ALREADY_EXISTS"
    assert house.registry.get("s") is two


def test_veto_rolls_back(house: House) -> None:
    """core 1.7: a listener that raises vetoes; who heard of the creation hears of the end."""
    house.hooks.observe("session/created", refuse)
    session = house.live()
    with pytest.raises(ZeroDivisionError):
        house.registry.announce(session)
    assert house.edges == [("created", "s"), ("disposed", "s")]
    assert house.registry.get("s") is None
    assert house.live() is house.registry.get("s")


def test_no_edge_without_announcement(house: House) -> None:
    """core 1.7: an entry that was never announced emits neither edge."""
    session = house.registry.prepare(SessionHeader("s", 1))
    house.registry.enter(session).dispose()
    assert house.edges == []


def test_detach_during_announcement(kit: SimpleNamespace) -> None:
    """core 1.7: a detach asked for by a listener waits until the announcement is over."""
    house = House(kit)
    session = house.registry.prepare(SessionHeader("s", 1))
    registration = house.registry.enter(session)
    house.hooks.observe("session/created", lambda _: registration.dispose())
    house.hooks.observe("session/created", lambda _: house.edges.append(("later", "s")))
    house.registry.announce(session)
    assert house.edges == [("created", "s"), ("later", "s"), ("disposed", "s")]


def test_detach_during_publication(house: House) -> None:
    """core 1.7: a detach asked for by an observer waits until the event has been told to all."""
    session = house.registry.prepare(SessionHeader("s", 1))
    registration = house.registry.enter(session)
    live: list[bool] = []
    session.observe(lambda _: registration.dispose())
    session.observe(lambda _: live.append(house.registry.get("s") is session))
    session.append(NOTE)
    assert live == [True]
    assert house.registry.get("s") is None


def test_stale_detach(house: House) -> None:
    """core 1.7: a stale detach leaves a later session of the same id alone."""
    old = house.registry.prepare(SessionHeader("s", 1))
    detach = house.registry.enter(old)
    with house.hooks.observe("session/created", refuse), pytest.raises(ZeroDivisionError):
        house.registry.announce(old)
    new = house.live("s")
    detach.dispose()
    assert house.registry.get("s") is new
    assert not new.sealed


async def test_flush(house: House) -> None:
    """core #108: a live session is flushed and confirmed; others are refused."""
    session = house.registry.prepare(SessionHeader("s", 1))
    with pytest.raises(SessionError):
        await house.registry.flush(session)
    registration = house.registry.enter(session)
    session.append(NOTE)
    assert await house.registry.flush(session) is True
    registration.dispose()
    with pytest.raises(SessionError) as caught:
        await house.registry.flush(session)
    assert code(caught) == "SESSION_NOT_LIVE"


async def test_flush_without_a_store(kit: SimpleNamespace) -> None:
    """core 1.7: where nothing keeps the log, a flush says that it was not confirmed."""
    registry = SessionRegistry(Hooks(), clock=kit.CountedClock())
    session = registry.prepare(SessionHeader("s", 1))
    registry.enter(session)
    assert await registry.flush(session) is False


def test_fork_takes_the_log(kit: SimpleNamespace, house: House) -> None:
    """core 1.5: a fork has the source's directory and lineage, and its events up to the cut."""
    source = house.live(cwd="/srv", delegation_depth=3, origin="subagent")
    kit.run_turn(source)
    source.append(NOTE)
    child = house.registry.fork(source, child_id="c")
    assert child.header == SessionHeader(
        "c", child.header.created_at, cwd="/srv", parent_session="s", seed_length=8
    )
    assert child.events[:8] == source.events
    assert type(child.events[8].data) is EndSeed
    assert house.registry.get("c") is None


def test_fork_of_nothing(house: House) -> None:
    """core 1.5: an empty source forks to a child with a seed length of 0."""
    child = house.registry.fork(house.live())
    assert (child.header.seed_length, child.seq) == (0, 1)


def test_fork_inside_a_turn(kit: SimpleNamespace, house: House) -> None:
    """core #34: a cut inside a turn is refused, at the turn's end it is fine."""
    source = house.live()
    kit.run_turn(source)
    source.append(kit.turn_start(2))
    for boundary in (None, 7, 3):
        with pytest.raises(SessionError) as caught:
            house.registry.fork(source, boundary)
        assert code(caught) == "OPEN_TURN"
    assert house.registry.fork(source, 6).header.seed_length == 7


@pytest.mark.parametrize("boundary", [7, 100, -1, 1.5, True, "1"])
def test_fork_boundary(kit: SimpleNamespace, house: House, boundary: Any) -> None:
    """core #35: a boundary that names no event of the source is refused."""
    source = house.live()
    kit.run_turn(source)
    with pytest.raises(SessionError) as caught:
        house.registry.fork(source, boundary)
    assert code(caught) == "INVALID_BOUNDARY"


def test_fork_of_a_stale_session(kit: SimpleNamespace, house: House) -> None:
    """core #37: a session object whose id another one lives under is no source."""
    old = house.registry.prepare(SessionHeader("s", 1))
    house.registry.enter(old).dispose()
    house.live("s")
    with pytest.raises(SessionError) as caught:
        house.registry.fork(old)
    assert code(caught) == "SESSION_NOT_LIVE"


def test_fork_of_an_unknown_session(house: House) -> None:
    """core #38: an id that is not live is no source."""
    for source in ("nobody", house.registry.prepare(SessionHeader("p", 1))):
        with pytest.raises(SessionError) as caught:
            house.registry.fork(source)
        assert code(caught) == "SESSION_NOT_FOUND"


def test_fork_checks_in_order(kit: SimpleNamespace, house: House) -> None:
    """core 1.5: taken id, unknown source, stale source, boundary, open turn: in this order."""
    house.live("taken")
    source = house.live()
    source.append(kit.turn_start(1))
    wrong = [
        ("SESSION_ALREADY_EXISTS", "nobody", 99, "taken"),
        ("SESSION_NOT_FOUND", "nobody", 99, "c"),
        ("INVALID_BOUNDARY", source, 99, "c"),
        ("OPEN_TURN", source, 0, "c"),
    ]
    for expected, one, boundary, child_id in wrong:
        with pytest.raises(SessionError) as caught:
            house.registry.fork(one, boundary, child_id)  # type: ignore[arg-type]
        assert code(caught) == expected


@pytest.mark.parametrize("kind", ["error", "aborted", "interrupted", "blocked", "max-tokens"])
def test_fork_at_any_end(kit: SimpleNamespace, house: House, kind: str) -> None:
    """core #39: however a turn ended, its end is a place to fork at."""
    source = house.live()
    kit.run_turn(source, kind=kind)
    assert house.registry.fork(source).header.seed_length == 7


def test_fork_is_detached(kit: SimpleNamespace, house: House) -> None:
    """core #40: what parent or child append later, the other does not see."""
    source = house.live()
    kit.run_turn(source)
    child = house.registry.fork(source, child_id="c")
    source.append(NOTE)
    source.append(NOTE)
    kit.run_turn(child)
    assert (source.seq, child.seq) == (9, 15)
    assert len(source.messages()) == 2
    assert len(child.messages()) == 4


def test_fork_ids(kit: SimpleNamespace, house: House) -> None:
    """core 1.7: a fork without an id gets `session-<n>`, skipping taken ones, or the host's."""
    source = house.live("session-1")
    assert house.registry.fork(source).id == "session-2"
    registry = SessionRegistry(Hooks(), clock=kit.CountedClock(), new_id=lambda: "made")
    session = registry.prepare(SessionHeader("s", 1))
    registry.enter(session)
    assert registry.fork(session).id == "made"


@pytest.mark.parametrize("child_id", ["", 7, "\ud800", b"x"])
def test_fork_refuses_what_is_no_id(house: House, child_id: Any) -> None:
    """core 1.1, 1.5: a fork's id is text that is not empty and can be written."""
    source = house.live("s")
    with pytest.raises(ConfigurationError):
        house.registry.fork(source, child_id=child_id)


async def test_resume(kit: SimpleNamespace, house: House) -> None:
    """core 1.4, #137: a resumed session has its header, its log and its live boundary."""
    header = SessionHeader("s", 1, parent_session="p", origin="subagent", delegation_depth=1)
    first = house.registry.prepare(header)
    detach = house.registry.enter(first)
    kit.run_turn(first)
    prompt = kit.user("later")
    first.append(kit.splice("next-step", 0, 0, (prompt,)))
    detach.dispose()
    second = await house.registry.resume("s")
    assert second.header is header
    assert second.events[:8] == first.events
    assert second.first_live_seq == 8
    house.registry.enter(second)
    second.append(NOTE)
    assert await house.store.read_from("s", 8) == second.events[8:]


async def test_resume_refusals(kit: SimpleNamespace, house: House) -> None:
    """core #132, #133: without a store, of a live id or an unknown one nothing is resumed."""
    bare = SessionRegistry(Hooks(), clock=kit.CountedClock())
    house.live()
    for registry, session_id, expected in (
        (bare, "s", "NO_STORE"),
        (house.registry, "s", "SESSION_ALREADY_EXISTS"),
        (house.registry, "nobody", "SESSION_NOT_FOUND"),
    ):
        with pytest.raises(SessionError) as caught:
            await registry.resume(session_id)
        assert code(caught) == expected


async def test_abandoned_resume(kit: SimpleNamespace, house: House) -> None:
    """core 5.1: a resumed session that never enters gives the right to write back."""
    first = house.registry.prepare(SessionHeader("s", 1))
    detach = house.registry.enter(first)
    first.append(NOTE)
    detach.dispose()
    session = await house.registry.resume("s")
    with pytest.raises(SessionLeasedError):
        await house.registry.resume("s")
    house.registry.abandon(session)
    house.registry.abandon(session)
    house.registry.enter(await house.registry.resume("s"))


async def test_refused_log_frees_the_lease(kit: SimpleNamespace, house: House) -> None:
    """core 5.1: a stored log that is refused can be tried again: nobody holds it."""
    first = house.registry.prepare(SessionHeader("s", 1))
    detach = house.registry.enter(first)
    first.append(kit.turn_start(1))
    first.log.append(Event(first.seq, 1, TurnStart(3)))
    detach.dispose()
    for _ in range(2):
        with pytest.raises(SessionCorruptError, match="turn/start 3"):
            await house.registry.resume("s")


async def test_one_writer(kit: SimpleNamespace) -> None:
    """DESIGN 3: a session that is live in one runtime is leased; a second one is refused."""
    store = MemoryStore()
    one, two = House(kit, store), House(kit, store)
    one.live().append(NOTE)
    with pytest.raises(SessionLeasedError) as caught:
        await two.registry.resume("s")
    assert caught.value.retryable
    with pytest.raises(SessionLeasedError):
        two.live()
    assert two.registry.get("s") is None


async def test_events_of_all_kinds_are_kept(kit: SimpleNamespace, house: House) -> None:
    """core 5.2: seed, marker and live events reach the store without a copy of any."""
    seed = [Event(0, 1, NOTE)]
    session = house.live(seed=seed)
    session.append(NOTE)
    kept = (await house.store.inspect("s")).events
    assert len(kept) == 3
    assert all(one is other for one, other in zip(kept, session.events, strict=True))
