"""Hazards of time and company: a second process, a clock that jumps, a process that stood still."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from hazard import HazardError, expect, expect_sound, sound, store_of, written_in
from neighbour import LONGEST, Neighbour, neighbour

from broodline import RuleModel, Runtime, SessionLeasedError
from broodline.messages.event import Event
from broodline.messages.payload import InboxSpliced
from broodline.testing.stores import ManualClock

REFUSED = {"SESSION_LEASED", "SESSION_ALREADY_EXISTS"}
"""What the one of two creators hears who is late, sooner or later."""
RETRY = {"retryable": True}
LEASE = 30.0
HOUR = 3_600_000


def second_process(kind: str, home: Path) -> None:
    """Whoever wants a session that is live in another process is told at once, writing nothing."""
    place = home / "store"
    with neighbour(kind, place, 3600.0) as first, neighbour(kind, place, 3600.0) as second:
        _done(first, "create", "a")
        _done(first, "send", "a", "one")
        _done(first, "flush", "a")
        before = written_in(kind, place)
        first.stop()  # whatever waited for it would wait for an hour
        for verb in ("resume", "create"):
            answer = second.ask(verb, "a")
            expect(verb, answer, {"code": "SESSION_LEASED", "why": "SESSION_LEASED"} | RETRY)
        expect("what the second has written", written_in(kind, place), before)
        first.go_on()
        _done(first, "send", "a", "two")
        expect("the first one's exit code", first.leave(), 0)
        _done(second, "resume", "a")
        _done(second, "send", "a", "three")
        expect("the second one's exit code", second.leave(), 0)
    expect_sound(kind, place, [("a", name) for name in ("one", "two", "three")])


def two_creators(kind: str, home: Path) -> None:
    """Of two processes that make the same id at once, one gets it; the other leaves nothing."""
    place, wins = home / "store", list[tuple[str, str]]()
    with neighbour(kind, place) as one, neighbour(kind, place) as two:
        for number in range(12):
            agent, both = f"agent-{number}", ((one, f"{number}-one"), (two, f"{number}-two"))
            for each, message in both:
                each.tell("create", agent)
                each.tell("send", agent, message)
            for each, message in both:
                made, sent = each.answer(), each.answer()
                if not sent:
                    wins.append((agent, message))
                elif (made or sent)["why"] not in REFUSED:
                    raise HazardError(f"{message}: create said {made}, the first message {sent}")
        codes = one.leave(), two.leave()
    expect("who won", [agent for agent, _ in wins], [f"agent-{n}" for n in range(12)])
    expect("their exit codes", codes, (0, 0))
    expect_sound(kind, place, wins)
    for agent, message in wins:
        expect(f"the messages of {agent}", _messages(_log_of(kind, place, agent)), {message})


def stopped_process(kind: str, home: Path) -> None:
    """A process that stood still, and was replaced, writes nothing more into that log."""
    place = home / "store"
    with neighbour(kind, place, 0.5) as late, neighbour(kind, place, 0.5) as heir:
        for agent in ("a", "b"):
            _done(late, "create", agent)
        _done(late, "send", "b", "b-one")
        _done(late, "send", "a", "hold")
        _done(late, "flush", "a")
        late.stop()
        _take_over(heir, "a", late)
        _done(heir, "send", "a", "two")
        _done(heir, "flush", "a")
        before = _log_of(kind, place, "a")
        late.go_on()
        answer = late.ask("send", "a", "late")
        wanted = {"code": "SESSION_LEASED", "why": "SESSION_LEASED", "retryable": False}
        expect("what it is told", answer, wanted)
        _done(late, "finish", "a")
        _done(late, "send", "b", "b-two")  # nobody took this one over
        expect("the exit code of the one that was stopped", late.leave(), 0)
        expect("the log after it", _log_of(kind, place, "a"), before)
        _done(heir, "send", "a", "three")
        expect("the heir's exit code", heir.leave(), 0)
    expect_sound(kind, place, [("a", name) for name in ("hold", "two", "three")])
    expect_sound(kind, place, [("b", "b-one"), ("b", "b-two")])
    expect("of it", _messages(_log_of(kind, place, "a")), {"hold", "two", "three"})


def _done(who: Neighbour, *words: str) -> None:
    expect(" ".join(words), who.ask(*words), {})


def _take_over(heir: Neighbour, agent: str, late: Neighbour) -> None:
    end = time.monotonic() + LONGEST
    while answer := heir.ask("resume", agent):
        if time.monotonic() > end:
            raise HazardError("a process that gives no sign of life keeps its lease")
        if answer["code"] == "STORE_UNAVAILABLE":  # stopped in the middle of a write, it locks
            late.go_on()
            time.sleep(0.02)
            late.stop()
        else:
            expect("why it is not taken over yet", answer["code"], "SESSION_LEASED")
            time.sleep(0.02)


def _log_of(kind: str, place: Path, agent: str) -> Sequence[Event]:
    async def read() -> Sequence[Event]:
        async with store_of(kind, place, create=False) as store:
            return await store.read_from(agent, 0)

    return asyncio.run(read())


def _messages(log: Sequence[Event]) -> set[str]:
    spliced = [event.data for event in log if isinstance(event.data, InboxSpliced)]
    return {message.id for data in spliced for message in data.inserted}


class JumpingClock(ManualClock):
    """A monotonic clock that is moved by hand, and a wall clock that somebody sets."""

    def __init__(self) -> None:
        super().__init__()
        self.set_by = 0
        self.rests = 0
        self.rested = asyncio.Condition()

    def time_ms(self) -> int:
        """Milliseconds since the epoch, as far as anybody knows."""
        return super().time_ms() + self.set_by

    async def sleep(self, seconds: float) -> None:
        """Note that a holder rests between two signs of life."""
        if seconds == LEASE / 3:
            async with self.rested:
                self.rests += 1
                self.rested.notify_all()
        await super().sleep(seconds)

    async def rest(self, number: int) -> None:
        """Wait for the rest of that number."""
        async with self.rested:
            await self.rested.wait_for(lambda: self.rests >= number)


def jumping_clock(kind: str, home: Path) -> None:
    """However the wall clock is set, leases last, and events and sessions keep their order."""
    asyncio.run(_jump(kind, home / "store"))


async def _jump(kind: str, place: Path) -> None:
    clock, model = JumpingClock(), RuleModel(lambda conversation: conversation.prompt)
    accepted, made = list[tuple[str, str]](), ["a"]

    def runtime() -> Runtime:
        store = store_of(kind, place, lease_timeout=LEASE)
        return Runtime(model=model, store=store, clock=clock, request_timeout=None)

    async with asyncio.timeout(LONGEST), runtime() as mine, runtime() as theirs:
        agent = await mine.agents.create(id="a")
        await agent.followup("Go.", id="first")
        accepted.append(("a", "first"))
        for hours in (5, -9, 0, 200, -4000):
            clock.set_by = hours * HOUR
            await _kept(theirs, "a")
            accepted.append(
                ("a", await agent.followup("Go on.", id=f"at {hours}".replace(" ", "-")))
            )
            await agent.when_idle()
            made.append(f"made-{hours}")
            other = await mine.agents.create(id=made[-1])
            accepted.append((other.id, await other.followup("Go.", id=f"in-{made[-1]}")))
            await other.when_idle()
            for _ in range(4):  # longer than a lease lasts by itself
                await clock.rest(rests := max(1, clock.rests))
                clock.advance(LEASE / 3)
                await clock.rest(rests + 1)
                await _kept(theirs, "a")
        expect("the order of creation", [h.id for h in await theirs.store.list()], made)
        log = await theirs.store.read_from("a", 0)
        expect("the numbers of the events", [e.seq for e in log], list(range(len(log))))
    await sound(kind, place, accepted)


async def _kept(other: Runtime, agent: str) -> None:
    try:
        await other.agents.resume(agent)
    except SessionLeasedError:
        return
    raise HazardError(f"{agent} was taken over from a holder that is alive")
