"""Listing folders, a page at a time."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from broodline.survey.folder import LOOP, VANISHED, Page, Selection, read_page


def make(root: Path, *paths: str) -> None:
    for path in paths:
        target = root / path
        if path.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("x\n")


def pages(root: Path, *, deep: bool, limit: int, folder: str = "") -> list[Page]:
    found: list[Page] = []
    after: str | None = None
    while True:
        page = read_page(str(root), folder, Selection(), deep=deep, after=after, limit=limit)
        found.append(page)
        after = page.after
        if after is None:
            return found


def test_a_folder_lists_its_own_files_and_folders_in_byte_order(tmp_path: Path) -> None:
    """demo: a listing names what stands in the folder itself, in byte order, and no more."""
    make(tmp_path, "b.py", "a.txt", "Z/deep.py", "é", "c/")
    page = read_page(str(tmp_path), "", Selection())
    assert (page.files, page.folders) == (["a.txt", "b.py", "é"], ["Z", "c"])
    assert page.after is None


def test_a_deep_listing_goes_all_the_way_down(tmp_path: Path) -> None:
    """demo: a deep listing names folders before their contents, relative to the one asked about."""
    make(tmp_path, "top/b/y.py", "top/b/c/z.py", "top/a.py", "other.py")
    page = read_page(str(tmp_path), "top", Selection(), deep=True)
    assert page.files == ["a.py", "b/c/z.py", "b/y.py"]
    assert page.folders == ["b", "b/c"]


@pytest.mark.parametrize("limit", range(1, 12))
def test_pages_of_any_size_add_up_to_one_page(tmp_path: Path, limit: int) -> None:
    """demo: however small the pages, together they name and count everything exactly once."""
    make(tmp_path, "a/b/c/d.py", "a/b/.hidden", "a/x.py", "a/.git/config", "e/", "f/g/", "h.py")
    make(tmp_path, "a/__pycache__/x.pyc", "f/g/.k", "a-/q.py")
    (tmp_path / "f" / "link").symlink_to("g")
    for deep in (False, True):
        whole = read_page(str(tmp_path), "", Selection(), deep=deep)
        found = pages(tmp_path, deep=deep, limit=limit)
        assert [path for page in found for path in page.files] == whole.files
        assert [path for page in found for path in page.folders] == whole.folders
        for count in ("hidden", "links", "special"):
            assert sum(getattr(page, count) for page in found) == getattr(whole, count)
        assert all(len(page.files) + len(page.folders) <= limit for page in found)


def test_hidden_names_and_caches_are_counted_and_passed_over(tmp_path: Path) -> None:
    """demo: hidden names and __pycache__ are passed over with all below, counted once."""
    make(tmp_path, ".git/config", ".env", "__pycache__/a.pyc", "a.py")
    page = read_page(str(tmp_path), "", Selection(), deep=True)
    assert (page.files, page.folders, page.hidden) == (["a.py"], [], 3)


def test_links_are_counted_and_not_followed(tmp_path: Path) -> None:
    """demo: without follow no link is followed, wherever it leads."""
    make(tmp_path, "real/a.py")
    (tmp_path / "to-folder").symlink_to("real")
    (tmp_path / "to-file").symlink_to("real/a.py")
    (tmp_path / "to-nothing").symlink_to("nowhere")
    page = read_page(str(tmp_path), "", Selection())
    assert (page.files, page.folders, page.links) == ([], ["real"], 3)


def test_followed_links_count_as_what_they_lead_to(tmp_path: Path) -> None:
    """demo: with follow a link is a file or a folder; only one that leads nowhere stays a link."""
    make(tmp_path, "real/a.py")
    (tmp_path / "to-folder").symlink_to("real")
    (tmp_path / "to-file").symlink_to("real/a.py")
    (tmp_path / "to-nothing").symlink_to("nowhere")
    page = read_page(str(tmp_path), "", Selection(follow=True), deep=True)
    assert page.files == ["real/a.py", "to-file", "to-folder/a.py"]
    assert (page.folders, page.links) == (["real", "to-folder"], 1)


def test_a_link_back_up_its_own_path_is_a_loop(tmp_path: Path) -> None:
    """demo: a followed link to a folder on its own path is named as a loop and not entered."""
    make(tmp_path, "a/b/c.py")
    (tmp_path / "a" / "b" / "up").symlink_to("..")
    (tmp_path / "a" / "b" / "top").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    page = read_page(str(tmp_path), "", Selection(follow=True), deep=True)
    assert page.files == ["a/b/c.py"]
    assert page.skipped[0][0] == "self"
    assert sorted(page.skipped[1:]) == [("a/b/top", LOOP), ("a/b/up", LOOP)]


def test_what_is_neither_file_nor_folder_is_counted(tmp_path: Path) -> None:
    """demo: pipes and sockets are counted as special and never opened."""
    os.mkfifo(tmp_path / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        page = read_page(str(tmp_path), "", Selection(follow=True))
    assert (page.files, page.special) == ([], 2)


def test_a_folder_that_vanished_is_named(tmp_path: Path) -> None:
    """demo: a folder that is gone when it is listed is skipped with that reason."""
    page = read_page(str(tmp_path), "gone", Selection())
    assert page.skipped == [("", VANISHED)]
    assert page.files == []


def test_a_folder_that_is_unreadable_does_not_stop_the_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """demo: a folder without permission is named with the reason, the rest is listed."""
    make(tmp_path, "a/x.py", "b/y.py")
    scandir = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("/a"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    page = read_page(str(tmp_path), "", Selection(), deep=True)
    assert page.skipped == [("a", "permission denied")]
    assert page.files == ["b/y.py"]


def test_a_pattern_chooses_files_by_name(tmp_path: Path) -> None:
    """demo: a pattern restricts files, not folders, and compares bytes with case."""
    make(tmp_path, "a.py", "b.PY", "c.txt", "d/e.py")
    (tmp_path / os.fsdecode(b"\xff.py")).write_text("")
    page = read_page(str(tmp_path), "", Selection(match="*.py"), deep=True)
    assert page.files == ["a.py", "d/e.py", os.fsdecode(b"\xff.py")]


def test_a_walk_can_be_stopped_between_two_folders(tmp_path: Path) -> None:
    """demo: what the check raises ends the walk at once."""
    make(tmp_path, "a/b/c.py")
    left = [None, None]

    def check() -> None:
        left.pop()

    with pytest.raises(IndexError):
        read_page(str(tmp_path), "", Selection(), deep=True, check=check)


def test_a_very_deep_tree_needs_no_call_stack(tmp_path: Path) -> None:
    """demo: depth is bounded by the system's path length only, not by recursion."""
    paths = [f"{tmp_path}{'/d' * level}" for level in range(1, 1201)]
    try:
        for path in paths:
            os.mkdir(path)
        page = read_page(str(tmp_path), "", Selection(), deep=True, limit=5000)
        assert len(page.folders) == 1200
    finally:
        for path in reversed(paths):
            os.rmdir(path)


def test_pages_go_on_behind_names_that_bytes_and_characters_order_differently(
    tmp_path: Path,
) -> None:
    """demo: pages follow the order of bytes, so that no odd name is lost or listed twice."""
    names = [os.fsdecode(b"\xff.py"), "\U0001f600.py", "\uffee.py", "z.py"]
    for name in names:
        (tmp_path / name).touch()
    found = [path for page in pages(tmp_path, deep=False, limit=1) for path in page.files]
    assert found == sorted(names, key=os.fsencode)


def test_a_plain_folder_behind_a_link_may_close_a_loop(tmp_path: Path) -> None:
    """demo: behind a followed link a folder that the path came through is a loop, as find says."""
    make(tmp_path, "top/a.py", "top/inner/b.py")
    (tmp_path / "top" / "loop").symlink_to("..")
    page = read_page(str(tmp_path / "top"), "", Selection(follow=True), deep=True)
    assert page.files == ["a.py", "inner/b.py"]
    assert (page.folders, page.skipped) == (["inner", "loop"], [("loop/top", LOOP)])
