"""docs/providers.md: its programs run and print what stands below them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCES = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "docs/providers.md").read_text(), re.M | re.S)
PROGRAMS = [
    (text, FENCES[place + 1][1] if FENCES[place + 1 :] and FENCES[place + 1][0] == "text" else "")
    for place, (language, text) in enumerate(FENCES)
    if language == "python"
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_program(number: int, tmp_path: Path) -> None:
    """DESIGN 4: the provider and the driver that the page shows work as printed."""
    program, wanted = PROGRAMS[number]
    (tmp_path / "program.py").write_text(program)
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == wanted


def test_there_are_programs() -> None:
    """DESIGN 4: the page shows a provider, a driver and the tool."""
    assert len(PROGRAMS) == 3


def test_twenty_lines() -> None:
    """DESIGN 4: a provider of one's own takes no more than twenty lines."""
    body = PROGRAMS[0][0]
    provider = body[body.index("class MentoredProvider") : body.index("async def main")]
    assert len(provider.strip().splitlines()) <= 20
