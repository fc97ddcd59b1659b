"""How the process enters and leaves, whatever its streams are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import broodline

SOURCE = Path(__file__).parents[2] / "src"


def shell(line: str) -> tuple[int, str, str]:
    """Run a line with `$0` as the command: exit code, stdout, stderr."""
    script = line.replace("BROODLINE", '"$0" -m broodline')
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def test_entering_imports_next_to_nothing() -> None:
    """demo: the module of the console script loads no other of the package, nor `typing`."""
    program = f"""
import sys
sys.path.insert(0, {str(SOURCE)!r})
import broodline.cli
print(*sorted(name for name in sys.modules if name.startswith(("broodline", "typing"))))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["broodline", "broodline.cli"]


def test_the_door_opens_when_it_is_asked() -> None:
    """demo: names are loaded at the first use, all of them, and an unknown one is an error."""
    program = """
import sys, broodline
assert "pydantic" not in sys.modules
assert {"Runtime", "tool", "__version__"} <= set(dir(broodline))
from broodline import *
assert broodline.Runtime is Runtime and broodline.tool is tool
assert all(name in vars(broodline) for name in broodline.__all__)
try:
    broodline.nonsense
except AttributeError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "module 'broodline' has no attribute 'nonsense'\n"


@pytest.mark.parametrize("arguments", ["--version", "--help", "demo --help"])
def test_output_that_cannot_be_written_is_told_in_one_line(arguments: str) -> None:
    """demo: on a full disk or without a standard output a command fails with one line."""
    assert shell(f"BROODLINE {arguments} >/dev/full") == (
        1,
        "",
        "broodline: the output could not be written: no space left on device\n",
    )
    assert shell(f"BROODLINE {arguments} >&-") == (
        1,
        "",
        "broodline: the standard output is closed\n",
    )


@pytest.mark.parametrize("arguments", ["demo", "demo --json", "demo -q"])
def test_a_report_that_nobody_gets_is_a_failure(tmp_path: Path, arguments: str) -> None:
    """demo: with a closed standard output nothing is surveyed, and the exit code says so."""
    line = f"cd '{tmp_path}' && BROODLINE {arguments} . >&-"
    assert shell(line) == (1, "", "broodline: the standard output is closed\n")


def test_a_closed_or_full_stderr_is_no_failure(tmp_path: Path) -> None:
    """demo: the report comes even when its progress cannot be told."""
    for end in ("2>&-", "2>/dev/full"):
        code, out, _ = shell(f"cd '{tmp_path}' && BROODLINE demo . {end}")
        assert (code, out.splitlines()[-1]) == (0, "demo: 1 agent, 1 turn, 1 tool call, ok")
    assert shell(f"BROODLINE demo '{tmp_path}/none' 2>/dev/full")[:2] == (2, "")


def test_the_version_is_the_packages() -> None:
    """demo: --version says what the package says."""
    assert shell("BROODLINE --version")[:2] == (0, f"broodline {broodline.__version__}\n")
