"""What stands in a folder, a page at a time, by the rules that `find` can repeat.

Names that begin with a dot and ``__pycache__`` are counted and passed over, with
all below them. Links are counted and passed over too, unless `Selection.follow`
is set; then a link that leads back to a folder on its own path is a loop and is
named, as ``find -L`` does. Only regular files are ever opened.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Skip = tuple[str, str]
"""A path relative to the folder asked about, and the reason it was passed over."""

LOOP = "loop of links"
VANISHED = "vanished"
PASSED_OVER = "__pycache__"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which entries count.

    Attributes:
        follow: Whether links are followed, as ``find -L`` does.
        match: Shell pattern for the names of files (``*.py``), or None for all.
    """

    follow: bool = False
    match: str | None = None

    def takes(self, name: str) -> bool:
        """Whether a file of this name is surveyed. Bytes are compared, as in the C locale."""
        if self.match is None:
            return True
        return fnmatch.fnmatchcase(os.fsencode(name), os.fsencode(self.match))


EVERYTHING = Selection()


@dataclass(slots=True)
class Page:
    """One page of a listing; paths are relative to the folder asked about.

    Attributes:
        files: Regular files, in byte order of their paths' parts.
        folders: Folders, likewise.
        skipped: What could not be read, with reasons; ``""`` is the folder itself.
        hidden: How many names were passed over as hidden or cached.
        links: How many links were not followed, or led nowhere.
        special: How many entries were neither file, folder nor link (pipes, sockets, devices).
        after: Where the next page goes on, or None at the end.
    """

    files: list[str] = field(default_factory=list[str])
    folders: list[str] = field(default_factory=list[str])
    skipped: list[Skip] = field(default_factory=list[Skip])
    hidden: int = 0
    links: int = 0
    special: int = 0
    after: str | None = None


@dataclass(slots=True)
class _Scan:
    """One folder's entries: ``(name, is a folder)`` in byte order."""

    entries: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    skipped: list[Skip] = field(default_factory=list[Skip])
    hidden: int = 0
    links: int = 0
    special: int = 0


def read_page(
    root: str,
    folder: str,
    selection: Selection,
    *,
    deep: bool = False,
    after: str | None = None,
    limit: int = 1000,
    check: Callable[[], None] = lambda: None,
) -> Page:
    """List files and folders of `folder`, at most `limit` of them.

    Args:
        root: Absolute path of the survey's top.
        folder: Path below it, ``""`` for the top.
        selection: Which entries count.
        deep: Also list everything below, folders before their contents.
        after: `Page.after` of the page before.
        limit: Most names on the page, at least 1.
        check: Called for every folder read; may raise to stop.

    Folders that cannot be read are named in `Page.skipped`, never raised.
    """
    return _Walk(root, folder, selection, deep, limit, check).page(after)


def reason_of(error: OSError) -> str:
    """Why the system refused a path, in lower case words."""
    if error.errno == errno.ENOENT:
        return VANISHED
    return system_words(error)


def system_words(error: OSError) -> str:
    """What the system says of an error, in lower case words."""
    return (os.strerror(error.errno) if error.errno else str(error) or "unreadable").lower()


