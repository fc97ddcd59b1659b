"""Measure the bar of DESIGN section 7: a plain-text table and a JSON file. Asserts nothing."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measure import Figure, Scale, take
from rows import ROWS

RESULTS = Path(__file__).with_name("results.json")
COLUMNS = "{:<23} {:<48} {:>12} {:>12} {:>12}  {}"


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, three runs")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument(
        "--only",
        action="append",
        choices=[row.name for row in ROWS],
        metavar="ROW",
        help="measure this row (may be repeated): " + ", ".join(row.name for row in ROWS),
    )
    return parser.parse_args(arguments)


def line_of(figure: Figure, others: Mapping[str, Figure]) -> str:
    """One row of the table; a row with a bar ends with its verdict."""
    row = figure.row
    cells = [_cell(value, row.unit) for value in (figure.cpu, figure.wall, figure.memory)]
    end = ""
    if row.bar is not None:
        end = f"bar {row.judged} {row.bar:g} {row.unit}  {figure.verdict}"
    elif figure.a_second is not None:
        end = f"{figure.a_second:,.0f} {row.rate} a second"
    elif row.against is not None and row.against in others:
        end = figure.compared(others[row.against])
    return COLUMNS.format(row.name, figure.what, *cells, end).rstrip()


def _cell(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:.3f} {unit}"


def record_of(figure: Figure) -> dict[str, Any]:
    """One row as JSON."""
    row = figure.row
    measured = {"cpu": figure.cpu, "wall": figure.wall, "memory": figure.memory}
    judged = {"bar": row.bar, "judged": row.judged, "verdict": figure.verdict}
    return {
        "row": row.name,
        "what": figure.what,
        "count": figure.count,
        "unit": row.unit,
        **{name: value for name, value in measured.items() if value is not None},
        **judged,
        **({} if figure.a_second is None else {"a_second": figure.a_second}),
        "samples": figure.samples,
    }


def surroundings(scale: Scale) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "broodline": version("broodline"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "runs": scale.runs,
        "share": scale.share,
        "taken": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print each row as it is done, write the JSON file."""
    chosen = options(arguments)
    scale = Scale(runs=3, share=0.1) if chosen.quick else Scale()
    about = surroundings(scale)
    print(
        "Broodline {broodline}, {python}, {system}, {cores} cores;"
        " each figure the median of {runs} runs".format(**about)
    )
    if chosen.quick:
        print("quick: a tenth of the work that the bars are meant for, so nothing is judged (-)")
    print(COLUMNS.format("row", "what", "CPU", "wall", "memory", "").rstrip())
    figures: dict[str, Figure] = {}
    for row in ROWS:
        if chosen.only is None or row.name in chosen.only:
            figure = take(row, scale)
            figures[row.name] = figure
            print(line_of(figure, figures), flush=True)
    records = [record_of(figure) for figure in figures.values()]
    chosen.json.write_text(json.dumps({**about, "rows": records}, indent=2) + "\n")
    print(f"written: {chosen.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
