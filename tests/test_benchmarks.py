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
    """DESIGN section 7: a tenth of the work is not judged; JSON has every sample."""
    results = tmp_path / "results.json"
    asked = ["delegation", "turns-10000", "memory-waiting", "memory-idle"]
    done = bench("--quick", "--json", str(results), *(f"--only={name}" for name in asked))
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert [name for name in lines if name in asked] == asked
    for name in asked[:3]:
        assert lines[name].rsplit(maxsplit=1)[-1] == "-"
    assert " 1,000 turns of 50 ms " in lines["turns-10000"]
    assert lines["memory-idle"].endswith("KiB")
    rows = json.loads(results.read_text())["rows"]
    assert [row["row"] for row in rows] == asked
    assert all(len(row["samples"]) >= 3 for row in rows)
    assert [row["verdict"] for row in rows] == ["-", "-", "-", None]
    assert rows[0]["cpu"] > 0 < rows[0]["wall"]


def judge(count: int, bar: float | None) -> str | None:
    """The verdict that `benchmarks/measure.py` gives a figure of 2 ms in `count` operations."""
    code = (
        "from measure import Figure, Row;"
        f"row = Row('row', '{{}} turns', 'ms', print, 1_000, {bar!r});"
        f"print(Figure(row, {count}, 2.0, 2.0, None, (2.0, 2.0, 2.0)).verdict)"
    )
    folder = ROOT / "benchmarks"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_whole_run_is_judged() -> None:
    """DESIGN section 7: `ok` up to the bar, `over` above it, when all the work was done."""
    assert [judge(1_000, 2.0), judge(1_000, 1.9), judge(100, 2.0)] == ["ok", "over", "-"]
    assert judge(1_000, None) == "None"


def test_an_unknown_row_is_refused_with_the_names_there_are() -> None:
    """A row that does not exist ends the bench before anything is measured."""
    done = bench("--only", "nonsense")
    assert done.returncode == 2
    assert "delegation-1024" in done.stderr
