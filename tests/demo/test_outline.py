"""Outlines of Python files."""

from __future__ import annotations

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from broodline.survey.outline import MAX_SOURCE, NotParsedError, Outline, outline_of, read_outline
from broodline.survey.passage import NotSurveyedError


def test_every_def_counts_and_those_without_docstring_are_named() -> None:
    """demo: methods, nested and async functions all count; lambdas do not."""
    source = b'''
class A:
    def bare(self):
        async def inner():
            """Told."""
        return lambda: None

async def told():
    "Told too."
'''
    assert outline_of(source) == Outline(3, ((3, "bare"),))


def test_a_docstring_is_what_python_takes_for_one() -> None:
    """demo: an empty string is a docstring; bytes, f-strings and later strings are not."""
    source = b"def a():\n ''\ndef b():\n b'no'\ndef c():\n f'no'\ndef d():\n x = 1\n 'no'\n"
    assert [name for _, name in outline_of(source).undocumented] == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("source", "reason", "line"),
    [
        (b"def a(:\n", "invalid syntax", 1),
        (b"# coding: nonsense\n", "unknown encoding", 0),
        (b"x = '\xff'\n", "utf-8", 1),
        (b"(" * 100_000, "too many nested parentheses", 1),
        (b"x" + b".y" * 200_000, "nested too deeply", 0),
    ],
)
def test_what_does_not_parse_is_told_with_a_reason(source: bytes, reason: str, line: int) -> None:
    """demo: source that does not parse ends in one error with the reason, whatever is wrong."""
    with pytest.raises(NotParsedError, match=reason) as caught:
        outline_of(source)
    assert caught.value.line == line


def test_declared_encodings_are_understood() -> None:
    """demo: a coding cookie and a byte order mark are honoured."""
    assert outline_of("# coding: latin-1\ndef é(): 'x'\n".encode("latin-1")).functions == 1
    assert outline_of(b"\xef\xbb\xbfdef a(): pass\n").functions == 1


def test_too_large_a_source_is_not_parsed(tmp_path: Path) -> None:
    """demo: source beyond the bound is named as too large instead of eating the memory."""
    path = tmp_path / "a.py"
    path.write_bytes(b"#" * MAX_SOURCE)
    assert read_outline(str(path)).functions == 0
    path.write_bytes(b"#" * (MAX_SOURCE + 1))
    with pytest.raises(NotParsedError, match="larger than 2 MiB"):
        read_outline(str(path))
    path.write_bytes(b"#" * (MAX_SOURCE + 1) + b"\0")
    with pytest.raises(NotSurveyedError, match="not text"):
        read_outline(str(path))


def test_many_threads_may_parse_at_once() -> None:
    """demo: parsing in several threads gives every file its outline, even if one is held up."""
    source = ("def f():\n    return [" + "(1, 2), " * 20 + "]\n").encode() * 20

    def collected(phase: str, info: dict[str, int]) -> None:
        time.sleep(0)  # another thread may go on while a tree is half built

    gc.callbacks.append(collected)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(outline_of, [source] * 40))
    finally:
        gc.callbacks.remove(collected)
    assert {outline.functions for outline in found} == {20}
