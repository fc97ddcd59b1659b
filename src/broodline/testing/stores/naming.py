"""Cases about ids: whatever they look like, each names one session and nothing else."""

from __future__ import annotations

from ...messages.errors import BroodlineError
from .claim import equal, must, refused
from .lab import Lab, stored_events
from .sample import header, note
from .scenario import StoreCase, scenario

ODD_IDS = (
    "../x",
    "../../x",
    "..",
    ".",
    "...",
    "/",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "a",
    "A",
    "a ",
    " a",
    "a.",
    ".a",
    "-a",
    "--cwd--",
    "a\nb",
    "a\0b",
    "a\tb",
    "~",
    "~002E",
    "a~b",
    "%00",
    "a%2Fb",
    "a%",
    "a_",
    "*",
    "?",
    "'; DROP TABLE sessions; --",
    '"',
    "CON",
    "nul",
    "session.jsonl",
    "0",
    "00",
    "-1",
    "None",
    "\u00e9",
    "e\u0301",
    "\u212b",
    "\u00c5",
    "\u0130",
    "i\u0307",
    "\U0001f426",
    "\U0001f426\u200d\u2b1b",
    "\u2028",
    "\ufeffa",
    "\u202etxt",
    "x" * 80,
    "x" * 79 + "y",
)
"""Ids that a store in files, in a database or behind a network may stumble over."""


class NamingCases(StoreCase):
    """Ids and parents of all kinds."""

    @scenario
    async def test_odd_ids(self, lab: Lab) -> None:
        """core #98: whatever an id looks like, its session is kept apart, and inside."""
        store = await lab.open()
        for number, name in enumerate(ODD_IDS):
            await lab.keep(store, [note(0, name)], header(name, at=number))
        for _ in range(2):
            equal([head.id for head in await store.list()], list(ODD_IDS), "the ids of list()")
            for name in ODD_IDS:
                found = await store.load(name)
                equal(found.header.id, name, "the id in a header")
                equal(list(found.events), [note(0, name)], f"the log of {name!r}")
            store = await lab.again(store)

    @scenario
    async def test_odd_ids_are_taken(self, lab: Lab) -> None:
        """core #81: an odd id that is stored is refused to others, and only that one is."""
        store = await lab.open()
        for name in ODD_IDS[::2]:
            await lab.keep(store, [note(0, name)], name)
        for name in ODD_IDS[::2]:
            with refused("SESSION_ALREADY_EXISTS", by=f"create of {name!r} again"):
                await store.create(header(name))
        for name in ODD_IDS[1::2]:
            with refused("SESSION_NOT_FOUND", by=f"load of {name!r}, which is not stored"):
                await store.load(name)
            store.release(await store.create(header(name)))

    @scenario
    async def test_odd_ids_live(self, lab: Lab) -> None:
        """core #98: sessions with odd ids are written, left and resumed like all others."""
        store = await lab.open()
        for name in ODD_IDS[::3]:
            live = await lab.enter(store, name)
            live.session.append(note(0, name).data)
            await live.leave()
            heir = await lab.resume(store, name)
            heir.session.append(note(0, "again").data)
            await heir.leave()
            wanted = list(heir.session.events)
            equal(await stored_events(store, name), wanted, f"the log of {name!r}")

    @scenario
    async def test_odd_parents(self, lab: Lab) -> None:
        """store.list_snapshots: whatever a parent's id looks like, its children are its own."""
        store = await lab.open()
        for number, name in enumerate(ODD_IDS):
            child = header(f"child {number}", parent=name, at=number)
            await lab.keep(store, [note(0)], child)
        for number, name in enumerate(ODD_IDS):
            shown = [one.header.id for one in await store.list_snapshots(parent=name)]
            equal(shown, [f"child {number}"], f"the children of {name!r}")

    @scenario
    async def test_very_long_ids(self, lab: Lab) -> None:
        """core #98: an id that is too long is refused by name, the others are kept apart."""
        store = await lab.open()
        kept: list[str] = []
        for length in (200, 255, 256, 5000):
            for tail in ("a", "b"):
                name = "x" * (length - 1) + tail
                try:
                    await lab.keep(store, [note(0, tail)], name)
                except BroodlineError as error:
                    must(str(error), "the refusal of a long id says nothing")
                    with refused("SESSION_NOT_FOUND", str(error.code), by="load of a refused id"):
                        await store.load(name)
                else:
                    kept.append(name)
        for name in kept:
            equal(await stored_events(store, name), [note(0, name[-1])], "the log of a long id")
        equal([head.id for head in await store.list()], kept, "the ids of list()")
        await lab.keep(store, [note(0)], "short")
