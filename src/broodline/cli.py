"""The ``broodline`` command: where the process enters and how it leaves."""

from __future__ import annotations

import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command and leave the process.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 128 and the signal's number when
    interrupted (130 for Ctrl-C), 141 when the reader of the output went away.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        # Here, not above: most of the time before the first line goes into these imports,
        # and an impatient Ctrl-C is to be met within them.
        from .command import app

        app(prog_name="broodline")
    except KeyboardInterrupt:
        print("broodline: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    sys.exit(0)
