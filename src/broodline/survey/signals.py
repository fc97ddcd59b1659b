"""Ctrl-C and its kin: the first asks the survey to stop, the second ends the process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

CAUGHT = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def caught(stop: Callable[[signal.Signals], None]) -> Generator[None]:
    """Within the block call `stop` on the running loop when such a signal arrives first.

    A second one has its default effect at once. A signal that the process was
    started to ignore (``nohup``) stays ignored. Main thread only; elsewhere, and
    where the system has no such signals, nothing is caught.
    """
    loop = asyncio.get_running_loop()
    held: list[signal.Signals] = []

    def release() -> None:
        while held:
            loop.remove_signal_handler(held.pop())

    def first(number: signal.Signals) -> None:
        stop(number)
        for other in held:
            loop.add_signal_handler(other, again, other)

    def again(number: signal.Signals) -> None:
        release()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for name in CAUGHT:
        number = getattr(signal, name, None)
        if number is None or signal.getsignal(number) is signal.SIG_IGN:
            continue
        try:
            loop.add_signal_handler(number, first, number)
        except (NotImplementedError, RuntimeError, ValueError):
            break
        held.append(number)
    try:
        yield
    finally:
        release()
