"""The test kit: what a test of a program that uses Broodline needs.

Nothing in the runtime may import it. pytest loads `plugin` by itself where both are
installed; the rest works with any test runner.
"""

from __future__ import annotations

from .leftover import Belongings, nothing_left

__all__ = ["Belongings", "nothing_left"]
