"""The suite for stores itself: that it sees what is wrong, and works with any runner."""

from __future__ import annotations

import ast
import asyncio
import re
import subprocess
import sys
import unittest
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.store import Lease, Snapshot, StoredLog
from broodline.actors.stores.memory import MemoryStore, MemoryWriter
from broodline.messages.errors import BroodlineError, SessionError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import OpaquePayload
from broodline.messages.vocabulary import TYPED
from broodline.testing import stores as suite
from broodline.testing.stores import (
    GatedExecutor,
    ManualClock,
    StoreConformance,
    interrupted_log,
    sample_log,
)

CASES = sorted(name for name in dir(StoreConformance) if name.startswith("test_"))


class Spoiled(MemoryStore):
    """A memory store; each of its kind breaks one rule."""


class ListsReserved(Spoiled):
    async def list(self) -> tuple[SessionHeader, ...]:
        return tuple(record.header for record in self._records.values())


class TakesTwice(Spoiled):
    async def create(self, header: SessionHeader, **options: Any) -> Lease:
        record = self._records.get(header.id)
        if record is not None and not record.log:
            self.let_go(record)
        return await super().create(header, **options)


class TakesGaps(Spoiled):
    async def append(self, lease: Lease, events: Sequence[Event]) -> None:
        start = len(self._records[lease.session_id].events())
        numbered = [replace(event, seq=seq) for seq, event in enumerate(events, start)]
        await super().append(lease, numbered)


class KeepsTheBatch(Spoiled):
    async def append(self, lease: Lease, events: Sequence[Event]) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await super().append(lease, events)


class LosesTheOrder(Spoiled):
    async def list(self) -> tuple[SessionHeader, ...]:
        return tuple(sorted(await super().list(), key=lambda header: header.id))


class RepairsWhileLooking(Spoiled):
    async def inspect(self, session_id: str) -> StoredLog:
        if not self._find(session_id).held:
            await self.load(session_id)
        return await super().inspect(session_id)


class NeverRepairs(Spoiled):
    async def load(self, session_id: str) -> StoredLog:
        return await self.inspect(session_id)


class LoadsOpenTurns(Spoiled):
    async def load(self, session_id: str) -> StoredLog:
        if self._find(session_id).held:
            return await self.inspect(session_id)
        return await super().load(session_id)


class ForgetsFences(Spoiled):
    async def append(self, lease: Lease, events: Sequence[Event]) -> None:
        record = self._records.get(lease.session_id)
        fence = lease.fence if record is None else record.fence
        await super().append(replace(lease, fence=fence), events)


class SharesLeases(Spoiled):
    async def lease(self, session_id: str, **options: Any) -> Lease:
        changed: dict[str, Any] = {**options, "takeover": True}
        return await super().lease(session_id, **changed)


class ForgetsWhatWasPrepared(Spoiled):
    async def lease(self, session_id: str, **options: Any) -> Lease:
        changed: dict[str, Any] = {**options, "after": None}
        return await super().lease(session_id, **changed)


class ReleasesOnlyByName(Spoiled):
    def release(self, lease: Lease) -> None:
        record = self._records.get(lease.session_id)
        if record is not None and record.held:
            self.let_go(record)


class OneRevision(Spoiled):
    def _revision(self, record: Any) -> str:
        return "1"


class FalseSnapshots(Spoiled):
    async def list_snapshots(self, *, parent: str | None = None) -> tuple[Snapshot, ...]:
        found = await super().list_snapshots(parent=parent)
        return tuple(replace(snapshot, live=False) for snapshot in found)


class AdoptsChildren(Spoiled):
    async def list_snapshots(self, *, parent: str | None = None) -> tuple[Snapshot, ...]:
        return await super().list_snapshots()


class TakesRecordings(Spoiled):
    async def create(self, header: SessionHeader, **options: Any) -> Lease:
        return await super().create(header, fresh=True)


class NeverCloses(Spoiled):
    async def close(self) -> None:
        return


