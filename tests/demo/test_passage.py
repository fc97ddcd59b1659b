"""Reading text files."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.survey import passage
from broodline.survey.passage import (
    MarkCounter,
    NotSurveyedError,
    Size,
    find_marks,
    measure,
)

WORD = re.compile(rb"(?<![0-9A-Za-z_])(?:TODO|FIXME|XXX|HACK)(?![0-9A-Za-z_])")

pieces = st.lists(
    st.sampled_from([b"TODO", b"FIXME", b"XXX", b"HACK", b"x", b"_", b" ", b"\n", b"\xff", b"X"]),
    max_size=30,
)


@given(pieces, st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_marks_are_found_wherever_the_chunks_are_cut(words: list[bytes], sizes: list[int]) -> None:
    """demo: marked lines and their numbers are the same however the bytes arrive."""
    data = b"".join(words)
    counter = MarkCounter(100)
    start = turn = 0
    while start < len(data):
        size = sizes[turn % len(sizes)]
        counter.feed(data[start : start + size])
        start, turn = start + size, turn + 1
    marks = counter.finish()
    found = [(number, WORD.search(line)) for number, line in enumerate(data.split(b"\n"), 1)]
    lines = [(number, mark[0].decode()) for number, mark in found if mark]
    assert (marks.count, list(marks.first)) == (len(lines), lines)


@given(pieces)
def test_marks_agree_with_grep(words: list[bytes]) -> None:
    """demo: a marked line is exactly one that grep -w finds in the C locale."""
    data = b"".join(words)
    counter = MarkCounter(0)
    counter.feed(data)
    command = ["grep", "-acwE", "TODO|FIXME|XXX|HACK"]
    found = subprocess.run(command, input=data, capture_output=True, env={"LC_ALL": "C"}).stdout
    assert counter.finish().count == int(found)


def test_lines_are_newlines(tmp_path: Path) -> None:
    """demo: lines are newline bytes as wc counts them, whatever stands before them."""
    path = tmp_path / "a"
    path.write_bytes(b"one\r\ntwo\rthree\n\xff\xfe last")
    assert measure(str(path)) == Size(22, 2)


def test_an_empty_file_is_text(tmp_path: Path) -> None:
    """demo: an empty file is text of no lines."""
    path = tmp_path / "a"
    path.touch()
    assert measure(str(path)) == Size(0, 0)


def test_a_nul_byte_anywhere_makes_it_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """demo: a file with a NUL byte, even in its last chunk, is not text to any tool."""
    monkeypatch.setattr(passage, "CHUNK", 4)
    path = tmp_path / "a"
    path.write_bytes(b"plain\nTODO\n" + b"x" * 20 + b"\0")
    for look in (measure, find_marks):
        with pytest.raises(NotSurveyedError, match=r"^not text$"):
            look(str(path))


def test_a_file_that_vanished_is_named_so(tmp_path: Path) -> None:
    """demo: a file that is gone when it is read is skipped as vanished."""
    with pytest.raises(NotSurveyedError, match=r"^vanished$"):
        measure(str(tmp_path / "gone"))


def test_a_pipe_in_a_files_place_does_not_block(tmp_path: Path) -> None:
    """demo: what was a file when listed and is a pipe when opened is refused, never waited on."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotSurveyedError, match="not a file"):
        measure(str(tmp_path / "pipe"))


def test_a_folder_in_a_files_place_is_refused(tmp_path: Path) -> None:
    """demo: a folder that took a file's place is skipped with a reason."""
    with pytest.raises(NotSurveyedError):
        measure(str(tmp_path))


def test_reading_stops_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """demo: a long file is given up between two chunks, and its descriptor is closed."""
    monkeypatch.setattr(passage, "CHUNK", 4)
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)

    def check() -> None:
        raise RuntimeError("enough")

    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(RuntimeError, match="enough"):
        measure(str(path), check)
    assert len(os.listdir("/proc/self/fd")) == before
