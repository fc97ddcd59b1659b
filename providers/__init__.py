"""What a child is made from: creation-spec factories that return frozen data only.

A provider names a kind of child and says how one is created; the drivers in
``supervision/`` own every live thing. Nothing in this folder starts an agent, a
process or a task, and nothing here imports ``supervision``.
"""

from __future__ import annotations

from .contract import (
    InProcessSpec,
    ProviderCapabilities,
    ResolvedRequest,
    SubagentProvider,
    SubagentRequest,
)
from .spawn import SpawnProvider

__all__ = [
    "InProcessSpec",
    "ProviderCapabilities",
    "ResolvedRequest",
    "SpawnProvider",
    "SubagentProvider",
    "SubagentRequest",
]
