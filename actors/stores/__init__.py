"""Where sessions are kept: in memory, in SQLite, in files.

`store.py` beside this package is the protocol. `DiskStore` is what the stores on disk
share: the live writers, what is written behind, flushes, leases. A `Backend` is what
they differ in: blocking functions over one database or one folder. Nothing here knows
of agents, turns or models.
"""

from __future__ import annotations
