"""Processes that are killed in the middle of their work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).with_name("rounds.py")


def test_a_few_kills() -> None:
    """DESIGN 3: whatever kills a process, what it acknowledged is there once, in a balanced log."""
    command = [sys.executable, str(RUN), "--kills", "6", "--seed", "7", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] == 6
    assert found["acknowledged"] > 0
    assert (found["lost"], found["repeated"], found["corrupt"]) == ([], [], [])
    assert [outcome for outcome in found["hazards"] if outcome["result"] == "failed"] == []
