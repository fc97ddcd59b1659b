"""What docs/recordings.md says can be run, run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import broodline

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "recordings.md").read_text()
PAIRS = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.mark.parametrize("place", range(2))
def test_a_recording_sample_prints_what_stands_below_it(place: int, tmp_path: Path) -> None:
    """DESIGN section 9: every sample of the page runs and prints what the page says."""
    program, expected = PAIRS[place]
    script = tmp_path / "sample.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(broodline.__file__).parents[1]),
            "TMPDIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == expected


def test_every_recording_sample_has_its_output() -> None:
    """DESIGN section 9: no sample of the page is left unchecked."""
    assert len(PAIRS) == PAGE.count("```python") == 2


def test_the_page_names_what_is_at_the_door() -> None:
    """DESIGN section 9: every name of the door that has to do with recordings is on the page."""
    names = {
        name for name in broodline.__all__ if "record" in name.lower() or name.endswith("_log")
    }
    assert names >= {"RecordedModel", "read_log", "check_log", "write_log"}
    for name in names - {"RecordedLog", "Recording"}:
        assert name in PAGE
