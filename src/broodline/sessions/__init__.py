"""What ``broodline sessions`` does with stored sessions: list, show, verify, export, import.

What only looks goes through an `Archive`, which reads a store's place and writes nothing
there. What writes goes through a `Store`. Nothing here starts an agent or asks a model.
"""

from __future__ import annotations
