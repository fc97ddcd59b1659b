"""What all connections of a wire server share, under one lock."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable, Generator

from .request import WireRequest
from .script import Cut, Word


class Desk:
    """Script, requests and open connections; every method is callable from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._script: deque[Word] = deque()
        self._requests: list[WireRequest] = []
        self._open: dict[socket.socket, tuple[int, threading.Thread]] = {}
        self._held: list[socket.socket] = []
        self._watchers: list[Callable[[], None]] = []
        self._faults: list[Exception] = []
        self._accepted = 0

    def play(self, words: tuple[Word, ...]) -> None:
        """Append to the script."""
        with self._changed:
            self._script.extend(words)

    def unplayed(self) -> tuple[Word, ...]:
        """What is left of the script."""
        with self._changed:
            return tuple(self._script)

    def requests(self) -> list[WireRequest]:
        """All so far, in order of arrival."""
        with self._changed:
            return list(self._requests)

    def faults(self) -> list[Exception]:
        """What rules raised, and the server itself."""
        with self._changed:
            return list(self._faults)

    def failed(self, fault: Exception) -> None:
        """Keep an exception for whoever closes the server."""
        with self._changed:
            self._faults.append(fault)

    def open(self) -> int:
        """Connections that are not closed, idle ones too."""
        with self._changed:
            return len(self._open)

    def held(self) -> int:
        """Connections that wait for a release."""
        with self._changed:
            return len(self._held)

    def accepted(self) -> int:
        """Connections so far."""
        with self._changed:
            return self._accepted

    def enter(self, connection: socket.socket, thread: threading.Thread) -> None:
        """Count a connection in."""
        with self._changed:
            self._open[connection] = self._accepted, thread
            self._accepted += 1
            self._tell()

    def number_of(self, connection: socket.socket) -> int:
        """Its place in order of arrival, from 0."""
        with self._changed:
            return self._open[connection][0]

    def leave(self, connection: socket.socket) -> None:
        """Close a connection and count it out, in one step: its number is used again."""
        with self._changed:
            connection.close()
            self._open.pop(connection, None)
            self._tell()

    def hang_up(self) -> list[threading.Thread]:
        """End every connection from outside and return the threads that serve them."""
        with self._changed:
            for connection in self._open:
                with contextlib.suppress(OSError):  # the client was faster
                    connection.shutdown(socket.SHUT_RDWR)
            return [thread for _, thread in self._open.values()]

    def cut_on_arrival(self) -> Cut | None:
        """Take the script's next word if it closes before the request is read."""
        with self._changed:
            first = self._script[0] if self._script else None
            if isinstance(first, Cut) and first.after == "connect":
                self._script.popleft()
                return first
            return None

    def receive(
        self, make: Callable[[int], WireRequest], sound: bool
    ) -> tuple[WireRequest, Word | None]:
        """Number and record a request; a sound one takes the script's next word."""
        with self._changed:
            request = make(len(self._requests))
            self._requests.append(request)
            self._tell()
            return request, self._script.popleft() if sound and self._script else None

    @contextlib.contextmanager
    def holding(self) -> Generator[socket.socket]:
        """A socket that becomes readable at the next release."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            with self._changed:
                self._held.append(theirs)
                self._tell()
            try:
                yield ours
            finally:
                with self._changed:
                    if theirs in self._held:
                        self._held.remove(theirs)
                    self._tell()

    def release(self) -> int:
        """Let every connection go on that waits now; returns how many."""
        with self._changed:
            for one in self._held:
                one.send(b"!")
            released = len(self._held)
            self._held.clear()
            self._tell()
            return released

    def wait(self, true: Callable[[], bool], timeout: float) -> bool:
        """Block until it is true; False after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(true, timeout)

    async def until(self, true: Callable[[], bool], timeout: float) -> bool:
        """`wait` for a coroutine: the loop goes on meanwhile."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(woken.set)

        with self._changed:
            self._watchers.append(wake)
        try:
            async with asyncio.timeout(timeout):
                while not true():
                    await woken.wait()
                    woken.clear()
        except TimeoutError:
            return true()
        finally:
            with self._changed:
                self._watchers.remove(wake)
        return True

    def _tell(self) -> None:
        self._changed.notify_all()
        for wake in self._watchers:
            wake()
