"""What docs/agents.md says there is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from broodline import AgentHandle

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()


def test_the_page_names_what_a_handle_has() -> None:
    """DESIGN 9: every member of a handle is in the page's table, and nothing else is."""
    table = [line for line in PAGE.splitlines() if line.startswith("| `")]
    cells = "".join(line.split("|")[1] for line in table)
    named = {name.partition("(")[0].partition(".")[0] for name in re.findall(r"`([^`]+)`", cells)}
    members = {name for name, _ in inspect.getmembers(AgentHandle) if not name.startswith("_")}
    assert named == members
