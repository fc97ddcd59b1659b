"""Cases about events: what is read is what was written, to the last sign."""

from __future__ import annotations

from typing import Any, cast

from ...actors.store import Store
from ...messages.codec import encode_event
from ...messages.content import Text
from ...messages.errors import SessionError
from ...messages.event import Event
from ...messages.lossless import FrozenDict, FrozenList
from ...messages.payload import OpaquePayload, UserMessageLogged
from .claim import equal, must
from .lab import Lab, stored_events
from .sample import HARD_JSON, HARD_TEXT, full_header, note, notes, sample_log, user
from .scenario import StoreCase, scenario


async def _kept(lab: Lab, store: Store, events: list[Event], name: str) -> Store:
    """Store events, read them in every way, also after reopening."""
    await lab.keep(store, events, name)
    for _ in range(2):
        for what, found in (
            ("read_from", await store.read_from(name, 0)),
            ("load", (await store.load(name)).events),
            ("inspect", (await store.inspect(name)).events),
        ):
            equal(len(found), len(events), f"the number of events by {what}()")
            for one, other in zip(found, events, strict=True):
                if one != other:
                    equal(one, other, f"event {other.seq} ({other.type}) by {what}()")
        store = await lab.again(store)
    return store


def _bottom(value: Any) -> tuple[int, Any]:
    """How deep a value nests, and what is there."""
    levels = 0
    while type(value) in (dict, list, FrozenDict, FrozenList):
        part: Any = "k" if type(value) in (dict, FrozenDict) else 0
        value = value[part]
        levels += 1
    return levels, value


