"""Ctrl-C and its kin: the first asks the survey to stop, the second ends the process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

CAUGHT = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def caught(
    stop: Callable[[signal.Signals], None], give_back: Callable[[], None] = lambda: None
) -> Generator[None]:
    """Within the block call `stop` on the running loop when such a signal arrives first.

    A second one calls `give_back` and has its default effect at once. A signal that the process was
    started to ignore (``nohup``) stays ignored. Main thread only; elsewhere, and
    where the system has no such signals, nothing is caught.
    """
    loop = asyncio.get_running_loop()
    held: list[signal.Signals] = []
    before: dict[signal.Signals, Any] = {}

    def release() -> None:
        while held:
            number = held.pop()
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])

    arrived: list[signal.Signals] = []

    def came(number: signal.Signals) -> None:
        arrived.append(number)
        if len(arrived) == 1:
            stop(number)
            return
        give_back()
        release()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for name in CAUGHT:
        number = getattr(signal, name, None)
        if number is None:
            continue
        before[number] = signal.getsignal(number)
        if before[number] in (signal.SIG_IGN, None):
            continue
        try:
            loop.add_signal_handler(number, came, number)
        except (NotImplementedError, RuntimeError, ValueError):
            break
        held.append(number)
    try:
        yield
    finally:
        release()
