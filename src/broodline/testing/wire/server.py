"""The wire server: see `broodline.testing.wire`."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import Self

from ...messages.errors import ConfigurationError
from .connection import Rule, WireListener
from .desk import Desk
from .gate import Gate
from .request import WireRequest
from .script import Word, checked_word

_GRACE = 5.0  # seconds that threads get to end


class WireServer:
    """A local HTTP server that answers in the formats of OpenAI and Anthropic.

    It runs in threads of its own from entering the ``with`` (or ``async with``) block
    to leaving it; leaving closes every connection, also one in the middle of an answer,
    and joins every thread. Every member is usable from any thread.

    Args:
        key: The only API key that is let in; others get a 401. None takes any, or none.
        strict: Answer 400 to a request that breaks the provider's rules of form.
        pause: Seconds between two frames of an answer.
        host: Address to listen at; leave it on the loopback.
        port: 0 takes a free one.

    Attributes:
        rule: Answers the requests for which the script has no word: a function of the
            `WireRequest`, called in the connection's thread. What it raises is answered
            with a 500 and raised again when the ``with`` block is left.
    """

    def __init__(
        self,
        *,
        key: str | None = None,
        strict: bool = True,
        pause: float = 0.0,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._desk = Desk()
        self._gate = Gate(key, strict)
        self._pause = pause
        self._address = host, port
        self._listener: WireListener | None = None
        self._rule: Rule | None = None
        self._stop: Callable[[], None] | None = None

    # -- the script

    def play(self, *words: Word) -> None:
        """Append to the script: one word a request, in order of arrival, in any format.

        A request that is refused (404, 405, 401, 400) takes none.

        Raises:
            ConfigurationError: If something is no word.
        """
        for word in words:
            if checked_word(word) is None:
                raise ConfigurationError("play(None): a script has words only")
        self._desk.play(words)

    @property
    def rule(self) -> Rule | None:  # noqa: D102
        return self._rule

    @rule.setter
    def rule(self, rule: Rule | None) -> None:
        self._rule = rule
        if self._listener is not None:
            self._listener.rule = rule

    def release(self) -> int:
        """Let go on what is silent now; returns how many connections that were."""
        return self._desk.release()

    # -- what has happened

    @property
    def requests(self) -> list[WireRequest]:
        """All requests so far, refused ones too, in order of arrival."""
        return self._desk.requests()

    @property
    def unplayed(self) -> tuple[Word, ...]:
        """What is left of the script."""
        return self._desk.unplayed()

    @property
    def connections(self) -> int:
        """How many connections there have been."""
        return self._desk.accepted()

    @property
    def open_connections(self) -> int:
        """How many are open; an idle one that is kept alive counts."""
        return self._desk.open()

    def wait_closed(self, timeout: float = 5.0, *, leaving: int = 0) -> bool:
        """Block until at most `leaving` connections are open; False after `timeout` seconds."""
        return self._desk.wait(lambda: self._desk.open() <= leaving, timeout)

    def wait_requests(self, count: int = 1, timeout: float = 5.0) -> bool:
        """Block until so many requests have come; False after `timeout` seconds."""
        return self._desk.wait(lambda: len(self._desk.requests()) >= count, timeout)

    def wait_silent(self, count: int = 1, timeout: float = 5.0) -> bool:
        """Block until so many answers wait for `release`; False after `timeout` seconds."""
        return self._desk.wait(lambda: self._desk.held() >= count, timeout)

    async def until_closed(self, timeout: float = 5.0, *, leaving: int = 0) -> bool:
        """`wait_closed` on a loop, which goes on meanwhile."""
        return await self._desk.until(lambda: self._desk.open() <= leaving, timeout)

    async def until_requests(self, count: int = 1, timeout: float = 5.0) -> bool:
        """`wait_requests` on a loop."""
        return await self._desk.until(lambda: len(self._desk.requests()) >= count, timeout)

    async def until_silent(self, count: int = 1, timeout: float = 5.0) -> bool:
        """`wait_silent` on a loop."""
        return await self._desk.until(lambda: self._desk.held() >= count, timeout)

    # -- where it is

    @property
    def port(self) -> int:
        """The port it listens at.

        Raises:
            ConfigurationError: If it does not run.
        """
        if self._listener is None:
            raise ConfigurationError("the wire server does not run; enter it with `with`")
        return int(self._listener.server_address[1])

    @property
    def openai_url(self) -> str:
        """The ``base_url`` of an OpenAI client."""
        return f"http://{self._address[0]}:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        """The ``base_url`` of an Anthropic client."""
        return f"http://{self._address[0]}:{self.port}"

    # -- its life

    def start(self) -> None:
        """Listen and serve; once in a server's life.

        Raises:
            ConfigurationError: If it was started before.
            OSError: If the port is taken.
        """
        if self._listener is not None or self._stop is not None:
            raise ConfigurationError("a wire server starts once; make another one")
        listener = WireListener(self._address, self._desk, self._gate, self._pause)
        listener.rule = self._rule
        ours, theirs = socket.socketpair()
        accepting = threading.Thread(
            target=listener.accept_all, args=(theirs,), name="wire listener", daemon=True
        )
        self._listener = listener
        self._stop = lambda: _stop(listener, ours, theirs, accepting)
        accepting.start()

    def close(self) -> None:
        """Close every connection, end every thread. May be called again.

        Raises:
            TimeoutError: If a rule has not returned within 5 seconds; all else is closed.
        """
        if self._listener is None or self._stop is None:
            return
        self._listener = None
        self._stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        faults = self._desk.faults()
        if error is not None:
            for fault in faults:
                error.add_note(f"the wire server failed too: {fault!r}")
        elif faults:
            raise ExceptionGroup("the wire server's rule, or the server itself, failed", faults)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, trace)


def _stop(
    listener: WireListener, ours: socket.socket, theirs: socket.socket, accepting: threading.Thread
) -> None:
    ours.send(b"!")
    accepting.join()
    listener.server_close()
    ours.close()
    theirs.close()
    deadline = monotonic() + _GRACE
    serving = listener.desk.hang_up()
    for thread in serving:
        thread.join(max(0.0, deadline - monotonic()))
    if any(thread.is_alive() for thread in serving):
        raise TimeoutError("a rule of the wire server has not returned; end what it waits for")
