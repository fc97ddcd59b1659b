"""The contract of a store, as tests: inherit `StoreConformance` to check one of your own.

Works with pytest and with unittest; needs neither. Nothing in the runtime may import it.
"""

from __future__ import annotations

from .clock import ManualClock
from .conformance import StoreConformance
from .gate import GatedExecutor
from .host import ManualHost
from .lab import Lab, Live
from .sample import interrupted_log, notes, sample_log
from .scenario import durable_scenario, scenario

__all__ = [
    "GatedExecutor",
    "Lab",
    "Live",
    "ManualClock",
    "ManualHost",
    "StoreConformance",
    "durable_scenario",
    "interrupted_log",
    "notes",
    "sample_log",
    "scenario",
]
