"""The pytest plugin; pytest finds it by its entry point."""

from __future__ import annotations
