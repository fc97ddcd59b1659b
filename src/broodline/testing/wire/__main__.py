"""``python -m broodline.testing.wire``: a small model behind both formats, without a key."""

from __future__ import annotations

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