class KeepsWriting(Spoiled):
    def let_go(self, record: Any, *, discard: bool = False) -> None:
        writer, record.writer = record.writer, None
        super().let_go(record, discard=discard)
        record.writer = writer


class SilentRefusals(Spoiled):
    async def load(self, session_id: str) -> StoredLog:
        try:
            return await super().load(session_id)
        except SessionError as error:
            raise KeyError(session_id) from error


class StripsText(Spoiled):
    async def append(self, lease: Lease, events: Sequence[Event]) -> None:
        await super().append(lease, [self._stripped(event) for event in events])

    @staticmethod
    def _stripped(event: Event) -> Event:
        data = event.data
        if not isinstance(data, OpaquePayload) or r"\x00" not in str(data.data):
            return event
        return replace(event, data=OpaquePayload(data.type, {"title": "without null"}))


class IdsWithoutCase(Spoiled):
    async def create(self, header: SessionHeader, **options: Any) -> Lease:
        if any(name.lower() == header.id.lower() for name in self._records):
            raise SessionError("taken", code="SESSION_ALREADY_EXISTS")
        return await super().create(header, **options)


class ConfirmsForEver(Spoiled):
    def attach(
        self, header: SessionHeader, log: list[Event], lease: Lease | None = None
    ) -> MemoryWriter:
        writer = super().attach(header, log, lease)
        return _Confirming(self, writer)


class _Confirming(MemoryWriter):
    def __init__(self, store: MemoryStore, writer: MemoryWriter) -> None:
        super().__init__(store, writer._record)
        writer._record.writer = self

    async def flush(self) -> bool:
        return True


SPOILED: list[tuple[type[MemoryStore], str]] = [
    (ListsReserved, "test_created_only"),
    (TakesTwice, "test_created_twice"),
    (TakesGaps, "test_append_must_continue"),
    (KeepsTheBatch, "test_batch_is_taken_at_the_call"),
    (LosesTheOrder, "test_order_of_the_list"),
    (RepairsWhileLooking, "test_inspect_repairs_in_memory"),
    (NeverRepairs, "test_load_repairs"),
    (LoadsOpenTurns, "test_load_of_a_live_log"),
    (ForgetsFences, "test_a_stale_lease"),
    (SharesLeases, "test_one_holder"),
    (ForgetsWhatWasPrepared, "test_a_lease_after_a_change"),
    (ReleasesOnlyByName, "test_a_stale_lease"),
    (OneRevision, "test_revision"),
    (FalseSnapshots, "test_snapshot_says_who_is_live"),
    (AdoptsChildren, "test_children"),
    (TakesRecordings, "test_a_recording_is_not_resumed"),
    (NeverCloses, "test_a_closed_store_takes_nothing"),
    (KeepsWriting, "test_nothing_is_stored_behind_a_release"),
    (SilentRefusals, "test_unknown_ids"),
    (StripsText, "test_hard_text"),
    (IdsWithoutCase, "test_odd_ids"),
    (ConfirmsForEver, "test_a_released_writer_confirms_nothing"),
]


@pytest.mark.parametrize(
    ("store", "case"), SPOILED, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_spoiled_store_is_caught(store: type[MemoryStore], case: str) -> None:
    """suite: a store that breaks one rule fails the case about it."""

    class Check(StoreConformance):
        def make(self, folder: Path) -> MemoryStore:
            return store()

    with pytest.raises((AssertionError, BroodlineError)) as caught:
        getattr(Check(), case)()
    assert str(caught.value)


def test_every_claim_has_its_source() -> None:
    """suite: the docstring of each case starts with where its rule comes from, on one line."""
    source = re.compile(r"(core (#?\d+(\.\d+)?)|DESIGN 3|store\.\w+(\.\w+)?): \S.*\.$")

    class Durable(StoreConformance):
        durable = True

    for name in CASES:
        text = getattr(Durable, name).__doc__ or ""
        assert source.fullmatch(text), f"{name}: {text!r}"


def test_a_store_that_does_not_last_has_fewer_cases() -> None:
    """suite: cases about several stores of one place are not there for a store in memory."""

    class Plain(StoreConformance):
        pass

    class Durable(StoreConformance):
        durable = True

    left_out = [name for name in CASES if getattr(Plain, name) is None]
    assert len(left_out) > 15
    assert "test_a_stale_holder_is_refused" in left_out
    assert all(callable(getattr(Durable, name)) for name in CASES)


def test_a_suite_without_a_store_says_so() -> None:
    """suite: a subclass that makes no store is told what it lacks."""

    class Empty(StoreConformance):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty needs a method make\(folder\)"):
        Empty().test_created_only()


def test_it_works_under_unittest() -> None:
    """suite: with ``unittest.TestCase`` beside it the suite runs without pytest."""

    class Check(StoreConformance, unittest.TestCase):
        def make(self, folder: Path) -> MemoryStore:
            return MemoryStore()

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Check).run(result)
    assert result.testsRun > 70
    assert result.wasSuccessful(), result.failures + result.errors


