"""``python -m broodline``: the same as the ``broodline`` command."""

from __future__ import annotations

import os

if __name__ == "__main__":
    try:
        from .cli import main

        main()
    except KeyboardInterrupt:  # so early that `main` did not stand yet
        os.write(2, b"broodline: interrupted\n")
        os._exit(130)
