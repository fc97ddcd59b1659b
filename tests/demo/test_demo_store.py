"""The demo over a store: it goes on where a run that was killed had stopped."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from broodline.actors.stores.disk import DiskStore
from broodline.cli import main
from broodline.messages.errors import ConfigurationError
from broodline.messages.event import Event
from broodline.messages.header import SessionHeader
from broodline.messages.payload import ToolAnswered, ToolCalled
from broodline.sessions.place import any_place
from broodline.sessions.verifying import verify
from broodline.supervision.furnishing import store_named
from broodline.survey.board import Board
from broodline.survey.heritage import task_in
from broodline.survey.survey import Interruption, Order, survey
from broodline.survey.task import Task

COMMAND = [sys.executable, "-c", "import sys; from broodline.cli import main; sys.exit(main())"]
UNANSWERED = {"TOOL_OUTCOME_UNKNOWN", "TOOL_NOT_STARTED", "ABORTED", "ABORTED_BEFORE_DISPATCH"}
"""Codes of results that tell of no outcome. A delegation that was stopped has one of its own."""

Call = tuple[str, str]
"""Name and arguments; these name the folder, so a survey makes each call once."""


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders with a few files, three levels deep."""
    root = tmp_path_factory.mktemp("demo") / "ground"
    for name in ("", "east", "west", "east/attic", "east/attic/box", "north"):
        folder = root / name
        folder.mkdir()
        (folder / "a.py").write_text('"""A."""\n\n\ndef one():\n    return 1\n')
        (folder / "note.txt").write_text("TODO: sweep\n")
    return root


