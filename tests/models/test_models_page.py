"""What docs/models.md says can be run, run."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import broodline
from broodline.actors.models import Conversation, RetryPolicy

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "models.md").read_text()
PAIRS = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.mark.parametrize("place", range(4))
def test_a_sample_prints_what_stands_below_it(place: int, tmp_path: Path) -> None:
    """DESIGN section 9: every sample of the page runs and prints what the page says."""
    program, expected = PAIRS[place]
    script = tmp_path / "sample.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(broodline.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == expected


def test_every_sample_has_its_output() -> None:
    """DESIGN section 9: no sample of the page is left unchecked."""
    assert len(PAIRS) == PAGE.count("```python") == 4


def test_a_model_of_ones_own_takes_forty_lines() -> None:
    """DESIGN section 9: the page's own model, its client and its imports fit in forty lines."""
    program = PAIRS[3][0].split("async def main", maxsplit=1)[0]
    assert len([line for line in program.splitlines() if line]) <= 40


def test_the_page_names_what_there_is() -> None:
    """DESIGN section 9: every view of a conversation is on the page, and only what exists."""
    views = {name for name, _ in inspect.getmembers(Conversation) if not name.startswith("_")}
    table = PAGE.split("What a rule can ask", maxsplit=1)[1].split("A rule may return")[0]
    named = set(re.findall(r"`(\w+)(?:\(.*?\))?`", table))
    assert named >= views
    for code in RetryPolicy().codes:
        assert f"`{code}`" in PAGE
