"""How names are written."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.survey.name import actual, shown


@given(st.binary().filter(lambda name: b"\0" not in name))
def test_every_name_comes_back(name: bytes) -> None:
    """demo: any name the system can have is written so that the very same bytes come back."""
    text = shown(os.fsdecode(name))
    assert os.fsencode(actual(text)) == name


@given(st.binary())
def test_a_shown_name_is_printable_and_one_line(name: bytes) -> None:
    """demo: a written name holds nothing that could steer a terminal or break a line."""
    text = shown(os.fsdecode(name))
    assert text.isprintable()
    text.encode()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain name.py", "plain name.py"),
        ("größe.txt", "größe.txt"),
        ("two\nlines", r"two\x0alines"),
        ("back\\slash", r"back\\slash"),
        ("esc\x1b[31m", r"esc\x1b[31m"),
        (os.fsdecode(b"\xff.py"), r"\xff.py"),
        ("\u202egnp.py", r"\xe2\x80\xaegnp.py"),
    ],
)
def test_what_does_not_print_is_escaped_byte_by_byte(name: str, text: str) -> None:
    """demo: only what does not print is escaped, byte by byte."""
    assert shown(name) == text


def test_text_that_was_never_shown_is_taken_as_it_is() -> None:
    """demo: a lone backslash that no writer made stands for itself."""
    assert actual("a\\b") == "a\\b"
    assert actual("\\xzz") == "\\xzz"
