"""How a figure is taken: CPU beside wall time in this process, memory in a fresh one."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured.

    Attributes:
        runs: Runs per row, three at least; the figure is their median.
        share: Part of the full number of operations, from 0 (exclusive) to 1.
    """

    runs: int = 5
    share: float = 1.0

    def of(self, count: int) -> int:
        """The number of operations at this scale, 10 at least."""
        return max(10, int(count * self.share))


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: seconds of CPU and of wall time, or bytes, each per operation."""

    cpu: float | None = None
    wall: float | None = None
    memory: float | None = None


Kind = Literal["cpu", "wall", "memory"]
ALIKE = 1.5
"""Up to so many times the figure of another row are taken for the same."""

UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "KiB": 1024.0}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        name: What ``--only`` takes.
        what: What is measured, for people; ``{}`` stands for the number of operations.
        unit: Unit of the figure and of the bar: µs, ms, s or KiB.
        run: Takes one sample of so many operations.
        count: The operations that the bar is meant for.
        bar: The most that DESIGN section 7 allows, in `unit`; None where it says nothing.
        judged: Which part of a sample the bar is for.
        rate: What is counted a second of wall time, where that is the usual figure.
        against: The row that this one should cost as much as.
    """

    name: str
    what: str
    unit: str
    run: Callable[[int], Sample]
    count: int
    bar: float | None = None
    judged: Kind = "cpu"
    rate: str | None = None
    against: str | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """The medians of a row, in its unit, and every run of the part that is judged."""

    row: Row
    count: int
    cpu: float | None
    wall: float | None
    memory: float | None
    samples: tuple[float, ...]

    @property
    def what(self) -> str:
        """What was measured, with the number of operations that it was."""
        return self.row.what.format(f"{self.count:,}")

    @property
    def a_second(self) -> float | None:
        """Operations a second of wall time; None for a row without a `rate`."""
        if self.row.rate is None or not self.wall:
            return None
        return 1 / (self.wall * UNITS[self.row.unit])

    def compared(self, other: Figure) -> str:
        """How this figure stands to that of the row that it should cost as much as.

        By the fastest runs: what the neighbours on the machine take only adds.
        """
        times = min(self.samples) / min(other.samples)
        verdict = "the same" if times <= ALIKE else "more"
        return f"{verdict}: {times:.2f} times {other.row.name}"

    @property
    def verdict(self) -> str | None:
        """``ok`` or ``over``; ``-`` for less work than the bar is meant for, None without a bar."""
        if self.row.bar is None:
            return None
        if self.count != self.row.count:
            return "-"
        return "ok" if median(self.samples) <= self.row.bar else "over"


def take(row: Row, scale: Scale) -> Figure:
    """Run a row as often as the scale says."""
    count = scale.of(row.count)
    samples = [row.run(count) for _ in range(scale.runs)]
    parts = {kind: _in_unit(samples, kind, UNITS[row.unit]) for kind in ("cpu", "wall", "memory")}
    middle = {kind: median(values) if values else None for kind, values in parts.items()}
    return Figure(row, count, middle["cpu"], middle["wall"], middle["memory"], parts[row.judged])


def _in_unit(samples: list[Sample], kind: str, unit: float) -> tuple[float, ...]:
    values: list[float | None] = [getattr(sample, kind) for sample in samples]
    return tuple(value / unit for value in values if value is not None)


class Stopwatch:
    """CPU and wall time of a ``with`` block, of all threads of this process."""

    __slots__ = ("_cpu", "_wall", "cpu", "wall")

    def __enter__(self) -> Stopwatch:
        gc.collect()  # what an earlier run left is not this one's cost
        self._wall, self._cpu = perf_counter(), process_time()
        self.cpu = self.wall = 0.0
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu, self.wall = process_time() - self._cpu, perf_counter() - self._wall

    def per(self, count: int) -> Sample:
        """The sample when the block did `count` operations."""
        return Sample(cpu=self.cpu / count, wall=self.wall / count)


def timed(run: Callable[[int], Coroutine[Any, Any, Sample]]) -> Callable[[int], Sample]:
    """Make a row's run of a coroutine function, on a loop of its own."""
    return lambda count: asyncio.run(run(count))


def resident_bytes() -> int:
    """What this process has in memory now (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def growth(count: int, make: Callable[[int], Awaitable[Any]], warm_up: int = 200) -> float:
    """Bytes by which this process grows for each of `count` things that `make(n)` brings."""
    await make(warm_up)
    gc.collect()
    before = resident_bytes()
    await make(count)
    gc.collect()
    return (resident_bytes() - before) / count


def in_fresh_process(name: str) -> Callable[[int], Sample]:
    """Make a row's run of a memory job of `memory.py`: no earlier run blurs its figure."""

    def run(count: int) -> Sample:
        script = Path(__file__).with_name("memory.py")
        command = [sys.executable, str(script), name, str(count)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return Sample(memory=float(done.stdout))

    return run