class FidelityCases(StoreCase):
    """Events of every type, hard texts, large and deep values."""

    @scenario
    async def test_every_event(self, lab: Lab) -> None:
        """core 2: events of every type, with all their fields and without, come back equal."""
        await _kept(lab, await lab.open(), list(sample_log()), "s")

    @scenario
    async def test_every_event_of_a_live_session(self, lab: Lab) -> None:
        """core 5.2: what a live session says comes back equal, one event at a time or together."""
        store = await lab.open()
        for name, every in (("one by one", 1), ("together", 1000)):
            live = await lab.enter(store, name)
            for event in sample_log():
                live.session.append(
                    event.data,
                    surface=event.surface_op,
                    sources=event.source_event_seqs,
                    ignorable=event.ignorable,
                )
                if live.session.seq % every == 0:
                    await live.writer.flush()
            await live.leave()
            stored = await stored_events(store, name)
            equal(stored, list(live.session.events), f"the stored log, written {name}")

    @scenario
    async def test_order_of_keys(self, lab: Lab) -> None:
        """core 1.3: the keys of an object keep their order, so that a prompt keeps its bytes."""
        store = await lab.open()
        log = list(sample_log())
        await lab.keep(store, log)
        store = await lab.again(store)
        for one, other in zip(await stored_events(store), log, strict=True):
            found, wanted = str(encode_event(one)), str(encode_event(other))
            equal(found, wanted, f"event {other.seq} ({other.type}), written out")

    @scenario
    async def test_hard_text(self, lab: Lab) -> None:
        """core 1.3: null signs, newlines, separators and emoji come back, alone and together."""
        store = await lab.open()
        texts = [HARD_TEXT, *(f"<{sign}>" for sign in sorted(set(HARD_TEXT))), "", " ", "\n", "\0"]
        events = [
            Event(seq, 1, UserMessageLogged(user(f"u{seq}", Text(text))), "append")
            for seq, text in enumerate(texts)
        ]
        events += [note(len(events) + number, text) for number, text in enumerate(texts)]
        await _kept(lab, store, events, "s")

    @scenario
    async def test_numbers(self, lab: Lab) -> None:
        """core 1.3: numbers come back as they were, whole ones as whole ones."""
        store = await lab.open()
        numbers = [0, 1, -1, 2**53 - 1, -(2**53 - 1), 0.1, 1.5, -1e-7, 1e300, 5e-324, True, None]
        await lab.keep(store, [Event(0, 2**53 - 1, OpaquePayload("x", numbers), ignorable=True)])
        store = await lab.again(store)
        (event,) = await stored_events(store)
        data: Any = event.data
        for one, wanted in zip(data.data, numbers, strict=True):
            equal(one, wanted, "a number")
            must(type(one) is type(wanted), f"{wanted!r} came back as {one!r}")
        equal(event.time, 2**53 - 1, "the time of the event")

    @scenario
    async def test_a_long_text(self, lab: Lab) -> None:
        """core 1.3: a text of a megabyte comes back, in ASCII and beyond it."""
        store = await lab.open()
        unit = 2**20
        events = [note(0, "x" * unit), note(1, "\u00fc\U0001f426\n" * (unit // 3)), note(2)]
        await _kept(lab, store, events, "s")

    @scenario
    async def test_an_event_of_twenty_megabytes(self, lab: Lab) -> None:
        """DESIGN 3: a huge event is kept whole or refused whole, and hurts nobody else."""
        store = await lab.open()
        await lab.keep(store, notes(0, 1))
        lease = await store.lease("s")
        huge = note(1, "x" * 20_000_000)
        try:
            await store.append(lease, [huge])
        except SessionError as error:
            must(str(error), "the refusal says nothing")
            wanted = notes(0, 1)
        else:
            wanted = [*notes(0, 1), huge]
        must(await stored_events(store) == wanted, "the huge event was cut, or left a trace")
        await store.append(lease, [note(len(wanted))])

    @scenario
    async def test_deep_nesting(self, lab: Lab) -> None:
        """core 1.3: a value that nests 5,000 levels deep comes back as deep."""
        store = await lab.open()
        deep: Any = "bottom"
        for level in range(5000):
            deep = {"k": deep} if level % 2 else [deep]
        event = Event(0, 1, OpaquePayload("x", deep), ignorable=True)
        await lab.keep(store, [event])
        store = await lab.again(store)
        for found in (
            (await store.read_from("s", 0))[0],
            (await store.load("s")).events[0],
            (await store.inspect("s")).events[0],
        ):
            levels, value = _bottom(cast(OpaquePayload, found.data).data)
            equal((levels, value), (5000, "bottom"), "the depth of the value, and what is there")

    @scenario
    async def test_unknown_types(self, lab: Lab) -> None:
        """core 2: an ignorable event of a type that nobody knows is kept as it is."""
        store = await lab.open()
        names = ["x", "agent/inbox/spliced2", "\U0001f426 \0\n", "type", "session", "turn/started"]
        events = [
            Event(seq, seq, OpaquePayload(name, HARD_JSON), ignorable=True)
            for seq, name in enumerate(names)
        ]
        await _kept(lab, store, events, "s")

    @scenario
    async def test_many_events(self, lab: Lab) -> None:
        """core 5.1: a log of thousands of events is read whole, and from any position."""
        store = await lab.open()
        await lab.keep(store, notes(0, 5000))
        for first in (0, 1, 999, 1000, 1024, 4999, 5000):
            found = await store.read_from("s", first)
            equal(len(found), 5000 - first, f"the number of events from {first} on")
            equal([one.seq for one in found[:2]], list(range(first, 5000))[:2], "the first numbers")
        equal(list((await store.load("s")).events), notes(0, 5000), "the whole log")

    @scenario
    async def test_a_fork(self, lab: Lab) -> None:
        """core 1.5: what a session inherited is its own copy: neither log changes the other."""
        store = await lab.open()
        await lab.keep(store, notes(0, 4), "parent")
        await lab.keep(store, notes(0, 2), full_header("child"))
        lease = await store.lease("child")
        await store.append(lease, [note(2, "the child's")])
        equal(await stored_events(store, "parent"), notes(0, 4), "the parent's log")
        equal((await store.load("child")).header, full_header("child"), "the child's header")
