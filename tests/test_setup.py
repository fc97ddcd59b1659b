"""What `make` says and leaves: where something is missing, when gates fail, when cleaning."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the repository's Makefile in an empty folder."""
    shutil.copy(ROOT / "Makefile", folder)
    outer = ("MAKE", "MFLAGS")  # the tests themselves may be run by make
    env = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
    return subprocess.run(
        ["make", *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


def interpreter(folder: Path, script: str) -> Path:
    """A stand-in for a Python that lacks something."""
    path = folder / "python-of-the-machine"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("target", ["demo", "test", "bench"])
def test_an_old_python_is_refused_by_name(target: str, tmp_path: Path) -> None:
    """An interpreter before 3.11 ends set-up with a text that says what to give instead."""
    old = interpreter(tmp_path, "exit 1")
    done = make(tmp_path, target, f"PYTHON={old}")
    assert done.returncode != 0
    assert f"needs Python 3.11 or newer, and '{old}' is not" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_a_python_that_cannot_make_environments_is_told_how_to(tmp_path: Path) -> None:
    """Without ensurepip set-up says which package brings it and leaves no half environment."""
    bare = interpreter(
        tmp_path, f'case "$*" in *ensurepip*) exit 1;; esac\nexec "{sys.executable}" "$@"'
    )
    done = make(tmp_path, "demo", f"PYTHON={bare}")
    assert done.returncode != 0
    assert "no ensurepip" in done.stderr
    assert "apt-get install python3-venv" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_help_names_what_there_is(tmp_path: Path) -> None:
    """`make help` lists the targets without setting anything up."""
    done = make(tmp_path, "help")
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "help",
        "demo",
        "test",
        "interop",
        "crash",
        "bench",
        "clean",
    ]


TOOLS = ("ruff", "mypy", "pyright", "lint-imports", "coverage")


def equip(folder: Path, **scripts: str) -> None:
    """An environment that is ready, whose tools do what `scripts` says, or nothing."""
    place = folder / ".venv"
    (place / "bin").mkdir(parents=True)
    for tool in TOOLS:
        path = place / "bin" / tool
        path.write_text(f"#!/bin/sh\n{scripts.get(tool, '')}\n")
        path.chmod(0o755)
    (folder / "pyproject.toml").touch()
    (place / "made-in").write_text(f"{folder}\n")
    for stamp in ("installed", "equipped"):
        (place / stamp).touch()


def test_every_gate_runs_and_the_last_line_counts_the_tests(tmp_path: Path) -> None:
    """`make test` says first how long it takes, and last how many tests passed."""
    equip(tmp_path, coverage='[ "$1" = report ] || echo "17 passed, 2 skipped in 1.50s (0:00:01)"')
    done = make(tmp_path, "test")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "5 minutes" in lines[0]
    assert lines[-1].startswith("make test: 17 passed;")


def test_a_gate_that_fails_hides_no_other(tmp_path: Path) -> None:
    """`make test` goes on behind a failed gate, names all that failed last, and fails."""
    equip(
        tmp_path,
        ruff="exit 1",
        pyright="exit 1",
        coverage='[ "$1" = report ] || { echo "1 failed, 16 passed in 1.50s"; exit 1; }',
    )
    done = make(tmp_path, "test")
    assert done.returncode != 0
    assert {line.split(":")[0] for line in done.stdout.splitlines()} >= {
        *("lint", "format", "mypy", "pyright", "layers", "tests")
    }
    (told,) = (line for line in done.stderr.splitlines() if line.startswith("make test:"))
    assert told.startswith("make test: FAILED: lint format pyright tests; 16 tests passed")


def test_tests_that_were_cut_off_count_as_none(tmp_path: Path) -> None:
    """When a test hangs pytest is ended without a closing line: `make test` fails all the same."""
    equip(tmp_path, coverage="echo '....'; exit 1")
    done = make(tmp_path, "test")
    assert done.returncode != 0
    assert "make test: FAILED: tests; 0 tests passed" in done.stderr


@pytest.mark.parametrize("report", ["exit 0", "exit 2"])
def test_coverage_under_the_bar_fails_the_tests(report: str, tmp_path: Path) -> None:
    """The gate of the tests fails when all pass and too little was run."""
    equip(tmp_path, coverage=f'[ "$1" = report ] && {report} || true; echo "3 passed in 0.10s"')
    done = make(tmp_path, "test")
    assert (done.returncode == 0) == (report == "exit 0")


def test_clean_leaves_nothing_that_was_made(tmp_path: Path) -> None:
    """`make clean` removes environment, caches, builds and figures, and nothing else."""
    made = (
        *(".venv/bin", ".cache/mypy", "build/lib", "dist", "broodline.egg-info", ".hypothesis"),
        *(".pytest_cache", ".ruff_cache", ".mypy_cache", ".import_linter_cache"),
        *("actors/__pycache__", "benchmarks"),
    )
    for name in made:
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "benchmarks" / "results.json").touch()
    (tmp_path / "benchmarks" / "run.py").touch()
    assert make(tmp_path, "clean").returncode == 0
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {"Makefile", "actors", "benchmarks", "benchmarks/run.py"}