def test_it_needs_no_pytest() -> None:
    """suite: importing it imports neither pytest nor SQLite."""
    code = "import sys, broodline.testing.stores; print({'pytest', 'sqlite3'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_it_holds_when_python_optimises() -> None:
    """suite: no case rests on ``assert``, which ``python -O`` leaves out."""
    for path in Path(suite.__path__[0]).glob("*.py"):
        kinds = [type(node) for node in ast.walk(ast.parse(path.read_text()))]
        assert ast.Assert not in kinds, path.name


def test_the_sample_has_every_type() -> None:
    """suite: the sample log has every payload that this build writes; a new one is missed here."""
    assert {type(event.data) for event in sample_log()} >= set(TYPED.values())
    assert [event.seq for event in sample_log()] == list(range(len(sample_log())))
    assert len(interrupted_log()) > 20


class Hanging(Spoiled):
    async def list(self) -> tuple[SessionHeader, ...]:
        await asyncio.get_running_loop().create_future()
        return ()


def test_a_hanging_case_ends() -> None:
    """suite: a store that never answers fails its case when the suite's patience is over."""

    class Check(StoreConformance):
        patience = 0.05

        def make(self, folder: Path) -> MemoryStore:
            return Hanging()

    with pytest.raises(AssertionError, match=r"not done after 0\.05 seconds"):
        Check().test_an_empty_store()


class Littering(Spoiled):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        (folder.parent / "litter").touch()


def test_a_store_that_leaves_its_folder_is_caught() -> None:
    """suite: what a store makes outside its folder fails every case."""

    class Check(StoreConformance):
        def make(self, folder: Path) -> MemoryStore:
            return Littering(folder)

    with pytest.raises(AssertionError, match=r"outside its folder: \['litter'\]"):
        Check().test_an_empty_store()


async def test_the_manual_clock() -> None:
    """suite: sleepers wake in the order of their time, when the clock is moved there."""
    clock = ManualClock(0.0)
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    tasks = [asyncio.ensure_future(sleep(seconds)) for seconds in (3, 1, 2)]
    await asyncio.sleep(0)
    assert clock.sleepers == 3
    clock.advance(2)
    await asyncio.sleep(0)
    assert (woken, clock.sleepers, clock.monotonic()) == ([1, 2], 1, 2.0)
    tasks[0].cancel()
    await asyncio.wait(tasks)
    assert clock.sleepers == 0
    clock.advance(5)
    await clock.sleep(0)
    assert woken == [1, 2]


async def test_the_gated_executor() -> None:
    """suite: a gate holds work back while it is shut, and lets it through in order."""
    gate = GatedExecutor()
    assert await gate.run(abs, -1) == 1
    gate.shut()
    done: list[int] = []
    tasks = [asyncio.ensure_future(gate.run(done.append, number)) for number in range(3)]
    await asyncio.sleep(0)
    assert (done, gate.queued) == ([], 3)
    gate.open()
    await asyncio.gather(*tasks)
    assert (done, gate.queued) == ([0, 1, 2], 0)
