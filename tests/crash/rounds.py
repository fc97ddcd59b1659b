"""Kill processes that work over a store, and look at what is left; then face the other hazards.

Prints one line at the end: ``crash: 200 kills, N acknowledged, 0 lost, 0 repeated, 0 corrupt``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from examination import Verdict, examine
from hazards import Outcome, face_all
from worker import Order, run

KINDS = ("sqlite", "jsonl")
ROUNDS_A_STORE = 12
"""A store is killed over so often, then a new one is begun: its logs stay short."""
LONGEST = 60.0
"""Seconds after which a worker that nobody killed counts as hanging."""


@dataclass(slots=True)
class Total:
    """What all rounds came to."""

    kills: int = 0
    acknowledged: int = 0
    lost: list[str] = field(default_factory=list[str])
    repeated: list[str] = field(default_factory=list[str])
    corrupt: list[str] = field(default_factory=list[str])
    hazards: list[Outcome] = field(default_factory=list[Outcome])

    @property
    def clean(self) -> bool:
        """Whether every promise was kept."""
        failed = any(outcome.result == "failed" for outcome in self.hazards)
        return not (self.lost or self.repeated or self.corrupt or failed)

    def add(self, verdict: Verdict, where: str) -> None:
        """Take in what one round found, with how to repeat it."""
        self.kills += 1
        for mine, theirs in (
            (self.lost, verdict.lost),
            (self.repeated, verdict.repeated),
            (self.corrupt, verdict.corrupt),
        ):
            mine += [f"{what} [{where}]" for what in theirs]

    def line(self) -> str:
        """The last line."""
        return (
            f"crash: {self.kills} kills, {self.acknowledged} acknowledged, {len(self.lost)} lost, "
            f"{len(self.repeated)} repeated, {len(self.corrupt)} corrupt"
        )


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="make crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, metavar="N")
    parser.add_argument("--seed", type=int, default=None, help="repeat a run's choices")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args(arguments)


def lane(number: int, kills: int, seed: int, folder: Path, total: Total) -> None:
    """One after the other: a worker over a store until it dies, then the examination."""
    chance = random.Random(seed * 1000 + number)
    place = notes = folder
    kind, before = KINDS[0], 0
    for round_number in range(kills):
        if round_number % ROUNDS_A_STORE == 0:
            kind = KINDS[(number + round_number // ROUNDS_A_STORE) % len(KINDS)]
            home = folder / f"{number}-{round_number}"
            home.mkdir()
            place, notes, before = home / "store", home / "notes", 0
        inside = chance.random() < 0.6
        order = Order(
            kind,
            str(place),
            str(notes),
            f"m{number}-{round_number}",
            chance.randrange(1 << 30),
            chance.randint(1, 160) if inside else 0,
            400,
        )
        killed = _kill(order, chance)
        verdict = asyncio.run(examine(kind, place, notes))
        total.acknowledged += verdict.acknowledged - before
        before = verdict.acknowledged
        if not killed:
            verdict.corrupt.append("the worker hung or failed by itself")
        total.add(verdict, f"{kind} seed {order.seed} failpoint {order.failpoint}")
        print(f"\rcrash: {total.kills} kills", end="", file=sys.stderr, flush=True)


def _kill(order: Order, chance: random.Random) -> bool:
    """Run a worker until it is killed; False if it ended in any other way."""
    process = multiprocessing.get_context("forkserver").Process(target=run, args=(order,))
    process.start()
    process.join(LONGEST if order.failpoint else chance.uniform(0.05, 0.9))
    if process.is_alive():
        hung = bool(order.failpoint)
        process.kill()
        process.join()
        return not hung
    code = process.exitcode
    process.close()
    return code == -9


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all rounds; returns the exit code."""
    wanted = options(arguments)
    seed = random.SystemRandom().randrange(1 << 20) if wanted.seed is None else wanted.seed
    multiprocessing.get_context("forkserver").set_forkserver_preload(["worker"])
    total, start = Total(), time.monotonic()
    if wanted.kills:
        _kill_all(wanted.kills, seed, total)
        print(file=sys.stderr)
    for outcome in face_all():
        total.hazards.append(outcome)
        print(f"hazard: {outcome}", file=sys.stderr, flush=True)
    _tell(total, wanted.json, seed, time.monotonic() - start)
    return 0 if total.clean else 1


def _kill_all(kills: int, seed: int, total: Total) -> None:
    """All rounds with a kill, in two lanes."""
    folder = Path(tempfile.mkdtemp(prefix="broodline-crash-"))
    lanes = min(2, kills)
    shares = [kills // lanes + (number < kills % lanes) for number in range(lanes)]
    try:
        with ThreadPoolExecutor(lanes) as pool:
            jobs = [
                pool.submit(lane, number, share, seed, folder, total)
                for number, share in enumerate(shares)
            ]
            for job in jobs:
                job.result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tell(total: Total, as_json: bool, seed: int, seconds: float) -> None:
    found = {"lost": total.lost, "repeated": total.repeated, "corrupt": total.corrupt}
    if as_json:
        document: dict[str, Any] = {"kills": total.kills, "acknowledged": total.acknowledged}
        document |= {**found, "hazards": [asdict(outcome) for outcome in total.hazards]}
        print(json.dumps({**document, "seed": seed, "seconds": round(seconds, 1)}))
        return
    for name, entries in found.items():
        for entry in entries[:20]:
            print(f"{name}: {entry}", file=sys.stderr)
    print(f"seed {seed}, {seconds:.0f} s", file=sys.stderr)
    print(total.line())


if __name__ == "__main__":
    # A runtime warns of each fault that is made on purpose: a line a hazard is enough.
    logging.getLogger("broodline").addHandler(logging.NullHandler())
    sys.exit(main())
