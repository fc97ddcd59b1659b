"""The bench: it runs, prints a plain table and writes JSON. What it measures is not judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the bench as `make bench` does."""
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_table_and_json_hold_the_rows_that_were_asked_for(tmp_path: Path) -> None:
    """DESIGN section 7: a row with a bar ends with `ok` or `over`; JSON has every sample."""
    results = tmp_path / "results.json"
    asked = ["delegation", "turns-10000", "memory-waiting", "memory-idle"]
    done = bench("--quick", "--json", str(results), *(f"--only={name}" for name in asked))
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert [name for name in lines if name in asked] == asked
    for name in asked[:3]:
        assert lines[name].rsplit(maxsplit=1)[-1] in {"ok", "over"}
    assert lines["memory-idle"].endswith("KiB")
    rows = json.loads(results.read_text())["rows"]
    assert [row["row"] for row in rows] == asked
    assert all(len(row["samples"]) >= 3 for row in rows)
    assert rows[0]["cpu"] > 0 < rows[0]["wall"]


def test_an_unknown_row_is_refused_with_the_names_there_are() -> None:
    """A row that does not exist ends the bench before anything is measured."""
    done = bench("--only", "nonsense")
    assert done.returncode == 2
    assert "delegation-1024" in done.stderr
