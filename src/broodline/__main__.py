"""``python -m broodline``: the same as the ``broodline`` command."""

from __future__ import annotations

from .cli import main

if __name__ == "__main__":
    main()
