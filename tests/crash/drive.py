"""Disks that fail when they are told to. Making them takes root, on Linux."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


class CannotMakeError(Exception):
    """This machine cannot make what a hazard needs; says why."""


@contextmanager
def small_disk(folder: Path, size: str = "1m") -> Generator[Path]:
    """Mount a tmpfs of `size` at `folder`, which is made.

    Raises:
        CannotMakeError: If that is not allowed here.
    """
    folder.mkdir()
    _make("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        _unmount(folder)


@contextmanager
def filled(disk: Path) -> Generator[Path]:
    """Leave no byte free on a disk."""
    ballast = disk / "ballast"
    descriptor = os.open(ballast, os.O_WRONLY | os.O_CREAT)
    try:
        for piece in (b"x" * 4096, b"x"):
            _fill(descriptor, piece)
        yield disk
    finally:
        os.close(descriptor)
        ballast.unlink()


@contextmanager
def read_only(disk: Path) -> Generator[Path]:
    """Make a disk read-only that nobody has a file open for writing on."""
    subprocess.run(("mount", "-o", "remount,ro", str(disk)), check=True, capture_output=True)
    try:
        yield disk
    finally:
        subprocess.run(("mount", "-o", "remount,rw", str(disk)), check=True, capture_output=True)


class FailingDisk:
    """An ext4 disk that turns read-only under open files, as after an error of its device.

    Args:
        home: A folder for its image and the place that it is mounted at.
    """

    def __init__(self, home: Path) -> None:
        self.folder = home / "mounted"
        self._images = [home / "image-0"]

    @contextmanager
    def mounted(self) -> Generator[FailingDisk]:
        """Make it and mount it.

        Raises:
            CannotMakeError: If that is not allowed here.
        """
        self.folder.mkdir()
        image = self._images[0]
        image.touch()
        os.truncate(image, 8 << 20)
        _make("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", str(image))
        _make("mount", "-o", "loop", str(image), str(self.folder))
        try:
            yield self
        finally:
            _unmount(self.folder)

    @contextmanager
    def failed(self) -> Generator[Path]:
        """Let it fail; then mount, in its place, another that holds what was on it.

        The failed one cannot be mended while somebody has a file on it open.
        """
        _make("mount", "-o", "remount,abort", str(self.folder))
        try:
            yield self.folder
        finally:
            _unmount(self.folder)
            copy = self._images[0].with_name(f"image-{len(self._images)}")
            shutil.copyfile(self._images[-1], copy)
            self._images.append(copy)
            command = ("mount", "-o", "loop", str(copy), str(self.folder))
            subprocess.run(command, check=True, capture_output=True)


def _fill(descriptor: int, piece: bytes) -> None:
    try:
        while True:
            os.write(descriptor, piece)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


def _make(*command: str) -> None:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        raise CannotMakeError("mounting a disk takes root")
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotMakeError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        raise CannotMakeError(f"{' '.join(command)}: {' '.join(done.stderr.split())}")


def _unmount(folder: Path) -> None:
    subprocess.run(("umount", "-l", str(folder)), check=False, capture_output=True)
