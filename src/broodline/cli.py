"""The ``broodline`` command: where the process enters and how it leaves.

It imports next to nothing before `main` runs, so that the earliest Ctrl-C is met.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # for type checkers; `typing` itself would take its time
if TYPE_CHECKING:
    from typing import NoReturn, TextIO

FAILED = 1
INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command and leave the process. Main thread.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 128 and the signal's number when
    interrupted (130 for Ctrl-C), 141 when the reader of the report went away.
    """
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _leave)
        _run(sys.stdout)
    except KeyboardInterrupt:
        _leave()


def _run(out: TextIO | None) -> NoReturn:
    if out is None:
        _fail("the standard output is closed")
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        # Here, not above: most of the time before the first line goes into these imports.
        from .command import app

        app(prog_name="broodline")
    except OSError as error:
        _give_up(out)
        _fail(f"the output could not be written: {(error.strerror or str(error)).lower()}")
    sys.exit(0)


def _leave(*_signal: object) -> NoReturn:
    """End the process at once, while nothing is at work that would have to be stopped.

    Not by an exception: a half-done import may swallow one, or end the process by the signal.
    """
    try:
        _say("broodline: interrupted")
    finally:
        os._exit(INTERRUPTED)


def _give_up(out: TextIO) -> None:
    """What a broken stream still holds must not break again when the interpreter ends."""
    try:
        out.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def _fail(problem: str) -> NoReturn:
    _say(f"broodline: {problem}")
    sys.exit(FAILED)


def _say(line: str) -> None:
    err: TextIO | None = sys.stderr
    try:
        if err is not None:
            err.write(line + "\n")
            err.flush()
    except OSError:
        pass
