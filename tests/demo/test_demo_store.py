"""The demo over a store: it goes on where a run that was killed had stopped."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.store import Store
from broodline.messages.payload import ToolCalled
from broodline.supervision.furnishing import store_named

COMMAND = [sys.executable, "-c", "import sys; from broodline.cli import main; sys.exit(main())"]


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    """Folders with a few files, two levels deep."""
    root = tmp_path / "ground"
    for name in ("", "east", "west", "east/attic"):
        folder = root / name
        folder.mkdir()
        (folder / "a.py").write_text('"""A."""\n\n\ndef one():\n    return 1\n')
        (folder / "note.txt").write_text("TODO: sweep\n")
    return root


@pytest.fixture(params=["sqlite", "jsonl"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}:{tmp_path / 'kept'}"


def demo(ground: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "demo", str(ground), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


async def _calls(named: str) -> Counter[tuple[str, str]]:
    """How often each call stands in the logs, what was inherited left out."""
    made: Counter[tuple[str, str]] = Counter()
    async with store_named(named, create=False) as opened:  # type: ignore[attr-defined] # both have it
        kept: Store = opened
        for header in await kept.list():
            log = await kept.inspect(header.id)
            for event in log.events[header.seed_length or 0 :]:
                if isinstance(event.data, ToolCalled) and event.data.name != "subagent":
                    made[event.data.name, event.data.arguments] += 1
    return made


def calls(named: str) -> Counter[tuple[str, str]]:
    if not Path(named.partition(":")[2]).exists():
        return Counter()
    return asyncio.run(_calls(named))


def killed(ground: Path, store: str, enough: int) -> None:
    """Run it slowly, and kill it once so many calls are in its store."""
    command = [*COMMAND, "demo", str(ground), "--store", store, "--pace", "0.2", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < until:
            if sum(calls(store).values()) >= enough:
                break
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)


def test_the_same_report(ground: Path, store: str) -> None:
    """DESIGN 3: killed twice and started again, the report is that of a run nobody disturbed."""
    whole = demo(ground)
    killed(ground, store, 1)
    killed(ground, store, 5)
    done = demo(ground, "--store", store)
    assert done.returncode == 0, done.stderr
    assert done.stdout == whole.stdout
    assert "tool calls were on disk" in done.stderr


def test_nothing_on_disk_is_done_again(ground: Path, store: str) -> None:
    """DESIGN 3: only calls that a kill cut off are made a second time."""
    killed(ground, store, 4)
    before = calls(store)
    assert demo(ground, "--store", store).returncode == 0
    again = {call: count for call, count in calls(store).items() if count > 1}
    assert set(again) <= set(before)
    assert len(again) < len(before)


def test_a_finished_survey_is_read(ground: Path, store: str) -> None:
    """DESIGN 3: a survey that is on disk as a whole is told again without a single call."""
    first = demo(ground, "--store", store, "--json")
    before = calls(store)
    second = demo(ground, "--store", store, "--json")
    assert calls(store) == before
    assert _without_time(first.stdout) == _without_time(second.stdout)


def _without_time(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    del document["seconds"]
    return document


def test_another_survey_in_the_same_store(ground: Path, store: str) -> None:
    """Another folder, pattern or depth is a survey of its own."""
    assert demo(ground, "--store", store).returncode == 0
    other = demo(ground, "--store", store, "--match", "*.txt")
    assert other.returncode == 0
    assert other.stdout == demo(ground, "--match", "*.txt").stdout
    assert "on disk" not in other.stderr


@pytest.mark.parametrize("wrong", ["demo.db", "sqlite:", "redis:x", ""])
def test_what_is_no_store(ground: Path, wrong: str) -> None:
    """A word that names no store is wrong usage, and says what would."""
    done = demo(ground, "--store", wrong)
    assert done.returncode == 2
    assert "sqlite:PATH" in done.stderr


def test_a_store_that_cannot_be_used(ground: Path) -> None:
    """A folder in the database's place is told, not raised."""
    done = demo(ground, "--store", f"sqlite:{ground}")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(ground) in done.stdout + done.stderr
