"""What docs/actors.md says is run and compared."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "actors.md").read_text()


def test_the_sample_prints_what_the_page_says(tmp_path: Path) -> None:
    """DESIGN 2: the sample of docs/actors.md runs as it stands and prints the lines it names."""
    sample = re.search(r"```python\n(.*?)```", PAGE, re.S)
    assert sample is not None
    program = tmp_path / "sample.py"
    program.write_text(sample[1])
    run = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    assert run.stderr == ""
    lines = run.stdout.splitlines()
    assert lines == ["True", "Momo", "no such book", "closed with ['Krabat']"]
    assert all(f"`{line}`" in PAGE for line in lines)


def test_every_row_of_the_table_has_a_test() -> None:
    """DESIGN 2: each row of pykka's behaviour on the page is shown by a test, and no other."""
    rows = {
        row
        for line in PAGE.splitlines()
        if line.startswith("| ")
        for row in re.findall(r"[ARFP]\d+", line.split("|")[1])
    }
    tests = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    shown = set(re.findall(r"pykka ([ARFP]\d+):", tests))
    assert shown == rows
