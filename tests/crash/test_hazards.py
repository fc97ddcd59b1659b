"""What may happen to a store beside a kill: its disk, its company, its clock."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import contention
import hazards
import outage
import rounds
from drive import CannotMakeError
from hazard import KINDS, HazardError

both = pytest.mark.parametrize("kind", KINDS)


def face(hazard: hazards.Hazard, kind: str, home: Path) -> None:
    """Run it; skip what this machine cannot make."""
    try:
        hazard(kind, home)
    except CannotMakeError as error:
        pytest.skip(str(error))


@both
def test_disk_full(kind: str, tmp_path: Path) -> None:
    """core 5.4: what a full disk cannot take is refused and never runs; with room, all goes on."""
    face(outage.disk_full, kind, tmp_path)


@both
def test_turned_read_only(kind: str, tmp_path: Path) -> None:
    """core 5.4: nothing is accepted while a disk is read-only; writable again, all goes on."""
    face(outage.turned_read_only, kind, tmp_path)


@both
def test_taken_away(kind: str, tmp_path: Path) -> None:
    """core 5.4: a store that is replaced is not written to; put back, it goes on."""
    face(outage.taken_away, kind, tmp_path)


@both
def test_read_only_folder(kind: str, tmp_path: Path) -> None:
    """docs/stores: a store that cannot be written is refused when entered, and left as it is."""
    face(outage.read_only_folder, kind, tmp_path)


@both
def test_wrong_place(kind: str, tmp_path: Path) -> None:
    """docs/stores: what lies where a store should be is named, and left as it is."""
    face(outage.wrong_place, kind, tmp_path)


@both
def test_second_process(kind: str, tmp_path: Path) -> None:
    """core 5.2: a session live elsewhere is refused at once, and nothing was written."""
    face(contention.second_process, kind, tmp_path)


@both
def test_two_creators(kind: str, tmp_path: Path) -> None:
    """core 5.2: of two processes that create one id, one has its message accepted and stored."""
    face(contention.two_creators, kind, tmp_path)


@both
def test_jumping_clock(kind: str, tmp_path: Path) -> None:
    """DESIGN 3: leases and the order of a log do not depend on the wall clock."""
    face(contention.jumping_clock, kind, tmp_path)


@both
def test_stopped_process(kind: str, tmp_path: Path) -> None:
    """core 5.2: a holder that was stopped and replaced is refused, and has written nothing."""
    face(contention.stopped_process, kind, tmp_path)


def test_every_hazard_is_run() -> None:
    """core 5: `make crash` faces each hazard that is tested here."""
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    run = {hazard.__name__ for hazard in hazards.HAZARDS.values()}
    assert run <= tested


def test_what_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """core 5: `make crash` fails with a hazard, and says which, and which it cannot make."""

    def fails(_kind: str, _home: Path) -> None:
        raise HazardError("it was lost")

    def cannot(_kind: str, _home: Path) -> None:
        raise CannotMakeError("no root")

    monkeypatch.setattr(hazards, "HAZARDS", {"a": fails, "b": cannot, "c": lambda _k, _h: None})
    assert rounds.main(["--kills", "0"]) == 1
    said = capsys.readouterr()
    assert said.out == "crash: 0 kills, 0 acknowledged, 0 lost, 0 repeated, 0 corrupt\n"
    lines = ["a, sqlite: failed: it was lost", "b, jsonl: skipped: no root", "c, jsonl: passed"]
    assert [line for line in lines if f"hazard: {line}\n" not in said.err] == []
    monkeypatch.delitem(hazards.HAZARDS, "a")
    assert rounds.main(["--kills", "0"]) == 0
