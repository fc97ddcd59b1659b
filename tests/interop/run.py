"""Replay the recorded scenarios: ``python tests/interop/run.py [--only NAME] [--json]``."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    runpy.run_module("tests.interop.command", run_name="__main__", alter_sys=True)
