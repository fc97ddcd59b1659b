"""The examples run as they stand."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "last"), [("word_count", "24 turn/end"), ("delegate", "3 + 2 + 1 = 6 words")]
)
def test_an_example_ends_as_it_should(
    name: str, last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """demo: each example runs by itself and prints what it is about."""
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines()[-1] == last


def test_every_example_is_tried() -> None:
    """demo: no example stands in the folder without a test."""
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == ["delegate", "word_count"]
