"""Where text leaves the process: a thread writes it, so that a slow reader holds up nobody."""

from __future__ import annotations

import os
import queue
import select
import threading
from collections.abc import Callable
from typing import TextIO


class Outlet:
    """Writes to streams in the order given, each piece at once.

    Nothing is written through the streams' own buffers, so a reader that never reads
    cannot hold up the end of the process either. A stream without a descriptor, as a
    test may put in place of stdout, is written to by the caller.

    Args:
        broken: Called once for each stream that takes no more, with the reason; on the
            writing thread, or on the caller's where that one writes.

    Attributes:
        faults: Why streams take no more, by descriptor.
    """

    def __init__(self, broken: Callable[[TextIO, OSError], None]) -> None:
        self.faults: dict[int, OSError] = {}
        self._broken = broken
        self._waiting: queue.SimpleQueue[tuple[TextIO, int, bytes] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def write(self, stream: TextIO | None, text: str) -> None:
        """Have `text` written; returns at once. Any thread."""
        if stream is None or not text:
            return
        descriptor = descriptor_of(stream)
        if descriptor is None:
            stream.write(text)
            stream.flush()
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="broodline-outlet", daemon=True)
            self._thread.start()
        data = text.encode(stream.encoding or "utf-8", "backslashreplace")
        self._waiting.put((stream, descriptor, data))

    def close(self, timeout: float | None = None) -> bool:
        """Wait until all is written, or `timeout` seconds; whether it is."""
        if self._thread is None:
            return True
        self._waiting.put(None)
        self._thread.join(timeout)
        done = not self._thread.is_alive()
        if done:
            self._thread = None
        return done

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            stream, descriptor, data = item
            if descriptor in self.faults:
                continue
            try:
                write_all(descriptor, data)
            except OSError as error:
                self.faults[descriptor] = error
                self._broken(stream, error)


def descriptor_of(stream: TextIO) -> int | None:
    """The descriptor behind a stream, or None."""
    try:
        return stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however long the reader takes.

    Raises:
        OSError: The descriptor takes no more.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # whoever started the process made it non-blocking
            select.select([], [descriptor], [])
