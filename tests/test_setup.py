"""What `make` says on a machine that lacks something; the rest of set-up runs before any test."""

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
        "bench",
        "clean",
    ]
