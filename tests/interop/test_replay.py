"""The recorded scenarios through our own loop; skipped where there are no recordings."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from .command import main
from .corpus import RECORDINGS, files_of
from .driver import DRIVERS, driver_files, name_of, read_driver
from .scenario import replay

NAMES = [name_of(path) for path in driver_files()]
LEFT_OUT = Path(__file__).with_name("left_out.toml")

recorded = pytest.mark.skipif(not files_of(RECORDINGS), reason="no recordings beside this checkout")


@recorded
@pytest.mark.parametrize("name", NAMES)
async def test_replayed(name: str) -> None:
    """core 15.6, 12.7: our loop, given the recorded model, writes what was recorded."""
    driver = read_driver(DRIVERS / f"{name}.toml")
    assert driver.recording == name
    done = await replay(driver, RECORDINGS)
    assert not done.differences, "\n".join(done.differences)


@recorded
def test_every_recording_has_a_driver_or_a_reason() -> None:
    """core 15.6: what is not replayed is left out by name, and for a reason."""
    there = {path.parent.relative_to(RECORDINGS).as_posix() for path in files_of(RECORDINGS)}
    left_out = tomllib.loads(LEFT_OUT.read_text())
    assert all(left_out.values())
    assert sorted([*NAMES, *left_out]) == sorted(there)


@recorded
def test_the_last_line_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """core #282: every file is read and refused is none; the last line says so."""
    assert main(["--only", "acp-agent/subagent-multi"]) == 0
    lines = capsys.readouterr().out.splitlines()
    count = len(files_of(RECORDINGS))
    assert lines[-1] == f"recordings: {count} read, 0 refused; replayed 1 of 1"
    assert sum("acp-agent/subagent-multi" in line for line in lines) == 1


def test_the_drivers_can_be_read() -> None:
    """core 15.6: there are drivers, all well-formed, for twelve scenarios at least."""
    assert len({read_driver(path).recording for path in driver_files()}) == len(NAMES) >= 12
