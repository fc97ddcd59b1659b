"""Names of folders in a store of files: of ids and of working directories."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broodline.actors.stores.jsonl_name import (
    LONGEST,
    decode_id,
    encode_id,
    project_name,
    session_folder,
)

IDS = st.text(min_size=1, max_size=40) | st.text(alphabet="./~\\A0", min_size=1, max_size=8)


@given(IDS)
def test_id_comes_back_from_its_name(session_id: str) -> None:
    """core #98: the name of an id is one path component, and the id can be read from it."""
    name = encode_id(session_id)
    assert decode_id(name) == session_id
    assert name not in ("", ".", "..")
    assert not set(name) & set("/\\\0")
    assert name.isascii()


@given(IDS, IDS)
def test_two_ids_have_two_names(one: str, other: str) -> None:
    """core #98: two different ids never share a path."""
    assert (encode_id(one) == encode_id(other)) is (one == other)


@given(st.text(alphabet="~0123456789abcdefABCDEF.-", max_size=12))
def test_name_of_no_id_is_none(name: str) -> None:
    """core #98: a folder whose name is no id's own is not taken for a session's."""
    session_id = decode_id(name)
    assert session_id is None or encode_id(session_id) == name


@pytest.mark.parametrize(
    ("session_id", "name"),
    [
        ("session-1.a_B", "session-1.a_B"),
        ("~", "~007E"),
        (".", "~002E"),
        ("..", "~002E~002E"),
        ("...", "..."),
        ("../../x", "..~002F..~002Fx"),
        ("é", "~00E9"),
        ("\N{GRINNING FACE}", "~D83D~DE00"),
        ("\ud83d", "~D83D"),
        ("a\0\n", "a~0000~000A"),
    ],
)
def test_id_is_written_so(session_id: str, name: str) -> None:
    """core 5.5: letters, digits and ._- stand for themselves, others are ~XXXX in UTF-16."""
    assert encode_id(session_id) == name


def test_empty_id_has_no_name() -> None:
    """core #99: an empty id is rejected."""
    with pytest.raises(ValueError, match="empty"):
        encode_id("")
    assert decode_id("") is None


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        (None, "_no-cwd"),
        ("/work/main", "--work-main--"),
        ("/", "----"),
        ("//a", "---a--"),
        ("C:\\work", "--C:-work--"),
        ("/../..", "--..-..--"),
        ("{{cwd}}", "--{{cwd}}--"),
        ("/a b/é", "--a b-é--"),
    ],
)
def test_cwd_is_written_so(cwd: str | None, name: str) -> None:
    """core 5.5: a working directory is its path without the first separator, - for the others."""
    assert project_name(cwd) == name


@given(st.text(max_size=600))
def test_cwd_makes_a_folder(cwd: str) -> None:
    """core 5.5: whatever the working directory, its name is a component that a system takes."""
    name = project_name(f"/{cwd}")
    assert 0 < len(os.fsencode(name)) <= LONGEST
    assert not set(name) & set("/\\\0")
    assert name.startswith("--")
    assert name.endswith("--")


def test_long_cwds_are_told_apart() -> None:
    """core 5.5: working directories too long for a component keep names of their own."""
    one, other = (f"/{'x' * 300}/{tail}" for tail in "ab")
    assert project_name(one) != project_name(other)
    assert project_name(one) == project_name(one)


@given(IDS, st.none() | st.text(max_size=300))
def test_session_stays_inside(session_id: str, cwd: str | None) -> None:
    """core #98: the folder of a session lies two levels below the root, wherever it would go."""
    folder = session_folder("/root", session_id, None if cwd is None else f"/{cwd}")
    assert os.path.dirname(os.path.dirname(os.path.normpath(folder))) == "/root"