@pytest.fixture(params=["sqlite", "jsonl"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}:{tmp_path / 'kept'}"


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str


Demo = Callable[..., Ran]


@pytest.fixture
def demo(ground: Path, capsys: pytest.CaptureFixture[str]) -> Demo:
    """Run the command in this process."""

    def run(*words: str) -> Ran:
        before, handler = sys.argv, signal.getsignal(signal.SIGINT)
        sys.argv = ["broodline", "demo", str(ground), *words]
        try:
            with pytest.raises(SystemExit) as left:
                main()
        finally:
            sys.argv = before
            signal.signal(signal.SIGINT, handler)
        said = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Ran(left.value.code, said.out, said.err)

    return run


@dataclass(slots=True)
class Logs:
    """What is on disk: each session's own events, the calls made and those with a result."""

    sessions: dict[str, tuple[SessionHeader, tuple[Event, ...]]] = field(
        default_factory=dict[str, tuple[SessionHeader, tuple[Event, ...]]]
    )
    made: Counter[Call] = field(default_factory=Counter[Call])
    answered: set[Call] = field(default_factory=set[Call])

    def take(self, header: SessionHeader, events: tuple[Event, ...]) -> None:
        self.sessions[header.id] = (header, events)
        calls: dict[str, Call] = {}
        for event in events:
            own = event.seq >= (header.seed_length or 0)
            if isinstance(event.data, ToolCalled):
                calls[event.data.call_id] = (event.data.name, event.data.arguments)
                self.made[calls[event.data.call_id]] += own
            elif isinstance(event.data, ToolAnswered):
                error, result = event.data.error, event.data.message.content[0]
                stopped = "was cancelled before it finished" in str(result)
                if not stopped and (error is None or error.code not in UNANSWERED):
                    self.answered.add(calls[event.data.message.source["callId"]])

    def made_again_since(self, before: Logs) -> set[Call]:
        """Calls that had a result then, and were made once more since."""
        return {call for call in before.answered if self.made[call] > before.made[call]}


def opened(named: str, *, create: bool = False) -> DiskStore:
    found = store_named(named, create=create)
    assert isinstance(found, DiskStore)
    return found


async def _logs(named: str) -> Logs:
    logs = Logs()
    async with opened(named) as kept:
        for header in await kept.list():
            logs.take(header, await kept.read_from(header.id, 0))
    return logs


def logs_of(named: str) -> Logs:
    if not Path(named.partition(":")[2]).exists():
        return Logs()
    try:
        return asyncio.run(_logs(named))
    except ConfigurationError:  # the file is there, the store in it is being made
        return Logs()


def killed(ground: Path, store: str, enough: int) -> Logs:
    """Run it slowly, kill it once so many calls have results on disk, and tell what is there."""
    command = [*COMMAND, "demo", str(ground), "--store", store, "--pace", "0.1", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        until = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < until:
            if len(logs_of(store).answered) >= enough:
                break
        alive = process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
    assert alive, "it ended before it could be killed"
    return logs_of(store)


def delegated(events: Sequence[Event]) -> set[Task | None]:
    """The tasks that a log has handed out and has an answer for."""
    logs = Logs()
    logs.take(SessionHeader("any", 0), tuple(events))
    return {Task.of_call(arguments) for name, arguments in logs.answered if name == "subagent"}


def shortened(whole: Logs, earlier: Logs, chance: random.Random) -> dict[str, int]:
    """How much of each session a kill of the last run may leave.

    What earlier runs left is there. A session is stored before it has children, with the
    whole of its seed, and a child's end is stored before its parent hears the answer.
    """
    left: dict[str, int] = {}
    heard: dict[str | None, set[Task | None]] = {}
    for header, events in sorted(
        whole.sessions.values(), key=lambda kept: kept[0].delegation_depth or 0
    ):
        parent, birth = header.parent_session, (header.seed_length or 0) + 1
        if parent is not None and parent not in left:
            continue
        known = len(earlier.sessions[header.id][1]) if header.id in earlier.sessions else 0
        length = chance.choice([0, len(events), chance.randint(birth, len(events))])
        if task_in(events) in heard.get(parent, set()):
            length = len(events)
        length = max(length, known, birth if parent is None else 0)
        if length:
            left[header.id] = length
            heard[header.id] = delegated(events[:length])
    return left


def cut(whole: Logs, earlier: Logs, target: str, chance: random.Random) -> Logs:
    """Make a store of the sessions as a kill of the last run may have left them."""

    async def copy() -> None:
        async with opened(target, create=True) as kept:
            for name, length in shortened(whole, earlier, chance).items():
                header, events = whole.sessions[name]
                lease = await kept.create(header)
                await kept.append(lease, events[:length])
                kept.release(lease)

    asyncio.run(copy())
    return logs_of(target)


def test_killed_and_started_again(demo: Demo, ground: Path, store: str) -> None:
    """DESIGN 3: killed and started again the report is the same, and no result is made twice."""
    before = killed(ground, store, 7)
    done = demo("--store", store)
    after = logs_of(store)
    assert (done.code, done.out) == (0, demo().out)
    assert after.made_again_since(before) == set()
    kept, whole = len(before.answered), len(after.answered)
    assert f"continuing the survey of {ground}: {kept} calls are on disk" in done.err
    assert f"resumed: {kept} of {whole} calls were on disk, {whole - kept} done now" in done.err


def test_a_continued_store_is_sound(demo: Demo, ground: Path, store: str) -> None:
    """core 3: the logs of a survey that was killed and went on break no rule of a log."""
    killed(ground, store, 7)
    assert demo("--store", store).code == 0
    assert verify([any_place(store)]) == 0


def test_killed_several_times(demo: Demo, ground: Path, store: str, tmp_path: Path) -> None:
    """DESIGN 3: after several kills in a row the document is that of a run nobody disturbed."""
    kills = [killed(ground, store, enough) for enough in (2, 11)]
    done = demo("--store", store, "--json")
    assert done.out == demo("--store", f"sqlite:{tmp_path / 'other'}", "--json").out
    for before, after in zip(kills, [*kills[1:], logs_of(store)], strict=True):
        assert after.made_again_since(before) == set()


@pytest.mark.parametrize("number", range(2))
def test_whatever_a_kill_leaves(demo: Demo, store: str, tmp_path: Path, number: int) -> None:
    """DESIGN 3: wherever the logs end, twice in a row, only what has no result is done."""
    chance, kind = random.Random(number), store.partition(":")[0]
    first, left = demo("--store", store), Logs()
    for name in ("once", "twice"):
        whole, store = logs_of(store), f"{kind}:{tmp_path / name}"
        left = cut(whole, left, store, chance)
        done = demo("--store", store)
        assert (done.code, done.out) == (0, first.out)
        assert logs_of(store).made_again_since(left) == set()


def test_a_finished_survey_is_told_again(demo: Demo, store: str) -> None:
    """DESIGN 3: a survey that is finished is told again as it was; no log grows."""
    first = demo("--store", store, "--json")
    before = logs_of(store)
    again = demo("--store", store, "--json")
    assert (again.code, again.out) == (0, first.out)
    assert logs_of(store).sessions == before.sessions
    assert "is finished" in again.err
    assert ", 0 done now" in again.err


@pytest.mark.parametrize("enough", [1, 6, 14])
async def test_stopped_and_started_again(ground: Path, tmp_path: Path, enough: int) -> None:
    """DESIGN 4: what Ctrl-C stopped is no failure: the next run asks for it again."""
    named = f"sqlite:{tmp_path / 'kept'}"
    board, interruption = Board(), Interruption()
    order = Order(str(ground), pace=0.02, store=named)
    task = asyncio.create_task(survey(order, board, interruption, lambda: None))
    while board.calls < enough and not task.done():
        await asyncio.sleep(0)
    interruption.request("Ctrl-C")
    assert (await task).status == "interrupted"
    before = await _logs(named)
    again = await survey(order, Board(), Interruption(), lambda: None)
    whole = await survey(Order(str(ground)), Board(), Interruption(), lambda: None)
    assert (again.status, again.facts) == ("ok", whole.facts)
    assert (again.agents, again.turns, again.calls) == (whole.agents, whole.turns, whole.calls)
    assert (await _logs(named)).made_again_since(before) == set()


async def test_at_work_elsewhere(ground: Path, store: str) -> None:
    """DESIGN 3: a survey that somebody has at work is refused in words, and goes on there."""
    board = Board()
    order = Order(str(ground), pace=0.02, store=store)
    task = asyncio.create_task(survey(order, board, Interruption(), lambda: None))
    while not board.calls and not task.done():
        await asyncio.sleep(0)
    other = await survey(order, Board(), Interruption(), lambda: None)
    assert (other.status, other.calls) == ("failed", 0)
    assert "at work in another process" in str(other.problem)
    assert (await task).status == "ok"


async def test_a_failure_on_disk_stays_one(
    ground: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """demo: what failed in an earlier run is told as failed; only what was cut off is repeated."""

    def broken(*_: object, **__: object) -> Any:
        raise OSError("the disk is worn")

    order = Order(str(ground), store=f"sqlite:{tmp_path / 'kept'}")
    with monkeypatch.context() as worn:
        worn.setattr("broodline.survey.ground.Ground.read", broken)
        first = await survey(order, Board(), Interruption(), lambda: None)
    again = await survey(order, Board(), Interruption(), lambda: None)
    assert first.status == again.status == "failed"
    assert "the disk is worn" in str(first.problem)
    assert again.problem == first.problem
    assert again.to_dict() == first.to_dict()


def test_another_survey_in_the_same_store(demo: Demo, store: str) -> None:
    """demo: another pattern or depth is a survey of its own; jobs and pace are not."""
    assert demo("--store", store).code == 0
    for words in (["--match", "*.txt"], ["--depth", "1"]):
        other = demo("--store", store, *words)
        assert (other.code, other.out) == (0, demo(*words).out)
        assert "on disk" not in other.err
    assert "is finished" in demo("--store", store, "--jobs", "1", "--pace", "1").err


def test_the_document_without_seconds(demo: Demo, tmp_path: Path) -> None:
    """demo: with a store the seconds go to stderr, so that the document is always the same."""
    named = f"jsonl:{tmp_path / 'kept'}"
    done = demo("--store", named, "--json")
    assert json.loads(done.out)["seconds"] is None
    assert "calls done in" in done.err
    assert named in done.err
    assert json.loads(demo("--json").out)["seconds"] >= 0
    assert demo("--store", named, "--json", "--quiet").err == ""


def test_a_place_that_is_refused_keeps_nothing(demo: Demo, tmp_path: Path) -> None:
    """demo: a store that cannot be opened is told by the failure alone, nothing is "kept"."""
    done = demo("--store", f"sqlite:{tmp_path}")
    assert done.code == 1
    assert "it is a folder" in done.out
    assert "kept in" not in done.err


@pytest.mark.parametrize("wrong", ["demo.db", "sqlite:", "redis:x", "memory", ""])
def test_what_is_no_store(demo: Demo, wrong: str) -> None:
    """demo: a word that names no store is wrong usage, and says what would."""
    done = demo("--store", wrong)
    assert done.code == 2
    assert "sqlite:PATH" in done.err


def test_a_store_that_cannot_be_used(demo: Demo, ground: Path) -> None:
    """demo: a folder in the database's place is told, not raised."""
    done = demo("--store", f"sqlite:{ground}")
    assert done.code == 1
    assert str(ground) in done.out
