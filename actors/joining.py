"""One reply for several futures."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pykka

from .reply import Reply

if TYPE_CHECKING:
    from .system import ActorSystem


def join(
    system: ActorSystem | None, futures: tuple[pykka.Future[Any], ...]
) -> Reply[Iterable[Any]]:
    """A reply with the list of the values of `futures`, in their order.

    Settled by callbacks when all of them are replies; otherwise made in the thread
    that gets it, as pykka does.
    """
    replies = tuple(future for future in futures if isinstance(future, Reply))
    if len(replies) < len(futures) or any(reply.has_hook() for reply in replies):
        hooked: Reply[Iterable[Any]] = Reply(system)
        hooked.set_get_hook(lambda timeout: [future.get(timeout=timeout) for future in futures])
        return hooked
    joined: Reply[Iterable[Any]] = Reply(system, replies)
    countdown = _Countdown(joined, replies)
    for reply in replies:
        reply.add_done_callback(countdown)
    return joined


class _Countdown:
    """Settles the joined reply when the last part is settled."""

    __slots__ = ("_joined", "_left", "_lock", "_parts")

    def __init__(self, joined: Reply[Iterable[Any]], parts: tuple[Reply[Any], ...]) -> None:
        self._joined = joined
        self._parts = parts
        self._left = len(parts)
        self._lock = threading.Lock()

    def __call__(self, _part: Reply[Any]) -> None:
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if not last:
            return
        for part in self._parts:
            error = part.error()
            if error is not None:
                self._joined.fail(error)
                return
        self._joined.settle([part.get() for part in self._parts])
