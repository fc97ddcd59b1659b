"""The examples run as they stand."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("word_count", "That has 9 words.", "  24 turn/end"),
        ("delegate", "3 + 2 + 1 = 6 words", "3 + 2 + 1 = 6 words"),
    ],
)
def test_an_example_tells_its_answer_first(
    name: str, first: str, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """demo: each example runs by itself and prints what it is about, the answer first."""
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[-1]) == (first, last)


def test_every_example_is_tried() -> None:
    """demo: no example stands in the folder without a test."""
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == ["delegate", "word_count"]
