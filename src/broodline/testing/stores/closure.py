"""Cases about opening and closing."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from ...actors.store import Store
from .claim import equal, must, refused
from .host import ManualHost
from .lab import Lab, stored_events
from .life import held_back, said, say
from .sample import header, notes
from .scenario import StoreCase, durable_scenario, scenario


class ClosureCases(StoreCase):
    """`open`, `close`, and a store object that is used again."""

    @scenario
    async def test_a_closed_store_takes_nothing(self, lab: Lab) -> None:
        """core #117: what would write is refused once a store is closed."""
        store = await lab.open()
        await lab.keep(store, notes(0, 2))
        lease = await store.lease("s")
        reserved = await store.create(header("t"))
        await lab.close(store)
        await store.close()
        with refused("STORE_CLOSED", by="create in a closed store"):
            await store.create(header("u"))
        with refused("STORE_CLOSED", by="prepare in a closed store"):
            await store.prepare("s")
        with refused("STORE_CLOSED", by="lease in a closed store"):
            await store.lease("s")
        for old in (lease, reserved):
            with refused("STORE_CLOSED", "SESSION_LEASED", by="append in a closed store"):
                await store.append(old, notes(2, 3))
        with refused("STORE_CLOSED", "SESSION_LEASED", by="attach in a closed store"):
            store.attach(header("t"), [], reserved)
        store.release(lease)

    @durable_scenario
    async def test_a_store_that_was_never_opened(self, lab: Lab) -> None:
        """store.open: before it is opened a store does nothing, and makes nothing."""
        store = lab.store()
        for name in ("create", "prepare", "lease", "load", "inspect", "list", "list_snapshots"):
            arguments = {"create": (header(),), "list": (), "list_snapshots": ()}.get(name, ("s",))
            with refused("STORE_CLOSED", by=f"{name} of a store that was never opened"):
                await getattr(store, name)(*arguments)
        with refused("STORE_CLOSED", by="read_from of a store that was never opened"):
            await store.read_from("s", 0)
        await store.close()
        equal(sorted(lab.folder.iterdir()), [], "what lies in the folder")

    @durable_scenario
    async def test_a_store_has_one_host(self, lab: Lab) -> None:
        """store.open: a store that a host uses is refused to another, and goes on."""
        store = await lab.open()
        live = await lab.enter(store)
        with refused("CONFIGURATION", by="open of an open store"):
            await lab.open(store)
        say(live, "still here")
        must(await live.writer.flush(), "the flush after the refusal does not confirm")

    @scenario
    async def test_close_stores_what_is_queued(self, lab: Lab) -> None:
        """core #117: close stores what live sessions have said, and gives their leases back."""
        store = await lab.open()
        lives = [await lab.enter(store, name) for name in ("a", "b", "c")]
        for live in lives:
            say(live, live.session.id)
        await store.create(header("reserved"))
        store = await lab.again(store)
        for name in ("a", "b", "c"):
            equal(said(await stored_events(store, name)), [name], f"what is stored of {name}")
            await (await lab.resume(store, name)).leave()
        equal(len(await store.list()), 3, "the number of sessions")
        await lab.keep(store, notes(0, 1), "reserved")

    @scenario
    async def test_close_waits_for_the_write_under_way(self, lab: Lab) -> None:
        """core #117: a close that meets a write waits for it, and for what came behind it."""
        gate, store, live = await held_back(lab)
        flush = asyncio.ensure_future(live.writer.flush())
        await asyncio.sleep(0)
        say(live, "two")
        closing = asyncio.ensure_future(lab.again(store))
        await asyncio.sleep(0)
        gate.open()
        store = await closing
        must(await flush, "the flush that the close met does not confirm")
        equal(said(await stored_events(store)), ["one", "two"], "what is stored")

    @scenario
    async def test_a_writer_that_outlives_its_store(self, lab: Lab) -> None:
        """core #117: what is said after close is not stored; flush and release hurt nobody."""
        store = await lab.open()
        live = await lab.enter(store)
        say(live, "one")
        await lab.close(store)
        try:
            say(live, "too late")
            confirmed = await live.writer.flush()
        except Exception:
            confirmed = False
        must(not confirmed, "a flush after close confirms what cannot be stored")
        await lab.open(store)
        heir = await lab.resume(store)
        rest = live.writer.release()
        if rest is not None:
            await asyncio.gather(rest, return_exceptions=True)
        say(heir, "two")
        must(await heir.writer.flush(), "a stale release has hurt the heir")
        equal(said(await stored_events(store)), ["one", "two"], "what is stored")

    @scenario
    async def test_opened_again(self, lab: Lab) -> None:
        """store.close: a store object that was closed may be opened again and again."""
        store = await lab.open()
        await lab.keep(store, notes(0, 1))
        for round_ in range(3):
            await lab.close(store)
            await lab.open(store)
            live = await lab.resume(store)
            say(live, str(round_))
            await live.leave()
        equal(said(await stored_events(store))[-3:], ["0", "1", "2"], "what was said")

    @scenario
    async def test_closing_twice(self, lab: Lab) -> None:
        """store.close: it is idempotent, also before the store was ever opened."""
        fresh = lab.store()
        await fresh.close()
        await fresh.close()
        store = await lab.open()
        await lab.close(store)
        await store.close()

    def test_another_loop(self) -> None:
        """store.close: when its loop is gone, a store can be opened on another one."""
        with tempfile.TemporaryDirectory() as folder:
            store = self.make(Path(folder))
            for round_ in range(3):
                asyncio.run(self._one_loop(store, round_))

    async def _one_loop(self, store: Store, round_: int) -> None:
        host = ManualHost()
        await store.open(host)
        try:
            if round_ == 0:
                lease = await store.create(header())
            else:
                lease = await store.lease("s")
            await store.append(lease, notes(round_, round_ + 1))
            equal(await stored_events(store), notes(0, round_ + 1), "the log")
        finally:
            await store.close()
            await host.close()
