"""The three stores against the contract that every store keeps."""

from __future__ import annotations

from pathlib import Path

from broodline.actors.store import Store
from broodline.actors.stores.jsonl import JsonlStore
from broodline.actors.stores.memory import MemoryStore
from broodline.actors.stores.sqlite import SqliteStore
from broodline.testing.stores import StoreConformance


class TestMemoryStore(StoreConformance):
    def make(self, folder: Path) -> Store:
        return MemoryStore()


class TestSqliteStore(StoreConformance):
    durable = True

    def make(self, folder: Path) -> Store:
        return SqliteStore(folder / "store.db")


class TestJsonlStore(StoreConformance):
    durable = True

    def make(self, folder: Path) -> Store:
        return JsonlStore(folder / "store")
