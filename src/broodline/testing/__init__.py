"""The test kit: what a test of a program that uses Broodline needs.

Nothing in the runtime may import it. `plugin` is for pytest and is loaded only when
asked for; the rest works with any test runner.
"""

from __future__ import annotations

from .leftover import Belongings, nothing_left

__all__ = ["Belongings", "nothing_left"]