class _Walk:
    """One pass in pre-order, able to start behind any path without reading what is before it."""

    __slots__ = ("check", "deep", "folder", "limit", "page_", "root", "selection")

    def __init__(
        self,
        root: str,
        folder: str,
        selection: Selection,
        deep: bool,
        limit: int,
        check: Callable[[], None],
    ) -> None:
        self.root = root
        self.folder = folder
        self.selection = selection
        self.deep = deep
        self.limit = limit
        self.check = check
        self.page_ = Page()

    def page(self, after: str | None) -> Page:
        page = self.page_
        last = after
        stack = [self._enter("", after.split("/") if after else [])]
        while stack:
            if len(page.files) + len(page.folders) >= self.limit:
                page.after = last
                break
            entry = next(stack[-1], None)
            if entry is None:
                stack.pop()
                continue
            path, is_folder, resume = entry
            if resume is None:
                (page.folders if is_folder else page.files).append(path)
                last = path
            if is_folder and self.deep:
                stack.append(self._enter(path, resume or []))
        return page

    def _enter(self, path: str, resume: list[str]) -> Iterator[tuple[str, bool, list[str] | None]]:
        """Yield the entries of a folder from `resume` on: path, is a folder, where to resume in it.

        The third is None for an entry that no earlier page has named.
        """
        self.check()
        scan = self._scan(path, counted=bool(resume))
        behind = os.fsencode(resume[0]) if resume else None
        prefix = f"{path}/" if path else ""
        for name, is_folder in scan.entries:
            if behind is not None:
                here = os.fsencode(name)
                if here < behind:
                    continue
                if here == behind:
                    if is_folder and self.deep:
                        yield prefix + name, True, resume[1:]
                    continue
            yield prefix + name, is_folder, None

    def _scan(self, path: str, *, counted: bool) -> _Scan:
        """Read one folder; add what was passed over to the page unless it is there already."""
        scan = _Scan()
        page = self.page_
        relative = "/".join(part for part in (self.folder, path) if part)
        try:
            scan = _scan_folder(self.root, relative, self.selection)
        except OSError as error:
            page.skipped.append((path, reason_of(error)))
        if not counted:
            prefix = f"{path}/" if path else ""
            page.skipped.extend((prefix + name, reason) for name, reason in scan.skipped)
            page.hidden += scan.hidden
            page.links += scan.links
            page.special += scan.special
        return scan


def _scan_folder(root: str, relative: str, selection: Selection) -> _Scan:
    scan = _Scan()
    path = os.path.join(root, relative)
    # Behind a link a plain folder, too, may be one that the path came through.
    ancestors = _identities(root, relative) if selection.follow else set[tuple[int, int]]()
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name == PASSED_OVER:
                scan.hidden += 1
            elif not entry.is_symlink():
                _sort_plain(scan, entry, selection, ancestors)
            elif not selection.follow:
                scan.links += 1
            else:
                _sort_link(scan, entry, selection, ancestors)
    scan.entries.sort(key=lambda item: os.fsencode(item[0]))
    return scan


def _sort_plain(
    scan: _Scan, entry: os.DirEntry[str], selection: Selection, ancestors: set[tuple[int, int]]
) -> None:
    try:
        if entry.is_dir(follow_symlinks=False):
            if ancestors and _identity(os.stat(entry.path)) in ancestors:
                scan.skipped.append((entry.name, LOOP))
            else:
                scan.entries.append((entry.name, True))
        elif not entry.is_file(follow_symlinks=False):
            scan.special += 1
        elif selection.takes(entry.name):
            scan.entries.append((entry.name, False))
    except OSError as error:
        scan.skipped.append((entry.name, reason_of(error)))


def _sort_link(
    scan: _Scan, entry: os.DirEntry[str], selection: Selection, ancestors: set[tuple[int, int]]
) -> None:
    try:
        status = os.stat(entry.path)
    except OSError as error:
        if error.errno == errno.ENOENT:
            scan.links += 1
        else:
            scan.skipped.append((entry.name, reason_of(error)))
        return
    if stat.S_ISDIR(status.st_mode):
        if _identity(status) in ancestors:
            scan.skipped.append((entry.name, LOOP))
        else:
            scan.entries.append((entry.name, True))
    elif not stat.S_ISREG(status.st_mode):
        scan.special += 1
    elif selection.takes(entry.name):
        scan.entries.append((entry.name, False))


def _identities(root: str, relative: str) -> set[tuple[int, int]]:
    """Device and inode of every folder from the top down to this one."""
    path = root
    found: set[tuple[int, int]] = set()
    for part in ("", *relative.split("/")):
        path = os.path.join(path, part) if part else path
        found.add(_identity(os.stat(path)))
    return found


def _identity(status: os.stat_result) -> tuple[int, int]:
    return (status.st_dev, status.st_ino)
